"""Rectifying, convolution and pooling as one step, with a sparse backward pass. Needs numba.

Of each four places under a pooling window one is the largest, and a gradient comes back only where
that one is positive and was not dropped: to one place in eight in the first steps of the authors'
network, to one in fifty later. To go back over those alone takes a third of the time of dense
products, or less.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from unseen.problem.samples import batches

# The map before pooling is the largest there is, 41 MB of a batch of 128: it is never whole. Pieces
# of 32 are no faster, and scatter the heap by 25 MB.
CONVOLVED_AT_ONCE = 8
# The same parts whatever the number of threads: their sums are added up in one order.
SAMPLES_A_PART = 8

# Compiling takes three seconds in each process. What is kept for the next one can be cut short by a
# full disk or a power cut, and then stops it; so only where somebody has said where to keep it.
KEEPS_COMPILED = "NUMBA_CACHE_DIR" in os.environ

NONE = 4  # where no place of a window is positive, none of the four has won

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]
Index = np.uintp  # never negative: else the compiler makes no vectors of a loop
Indices = NDArray[Index]


class SparselyBack(torch.autograd.Function):
    """All of it as one function, which keeps nothing of the large map before pooling."""

    @staticmethod
    def forward(context: Any, maps: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        kernels, _, rows, columns = weight.shape
        count, _, height, width = maps.shape
        # places first, channels last: (n, height, width, kernels)
        shape = count, (height - rows + 1) // 2, (width - columns + 1) // 2, kernels
        pooled, winners = np.empty(shape, np.float32), np.empty(shape, np.uint8)
        for some in batches(count, CONVOLVED_AT_ONCE):
            dense = torch.conv2d(maps[some].relu(), weight, bias)
            pool(channels_last(dense), pooled[some], winners[some])
        context.save_for_backward(maps, weight, torch.from_numpy(winners))
        return channels_first(pooled)

    @staticmethod
    @once_differentiable
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        maps, weight, winners = context.saved_tensors
        old = channels_last(maps)  # (n, height, width, channels)
        kernels = channels_last(weight)  # (kernels, rows, columns, channels)
        slopes, places = channels_last(gradients[0]), winners.numpy()
        parts = [*batches(len(old), SAMPLES_A_PART)]
        old_slopes = np.empty_like(old)
        kernel_slopes = np.zeros((len(parts), *kernels.shape), np.float32)
        bias_slopes = np.zeros((len(parts), len(kernels)), np.float32)

        def go(part: int) -> None:
            some = parts[part]
            rectified = np.maximum(old[some], np.float32(0))
            go_back(
                *(slopes[some], places[some], rectified, kernels),
                *(old_slopes[some], kernel_slopes[part], bias_slopes[part]),
            )

        with ThreadPoolExecutor(torch.get_num_threads()) as threads:
            for _ in threads.map(go, range(len(parts))):
                pass
        of_maps, of_kernels = channels_first(old_slopes), channels_first(kernel_slopes.sum(0))
        return of_maps, of_kernels, torch.from_numpy(bias_slopes.sum(0))


def channels_last(maps: Tensor) -> Floats:
    """A map for each channel as an array of places with their channels; no copy if it lies so."""
    array: Floats = maps.detach().permute(0, 2, 3, 1).contiguous().numpy()
    return array


def channels_first(array: Floats) -> Tensor:
    return torch.from_numpy(array).permute(0, 3, 1, 2)


@njit(cache=KEEPS_COMPILED)
def pool(dense: Floats, pooled: Floats, winners: Bytes) -> None:
    """The largest of each window, rectified, and which of its four places won: none if it is 0."""
    count, height, width, kernels = pooled.shape
    for sample in range(count):
        for row in range(height):
            for column in range(width):
                for kernel in range(kernels):
                    largest = dense[sample, 2 * row, 2 * column, kernel]
                    winner = np.uint8(0)
                    for place in range(1, 4):
                        value = dense[sample, 2 * row + place // 2, 2 * column + place % 2, kernel]
                        # NaN counts as larger than every number, so that it is passed on
                        if (value > largest) | (value != value):  # noqa: PLR0124
                            largest, winner = value, np.uint8(place)
                    if largest <= 0:
                        largest, winner = np.float32(0), np.uint8(NONE)
                    pooled[sample, row, column, kernel] = largest
                    winners[sample, row, column, kernel] = winner


@njit(cache=KEEPS_COMPILED, nogil=True, fastmath={"contract"})
def add_products(  # noqa: PLR0917  compiled: names cannot be asked for
    sums: Floats,
    start: Index,
    step: Index,
    values: Floats,
    values_step: Index,
    slopes: Floats,
    starts: Indices,
    count: Index,
    shape: tuple[Index, Index],
) -> None:
    """Add to some lines of sums the lines of values from so many starts, each times its slope.

    Four are added at a time; the lists have room to be filled up with slopes of zero.
    """
    lines, length = shape
    for more in range(count, count + Index(3)):
        slopes[more], starts[more] = 0, 0
    for first in range(Index(0), count, Index(4)):
        second, third, fourth = first + Index(1), first + Index(2), first + Index(3)
        slope_a, slope_b = slopes[first], slopes[second]
        slope_c, slope_d = slopes[third], slopes[fourth]
        a, b, c, d = starts[first], starts[second], starts[third], starts[fourth]
        here = start
        for _ in range(lines):
            for at in range(length):
                sums[here + at] += (
                    slope_a * values[a + at]
                    + slope_b * values[b + at]
                    + slope_c * values[c + at]
                    + slope_d * values[d + at]
                )
            here += step
            a, b, c, d = a + values_step, b + values_step, c + values_step, d + values_step


@njit(cache=KEEPS_COMPILED, nogil=True)
def go_back(  # noqa: PLR0917
    slopes: Floats,
    winners: Bytes,
    old: Floats,
    kernels: Floats,
    old_slopes: Floats,
    kernel_slopes: Floats,
    bias_slopes: Floats,
) -> None:
    """Set the gradient of the maps before, and add to those of the kernels and of their biases.

    What comes back is listed twice: for each place of a window, which takes a sum over kernels, and
    for each kernel in a line of windows, which takes a sum over places.
    """
    count, height, width, kernel_count = slopes.shape
    lines, length = Index(kernels.shape[1]), Index(kernels.shape[2] * kernels.shape[3])
    channels, across = Index(old.shape[3]), Index(old.shape[2] * old.shape[3])
    size = lines * length
    kernel_values, kernel_sums = kernels.reshape(-1), kernel_slopes.reshape(-1)
    slopes_back = np.empty(kernel_count, np.float32)
    kernels_back = np.empty(kernel_count, Index)
    places_back = np.empty(kernel_count, Index)
    of_place = np.empty((4, kernel_count + 3), np.float32)
    place_starts = np.empty((4, kernel_count + 3), Index)
    in_place = np.empty(4, Index)
    of_kernel = np.empty((kernel_count, width + 3), np.float32)
    kernel_starts = np.empty((kernel_count, width + 3), Index)
    in_kernel = np.empty(kernel_count, Index)
    offsets = np.empty(4, Index)
    for place in range(4):
        offsets[place] = Index(place // 2) * across + Index(place % 2) * channels
    for sample in range(count):
        old_values, old_sums = old[sample].reshape(-1), old_slopes[sample].reshape(-1)
        old_sums[:] = 0
        for row in range(height):
            in_kernel[:] = 0
            for column in range(width):
                in_place[:] = 0
                corner = Index(2 * row) * across + Index(2 * column) * channels
                coming = 0
                for kernel in range(kernel_count):
                    slope = slopes[sample, row, column, kernel]
                    slopes_back[coming] = slope
                    kernels_back[coming] = kernel
                    places_back[coming] = place = winners[sample, row, column, kernel]
                    coming += (slope != 0) & (place != NONE)
                for back in range(coming):
                    slope, kernel, place = slopes_back[back], kernels_back[back], places_back[back]
                    bias_slopes[kernel] += slope
                    of_place[place, in_place[place]] = slope
                    place_starts[place, in_place[place]] = kernel * size
                    in_place[place] += Index(1)
                    of_kernel[kernel, in_kernel[kernel]] = slope
                    kernel_starts[kernel, in_kernel[kernel]] = corner + offsets[place]
                    in_kernel[kernel] += Index(1)
                for place in range(4):
                    add_products(
                        old_sums,
                        corner + offsets[place],
                        across,
                        kernel_values,
                        length,
                        of_place[place],
                        place_starts[place],
                        in_place[place],
                        (lines, length),
                    )
            for kernel in range(kernel_count):
                add_products(
                    kernel_sums,
                    Index(kernel) * size,
                    length,
                    old_values,
                    across,
                    of_kernel[kernel],
                    kernel_starts[kernel],
                    in_kernel[kernel],
                    (lines, length),
                )
        for at in range(len(old_sums)):
            if old_values[at] == 0:
                old_sums[at] = 0

"""Numbers of networks as text, in as little room as their precision allows."""

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.use.graph import Numbers

WHOLE_PRECISION = 32  # bits: floating-point numbers as they are


@dataclass(frozen=True)
class Packed:
    """Constants as two texts; and what is left of them once they are unpacked."""

    floats: str  # of small constants the numbers, of large ones the scale of each row
    integers: str  # of large constants: what to multiply the scale of their row with
    is_scaled: tuple[bool, ...]  # by constant
    unpacked: tuple[Numbers, ...]

    def __len__(self) -> int:
        return len(self.floats) + len(self.integers)


def pack(constants: Sequence[Numbers], bits: int) -> Packed:
    """Constants with a number of bits for each number of the large ones, at most 16, or with all.

    The largest number of each row decides its scale: weights keep four times the precision that
    floating-point numbers of 16 bits have.
    """
    is_scaled = tuple(bits < WHOLE_PRECISION and each.ndim > 1 for each in constants)
    floats: list[Numbers] = []
    integers: list[NDArray[np.int16]] = []
    unpacked = []
    for numbers, scaled in zip(constants, is_scaled, strict=True):
        if not scaled:
            floats.append(numbers.ravel())
            unpacked.append(numbers)
            continue
        rows = numbers.reshape(len(numbers), -1)
        largest = np.abs(rows).max(axis=1, keepdims=True)
        most = np.float32(2 ** (bits - 1) - 1)
        scales = (np.where(largest > 0, largest, 1) / most).astype(np.float32)
        steps = np.rint(rows / scales).astype(np.int16)
        floats.append(scales.ravel())
        integers.append(steps.ravel())
        unpacked.append((steps * scales).astype(np.float32).reshape(numbers.shape))
    return Packed(
        as_text(np.concatenate([np.empty(0, np.float32), *floats]).astype("<f4")),
        as_text(np.concatenate([np.empty(0, np.int16), *integers]).astype("<i2")),
        is_scaled,
        tuple(unpacked),
    )


def as_text(numbers: NDArray[Any]) -> str:
    """Numbers compressed, all first bytes first, as base64."""
    planes = numbers.view(np.uint8).reshape(-1, numbers.itemsize).T
    return base64.b64encode(zlib.compress(planes.tobytes())).decode()

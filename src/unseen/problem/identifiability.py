"""Which answers seen combinations determine, if an answer is a sum of one value for each digit.

The sum is f(a) + g(b) + …: a digit may have another value in each position. An answer is determined
if all values that fit the seen answers agree on it: if the one-hot row of its combination, with a
column for each position and digit, is a linear combination of the seen rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Digits = NDArray[np.integer[Any]]  # (n, positions)
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Relative to the largest one. With 256 digits in each of two positions, the smallest eigenvalue
# that is not zero is some 1e-7 of the largest; rounding makes 1e-13 of a zero.
SMALLEST_EIGENVALUE = 1e-9
LARGEST_ROUNDING = 1e-6


@dataclass(frozen=True)
class SeenSpan:
    """What seen combinations say about the value of each digit in each position."""

    levels: tuple[Digits, ...]  # by position, the digits seen there
    eigenvalues: Floats  # (rank,) of the seen rows' Gram matrix
    known: Floats  # (columns, rank) directions in which the seen answers determine the values
    free: Floats  # (columns, columns - rank) directions in which other values fit as well

    @property
    def smallest(self) -> NDArray[np.intp]:
        """For each column, the column of the smallest digit seen in the same position."""
        sizes = [len(level) for level in self.levels]
        return np.repeat(np.cumsum(sizes) - sizes, sizes)

    def has_seen(self, digits: Digits) -> Mask:
        """For each combination and position, whether its digit was seen there."""
        columns = zip(digits.T, self.levels, strict=True)
        return np.stack([np.isin(column, level) for column, level in columns], axis=1)

    def determines(self, digits: Digits) -> Mask:
        """Whether each combination's answer is determined; never where it has an unseen digit."""
        left_open = sum(self.free[column] for column in _columns(digits, self.levels))
        settled = np.all(np.abs(left_open) < LARGEST_ROUNDING, axis=1)
        return np.asarray(settled & self.has_seen(digits).all(axis=1))

    def determines_values(self) -> Mask:
        """For each column, whether its value less that of the smallest digit is determined."""
        left_open = np.abs(self.free - self.free[self.smallest])
        return np.asarray(np.all(left_open < LARGEST_ROUNDING, axis=1))

    def least_squares(self, seen: Digits, answers: NDArray[np.floating[Any]]) -> Floats:
        """The value of each column, for sums nearest to these answers to the seen combinations."""
        columns = _columns(seen, self.levels)
        targets = sum(np.bincount(column, answers, len(self.free)) for column in columns)
        return np.asarray(self.known @ (self.known.T @ targets / self.eigenvalues))

    def sums(self, digits: Digits, values: Floats) -> Floats:
        """The sum of the values of each combination's digits."""
        return np.asarray(values[np.stack(_columns(digits, self.levels))].sum(axis=0))


def span_of(seen: Digits) -> SeenSpan:
    """What these combinations determine, once their answers are known."""
    levels = tuple(np.unique(column) for column in seen.T)
    width, columns = sum(map(len, levels)), _columns(seen, levels)
    gram = sum(
        np.bincount(one * width + two, minlength=width**2) for one in columns for two in columns
    )
    sizes, directions = np.linalg.eigh(np.reshape(gram, (width, width)).astype(np.float64))
    fixed = sizes > SMALLEST_EIGENVALUE * sizes[-1]
    return SeenSpan(levels, sizes[fixed], directions[:, fixed], directions[:, ~fixed])


def _columns(digits: Digits, levels: tuple[Digits, ...]) -> list[NDArray[np.intp]]:
    """By position, the one-hot column of each combination's digit; of a neighbour if never seen."""
    starts = np.cumsum([0, *map(len, levels)])
    return [
        start + np.minimum(np.searchsorted(level, column), len(level) - 1)
        for start, level, column in zip(starts, levels, digits.T, strict=False)
    ]

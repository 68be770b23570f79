"""Splits: which combinations are seen in training, and which are not."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError

MOST_COMBINATIONS = 1_000_000

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Fold:
    """One split of the combinations, as rows of their table; numbered from 1."""

    number: int
    seen: Rows
    unseen: Rows


def all_combinations(values: tuple[int, ...], length: int) -> NDArray[np.int64]:
    """Every ordered tuple of the values, (0, 0) first and (9, 9) last: (n ** length, length)."""
    count = len(values) ** length
    if count > MOST_COMBINATIONS:
        raise UnseenError(
            f"length {length} makes {count:,} combinations of {len(values)} symbols; "
            f"the most is {MOST_COMBINATIONS:,}"
        )
    places = np.indices((len(values),) * length).reshape(length, -1).T
    return np.asarray(values, np.int64)[places]


def ten_fold(combinations: NDArray[np.int64], seed: int) -> list[Rows]:
    """The unseen rows of each of ten folds, so that every combination is unseen exactly once.

    The same folds as scikit-learn's KFold(10, shuffle=True, random_state=seed), which the authors
    used and a test compares with; importing scikit-learn takes longer than reading MNIST.
    """
    if len(combinations) < 10:
        raise UnseenError(f"ten folds need ten combinations; there are {len(combinations)}")
    rows = np.arange(len(combinations))
    np.random.RandomState(seed).shuffle(rows)
    return [np.sort(part) for part in np.array_split(rows, 10)]


def split_folds(split: str, combinations: NDArray[np.int64], seed: int) -> list[Fold]:
    """All folds of a split, in order."""
    every_row = np.arange(len(combinations))
    return [
        Fold(number, np.setdiff1d(every_row, unseen), unseen)
        for number, unseen in enumerate(SPLITS[split](combinations, seed), start=1)
    ]


SPLITS: dict[str, Callable[[NDArray[np.int64], int], list[Rows]]] = {"random": ten_fold}

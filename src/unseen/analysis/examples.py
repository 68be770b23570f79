"""Samples to look at, as in the paper's tables: the first of each kind, not the best."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.analysis.run_data import FoldData, RunData
from unseen.problem.samples import side_by_side

SHOWN = 6


@dataclass(frozen=True)
class Example:
    """A test sample of an unseen combination, and what the network answered."""

    combination: tuple[int, ...]
    picture: NDArray[np.uint8]  # (height, width)
    prediction: float
    answer: int


def example_groups(data: RunData) -> dict[str, tuple[Example, ...]]:
    """The paper's kinds of examples, and the worst mistakes; those that the run has."""
    groups = {
        "random": _drawn(data),
        "two alike": _alike(data, 2),
        "swapped": _swapped(data),
        "three alike": _alike(data, 3),
        "worst": _worst(data),
    }
    return {kind: examples for kind, examples in groups.items() if examples}


def _drawn(data: RunData) -> tuple[Example, ...]:
    rng = np.random.default_rng(0)
    numbers = np.sort(rng.integers(0, len(data.folds), SHOWN))
    folds = [data.folds[number] for number in numbers]
    return tuple(_example(data, fold, int(rng.integers(len(fold.arrays.answer)))) for fold in folds)


def _alike(data: RunData, count: int) -> tuple[Example, ...]:
    """Combinations of one fold that have different digits and the same answer."""
    table = data.task.combinations
    for fold in data.folds:
        by_answer: dict[int, dict[tuple[int, ...], int]] = {}
        for row in np.unique(fold.arrays.combination):
            same = by_answer.setdefault(int(table.answers[row]), {})
            same.setdefault(tuple(sorted(table.digits[row].tolist())), int(row))
        for _, different in sorted(by_answer.items()):
            if len(different) >= count:
                return _first_samples(data, fold, [*different.values()][:count])
    return ()


def _swapped(data: RunData) -> tuple[Example, ...]:
    """A combination and its reversal, both unseen in one fold, with the same answer."""
    table = data.task.combinations
    for fold in data.folds:
        unseen = np.unique(fold.arrays.combination).tolist()
        rows = {tuple(table.digits[row].tolist()): row for row in unseen}
        for digits, row in rows.items():
            mirrored = rows.get(digits[::-1], row)
            if row < mirrored and table.answers[row] == table.answers[mirrored]:
                return _first_samples(data, fold, [row, mirrored])
    return ()


def _worst(data: RunData) -> tuple[Example, ...]:
    """The samples with the largest errors, each of another combination."""
    worst: dict[int, tuple[float, FoldData, int]] = {}  # by row of the table
    for fold in data.folds:
        errors = np.abs(fold.arrays.prediction - fold.arrays.answer.astype(np.float64))
        if not np.isfinite(errors).all():
            return ()
        order = np.argsort(-errors, kind="stable")
        rows, first = np.unique(fold.arrays.combination[order], return_index=True)
        for row, sample in zip(rows.tolist(), order[first].tolist(), strict=True):
            if row not in worst or errors[sample] > worst[row][0]:
                worst[row] = errors[sample], fold, sample
    largest = sorted(worst.values(), key=lambda one: -one[0])[:SHOWN]
    return tuple(_example(data, fold, sample) for _, fold, sample in largest)


def _first_samples(data: RunData, fold: FoldData, rows: Sequence[int]) -> tuple[Example, ...]:
    firsts = [int(np.argmax(fold.arrays.combination == row)) for row in rows]
    return tuple(_example(data, fold, sample) for sample in firsts)


def _example(data: RunData, fold: FoldData, sample: int) -> Example:
    row = fold.arrays.combination[sample]
    symbols = data.task.bank.test.images[fold.arrays.images[[sample]]]
    return Example(
        combination=tuple(data.task.combinations.digits[row].tolist()),
        picture=side_by_side(symbols)[0],
        prediction=float(fold.arrays.prediction[sample]),
        answer=int(fold.arrays.answer[sample]),
    )

"""Samples to look at, as in the paper's tables: the first of each kind, not the best."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.insight.evidence import Evidence, FoldEvidence
from unseen.problem.samples import side_by_side

SHOWN = 6


@dataclass(frozen=True)
class Example:
    """A test sample of an unseen combination, and what the network said."""

    combination: tuple[int, ...]
    picture: NDArray[np.uint8]  # (height, width)
    prediction: float
    answer: int


def example_groups(evidence: Evidence) -> dict[str, tuple[Example, ...]]:
    """The paper's kinds of examples, and the worst mistakes; those that the run has."""
    groups = {
        "random": _drawn(evidence),
        "two alike": _alike(evidence, 2),
        "swapped": _swapped(evidence),
        "three alike": _alike(evidence, 3),
        "worst": _worst(evidence),
    }
    return {kind: examples for kind, examples in groups.items() if examples}


def _drawn(evidence: Evidence) -> tuple[Example, ...]:
    rng = np.random.default_rng(0)
    numbers = np.sort(rng.integers(0, len(evidence.folds), SHOWN))
    folds = [evidence.folds[number] for number in numbers]
    return tuple(
        _example(evidence, fold, int(rng.integers(len(fold.arrays.answer)))) for fold in folds
    )


def _alike(evidence: Evidence, count: int) -> tuple[Example, ...]:
    """Combinations of one fold that have different digits and the same answer."""
    table = evidence.posed.combinations
    for fold in evidence.folds:
        by_answer: dict[int, dict[tuple[int, ...], int]] = {}
        for row in np.unique(fold.arrays.combination):
            same = by_answer.setdefault(int(table.answers[row]), {})
            same.setdefault(tuple(sorted(table.digits[row].tolist())), int(row))
        for _, different in sorted(by_answer.items()):
            if len(different) >= count:
                return _first_samples(evidence, fold, [*different.values()][:count])
    return ()


def _swapped(evidence: Evidence) -> tuple[Example, ...]:
    """A combination and its reversal, both unseen in one fold, with the same answer."""
    table = evidence.posed.combinations
    for fold in evidence.folds:
        unseen = np.unique(fold.arrays.combination).tolist()
        rows = {tuple(table.digits[row].tolist()): row for row in unseen}
        for digits, row in rows.items():
            mirrored = rows.get(digits[::-1], row)
            if row < mirrored and table.answers[row] == table.answers[mirrored]:
                return _first_samples(evidence, fold, [row, mirrored])
    return ()


def _worst(evidence: Evidence) -> tuple[Example, ...]:
    """The samples with the largest errors, each of another combination."""
    worst: dict[int, tuple[float, FoldEvidence, int]] = {}  # by row of the table
    for fold in evidence.folds:
        errors = np.abs(fold.arrays.prediction - fold.arrays.answer.astype(np.float64))
        if not np.isfinite(errors).all():
            return ()
        order = np.argsort(-errors, kind="stable")
        rows, first = np.unique(fold.arrays.combination[order], return_index=True)
        for row, sample in zip(rows.tolist(), order[first].tolist(), strict=True):
            if row not in worst or errors[sample] > worst[row][0]:
                worst[row] = errors[sample], fold, sample
    largest = sorted(worst.values(), key=lambda one: -one[0])[:SHOWN]
    return tuple(_example(evidence, fold, sample) for _, fold, sample in largest)


def _first_samples(
    evidence: Evidence, fold: FoldEvidence, rows: Sequence[int]
) -> tuple[Example, ...]:
    firsts = [int(np.argmax(fold.arrays.combination == row)) for row in rows]
    return tuple(_example(evidence, fold, sample) for sample in firsts)


def _example(evidence: Evidence, fold: FoldEvidence, sample: int) -> Example:
    row = fold.arrays.combination[sample]
    symbols = evidence.posed.bank.test.images[fold.arrays.images[[sample]]]
    return Example(
        combination=tuple(evidence.posed.combinations.digits[row].tolist()),
        picture=side_by_side(symbols)[0],
        prediction=float(fold.arrays.prediction[sample]),
        answer=int(fold.arrays.answer[sample]),
    )

"""Samples to look at, as in the paper's tables: the first of their kind, not the best."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from unseen.experiments.posing import PosedProblem
from unseen.insight.evidence import Evidence, FoldEvidence
from unseen.insight.words import answers_word, combinations_word
from unseen.problem.samples import side_by_side

SHOWN = 6


@dataclass(frozen=True)
class Example:
    """A test sample of an unseen combination, and what the network said."""

    combination: tuple[int, ...]
    picture: NDArray[np.uint8]  # (height, width)
    prediction: float
    answer: int
    fold: int


@dataclass(frozen=True)
class ExampleGroup:
    """Examples that show one thing."""

    title: str
    caption: str
    examples: tuple[Example, ...]


def example_groups(evidence: Evidence) -> list[ExampleGroup]:
    """The paper's kinds of examples, and the worst mistakes; those that the run has."""
    things = combinations_word(evidence.experiment.problem)
    answers = answers_word(evidence.experiment.problem).removesuffix("s")
    one_fold = "unseen in the same fold, so answered by one network; the first sample of each"
    groups = [
        ExampleGroup("Samples", "Drawn at random from all test samples.", _drawn(evidence)),
        ExampleGroup(
            f"One {answers}, different {things}",
            f"Two {things} with the same {answers}, {one_fold}.",
            _alike(evidence, 2),
        ),
        ExampleGroup(
            "Swapped digits", f"The same digits in another order, {one_fold}.", _swapped(evidence)
        ),
        ExampleGroup(
            f"Three {things}, one {answers}",
            f"Three {things} with the same {answers}, {one_fold}.",
            _alike(evidence, 3),
        ),
        ExampleGroup(
            "The worst mistakes",
            f"The samples answered furthest from the truth, one for each of {SHOWN} {things}.",
            _worst(evidence),
        ),
    ]
    return [group for group in groups if group.examples]


def _drawn(evidence: Evidence) -> tuple[Example, ...]:
    rng = np.random.default_rng(0)
    folds = rng.integers(0, len(evidence.folds), SHOWN)
    return tuple(
        _example(evidence, evidence.folds[fold], int(rng.integers(len(_answers(evidence, fold)))))
        for fold in np.sort(folds)
    )


def _answers(evidence: Evidence, fold: int) -> NDArray[np.int32]:
    return evidence.folds[fold].arrays["answer"]


def _alike(evidence: Evidence, count: int) -> tuple[Example, ...]:
    """So many combinations of one fold, of different digits, with one answer."""
    table = evidence.posed.combinations
    for fold in evidence.folds:
        rows = _unseen_rows(fold)
        ordered = sorted(rows, key=lambda row: (int(table.answers[row]), row))
        for _, alike in groupby(ordered, key=lambda row: int(table.answers[row])):
            different = _of_different_digits(evidence.posed, alike)
            if len(different) >= count:
                return _first_samples(evidence, fold, different[:count])
    return ()


def _of_different_digits(posed: PosedProblem, rows: Iterable[int]) -> list[int]:
    found: dict[tuple[int, ...], int] = {}
    for row in rows:
        found.setdefault(tuple(sorted(posed.combinations.digits[row].tolist())), row)
    return [*found.values()]


def _swapped(evidence: Evidence) -> tuple[Example, ...]:
    """A combination and its reversal, both unseen in one fold, with the same answer."""
    table = evidence.posed.combinations
    for fold in evidence.folds:
        rows = {tuple(table.digits[row].tolist()): row for row in _unseen_rows(fold)}
        for digits, row in rows.items():
            mirrored = rows.get(digits[::-1], row)
            if row < mirrored and table.answers[row] == table.answers[mirrored]:
                return _first_samples(evidence, fold, [row, mirrored])
    return ()


def _worst(evidence: Evidence) -> tuple[Example, ...]:
    """The largest errors, each of another combination."""
    found: list[tuple[float, Example]] = []
    for fold in evidence.folds:
        errors = np.abs(fold.arrays["prediction"] - fold.arrays["answer"].astype(np.float64))
        if not np.isfinite(errors).all():
            return ()
        taken: set[int] = set()
        for sample in np.argsort(-errors, kind="stable"):
            row = int(fold.arrays["combination"][sample])
            if row not in taken:
                taken.add(row)
                found.append((float(errors[sample]), _example(evidence, fold, int(sample))))
            if len(taken) == SHOWN:
                break
    found.sort(key=lambda one: -one[0])
    distinct = {example.combination: example for _, example in reversed(found)}
    worst = sorted(distinct.values(), key=lambda one: -abs(one.prediction - one.answer))
    return tuple(worst[:SHOWN])


def _unseen_rows(fold: FoldEvidence) -> list[int]:
    rows: list[int] = np.unique(fold.arrays["combination"]).tolist()
    return rows


def _first_samples(
    evidence: Evidence, fold: FoldEvidence, rows: Sequence[int]
) -> tuple[Example, ...]:
    firsts = [int(np.argmax(fold.arrays["combination"] == row)) for row in rows]
    return tuple(_example(evidence, fold, sample) for sample in firsts)


def _example(evidence: Evidence, fold: FoldEvidence, sample: int) -> Example:
    row = fold.arrays["combination"][sample]
    symbols = evidence.posed.bank.test.images[fold.arrays["images"][[sample]]]
    return Example(
        combination=tuple(evidence.posed.combinations.digits[row].tolist()),
        picture=side_by_side(symbols)[0],
        prediction=float(fold.arrays["prediction"][sample]),
        answer=int(fold.arrays["answer"][sample]),
        fold=fold.result.fold,
    )

"""Leakage: what the seen combinations of a split tell about its unseen ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unseen.problem.identifiability import span_of
from unseen.problem.samples import Combinations
from unseen.problem.splits import Fold

Rule = Literal["additive", "multiplicative"]

ANY_FACTOR = -1  # no label


@dataclass(frozen=True)
class Leakage:
    """How many of a fold's unseen combinations are given away, and what was never seen."""

    fold: int
    unseen: int
    mirrored: int  # another order of the same digits is seen
    new_answers: tuple[int, ...]  # answers that no seen combination has
    new_digits: tuple[tuple[int, int], ...]  # (position from 0, digit) that no seen combination has
    undetermined: int | None  # answers that the rule and the seen ones leave open; None: no rule


@dataclass(frozen=True)
class SplitLeakage:
    """The leakage of the folds of a run."""

    rule: Rule | None  # that all answers follow
    folds: tuple[Leakage, ...]

    @property
    def undetermined(self) -> int:
        """How many unseen answers cannot be worked out, even if the rule is known."""
        return sum(fold.undetermined or 0 for fold in self.folds)


def split_leakage(table: Combinations, folds: Sequence[Fold]) -> SplitLeakage:
    """What the seen combinations of each of these folds tell about its unseen ones."""
    rule = rule_of(table)
    return SplitLeakage(rule, tuple(find_leakage(table, fold, rule) for fold in folds))


def find_leakage(table: Combinations, fold: Fold, rule: Rule | None) -> Leakage:
    """What the seen combinations of a fold tell about its unseen ones, if the rule is known."""
    seen, unseen = table.digits[fold.seen], table.digits[fold.unseen]
    new_digits = (
        (position, int(digit))
        for position in range(seen.shape[1])
        for digit in np.setdiff1d(unseen[:, position], seen[:, position])
    )
    determined = determined_answers(table, fold, rule)
    return Leakage(
        fold.number,
        len(unseen),
        int(_are_among(np.sort(unseen, axis=1), np.sort(seen, axis=1)).sum()),
        tuple(np.setdiff1d(table.answers[fold.unseen], table.answers[fold.seen]).tolist()),
        tuple(new_digits),
        None if determined is None else int((~determined).sum()),
    )


def determined_answers(
    table: Combinations, fold: Fold, rule: Rule | None
) -> NDArray[np.bool_] | None:
    """Whether each unseen answer of a fold can be worked out by the rule; None if there is none."""
    seen, unseen = table.digits[fold.seen], table.digits[fold.unseen]
    if rule == "additive":
        return span_of(seen).determines(unseen)
    if rule == "multiplicative":
        return multiplicatively_determined(seen, table.answers[fold.seen], unseen)
    return None


def _are_among(rows: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each row is one of the others."""
    labels = np.unique(np.concatenate([rows, others]))
    # a number for each row; the largest is about the number of possible combinations
    worth = len(labels) ** np.arange(rows.shape[1], dtype=np.int64)
    numbers, other_numbers = (np.searchsorted(labels, some) @ worth for some in (rows, others))
    return np.isin(numbers, other_numbers)


def rule_of(table: Combinations) -> Rule | None:
    """Whether every answer is a sum, or product, of one number for each digit in each position."""
    answers = table.answers
    first = int(answers[0])
    if np.array_equal(answers, first + sum(line - first for line in _lines(table, 0))):
        return "additive"
    row = int(answers.argmax() if answers.max() > 0 else answers.argmin())  # of one that is not 0
    product = reduce(mul, (line.astype(object) for line in _lines(table, row)))
    scale = int(answers[row]) ** (table.digits.shape[1] - 1)
    return "multiplicative" if np.array_equal(product, answers.astype(object) * scale) else None


def multiplicatively_determined(
    seen: NDArray[np.int64], answers: NDArray[np.integer[Any]], unseen: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether all f(a) · g(b) · … that fit the seen answers agree on each unseen one.

    Among digits that are not worth zero, its logarithm is a sum. A digit is known not to be worth
    zero in its position once a seen answer with it is not zero. An unseen answer is known to be
    zero if a seen zero has only digits that it has too or that are known not to be worth zero.
    """
    factors, zeros = seen[answers != 0], seen[answers == 0]
    if len(factors) == 0:
        return np.zeros(len(unseen), bool)
    span = span_of(factors)
    determined = span.determines(unseen)
    zeros = np.where(span.has_seen(zeros), ANY_FACTOR, zeros)
    while len(zeros):
        fixed = zeros != ANY_FACTOR
        positions = fixed[fixed.sum(axis=1).argmin()]  # of a zero that says most
        least = zeros[np.all(fixed == positions, axis=1)][:, positions]
        determined |= _are_among(unseen[:, positions], least)
        zeros = zeros[~_are_among(zeros[:, positions], least)]
    return determined


def _lines(table: Combinations, row: int) -> Iterator[NDArray[np.int64]]:
    """For each position, the answers if all other positions had the digits of this row."""
    same = table.digits == table.digits[row]
    for position, column in enumerate(table.digits.T):
        line = np.delete(same, position, axis=1).all(axis=1)
        answers = table.answers[line].astype(np.int64)
        yield answers[np.searchsorted(table.digits[line, position], column)]

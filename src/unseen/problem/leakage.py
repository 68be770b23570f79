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
    new_digits: tuple[tuple[int, int], ...]  # (place from 0, digit) that no seen combination has
    undetermined: int | None  # answers that the rule and the seen ones leave open; None: no rule


@dataclass(frozen=True)
class SplitLeakage:
    """The leakage of the folds of a run."""

    rule: Rule | None  # that all answers follow
    folds: tuple[Leakage, ...]

    @property
    def undetermined(self) -> int:
        """How many unseen answers cannot be worked out, even by somebody who knows the rule."""
        return sum(fold.undetermined or 0 for fold in self.folds)


def split_leakage(table: Combinations, folds: Sequence[Fold]) -> SplitLeakage:
    """What the seen combinations of each of these folds tell about its unseen ones."""
    rule = rule_of(table)
    return SplitLeakage(rule, tuple(find_leakage(table, fold, rule) for fold in folds))


def find_leakage(table: Combinations, fold: Fold, rule: Rule | None) -> Leakage:
    """What the seen combinations of a fold tell about its unseen ones, if the rule is known."""
    seen, unseen = table.digits[fold.seen], table.digits[fold.unseen]
    new_digits = (
        (place, int(digit))
        for place in range(seen.shape[1])
        for digit in np.setdiff1d(unseen[:, place], seen[:, place])
    )
    determined = None
    if rule == "additive":
        determined = span_of(seen).determines(unseen)
    elif rule == "multiplicative":
        determined = multiplicatively_determined(seen, table.answers[fold.seen], unseen)
    return Leakage(
        fold.number,
        len(unseen),
        int(_are_among(np.sort(unseen, axis=1), np.sort(seen, axis=1)).sum()),
        tuple(np.setdiff1d(table.answers[fold.unseen], table.answers[fold.seen]).tolist()),
        tuple(new_digits),
        None if determined is None else int((~determined).sum()),
    )


def _are_among(rows: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each row is one of the others."""
    labels = np.unique(np.concatenate([rows, others]))
    # a number for each row; the largest is about the number of possible combinations
    worth = len(labels) ** np.arange(rows.shape[1], dtype=np.int64)
    numbers, other_numbers = (np.searchsorted(labels, some) @ worth for some in (rows, others))
    return np.isin(numbers, other_numbers)


def rule_of(table: Combinations) -> Rule | None:
    """Whether every answer is a sum, or a product, of one number for each digit in each place."""
    if is_additive(table):
        return "additive"
    return "multiplicative" if is_multiplicative(table) else None


def multiplicatively_determined(
    seen: NDArray[np.int64], answers: NDArray[np.integer[Any]], unseen: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether all f(a) · g(b) · … that fit the seen answers agree on each unseen one.

    Among digits that are not worth zero, its logarithm is a sum. A digit is known not to be worth
    zero in its place once a seen answer with it is not zero. An unseen answer is known to be zero
    if some seen zero has only digits that it has itself or that are known not to be worth zero.
    """
    factors = seen[answers != 0]
    determined = np.zeros(len(unseen), bool)
    if len(factors) == 0:
        return determined
    connected = _known_factors(unseen, factors).all(axis=1)
    determined[connected] = span_of(factors).determines(unseen[connected])
    zeros = seen[answers == 0]
    zeros = np.where(_known_factors(zeros, factors), ANY_FACTOR, zeros)
    while len(zeros):
        fixed = zeros != ANY_FACTOR
        places = fixed[fixed.sum(axis=1).argmin()]  # of a zero that says most
        least = zeros[np.all(fixed == places, axis=1)][:, places]
        determined |= _are_among(unseen[:, places], least)
        zeros = zeros[~_are_among(zeros[:, places], least)]
    return determined


def _known_factors(digits: NDArray[np.int64], factors: NDArray[np.int64]) -> NDArray[np.bool_]:
    """For each combination and place, whether some row of factors has its digit there."""
    return np.stack(
        [np.isin(*columns) for columns in zip(digits.T, factors.T, strict=True)], axis=1
    )


def is_additive(table: Combinations) -> bool:
    """Whether every answer is a sum of one number for each digit in each place."""
    first = int(table.answers[0])
    return np.array_equal(table.answers, first + sum(line - first for line in _lines(table, 0)))


def is_multiplicative(table: Combinations) -> bool:
    """Whether every answer is a product of one number for each digit in each place."""
    if not table.answers.any():
        return False  # a sum already
    row = int(table.answers.argmax() if table.answers.max() > 0 else table.answers.argmin())
    product = reduce(mul, (line.astype(object) for line in _lines(table, row)))
    scale = int(table.answers[row]) ** (table.digits.shape[1] - 1)
    return np.array_equal(product, table.answers.astype(object) * scale)


def _lines(table: Combinations, row: int) -> Iterator[NDArray[np.int64]]:
    """For each place, the answers if all other places had the digits of this row."""
    same = table.digits == table.digits[row]
    for place, column in enumerate(table.digits.T):
        line = np.delete(same, place, axis=1).all(axis=1)
        answers = table.answers[line].astype(np.int64)
        yield answers[np.searchsorted(table.digits[line, place], column)]

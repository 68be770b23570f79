"""How a run's networks make answers of digits: fitted fold by fold, then averaged."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.insight.digit_values import additivity, bias, fit_values, mirror_gap
from unseen.insight.evidence import Evidence
from unseen.insight.statistics import Spread, spread
from unseen.problem.identifiability import Digits

MOST_COMBINATIONS = 100_000  # a fit over more would take gigabytes

PlaceDigit = tuple[int, int]
Answered = tuple[NDArray[np.float64], NDArray[np.bool_]]  # a fold's mean answers, and what it saw


@dataclass(frozen=True)
class Structure:
    """Does it add, or does it remember? Means over folds, with their spread.

    `true_values` and `true_score` are the same fit to the true answers: each digit itself and 1
    for sums, something else for operations that are not a sum of values.
    """

    values: dict[PlaceDigit, Spread]
    true_values: dict[PlaceDigit, float]
    score: Spread
    true_score: float
    gap: Spread
    mirror: Spread | None  # only where the true answers to (a, b) and (b, a) are the same
    seen_bias: Spread
    unseen_bias: Spread


def structure_of(evidence: Evidence) -> Structure | None:
    """The structure of a run; None where it was not recorded or is too large to fit."""
    table = evidence.posed.combinations
    answered = [(fold.arrays.means, fold.seen) for fold in evidence.folds]
    folds = [(means, seen) for means, seen in answered if means is not None]
    if not folds or len(folds) < len(answered) or len(table.digits) > MOST_COMBINATIONS:
        return None
    digits, answers = table.digits, table.answers
    true_values = fit_values(digits, answers.astype(np.float64)).values
    fitted = [additivity(digits, means, seen) for means, seen in folds]
    exact = [additivity(digits, answers.astype(float), seen) for _, seen in folds]
    biases = [bias(means, answers, seen) for means, seen in folds]
    return Structure(
        values=_mean_values(folds, digits, true_values),
        true_values=true_values,
        score=_spread([each.score for each in fitted]),
        true_score=_spread([each.score for each in exact]).mean,
        gap=_spread([each.gap for each in fitted]),
        mirror=_mirror(folds, digits, answers),
        seen_bias=_spread([seen for seen, _ in biases]),
        unseen_bias=_spread([unseen for _, unseen in biases]),
    )


def _mean_values(
    folds: Sequence[Answered], digits: Digits, true_values: dict[PlaceDigit, float]
) -> dict[PlaceDigit, Spread]:
    """The values of digits over folds; those of a fold without 0 start at its smallest digit."""
    by_digit: dict[PlaceDigit, list[float]] = {}
    for means, seen in folds:
        fit = fit_values(digits[seen], means[seen])
        for (place, digit), value in fit.values.items():
            start = true_values[place, fit.zeros[place]]
            by_digit.setdefault((place, digit), []).append(start + value)
    return {name: _spread(values) for name, values in sorted(by_digit.items())}


def _mirror(folds: Sequence[Answered], digits: Digits, answers: NDArray[np.int32]) -> Spread | None:
    exact = mirror_gap(digits, answers.astype(np.float64))
    if exact is None or exact > 0:
        return None
    gaps = [mirror_gap(digits, means) for means, _ in folds]
    return _spread([gap for gap in gaps if gap is not None])


def _spread(values: Sequence[float]) -> Spread:
    """Over the folds with a finite value; NaN if there are none."""
    known = [value for value in values if np.isfinite(value)]
    return spread(known) if known else Spread(float("nan"), None)

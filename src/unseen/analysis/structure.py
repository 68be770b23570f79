"""How a run's networks make answers of digits: fitted fold by fold, then averaged."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.analysis.digit_values import additivity, fit_values, mean_errors, mirror_gap
from unseen.analysis.run_data import RunData
from unseen.analysis.statistics import Spread, spread
from unseen.problem.identifiability import Digits

MOST_COMBINATIONS = 100_000  # a fit over more would take gigabytes

PlaceDigit = tuple[int, int]
Answered = tuple[NDArray[np.float64], NDArray[np.bool_]]  # a fold's mean answers, and what it saw


@dataclass(frozen=True)
class Structure:
    """How answers are made of digits: means over folds, with their spread.

    `true_values` and `true_additivity` are the same fit to the true answers: each digit itself and
    1 for sums, something else for operations that are not a sum of values.
    """

    values: dict[PlaceDigit, Spread]
    true_values: dict[PlaceDigit, float]
    true_additivity: float
    additivity: Spread
    additivity_gap: Spread
    seen_mean_error: Spread
    unseen_mean_error: Spread
    mirror_gap: Spread | None  # only where the true answers to (a, b) and (b, a) are the same

    @property
    def figures(self) -> dict[str, Spread]:
        """Everything but the values of digits, by name; no mirror gap where it is None."""
        return {name: each for name, each in vars(self).items() if isinstance(each, Spread)}


def structure_of(data: RunData) -> Structure | None:
    """The structure of a run; None where it was not recorded or is too large to fit."""
    digits = data.task.combinations.digits
    answers = data.task.combinations.answers.astype(np.float64)
    answered = [(fold.arrays.means, fold.seen) for fold in data.folds]
    folds = [(means, seen) for means, seen in answered if means is not None]
    if not folds or len(folds) < len(answered) or len(digits) > MOST_COMBINATIONS:
        return None
    true_values = fit_values(digits, answers)
    fitted = [additivity(digits, means, seen) for means, seen in folds]
    exact = [additivity(digits, answers, seen) for _, seen in folds]
    errors = [mean_errors(means, answers, seen) for means, seen in folds]
    has_mirrors = mirror_gap(digits, answers) == 0
    mirrored = [mirror_gap(digits, means) for means, _ in folds] if has_mirrors else []
    return Structure(
        values=_mean_values(folds, digits, true_values),
        true_values=true_values,
        true_additivity=_spread([score for score, _ in exact]).mean,
        additivity=_spread([score for score, _ in fitted]),
        additivity_gap=_spread([gap for _, gap in fitted]),
        seen_mean_error=_spread([seen for seen, _ in errors]),
        unseen_mean_error=_spread([unseen for _, unseen in errors]),
        mirror_gap=_spread([gap for gap in mirrored if gap is not None]) if has_mirrors else None,
    )


def _mean_values(
    folds: Sequence[Answered], digits: Digits, true_values: dict[PlaceDigit, float]
) -> dict[PlaceDigit, Spread]:
    """The values of digits over folds; those of a fold without 0 start at its smallest digit."""
    by_digit: dict[PlaceDigit, list[float]] = {}
    for means, seen in folds:
        smallest = digits[seen].min(axis=0).tolist()
        for (place, digit), value in fit_values(digits[seen], means[seen]).items():
            start = true_values[place, smallest[place]]
            by_digit.setdefault((place, digit), []).append(start + value)
    return {name: _spread(values) for name, values in sorted(by_digit.items())}


def _spread(values: Sequence[float]) -> Spread:
    """Over the folds with a finite value; NaN if there are none."""
    known = [value for value in values if np.isfinite(value)]
    return spread(known) if known else Spread(float("nan"), None)

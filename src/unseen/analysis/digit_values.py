"""Does a network add, or does it remember? Found in its mean answers to combinations.

Each fold is fitted alone: every fold has another network, and a joint fit would mix them.
"""

import numpy as np
from numpy.typing import NDArray

from unseen.problem.identifiability import Digits, Floats, Mask, span_of

Means = NDArray[np.floating]  # (n,): the mean prediction for each combination


def fit_values(digits: Digits, means: Means) -> dict[tuple[int, int], float]:
    """By place and digit, what it is worth in the mean answers to these seen combinations.

    The smallest digit seen in a place, most often 0, is worth 0 there. So if a network adds, digit
    d is worth d; if it subtracts, d is worth -d on the right; and a shift of all answers changes no
    value. A value that the seen combinations do not determine is NaN.
    """
    span = span_of(digits)
    with np.errstate(all="ignore"):
        columns = span.least_squares(digits, means)
        values = np.where(span.determines_values(), columns - columns[span.smallest], np.nan)
    names = [(place, int(digit)) for place, level in enumerate(span.levels) for digit in level]
    return dict(zip(names, values.tolist(), strict=True))


def additivity(digits: Digits, means: Means, seen: Mask) -> tuple[float, float]:
    """How well the values of digits, fitted on seen combinations, add up on unseen ones.

    The score is Lin's (1989) concordance of answers and sums: 1 - their mean squared difference /
    what it would be if they were paired at random. It is 1 if every answer is its sum, and 0 for a
    memory that gives every unseen combination the same answer. (A fit over all combinations would
    give a network that memorised correct sums a high score.) The gap is the root mean squared
    difference. Combinations whose sum the seen ones do not determine are left out.
    """
    span = span_of(digits[seen])
    settled = span.determines(digits[~seen])
    with np.errstate(all="ignore"):  # a network that diverged has NaN here
        sums = span.sums(digits[~seen][settled], span.least_squares(digits[seen], means[seen]))
        answered = means[~seen][settled].astype(np.float64)
        return _concordance(answered, sums), _mean((answered - sums) ** 2) ** 0.5


def mirror_gap(digits: Digits, means: Means) -> float | None:
    """The mean absolute difference of the answers to (a, b) and (b, a); None if there are no two.

    It is meaningful only if the true answers are equal: not for a - b.
    """
    rows = {tuple(each): row for row, each in enumerate(digits.tolist())}
    pairs = [(row, rows.get(each[::-1], row)) for each, row in rows.items()]
    once = [pair for pair in pairs if pair[0] < pair[1]]
    if not once:
        return None
    with np.errstate(all="ignore"):
        return _mean(np.abs(np.diff(means[np.asarray(once)])))


def mean_errors(means: Means, answers: NDArray[np.number], seen: Mask) -> tuple[float, float]:
    """The mean error on seen and on unseen combinations; NaN if there are none."""
    errors = np.subtract(means, answers, dtype=np.float64)
    with np.errstate(all="ignore"):
        return _mean(errors[seen]), _mean(errors[~seen])


def shared_errors(digits: Digits, means: Means, answers: NDArray[np.number], seen: Mask) -> Floats:
    """For every combination, the mean error to expect from its digits' errors in seen ones.

    One error for each digit in each place is fitted to the mean errors of seen combinations. Where
    they do not determine the sum, their overall mean error is expected.
    """
    errors = np.subtract(means, answers, dtype=np.float64)
    span = span_of(digits[seen])
    with np.errstate(all="ignore"):
        expected = span.sums(digits, span.least_squares(digits[seen], errors[seen]))
        return np.where(span.determines(digits), expected, _mean(errors[seen]))


def _concordance(answered: Floats, sums: Floats) -> float:
    """Lin's concordance; NaN if neither answers nor sums vary."""
    if len(answered) < 2:
        return float("nan")
    at_random = float(answered.var() + sums.var() + (answered.mean() - sums.mean()) ** 2)
    rounding = 1e-18 * _mean(answered**2)
    return float("nan") if at_random <= rounding else 1 - _mean((answered - sums) ** 2) / at_random


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")

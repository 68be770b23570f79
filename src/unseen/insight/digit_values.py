"""Does it add, or does it remember? What one network's mean answers to combinations show.

Everything here is asked of one fold: a fit over the networks of many would mix what each fitted.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.problem.identifiability import Digits, Floats, Mask, span_of

Means = NDArray[np.floating]  # (n,): the mean prediction for each combination
Activations = NDArray[np.floating]  # (n, features)

MOST_FEATURES = 1_024
# on pixels and random layers, 1,000 and 3,000 samples: within 2 % of the best from 0.0001 to 10
PENALTY_PER_SAMPLE = 0.3


@dataclass(frozen=True)
class DigitValues:
    """What each digit is worth in each place, on the answers' own scale.

    In every place its smallest seen digit, most often 0, is worth 0, and the constant is the
    answer to all of those together. So where a network adds, d is worth d; where it subtracts, d
    is worth -d on the right; and a shift of all answers is in the constant. Where 0 was never seen
    in a place, `zeros` says who is worth 0. A value that seen combinations leave open is no number.
    """

    constant: float
    values: dict[tuple[int, int], float]  # (place, digit)
    zeros: tuple[int, ...]  # by place, the digit that is worth 0


@dataclass(frozen=True)
class Additivity:
    """How well the values of digits, fitted on seen combinations, add up on unseen ones.

    The score is the concordance of answers and sums (Lin 1989), one less their mean squared gap
    over what it would be if they were paired at random: 1 where each answer is its sum, and 0 for
    a memory that says one and the same to all that is unseen. `explained` is 1 - SSE / SST around
    the answers' mean: no number for such a memory, far below 0 for one that varies but little.
    """

    score: float
    explained: float
    gap: float  # root mean square, between the network's answers and sums
    gap_to_truth: float  # likewise, between the true answers and sums
    combinations: int
    left_out: int  # with a digit never seen in its place, or a sum that the seen ones leave open


@dataclass(frozen=True)
class MirrorGap:
    """The mean absolute difference between answers to (a, b) and (b, a), over so many pairs."""

    gap: float
    pairs: int


def fit_values(digits: Digits, means: Means) -> DigitValues:
    """The values whose sums come nearest to the mean answers to these, seen, combinations."""
    span = span_of(digits)
    zeros = np.asarray([[level[0] for level in span.levels]])
    with np.errstate(all="ignore"):
        columns = span.least_squares(digits, means)
        values = np.where(span.determines_values(), columns - columns[span.smallest], np.nan)
        constant = np.where(span.determines(zeros), span.sums(zeros, columns), np.nan)
    names = [(place, int(digit)) for place, level in enumerate(span.levels) for digit in level]
    by_name = dict(zip(names, values.tolist(), strict=True))
    return DigitValues(float(constant[0]), by_name, tuple(zeros[0].tolist()))


def additivity(digits: Digits, means: Means, answers: NDArray[np.number], seen: Mask) -> Additivity:
    """How well values fitted on the seen combinations add up on the others.

    A fit over all of them would pass correct sums learnt by heart.
    """
    span = span_of(digits[seen])
    settled = span.determines(digits[~seen])
    with np.errstate(all="ignore"):  # a network that diverged has NaN here
        sums = span.sums(digits[~seen][settled], span.least_squares(digits[seen], means[seen]))
        said, true = (each[~seen][settled].astype(np.float64) for each in (means, answers))
        return Additivity(
            *_agreement(said, sums),
            gap=_mean((said - sums) ** 2) ** 0.5,
            gap_to_truth=_mean((true - sums) ** 2) ** 0.5,
            combinations=len(sums),
            left_out=len(settled) - len(sums),
        )


def mirror_gap(digits: Digits, means: Means) -> MirrorGap | None:
    """How far answers to a combination and to its reversal differ; None where none has one.

    It means something only where the true answers are the same: not for a - b.
    """
    rows = {tuple(each): row for row, each in enumerate(digits.tolist())}
    pairs = [(row, rows.get(each[::-1], row)) for each, row in rows.items()]
    once = [pair for pair in pairs if pair[0] < pair[1]]
    if not once:
        return None
    with np.errstate(all="ignore"):
        return MirrorGap(_mean(np.abs(np.diff(means[np.asarray(once)]))), len(once))


def bias(means: Means, answers: NDArray[np.number], seen: Mask) -> tuple[float, float]:
    """The mean error on seen, then on unseen combinations; no number where there are none."""
    errors = np.subtract(means, answers, dtype=np.float64)
    with np.errstate(all="ignore"):
        return _mean(errors[seen]), _mean(errors[~seen])


def shared_errors(digits: Digits, means: Means, answers: NDArray[np.number], seen: Mask) -> Floats:
    """For every combination, the mean error that seen ones with the same digits let one expect.

    Each digit of a place errs by one amount, fitted on the mean errors of seen combinations. Where
    these leave it open, their mean error is all there is to expect.
    """
    errors = np.subtract(means, answers, dtype=np.float64)
    span = span_of(digits[seen])
    with np.errstate(all="ignore"):
        expected = span.sums(digits, span.least_squares(digits[seen], errors[seen]))
        return np.where(span.determines(digits), expected, _mean(errors[seen]))


def probe(
    train: Activations, train_digits: Digits, test: Activations, test_digits: Digits, seed: int = 0
) -> tuple[float, ...]:
    """By place, the share of test samples whose digit a linear reader of a layer gets right.

    The reader is a ridge classifier on standardised features, the same as scikit-learn's, without
    the second that its import takes. Of more than 1,024 features it is shown 1,024 random sums.
    """
    train, test = narrowed(train, seed), narrowed(test, seed)
    with np.errstate(all="ignore"):
        middle, scale = train.mean(axis=0, dtype=np.float64), train.std(axis=0, dtype=np.float64)
        # a feature that never varies says nothing
        scale = np.where(scale <= 1e-9 * np.abs(middle), np.inf, scale)
        features, tested = (train - middle) / scale, (test - middle) / scale
    if not (np.isfinite(features).all() and np.isfinite(tested).all()):
        return tuple(float("nan") for _ in train_digits.T)
    classes = np.unique(train_digits)
    targets = 2.0 * (train_digits[:, :, None] == classes) - 1  # (n, places, classes)
    penalty = PENALTY_PER_SAMPLE * len(features) * np.eye(features.shape[1])
    sides = features.T @ targets.reshape(len(features), -1)
    read = tested @ np.linalg.solve(features.T @ features + penalty, sides)
    scores = read.reshape(len(tested), *targets.shape[1:]) + targets.mean(axis=0)
    return tuple(np.mean(classes[scores.argmax(axis=2)] == test_digits, axis=0).tolist())


def narrowed(activations: Activations, seed: int = 0) -> Activations:
    """Of very many features, 1,024 sums: each feature, with a sign at random, in one of them."""
    if activations.shape[1] <= MOST_FEATURES:
        return activations
    rng = np.random.default_rng(seed)
    count = activations.shape[1]
    order, signs = rng.permutation(count), rng.choice(np.asarray([-1, 1], np.float32), count)
    starts = np.arange(MOST_FEATURES) * count // MOST_FEATURES
    mixed = np.empty((len(activations), MOST_FEATURES))
    with np.errstate(all="ignore"):
        for row, one in enumerate(activations):  # all at once would take as much memory again
            mixed[row] = np.add.reduceat(one[order] * signs, starts)
    return mixed


def _agreement(said: Floats, sums: Floats) -> tuple[float, float]:
    """Concordance, and share explained; no numbers where nothing varies."""
    if len(said) < 2:
        return float("nan"), float("nan")
    spread = float(said.var())
    at_random = spread + float(sums.var()) + float(said.mean() - sums.mean()) ** 2
    squares, rounding = _mean((said - sums) ** 2), 1e-18 * _mean(said**2)
    return (
        float("nan") if at_random <= rounding else 1 - squares / at_random,
        float("nan") if spread <= rounding else 1 - squares / spread,
    )


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")

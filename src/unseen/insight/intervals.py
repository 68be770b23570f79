"""How sure a figure is: intervals and paired tests, with combinations as the sampling unit.

A thousand pictures of one combination are one thing learnt or not, so pictures are not resampled.
All combinations of a fold were answered by one network, so folds are resampled as well.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import sqrt
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Combination = tuple[int, ...]
Values = NDArray[np.float64]

ENUMERATED_UNITS = 12  # up to 4,096 ways to flip their signs: all are tried
FEWEST_FOLDS_TO_FLIP = 6  # with fewer, no difference could have a p-value below 0.05
ALIKE = 0.01  # shares no further apart do not show how far another combination might be off
DRAWN_AT_ONCE = 2_000_000
MOST_DRAWN = 200_000_000  # a few seconds; past 20,000 combinations there are fewer rounds
FEWEST_ROUNDS = 200


@dataclass(frozen=True)
class Interval:
    """A mean over combinations and the interval it may lie in; its ends are NaN if unknown."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """A mean difference over the same combinations, and how likely chance alone makes one as large.

    The signs of whole folds are flipped if there are enough folds. Otherwise those of combinations
    are: then interval and p-value are about these networks only, not about others trained the same
    way. Both come from the same flips: the interval leaves out 0 if and only if p <= 0.05.
    """

    difference: float
    low: float  # of its 95 % interval; NaN if unknown
    high: float
    p_value: float
    combinations: int
    flipped: Literal["folds", "combinations"]


def bootstrap_interval(
    by_fold: Sequence[Values | Sequence[float]],
    *,
    share: bool = False,
    level: float = 0.95,
    rounds: int = 10_000,
    seed: int = 0,
) -> Interval:
    """The mean over combinations, with an interval by a bootstrap of folds and their combinations.

    Each round draws folds with replacement, then combinations within each drawn fold, and takes
    the mean over all: a fold weighs as much as it has combinations. Two things are corrected. Fold
    means also differ because their combinations do, and drawing combinations again would count
    that twice, so fold means are first shrunk together (Davison and Hinkley 1997, section 3.8).
    And few folds show their spread only roughly, so the rounds are widened as Student's t is wider
    than the normal. On simulated folds, 10 of 10, a 95 % interval then covers the truth in 93 to
    97 %, whether networks differ a lot or not at all (without it 89 to 96 %); shares that crowd
    below 1 are harder, and get 88 to 96 %.

    The interval stays in the range of the values. Of a single fold, only combinations are drawn:
    it is about that one network. The ends are NaN if there is one combination or a value that is
    not finite. Values that are all alike show a bootstrap no spread: shares (`share=True`, from 0
    to 1) within a point of each other get the binomial interval of as many combinations; other
    values, where they are equal, get NaN, because nothing bounds an error from above.
    """
    folds = [np.asarray(values, np.float64) for values in by_fold if len(values)]
    if not folds:
        raise ValueError("an interval needs at least one combination; there is none")
    values = np.concatenate(folds)
    with np.errstate(all="ignore"):
        mean = float(values.mean())
    if len(values) == 1 or not np.isfinite(values).all():
        return Interval(mean, np.nan, np.nan)
    if np.ptp(values) <= (ALIKE if share else 0):
        ends = _binomial_ends(mean, len(values), (1 - level) / 2) if share else (np.nan, np.nan)
        return Interval(mean, *ends)
    rng = np.random.default_rng(seed)
    pulled, freedom = _pulled_together(folds)
    means = _bootstrap_means(pulled, rounds, rng)
    means = mean + (means - mean) * np.sqrt(freedom / rng.chisquare(freedom, len(means)))
    quantiles = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(mean, *np.clip(quantiles, values.min(), values.max()).tolist())


def _binomial_ends(share: float, count: int, tail: float) -> tuple[float, float]:
    """Clopper and Pearson's interval where the share is 0 or 1, Wilson's between.

    Near 0 or 1 it takes in both.
    """
    reach = float(tail ** (1 / count))
    if share in (0, 1):
        return (reach, 1.0) if share else (0.0, 1 - reach)
    squared = NormalDist().inv_cdf(tail) ** 2 / count
    middle = share + squared / 2
    half = sqrt(squared * share * (1 - share) + squared**2 / 4)
    low, high = (middle - half) / (1 + squared), (middle + half) / (1 + squared)
    if share >= 1 - ALIKE:
        return min(low, reach), 1.0
    return (0.0, max(high, 1 - reach)) if share <= ALIKE else (low, high)


def paired_comparison(
    ours: Mapping[Combination, float],
    theirs: Mapping[Combination, float],
    folds: Mapping[Combination, int],
    *,
    rounds: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Ours minus theirs, over the combinations that both have.

    The p-value is two-sided: how often the difference is as large if every fold's difference has a
    random sign; the interval is that of the same test. Flipping each combination alone would take
    the luck of one network for many findings: if a third of the variance is between folds, 30 % of
    nulls would have p < 0.05.
    """
    both = sorted(ours.keys() & theirs.keys(), key=lambda each: (folds[each], each))
    if not both:
        raise ValueError("nothing to compare: no combination has a value on both sides")
    differences = np.asarray([ours[each] - theirs[each] for each in both], np.float64)
    of_folds = [folds[each] for each in both]
    _, starts, sizes = np.unique(of_folds, return_index=True, return_counts=True)
    whole_folds = len(starts) >= FEWEST_FOLDS_TO_FLIP
    with np.errstate(all="ignore"):
        mean = float(differences.mean())
        units = np.add.reduceat(differences, starts) if whole_folds else differences
    if not whole_folds:
        sizes = np.ones(len(units), np.intp)
    low, high, p_value = flip_signs(units, sizes, rounds=rounds, seed=seed)
    flipped: Literal["folds", "combinations"] = "folds" if whole_folds else "combinations"
    return Comparison(mean, low, high, p_value, len(both), flipped)


def flip_signs(
    units: Values, sizes: NDArray[np.integer], *, rounds: int = 10_000, seed: int = 0
) -> tuple[float, float, float]:
    """The 95 % interval of the mean of units of these sizes, and its p-value, by flipped signs.

    The p-value is how often the sum of the units, with random signs, is as far from 0 as their own
    sum. That is twice the share of subsets, the flipped ones, whose mean is 0 or beyond it. So the
    interval of all means that would have p > 0.05 lies between quantiles of the means of subsets
    (Hartigan 1969). The empty subset counts on either side, so that no p-value is 0.

    All subsets are tried for up to a dozen units; for more, some are drawn, and the empty one with
    them. The ends are NaN if the units are too few for p <= 0.05, or all alike.
    """
    if not np.isfinite(units).all():
        return np.nan, np.nan, np.nan
    count = len(units)
    if count <= ENUMERATED_UNITS:
        subsets: Iterator[NDArray[Any]] = iter(
            [np.arange(2**count)[:, None] >> np.arange(count) & 1]
        )
    else:
        rng = np.random.default_rng(seed)
        drawn = (rng.integers(0, 2, (some, count), np.int8) for some in _portions(rounds, count))
        subsets = chain([np.zeros((1, count), np.int8)], drawn)
    columns = np.stack([units, sizes], axis=1)
    sums, weights = np.concatenate([each @ columns for each in subsets]).T
    # sums of the same numbers in another order are not the same to the last bit
    least = 1e-12 * np.abs(units).sum()
    beyond = min(np.mean(sums <= least), np.mean(sums >= -least))
    means = np.sort(sums[weights > 0] / weights[weights > 0])
    empty = len(sums) - len(means)
    at = int(0.025 * len(sums)) - empty  # the first that p > 0.05 leaves in, from either end
    known = at >= 0 and means[-1] - means[0] > least
    ends = (float(means[at]), float(means[-1 - at])) if known else (np.nan, np.nan)
    return *ends, min(1.0, float(2 * beyond))


def _pulled_together(folds: Sequence[Values]) -> tuple[list[Values], int]:
    """The values, moved so that a two-stage bootstrap of their mean has the right variance.

    Values keep their spread within a fold; fold means keep the part that is not chance. Returned
    with them: the degrees of freedom of this variance.
    """
    sizes = np.asarray([len(fold) for fold in folds])
    mean = np.concatenate(folds).mean()
    means = np.asarray([fold.mean() for fold in folds])
    rests = [fold - fold.mean() for fold in folds]
    total, count = int(sizes.sum()), len(folds)
    # the variance of the mean over all: as seen between folds, and as combinations alone make it
    unbiased = count / max(count - 1, 1)
    of_folds = float(np.sum((sizes * (means - mean)) ** 2)) * unbiased / total**2
    squares = sum(float(rest @ rest) for rest in rests)
    of_chance = squares / max(total - count, 1) / total
    if count > 1 and of_folds > of_chance:
        kept, freedom = np.sqrt((1 - of_chance / of_folds) * unbiased), count - 1
    else:
        kept, freedom = 0.0, max(total - count, 1)
    # n values drawn from n vary less than n new ones, by (n - 1) / n
    widen = np.sqrt(sizes / np.maximum(sizes - 1, 1))
    pulled = [
        mean + kept * (at - mean) + wider * rest
        for at, wider, rest in zip(means, widen, rests, strict=True)
    ]
    return pulled, freedom


def _bootstrap_means(folds: Sequence[Values], rounds: int, rng: np.random.Generator) -> Values:
    """The mean over all combinations drawn in each round."""
    sizes = np.asarray([len(fold) for fold in folds])
    starts = np.cumsum(sizes) - sizes
    values = np.concatenate(folds)
    places = np.arange(sizes.max())
    each = len(folds) * len(places)
    rounds = min(rounds, max(FEWEST_ROUNDS, MOST_DRAWN // each))
    means = []
    for some in _portions(rounds, each):
        drawn = rng.integers(0, len(folds), (some, len(folds), 1))
        picks = (rng.random((some, len(folds), len(places))) * sizes[drawn]).astype(np.intp)
        inside = places < sizes[drawn]  # a smaller fold fills only some of the places
        sums = np.where(inside, values[starts[drawn] + picks], 0.0).sum(axis=(1, 2))
        means.append(sums / sizes[drawn].sum(axis=(1, 2)))
    return np.concatenate(means)


def _portions(rounds: int, each: int) -> list[int]:
    """The rounds cut into portions that fit in memory."""
    portion = max(1, DRAWN_AT_ONCE // each)
    return [min(portion, rounds - done) for done in range(0, rounds, portion)]

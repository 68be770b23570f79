"""How sure a figure is: intervals and paired tests, with folds as the sampling unit.

All combinations of a fold were answered by one network, and a thousand pictures of one combination
are one thing learnt or not. So what is independent are folds; within a single fold, the networks of
several seeds. With fewer than three of them there is neither interval nor test.

An interval is the union of two. One is Student's t over the units, which is right where these are
spread evenly. Near 0 and 1 they are not: most folds have 98 %, and one has 89 %. There Student's t
misses the truth too often, so the other takes the units for normal in logits (in logarithms, if
they are not shares). Coverage is simulated in tests/analysis/test_intervals.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Unseen = tuple[int, int]  # a combination's fold, and its row of the table of all combinations
Values = NDArray[np.float64]
Unit = Literal["folds", "networks"]

FEWEST_UNITS = 3  # two leave an interval nearly as wide as all that is possible
LEVEL = 0.95
TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
DRAWS = 2_000
POINTS = 24  # of the quadrature of a mean
EQUAL = 1e-12  # values no further apart differ by rounding only
AT_AN_END = 0.005  # shares all this near to 0 or 1 do not show how far another might be off
LEAST_SHARE = 1e-4  # of what a share is off 0 or 1: closer, its logarithm would say too much
LEAST_VARIANCE = 1e-9  # in logits or logarithms: values that are all equal have some, too


@dataclass(frozen=True)
class Interval:
    """A mean and the 95 % interval it may lie in; its ends are NaN if unknown."""

    mean: float
    low: float
    high: float
    unit: Unit = "folds"  # what varies
    units: int = 0


@dataclass(frozen=True)
class Comparison:
    """A mean difference over the same combinations, its 95 % interval, and a paired t test.

    The interval holds Student's, and is wider where shares near 0 or 1 are spread unevenly: there
    it may hold 0 although p is below 0.05. Ends and p are NaN if there are too few units, or all
    have the same difference.
    """

    difference: float
    low: float
    high: float
    p_value: float
    combinations: int
    unit: Unit
    units: int


def mean_interval(by_fold: Sequence[Values | Sequence[float]], *, share: bool = False) -> Interval:
    """The mean over all values, with a 95 % interval over folds; over the values of a single fold.

    Values are shares from 0 to 1, or any numbers. Shares that are the same in every unit, or all
    nearly 0 or 1, do not show their spread, and get Clopper and Pearson's interval of as many
    values as well.
    """
    folds = [np.asarray(values, np.float64) for values in by_fold if len(values)]
    if not folds:
        raise ValueError("an interval needs at least one value; there is none")
    values = np.concatenate(folds)
    unit: Unit = "folds" if len(folds) > 1 else "networks"
    units = _unit_means(folds) if unit == "folds" else values
    with np.errstate(all="ignore"):
        mean = float(values.mean())
    low, high = np.nan, np.nan
    if len(units) >= FEWEST_UNITS and np.isfinite(values).all():
        if np.ptp(units) > EQUAL:
            low, high, _ = _t_test(units)
            others = [_skewed_interval(units[None], share=share)]
            if share and (units.min() >= 1 - AT_AN_END or units.max() <= AT_AN_END):
                others.append(_binomial_interval(mean, len(values)))
            low = np.fmin(low, min(each[0] for each in others))
            high = np.fmax(high, max(each[1] for each in others))
            low, high = np.clip((low, high), 0, 1) if share else (low, high)
        elif share:  # nothing bounds other values from above
            low, high = _binomial_interval(mean, len(values))
    return Interval(mean, float(low), float(high), unit, len(units))


def paired_comparison(
    pairs: Mapping[Unseen, Mapping[int, tuple[float, float]]], *, share: bool = False
) -> Comparison:
    """The mean of first less second values, by combination in its fold and by seed, and its test.

    The unit is a fold, with all its combinations and seeds: p is about other folds with networks
    that are trained alike. Within a single fold it is a seed, and p is about this fold alone.
    """
    is_single = len({fold for fold, _ in pairs}) == 1
    by_unit: dict[int, list[tuple[float, float]]] = {}
    for (fold, _), by_seed in pairs.items():
        for seed, pair in by_seed.items():
            by_unit.setdefault(seed if is_single else fold, []).append(pair)
    if not by_unit:
        raise ValueError("nothing to compare: no combination has a value on both sides")
    both = [np.asarray(each, np.float64) for each in by_unit.values()]
    first, second = (_unit_means([each[:, side] for each in both]) for side in (0, 1))
    low, high, p_value = np.nan, np.nan, np.nan
    with np.errstate(all="ignore"):
        units = first - second
        difference = float(np.concatenate(both).mean(axis=0) @ (1, -1))
    if len(units) >= FEWEST_UNITS and np.isfinite(units).all() and np.ptp(units) > EQUAL:
        low, high, p_value = _t_test(units)
        skewed = _skewed_interval(np.stack([first, second]), share=share)
        low, high = np.fmin(low, skewed[0]), np.fmax(high, skewed[1])
        low, high = np.clip((low, high), -1, 1) if share else (low, high)
    unit: Unit = "networks" if is_single else "folds"
    return Comparison(difference, float(low), float(high), p_value, len(pairs), unit, len(by_unit))


def _unit_means(units: Sequence[Values]) -> Values:
    """A value for each unit whose mean is the mean over all values, however large the units are.

    Of units of one size, these are their means. A larger unit moves the mean over all by more.
    """
    sizes = np.asarray([len(unit) for unit in units])
    with np.errstate(all="ignore"):
        means = np.asarray([unit.mean() for unit in units])
        mean = np.concatenate(units).mean()
        return np.asarray(mean + sizes / sizes.mean() * (means - mean))


def _t_test(units: Values) -> tuple[float, float, float]:
    """Student's interval of the mean, and the p-value of a mean of 0."""
    from scipy.special import stdtr, stdtrit  # scipy.stats takes half a second to import

    mean, error = units.mean(), units.std(ddof=1) / np.sqrt(len(units))
    away = stdtrit(len(units) - 1, TAILS[1]) * error
    p_value = 2 * stdtr(len(units) - 1, -abs(mean) / error)
    return float(mean - away), float(mean + away), float(p_value)


def _skewed_interval(units: Values, *, share: bool) -> tuple[float, float]:
    """The interval of a mean, or of the first less the second of two, from (1 or 2, n) units.

    They are taken for normal in logits or in logarithms. Each draw takes a covariance and centres
    that could have given these data, and works out the means that belong to them (generalised
    pivots, Krishnamoorthy and Mathew 2003). NaN for numbers that are not all positive.
    """
    if share:
        clipped = np.clip(units, LEAST_SHARE, 1 - LEAST_SHARE)
        transformed = np.log(clipped / (1 - clipped))
    elif units.min() > 0:
        transformed = np.log(units)
    else:
        return np.nan, np.nan
    rank, count = transformed.shape
    spread = np.atleast_2d(np.cov(transformed)) * (count - 1) + LEAST_VARIANCE * np.eye(rank)
    wishart, normal = _pivots(rank, count)
    inverse = np.linalg.cholesky(np.linalg.inv(spread)) @ wishart
    covariance = np.linalg.inv(inverse @ inverse.transpose(0, 2, 1))
    away = (np.linalg.cholesky(covariance) @ normal)[..., 0] / np.sqrt(count)
    centre, variance = transformed.mean(axis=1) + away, np.diagonal(covariance, axis1=1, axis2=2)
    with np.errstate(over="ignore", invalid="ignore"):
        if share:
            points, weights = np.polynomial.hermite_e.hermegauss(POINTS)
            logits = centre[..., None] + np.sqrt(variance)[..., None] * points
            means = (1 / (1 + np.exp(-logits))) @ (weights / weights.sum())
        else:
            means = np.exp(centre + variance / 2)
        low, high = np.quantile(means[:, 0] - (means[:, 1] if rank == 2 else 0), TAILS)
    return float(low), float(high)


@cache
def _pivots(rank: int, count: int) -> tuple[Values, Values]:
    """Roots of Wishart matrices by Bartlett, and normal vectors; the same for all data."""
    rng = np.random.default_rng(0)
    roots = np.zeros((DRAWS, rank, rank))
    for row in range(rank):  # the variance of each side then is as of that side alone
        roots[:, row, row] = np.sqrt(rng.chisquare(count + rank - 2 - row, DRAWS))
        roots[:, row, :row] = rng.standard_normal((DRAWS, row))
    return roots, rng.standard_normal((DRAWS, rank, 1))


def _binomial_interval(share: float, count: int) -> tuple[float, float]:
    """Clopper and Pearson's, also for a share that is no whole number of so many."""
    from scipy.special import betaincinv

    right = share * count
    low = betaincinv(right, count - right + 1, TAILS[0]) if right > 0 else 0.0
    high = betaincinv(right + 1, count - right, TAILS[1]) if right < count else 1.0
    return float(low), float(high)

import math
from itertools import product

import numpy as np
import pytest

from unseen.analysis.digit_values import additivity, fit_values, mean_errors, mirror_gap

PAIRS = np.asarray([*product(range(10), repeat=2)])
SUMS = PAIRS.sum(axis=1)


def a_split(digits, unseen=10, seed=0):
    """All but some combinations are seen."""
    seen = np.ones(len(digits), bool)
    seen[np.random.default_rng(seed).permutation(len(digits))[:unseen]] = False
    return seen


SEEN = a_split(PAIRS)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_where_a_network_adds_a_digit_is_worth_itself(length):
    digits = np.asarray([*product(range(10), repeat=length)])
    seen = a_split(digits, len(digits) // 10) | (length == 1)
    values = fit_values(digits[seen], digits.sum(axis=1)[seen].astype(np.float32))
    assert [*values] == [*product(range(length), range(10))]
    for (_, digit), value in values.items():
        assert value == pytest.approx(digit, abs=1e-9)


@pytest.mark.parametrize(("sign", "shift"), [(-1, 0.0), (1, -2.0), (-1, 3.0)])
def test_where_it_subtracts_a_digit_is_worth_less_than_nothing_and_a_shift_changes_no_value(
    sign, shift
):
    values = fit_values(PAIRS[SEEN], (PAIRS[:, 0] + sign * PAIRS[:, 1])[SEEN] + shift)
    assert values[0, 7] == pytest.approx(7)
    assert values[1, 7] == pytest.approx(7 * sign)


def test_where_zero_was_never_seen_the_smallest_digit_is_worth_nothing():
    seen = PAIRS[:, 0] > 0
    values = fit_values(PAIRS[seen], SUMS[seen].astype(float))
    assert (0, 0) not in values
    assert values[0, 1] == 0
    assert values[0, 9] == pytest.approx(8)


def test_a_value_that_seen_combinations_leave_open_is_no_number():
    seen = SUMS % 2 == 0  # even with even, odd with odd: nothing ties the two together
    values = fit_values(PAIRS[seen], SUMS[seen].astype(float))
    assert values[0, 4] == pytest.approx(4)
    assert math.isnan(values[0, 3])
    score, gap = additivity(PAIRS, SUMS.astype(float), seen)
    assert math.isnan(score)
    assert math.isnan(gap)


def test_a_predictor_that_adds_scores_1():
    worth = np.asarray([0.0, 1.5, 1.7, 3, 4, 5.5, 6, 6.2, 8, 9])
    means = 0.5 + worth[PAIRS[:, 0]] - 2 * worth[PAIRS[:, 1]]
    score, gap = additivity(PAIRS, means, SEEN)
    assert score == pytest.approx(1)
    assert gap == pytest.approx(0, abs=1e-9)


def test_a_memory_that_says_the_same_to_all_unseen_scores_0():
    means = np.where(SEEN, SUMS, SUMS[SEEN].mean())
    score, gap = additivity(PAIRS, means, SEEN)
    assert score == pytest.approx(0)
    # its values are those of addition, learnt from what it knows by heart
    assert gap == pytest.approx(np.sqrt(np.mean((SUMS - means)[~SEEN] ** 2)))


def test_a_product_is_not_a_sum():
    score, gap = additivity(PAIRS, PAIRS.prod(axis=1).astype(float), SEEN)
    assert score < 0.97
    assert gap > 3


def test_the_score_is_lins_concordance():
    rng = np.random.default_rng(1)
    means = SUMS + np.where(SEEN, 0, rng.standard_normal(100))
    answered, sums = means[~SEEN], SUMS[~SEEN]
    covariance = np.mean((answered - answered.mean()) * (sums - sums.mean()))
    at_random = answered.var() + sums.var() + (answered.mean() - sums.mean()) ** 2
    assert additivity(PAIRS, means, SEEN)[0] == pytest.approx(2 * covariance / at_random)


def test_a_digit_never_seen_in_its_place_is_left_out():
    seen = SEEN & (PAIRS[:, 1] != 4)
    assert additivity(PAIRS, SUMS.astype(float), seen)[0] == pytest.approx(1)


def test_one_unseen_combination_has_a_gap_but_no_score():
    seen = np.arange(100) != 42
    score, gap = additivity(PAIRS, SUMS + 0.5 * ~seen, seen)
    assert gap == pytest.approx(0.5)
    assert math.isnan(score)


@pytest.mark.parametrize("astray", [math.nan, math.inf])
def test_a_network_gone_astray_has_no_structure(astray):
    means = SUMS.astype(float)
    means[[3, 30]] = astray
    seen = np.arange(100) != 30
    values = fit_values(PAIRS[seen], means[seen])
    assert not math.isfinite(values[0, 5])
    assert not math.isfinite(additivity(PAIRS, means, seen)[1])
    assert math.isnan(mirror_gap(PAIRS, means))
    assert not math.isfinite(mean_errors(means, SUMS, seen)[0])


def test_a_network_that_always_says_the_same_has_no_score():
    score, gap = additivity(PAIRS, np.full(100, 8.7), SEEN)
    assert math.isnan(score)
    assert gap == pytest.approx(0, abs=1e-9)


def test_a_combination_and_its_reversal_are_compared_once():
    assert mirror_gap(PAIRS, SUMS.astype(float)) == 0
    assert mirror_gap(PAIRS, PAIRS[:, 0].astype(float)) == pytest.approx(165 / 45)
    digits = np.asarray([(1, 2, 3), (3, 2, 1), (2, 1, 3), (4, 5, 4)])
    assert mirror_gap(digits, np.asarray([6.0, 8.0, 0.0, 1.0])) == 2
    assert mirror_gap(np.asarray([(1, 2), (3, 3)]), np.asarray([3.0, 6.0])) is None


def test_mean_errors_are_of_seen_and_of_unseen_combinations():
    found = mean_errors(SUMS + np.where(SEEN, -0.5, 2.0), SUMS, SEEN)
    assert found == pytest.approx((-0.5, 2))
    assert math.isnan(mean_errors(SUMS.astype(float), SUMS, np.ones(100, bool))[1])

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unseen.insight import intervals
from unseen.insight.intervals import bootstrap_interval, flip_signs, paired_comparison


def simulated_folds(rng, sizes, fold_share, mean=0.0):
    """Values of variance 1 around a mean, so much of it shared by all of a fold."""
    return [
        mean + fold_share**0.5 * rng.standard_normal() + within
        for within in ((1 - fold_share) ** 0.5 * rng.standard_normal(size) for size in sizes)
    ]


def as_mappings(folds):
    """Differences by combination, zeros to hold them against, and the fold of each."""
    values = {
        (number, row): float(value)
        for number, fold in enumerate(folds, start=1)
        for row, value in enumerate(fold)
    }
    return values, dict.fromkeys(values, 0.0), {each: each[0] for each in values}


@pytest.mark.parametrize(
    ("sizes", "fold_share"),
    [
        ([10] * 10, 0.0),
        ([10] * 10, 0.3),
        ([10] * 10, 0.8),
        ([*range(1, 11), *range(9, 0, -1)], 0.3),
    ],
)
def test_an_interval_covers_the_truth_at_its_rate(sizes, fold_share):
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        interval = bootstrap_interval(simulated_folds(rng, sizes, fold_share), rounds=500)
        covered += interval.low <= 0 <= interval.high
    assert 0.90 <= covered / 400 <= 0.985


def test_an_interval_covers_less_at_a_lower_level():
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(400):
        folds = simulated_folds(rng, [10] * 10, 0.3)
        interval = bootstrap_interval(folds, level=0.5, rounds=500)
        covered += interval.low <= 0 <= interval.high
    assert 0.43 <= covered / 400 <= 0.57


def test_the_mean_is_over_combinations_not_over_folds():
    interval = bootstrap_interval([np.ones(9), np.zeros(1)])
    assert interval.mean == 0.9
    assert 0 <= interval.low <= 0.9 <= interval.high <= 1


def test_networks_that_differ_make_a_wider_interval_than_combinations_that_do():
    values = np.linspace(0, 1, 100)
    alike = bootstrap_interval([*values.reshape(10, 10).T])
    different = bootstrap_interval([*values.reshape(10, 10)])
    assert different.high - different.low > 3 * (alike.high - alike.low)


def test_folds_that_do_not_differ_count_as_one():
    apart = bootstrap_interval([np.linspace(0, 1, 20)] * 5)
    together = bootstrap_interval([np.tile(np.linspace(0, 1, 20), 5)])
    assert apart.low == pytest.approx(together.low, abs=0.01)
    assert apart.high == pytest.approx(together.high, abs=0.01)


def test_an_interval_depends_on_its_seed_alone():
    folds = simulated_folds(np.random.default_rng(3), [10] * 10, 0.3)
    assert bootstrap_interval(folds) == bootstrap_interval(folds)
    assert bootstrap_interval(folds).low != bootstrap_interval(folds, seed=1).low


def test_rounds_in_portions_are_as_good(monkeypatch):
    folds = simulated_folds(np.random.default_rng(4), [3, 10, 7], 0.3)
    whole = bootstrap_interval(folds)
    monkeypatch.setattr(intervals, "DRAWN_AT_ONCE", 1000)
    parts = bootstrap_interval(folds)
    assert parts.low == pytest.approx(whole.low, abs=0.1)
    assert parts.high == pytest.approx(whole.high, abs=0.1)


def test_one_fold_has_its_combinations_drawn():
    interval = bootstrap_interval([np.asarray([0.0, 0.5, 1.0, 0.5])])
    assert interval.mean == 0.5
    assert 0 <= interval.low < 0.5 < interval.high <= 1


def test_folds_of_one_combination_are_drawn_as_folds():
    values = np.linspace(0, 1, 20)
    singles = bootstrap_interval([values[row : row + 1] for row in range(20)])
    one_fold = bootstrap_interval([values])
    assert singles.low == pytest.approx(one_fold.low, abs=0.02)
    assert singles.high == pytest.approx(one_fold.high, abs=0.02)


def test_one_combination_has_no_interval():
    interval = bootstrap_interval([np.asarray([0.7])])
    assert interval.mean == 0.7
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)


@pytest.mark.parametrize("astray", [math.nan, math.inf])
def test_a_network_gone_astray_has_no_interval(astray):
    interval = bootstrap_interval([np.asarray([0.7, astray]), np.asarray([0.5, 0.2])])
    assert not math.isfinite(interval.mean)
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)


def test_six_pairs_all_right_are_bounded_as_a_binomial_share():
    interval = bootstrap_interval([np.ones(3)] * 2, share=True)
    assert (interval.mean, interval.high) == (1, 1)
    assert interval.low == pytest.approx(0.541, abs=5e-4)
    wrong = bootstrap_interval([np.zeros(6)], share=True)
    assert (wrong.low, wrong.high) == (0, pytest.approx(1 - interval.low))


@pytest.mark.parametrize("last", [1.0, 0.9995, 0.995, 0.991])
def test_pairs_that_are_all_but_right_are_bounded_like_those_that_are(last):
    interval = bootstrap_interval([[1.0] * 3, [1.0, 1.0, last]], share=True)
    assert interval.mean == pytest.approx((5 + last) / 6)
    assert (interval.low, interval.high) == (pytest.approx(0.025 ** (1 / 6)), 1.0)
    wrong = bootstrap_interval([[0.0] * 3, [0.0, 0.0, 1 - last]], share=True)
    assert (wrong.low, wrong.high) == pytest.approx((0.0, 1 - 0.025 ** (1 / 6)))
    many = bootstrap_interval([[last] * 1_000], share=True)
    assert many.low <= many.mean <= many.high


@pytest.mark.parametrize("count", [2, 6, 40])
def test_shares_all_equal_have_the_textbooks_ends(count):
    """Clopper and Pearson: at the end, all right has probability 2.5 %. Wilson: a score test's."""
    low = bootstrap_interval([np.ones(count)], share=True).low
    assert low**count == pytest.approx(0.025)
    half = bootstrap_interval([np.full(count, 0.5)], share=True)
    for end in (half.low, half.high):
        assert abs(0.5 - end) / (end * (1 - end) / count) ** 0.5 == pytest.approx(1.96, abs=1e-3)


def test_errors_all_equal_have_no_interval():
    interval = bootstrap_interval([np.full(10, 0.25)] * 10)
    assert interval.mean == 0.25
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)


def test_no_combinations_are_refused():
    with pytest.raises(ValueError, match="at least one combination"):
        bootstrap_interval([np.empty(0)])
    with pytest.raises(ValueError, match="nothing to compare"):
        paired_comparison({(1, 2): 0.5}, {(2, 1): 0.5}, {(1, 2): 1, (2, 1): 1})


@given(st.lists(st.lists(st.floats(0, 1), max_size=5), min_size=1, max_size=5).filter(any))
def test_an_interval_stays_in_the_range_of_its_values(folds):
    interval = bootstrap_interval([np.asarray(fold) for fold in folds], rounds=50)
    values = [value for fold in folds for value in fold]
    if len({*values}) > 1:
        assert min(values) <= interval.low <= interval.high <= max(values)


@pytest.mark.parametrize(
    ("sizes", "fold_share", "flipped"),
    [([10] * 10, 0.0, "folds"), ([10] * 10, 0.5, "folds"), ([20], 0.0, "combinations")],
)
def test_without_a_difference_all_p_values_are_alike(sizes, fold_share, flipped):
    rng = np.random.default_rng(5)
    p_values = []
    for _ in range(400):
        folds = simulated_folds(rng, sizes, fold_share)
        comparison = paired_comparison(*as_mappings(folds), rounds=200)
        assert comparison.flipped == flipped
        p_values.append(comparison.p_value)
    for level in (0.05, 0.25, 0.5, 0.75):
        deviation = (level * (1 - level) / 400) ** 0.5
        assert np.mean(np.asarray(p_values) <= level) == pytest.approx(level, abs=3 * deviation)


def test_a_true_difference_is_found():
    rng = np.random.default_rng(6)
    found = covered = 0
    for _ in range(100):
        folds = simulated_folds(rng, [10] * 10, 0.2, mean=0.7)
        comparison = paired_comparison(*as_mappings(folds), rounds=500)
        found += comparison.p_value <= 0.05
        covered += comparison.low <= 0.7 <= comparison.high
    assert found >= 90
    assert covered >= 88


def test_a_comparison_is_of_what_both_have():
    ours = {(1, 2): 0.9, (3, 4): 0.5, (5, 6): 1.0}
    theirs = {(3, 4): 0.25, (1, 2): 0.4, (7, 8): 0.0}
    folds = {(1, 2): 1, (3, 4): 2, (5, 6): 1, (7, 8): 3}
    comparison = paired_comparison(ours, theirs, folds)
    assert comparison.combinations == 2
    assert comparison.difference == pytest.approx(0.375)
    assert comparison.p_value == 0.5  # both alike in sign: 2 of the 4 ways
    back = paired_comparison(theirs, ours, folds)
    assert back.difference == -comparison.difference
    assert back.p_value == comparison.p_value


def p_value_of(units, **how):
    return flip_signs(units, np.ones(len(units)), **how)[2]


def test_few_units_have_all_their_signs_tried():
    units = np.random.default_rng(7).standard_normal(10)
    ways = [abs(np.dot(signs, units)) for signs in product((1, -1), repeat=10)]
    expected = np.mean(np.asarray(ways) >= abs(units.sum()) - 1e-9)
    assert p_value_of(units) == expected
    assert p_value_of(np.ones(12)) == 2 / 4096


def test_no_drawn_p_value_is_zero():
    assert p_value_of(np.ones(100), rounds=999) == 2 / 1000


@pytest.mark.parametrize("count", [5, 50])
def test_no_difference_at_all_has_p_value_1(count):
    assert p_value_of(np.zeros(count)) == 1


@given(
    st.lists(st.lists(st.integers(-9, 9), min_size=1, max_size=4), min_size=1, max_size=16),
    st.sampled_from([1, 1000]),
)
def test_an_interval_leaves_out_zero_just_where_the_p_value_is_small(folds, outlier):
    folds[0][0] *= outlier  # one wild fold widens a bootstrap and leaves signs as they are
    compared = paired_comparison(*as_mappings(folds), rounds=300)
    if math.isnan(compared.low):
        assert compared.p_value > 0.05 or len({sum(f) / len(f) for f in folds}) == 1
    else:
        assert (compared.low > 0 or compared.high < 0) == (compared.p_value <= 0.05)
        assert compared.low <= compared.difference <= compared.high


def test_all_that_the_interval_holds_would_not_be_rejected():
    units, sizes = np.random.default_rng(8).standard_normal(9), np.arange(1, 10)
    low, high, _ = flip_signs(units, sizes)
    for inside, outside in ((low + 1e-9, low - 1e-9), (high - 1e-9, high + 1e-9)):
        assert flip_signs(units - inside * sizes, sizes)[2] > 0.05
        assert flip_signs(units - outside * sizes, sizes)[2] <= 0.05


def test_a_run_gone_astray_is_compared_without_a_p_value():
    folds = [np.asarray([1.0, math.nan])] + [np.ones(2)] * 9
    comparison = paired_comparison(*as_mappings(folds))
    assert math.isnan(comparison.difference)
    assert math.isnan(comparison.p_value)
    assert math.isnan(comparison.low)

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unseen.analysis import intervals
from unseen.analysis.intervals import mean_interval, paired_comparison

SIZES = ((1, 3), (1, 10), (3, 1), (3, 3), (6, 2), (10, 1), (10, 10))  # folds and seeds
REPEATS = 300
SPREADS = {"folds": (1.0, 0.2), "seeds": (0.2, 1.0)}  # in logits, of folds and of seeds


@pytest.fixture(autouse=True, scope="module")
def _fewer_draws():
    """A quarter of the draws has the same coverage in a quarter of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "DRAWS", 500)
        intervals._pivots.cache_clear()
        yield
    intervals._pivots.cache_clear()


def expit(logits):
    return 1 / (1 + np.exp(-logits))


def simulated(rng, level, spreads, shape, folds=None):
    """Accuracies of networks, by fold and seed, that are normal in logits."""
    of_folds, of_seeds = spreads
    folds = rng.standard_normal((*shape[:-1], 1)) if folds is None else folds
    centre = math.log(level / (1 - level))
    return expit(centre + of_folds * folds + of_seeds * rng.standard_normal(shape))


def coverage(sizes, draw, repeats=REPEATS):
    """Asserts that intervals hold the truth; `draw` gives an interval and the truth."""
    for folds, seeds in sizes:
        rng = np.random.default_rng(folds * 100 + seeds)
        covered = 0
        for _ in range(repeats):
            found, truth = draw(rng, (folds, seeds))
            covered += found.low <= truth <= found.high
        assert covered / repeats >= 0.92, f"{folds} folds of {seeds} seeds: {covered / repeats}"


@pytest.mark.parametrize("level", [0.02, 0.5, 0.98])
@pytest.mark.parametrize("dominating", SPREADS)
def test_an_interval_covers_the_truth_in_92_percent_at_every_size(level, dominating):
    spreads = SPREADS[dominating]
    of_all = simulated(np.random.default_rng(1), level, spreads, (200_000, 1)).mean()

    def draw(rng, shape):
        # of a single fold, the truth is what other seeds would get on this fold
        effects = rng.standard_normal((shape[0], 1))
        values = simulated(rng, level, spreads, shape, effects)
        truth = of_all
        if shape[0] == 1:
            truth = simulated(rng, level, spreads, (1, 20_000), effects).mean()
        return mean_interval([*values], share=True), truth

    coverage(SIZES, draw, REPEATS // (1 if level == 0.98 else 2))


@pytest.mark.parametrize(("level", "size"), [(0.02, 5), (0.98, 5), (0.995, 20), (0.5, 2)])
def test_an_interval_covers_the_mean_of_accuracies_that_crowd_at_an_end(level, size):
    """Beta distributions: most folds have all right, and a few have much less."""

    def draw(rng, shape):
        values = rng.beta(level * size, (1 - level) * size, shape)
        return mean_interval([*values], share=True), level

    coverage(((1, 3), (3, 1), (5, 1), (3, 3), (10, 1)), draw)


@pytest.mark.parametrize("levels", [(0.99, 0.97), (0.97, 0.01), (0.55, 0.5)])
@pytest.mark.parametrize("dominating", SPREADS)
def test_the_interval_of_a_difference_covers_it_in_92_percent(levels, dominating):
    def two_networks(rng, shape):
        folds = rng.standard_normal((*shape[:-1], 1))  # as hard for both
        return [simulated(rng, level, SPREADS[dominating], shape, folds) for level in levels]

    ours, theirs = two_networks(np.random.default_rng(2), (200_000, 1))
    truth = float((ours - theirs).mean())

    def draw(rng, shape):
        return paired_comparison(as_pairs(*two_networks(rng, shape)), share=True), truth

    coverage(((3, 1), (3, 3), (10, 1)), draw)


def as_pairs(ours, theirs):
    """Values by fold and seed, each of one combination, as paired_comparison takes them."""
    return {
        (fold, 0): {seed: (ours[fold, seed], theirs[fold, seed]) for seed in range(ours.shape[1])}
        for fold in range(len(ours))
    }


@pytest.mark.parametrize("seeds", [1, 3])
def test_without_a_difference_five_percent_of_p_values_are_below_5_percent(seeds):
    rng = np.random.default_rng(5)
    p_values = []
    for _ in range(600):
        ours, theirs = rng.standard_normal((2, 10, seeds))
        p_values.append(paired_comparison(as_pairs(ours, theirs)).p_value)
    for level in (0.05, 0.25, 0.5, 0.75):
        deviation = (level * (1 - level) / 600) ** 0.5
        assert np.mean(np.asarray(p_values) <= level) == pytest.approx(level, abs=3 * deviation)


@pytest.mark.parametrize("folds", [[[0.9]], [[0.9, 0.8]], [[0.9] * 10, [0.8] * 10]])
def test_fewer_than_three_units_have_no_interval(folds):
    found = mean_interval(folds, share=True)
    assert found.mean == pytest.approx(np.mean(np.concatenate(folds)))
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert found.units < 3


def test_evenly_spread_folds_have_students_interval():
    folds = [[value, value + 0.02] for value in (0.48, 0.52, 0.50, 0.47, 0.53)]
    means = np.mean(folds, axis=1)
    low, high = stats.ttest_1samp(means, 0).confidence_interval(0.95)
    found = mean_interval(folds, share=True)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.003)
    assert (found.unit, found.units) == ("folds", 5)


def test_more_combinations_or_seeds_in_a_fold_do_not_narrow_it_by_themselves():
    few = mean_interval([[0.9], [0.5], [0.7]], share=True)
    many = mean_interval([[0.9] * 50, [0.5] * 50, [0.7] * 50], share=True)
    assert (many.low, many.high) == pytest.approx((few.low, few.high))


def test_the_mean_is_over_combinations_not_over_folds():
    assert mean_interval([np.ones(9), np.zeros(1), np.ones(2)]).mean == pytest.approx(11 / 12)


def test_a_share_that_is_always_the_same_is_bounded_as_a_binomial_one():
    """Clopper and Pearson: at the end, all right has probability 2.5 %."""
    found = mean_interval([np.ones(2)] * 3, share=True)
    assert (found.mean, found.high) == (1, 1)
    assert found.low**6 == pytest.approx(0.025)
    wrong = mean_interval([np.zeros(2)] * 3, share=True)
    assert (wrong.low, wrong.high) == (0, pytest.approx(1 - found.low))


def test_errors_all_equal_have_no_interval():
    found = mean_interval([np.full(10, 0.25)] * 10)
    assert found.mean == 0.25
    assert math.isnan(found.low)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_network_that_diverged_leaves_no_interval_and_no_test(value):
    found = mean_interval([[0.7, value], [0.5, 0.2], [0.1, 0.3]])
    assert not math.isfinite(found.mean)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    ours = np.asarray([[value], [1], [1], [1]])
    compared = paired_comparison(as_pairs(ours, np.zeros((4, 1))))
    assert not math.isfinite(compared.difference)
    assert math.isnan(compared.p_value)


@given(st.lists(st.lists(st.floats(0, 1), max_size=4), min_size=1, max_size=5).filter(any))
def test_an_interval_of_shares_holds_its_mean_and_stays_from_0_to_1(folds):
    found = mean_interval(folds, share=True)
    if not math.isnan(found.low):
        assert 0 <= found.low <= found.mean + 1e-9
        assert found.mean - 1e-9 <= found.high <= 1


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=3, max_size=8))
def test_swapping_the_sides_of_a_comparison_turns_it_round(values):
    ours, theirs = np.asarray(values)[:, :1], np.asarray(values)[:, 1:]
    there = paired_comparison(as_pairs(ours, theirs), share=True)
    back = paired_comparison(as_pairs(theirs, ours), share=True)
    assert back.difference == pytest.approx(-there.difference)
    assert back.p_value == pytest.approx(there.p_value, nan_ok=True)
    if there.p_value > 0.05:
        assert there.low <= 0 <= there.high


def test_the_units_of_a_comparison_are_folds_and_within_one_fold_seeds():
    values = np.random.default_rng(3).random((2, 4, 3))
    found = paired_comparison(as_pairs(*values))
    assert (found.unit, found.units, found.combinations) == ("folds", 4, 4)
    of_folds = stats.ttest_1samp((values[0] - values[1]).mean(axis=1), 0)
    assert found.p_value == pytest.approx(of_folds.pvalue)
    single = paired_comparison({(1, row): {seed: tuple(values[:, row, seed]) for seed in range(3)}
                                for row in range(4)})  # fmt: skip
    assert (single.unit, single.units, single.combinations) == ("networks", 3, 4)
    of_seeds = stats.ttest_1samp((values[0] - values[1]).mean(axis=0), 0)
    assert single.p_value == pytest.approx(of_seeds.pvalue)


def test_two_folds_have_a_difference_and_no_test():
    found = paired_comparison(as_pairs(np.ones((2, 5)), np.zeros((2, 5))), share=True)
    assert found.difference == 1
    assert math.isnan(found.p_value)
    assert math.isnan(found.low)


def test_nothing_to_average_or_to_compare_is_refused():
    with pytest.raises(ValueError, match="at least one value"):
        mean_interval([[]])
    with pytest.raises(ValueError, match="nothing to compare"):
        paired_comparison({})

"""What a run is said to show, for networks of which we know what they do."""

import math
from pathlib import Path

import pytest
from conftest import write_symbols
from made_up_runs import (
    astray,
    by_heart,
    exact,
    made_up_run,
    misreading,
    noisy,
    shifted,
    summary_of,
)

from unseen.analysis.error_parts import mean_error_parts
from unseen.analysis.statistics import spread
from unseen.analysis.verdict import judge
from unseen.runs.presets import PRESETS


@pytest.fixture
def small(tmp_path: Path):
    """An experiment on a few made-up symbols."""
    symbols = str(write_symbols(tmp_path / "symbols"))

    def experiment(name: str = "fast", **problem: object):
        settings = {"symbols": symbols, "test_samples": 12, **problem}
        return PRESETS[name]().vary(**settings)

    return experiment


def test_one_that_adds_is_told_so(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(), exact))
    assert judge(summary) == "yes"
    assert summary.structure.additivity.mean == pytest.approx(1)
    assert summary.structure.mirror_gap.mean == 0
    assert summary.structure.values[1, 7].mean == pytest.approx(7)
    assert (summary.headline.mean, summary.error.mean) == (1, 0)


@pytest.mark.parametrize("operation", ["add", "table:1"])
def test_one_that_only_remembers_is_told_so(small, tmp_path, operation):
    summary = summary_of(made_up_run(tmp_path, small(operation=operation), by_heart))
    assert judge(summary) == "no"
    assert summary.headline.mean == pytest.approx(0.1)
    assert summary.constant == pytest.approx(0.1)
    assert summary.quadrants["seen_test"]["rounded"].mean == 1
    assert summary.error_parts.wrong / summary.error_parts.mse > 0.9


def test_misread_digits_are_blamed_where_they_are(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(), misreading))
    left, right = summary.error_parts.misread
    assert left > 10 * abs(right)


def test_the_errors_of_combinations_make_up_the_error_of_all(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(), misreading))
    by_combination = [score.error_parts for score in summary.scores]
    assert mean_error_parts(by_combination).misread == pytest.approx(summary.error_parts.misread)
    assert all(parts.misread[0] > 1 > parts.misread[1] for parts in by_combination)


def test_a_shift_that_seen_pairs_share_is_no_wrong_sum(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(), shifted))
    assert summary.error_parts.shift == pytest.approx(4)
    assert summary.error_parts.wrong == pytest.approx(0, abs=1e-9)
    assert judge(summary) == "shifted"
    assert summary.structure.seen_mean_error.mean == pytest.approx(-2)


def test_a_shift_is_taken_off_as_seen_pairs_have_it(small, tmp_path):
    assert summary_of(made_up_run(tmp_path, small(), shifted)).unshifted["rounded"].mean == 1.0


def test_what_only_unseen_pairs_get_wrong_is_not_taken_off(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(), by_heart))
    assert summary.unshifted["test_mse"] == summary.spreads["test_mse"]
    assert summary.unshifted["rounded"] == summary.spreads["rounded"]


def test_a_network_that_went_astray_has_a_verdict(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(), astray, [1, 2]))
    assert judge(summary) == "diverged"
    assert math.isnan(summary.error.mean)


def test_figures_are_those_of_the_folds(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(), noisy))
    rounded = spread([result.measures["rounded"] for result in summary.results])
    assert summary.headline.mean == pytest.approx(rounded.mean)
    assert summary.error.mean == pytest.approx(summary.spreads["test_mse"].mean)
    assert summary.headline.low < summary.headline.mean < summary.headline.high
    assert len({score.combination for score in summary.scores}) == len(summary.scores) == 100
    one = summary.scores[0]
    assert one.answer == sum(one.combination)
    assert one.samples == 12


def test_mirrors_are_compared_only_where_they_have_one_answer(small, tmp_path):
    assert summary_of(made_up_run(tmp_path, small(), noisy, [1])).structure.mirror_gap is not None
    for operation in ("subtract", "table:1"):
        run = made_up_run(tmp_path, small(operation=operation), noisy, [1])
        assert summary_of(run).structure.mirror_gap is None


def test_values_of_folds_that_never_saw_a_zero_stand_beside_the_others(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(split="position"), exact))
    for (_, digit), worth in summary.structure.values.items():
        assert worth.mean == pytest.approx(digit)


def test_bands_hold_nine_in_ten(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(), noisy))
    assert [band.answer for band in summary.bands] == [*range(19)]
    assert all(band.low <= band.high for band in summary.bands)

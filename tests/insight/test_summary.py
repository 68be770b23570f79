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

from unseen.experiments.presets import PRESETS
from unseen.insight.error_parts import mean_error_parts
from unseen.insight.statistics import spread


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
    assert summary.verdict.headline == "Yes"
    assert "100.0 % of pictures" in summary.verdict.text
    assert "no errors to speak of" in summary.verdict.text
    assert summary.structure.score.mean == pytest.approx(1)
    assert summary.structure.mirror.mean == 0
    assert summary.structure.values[1, 7].mean == pytest.approx(7)
    assert (summary.rounded.mean, summary.mse.mean) == (1, 0)


@pytest.mark.parametrize("operation", ["add", "table:1"])
def test_one_that_only_remembers_is_told_so(small, tmp_path, operation):
    summary = summary_of(made_up_run(tmp_path, small(operation=operation), by_heart))
    assert summary.verdict.headline == "No"
    assert summary.rounded.mean == pytest.approx(0.1)
    assert summary.guess == pytest.approx(0.1)
    assert summary.quadrants["seen_test"]["rounded"].mean == 1
    assert summary.error_parts.wrong / summary.error_parts.mse > 0.9
    assert "Its errors are mostly wrong" in summary.verdict.text


def test_misread_digits_are_blamed_where_they_are(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(), misreading))
    left, right = summary.error_parts.misread
    assert left > 10 * abs(right)
    assert "Its errors are mostly misread digits" in summary.verdict.text


def test_the_errors_of_combinations_make_up_the_error_of_all(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(), misreading))
    assert summary.error_parts_by_unit.keys() == {
        (score.fold, score.row) for score in summary.scores
    }
    assert mean_error_parts([*summary.error_parts_by_unit.values()]).misread == pytest.approx(
        summary.error_parts.misread
    )
    assert all(
        parts.misread[0] > 1 > parts.misread[1] for parts in summary.error_parts_by_unit.values()
    )


def test_a_shift_that_seen_pairs_share_is_no_wrong_sum(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(), shifted))
    assert summary.error_parts.shift == pytest.approx(4)
    assert summary.error_parts.wrong == pytest.approx(0, abs=1e-9)
    assert summary.verdict.headline == "Not as it stands: all its answers are shifted"
    assert summary.structure.seen_bias.mean == pytest.approx(-2)


def test_a_shift_is_taken_off_as_seen_pairs_have_it(small, tmp_path):
    assert summary_of(made_up_run(tmp_path, small(), shifted)).unshifted["rounded"].mean == 1.0


def test_what_only_unseen_pairs_get_wrong_is_not_taken_off(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(), by_heart))
    assert summary.unshifted["test_mse"] == summary.spreads["test_mse"]
    assert summary.unshifted["rounded"] == summary.spreads["rounded"]


def test_a_network_that_went_astray_has_a_verdict(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(), astray, [1, 2]))
    assert summary.verdict.headline == "No: training went astray"
    assert math.isnan(summary.mse.mean)
    assert "nan" not in summary.verdict.text


def test_a_run_is_placed_between_the_baselines_beside_it(small, tmp_path):
    run = made_up_run(tmp_path, small(), noisy)
    alone = summary_of(run)
    assert "unseen run nearest --symbols" in alone.verdict.text
    made_up_run(tmp_path, small("nearest"), by_heart, [1, 2])
    made_up_run(tmp_path, small("oracle"), exact)
    made_up_run(tmp_path, small("mean", operation="subtract"), by_heart)
    placed = summary_of(run)
    assert {*placed.baselines} == {"nearest", "oracle"}
    assert placed.baselines["nearest"].folds == 2
    near, far = (placed.baselines[name].rounded.mean for name in ("nearest", "oracle"))
    way = (placed.rounded.mean - near) / (far - near)
    assert f"{100 * way:.0f} % of the way" in placed.verdict.text
    oracle = summary_of(made_up_run(tmp_path, small("oracle"), exact))
    assert "This is a baseline, oracle" in oracle.verdict.text


def test_a_baseline_with_fewer_folds_is_said_to_have_fewer(small, tmp_path):
    made_up_run(tmp_path, small("nearest"), by_heart, [1, 2], recorded=False)
    summary = summary_of(made_up_run(tmp_path, small(), noisy))
    assert "(nearest, on 2 of these 10 folds) gets" in summary.verdict.text


def test_one_fold_speaks_of_one_network(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(), noisy, [1]))
    assert ", for this one network alone; 10 pairs, 1 fold)" in summary.verdict.text


def test_things_are_called_by_their_names(small, tmp_path):
    signs = summary_of(made_up_run(tmp_path, small(operation="shown:+,-"), misreading, [1]))
    assert "mostly misread digits and signs" in signs.verdict.text
    digits = summary_of(made_up_run(tmp_path, small(length=1), by_heart))
    assert "wrong answers of unseen digits" in digits.verdict.text


def test_the_verdict_names_what_a_network_is_told(small, tmp_path):
    blind = summary_of(made_up_run(tmp_path, small(), noisy, [1]))
    assert "The network is blind" in blind.verdict.text
    told = small().vary(model="towers")
    aware = summary_of(made_up_run(tmp_path, told, noisy, [1]))
    assert "panel-aware: it is built to know that a picture holds 2 digits" in aware.verdict.text


def test_figures_are_those_of_the_folds(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(), noisy))
    rounded = spread([result.measures["rounded"] for result in summary.results])
    assert summary.rounded.mean == pytest.approx(rounded.mean)
    assert summary.mse.mean == pytest.approx(summary.spreads["test_mse"].mean)
    assert summary.rounded.low < summary.rounded.mean < summary.rounded.high
    assert len({score.combination for score in summary.scores}) == len(summary.scores) == 100
    one = summary.scores[0]
    assert one.answer == sum(one.combination)
    assert one.samples == 12


def test_mirrors_are_compared_only_where_they_have_one_answer(small, tmp_path):
    assert summary_of(made_up_run(tmp_path, small(), noisy, [1])).structure.mirror is not None
    for operation in ("subtract", "table:1"):
        run = made_up_run(tmp_path, small(operation=operation), noisy, [1])
        assert summary_of(run).structure.mirror is None


def test_values_of_folds_that_never_saw_a_zero_stand_beside_the_others(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(split="position"), exact))
    for (_, digit), worth in summary.structure.values.items():
        assert worth.mean == pytest.approx(digit)


def test_what_an_older_version_did_not_record_is_left_out(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(), noisy, recorded=False))
    assert (summary.error_parts, summary.structure, summary.quadrants) == (None, None, {})
    assert "--fresh' records it" in summary.verdict.text


def test_bands_hold_nine_in_ten(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(), noisy))
    assert [band.answer for band in summary.bands] == [*range(19)]
    assert all(band.low <= band.median <= band.high for band in summary.bands)

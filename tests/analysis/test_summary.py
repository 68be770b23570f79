"""The figures of runs, for networks of which we know what they do."""

import math

import pytest
from conftest import write_symbols
from made_up_runs import (
    by_heart,
    diverged,
    exact,
    made_up_run,
    misreading,
    noisy,
    shifted,
    summary_of,
)

from unseen.analysis.error_parts import mean_error_parts
from unseen.analysis.statistics import spread
from unseen.runs.presets import PRESETS


@pytest.fixture
def summed(tmp_path):
    """Makes the summary of a made-up run on a few made-up symbols."""
    symbols = str(write_symbols(tmp_path / "symbols"))

    def summary(answering, folds=None, **settings):
        experiment = PRESETS["fast"]().vary(symbols=symbols, test_samples=12, **settings)
        return summary_of(made_up_run(tmp_path, experiment, answering, folds))

    return summary


def test_one_that_adds_adds(summed):
    summary = summed(exact)
    assert summary.judgement == "yes"
    assert summary.structure.additivity.mean == pytest.approx(1)
    assert summary.structure.mirror_gap.mean == 0
    assert summary.structure.values[1, 7].mean == pytest.approx(7)
    assert (summary.headline.mean, summary.error.mean) == (1, 0)


@pytest.mark.parametrize("operation", ["add", "table:1"])
def test_one_that_only_remembers_has_wrong_answers_and_no_shift(summed, operation):
    summary = summed(by_heart, operation=operation)
    assert summary.judgement == "no"
    assert summary.headline.mean == pytest.approx(0.1)
    assert summary.constant == pytest.approx(0.1)
    assert summary.quadrants["seen_test"]["rounded"].mean == 1
    assert summary.error_parts.wrong / summary.error_parts.mse > 0.9
    for metric in ("test_mse", "rounded"):
        assert summary.unshifted[metric] == summary.spreads[metric]


def test_misread_digits_are_blamed_where_they_are_combination_by_combination(summed):
    summary = summed(misreading)
    left, right = summary.error_parts.misread
    assert left > 10 * abs(right)
    parts = [score.error_parts for score in summary.scores]
    assert mean_error_parts(parts).misread == pytest.approx(summary.error_parts.misread)
    assert all(each.misread[0] > 1 > each.misread[1] for each in parts)


def test_a_shift_that_seen_pairs_share_is_no_wrong_sum_and_is_taken_off(summed):
    summary = summed(shifted)
    assert summary.judgement == "shifted"
    assert summary.error_parts.shift == pytest.approx(4)
    assert summary.error_parts.wrong == pytest.approx(0, abs=1e-9)
    assert summary.structure.seen_mean_error.mean == pytest.approx(-2)
    assert summary.unshifted["rounded"].mean == 1.0


def test_figures_are_those_of_the_folds(summed):
    summary = summed(noisy)
    rounded = spread([result.measures["rounded"] for result in summary.results])
    assert summary.headline.mean == pytest.approx(rounded.mean)
    assert summary.error.mean == pytest.approx(summary.spreads["test_mse"].mean)
    assert summary.headline.low < summary.headline.mean < summary.headline.high
    assert len({score.combination for score in summary.scores}) == len(summary.scores) == 100
    one = summary.scores[0]
    assert one.answer == sum(one.combination)
    assert one.samples == 12
    assert [band.answer for band in summary.bands] == [*range(19)]
    assert all(band.low <= band.high for band in summary.bands)


def test_a_dictionary_of_a_summary_is_plain_data(summed):
    plain = summed(diverged, [1, 2]).to_dict()
    assert plain["judgement"] == "diverged"
    assert math.isnan(plain["intervals"]["test_mse"]["mean"])
    assert plain["combinations"][0].keys() >= {"fold", "combination", "answer", "rounded"}

    def kinds(value):
        inner = value.values() if isinstance(value, dict) else value
        return {type(value)}.union(*map(kinds, inner if isinstance(value, dict | list) else ()))

    assert kinds(plain) <= {dict, list, str, int, float, type(None)}


def test_mirrors_are_compared_only_where_they_have_one_answer(summed):
    assert summed(noisy, [1]).structure.mirror_gap is not None
    for operation in ("subtract", "table:1"):
        assert summed(noisy, [1], operation=operation).structure.mirror_gap is None


def test_values_of_folds_that_never_saw_a_zero_stand_beside_the_others(summed):
    for (_, digit), worth in summed(exact, split="position").structure.values.items():
        assert worth.mean == pytest.approx(digit)

"""What is said of runs, for networks of which we know what they do."""

from pathlib import Path

import pytest
from conftest import write_symbols
from made_up_runs import astray, by_heart, exact, made_up_run, misreading, noisy, summary_of

from unseen.experiments.presets import PRESETS
from unseen.views.verdict_text import verdict_text


@pytest.fixture
def small(tmp_path: Path):
    """An experiment on a few made-up symbols."""
    symbols = str(write_symbols(tmp_path / "symbols"))

    def experiment(name: str = "fast", **problem: object):
        settings = {"symbols": symbols, "test_samples": 12, **problem}
        return PRESETS[name]().vary(**settings)

    return experiment


SAID = {
    exact: ("Yes", "100.0 % of pictures (95 % interval 96.4 to 100.0 %; 100 pairs, 10 folds)"),
    by_heart: ("No", "Its errors are mostly wrong sums of unseen pairs"),
    misreading: ("No", "Its errors are mostly misread digits"),
    astray: ("No: training diverged", "Its answers are not finite"),
}


@pytest.mark.parametrize("answering", SAID)
def test_the_headline_and_the_grounds_are_those_of_the_network(small, tmp_path, answering):
    verdict = verdict_text(summary_of(made_up_run(tmp_path, small(), answering)))
    headline, words = SAID[answering]
    assert verdict.headline == headline
    assert words in verdict.text
    assert "nan" not in verdict.text.lower()


def test_what_was_not_recorded_is_said_to_be_missing(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(), noisy, [1], recorded=False))
    assert "--restart` records it" in verdict_text(summary).text


def test_a_run_is_placed_between_the_baselines_beside_it(small, tmp_path):
    run = made_up_run(tmp_path, small(), noisy)
    alone = summary_of(run)
    assert "unseen run nearest --symbols" in verdict_text(alone).text
    made_up_run(tmp_path, small("nearest"), by_heart, [1, 2])
    made_up_run(tmp_path, small("oracle"), exact)
    made_up_run(tmp_path, small("mean", operation="subtract"), by_heart)
    placed = summary_of(run)
    assert {*placed.baselines} == {"nearest", "oracle"}
    assert placed.baselines["nearest"].folds == 2
    near, far = (placed.baselines[name].rounded.mean for name in ("nearest", "oracle"))
    way = (placed.rounded.mean - near) / (far - near)
    assert f"{100 * way:.0f} % of the way" in verdict_text(placed).text
    oracle = summary_of(made_up_run(tmp_path, small("oracle"), exact))
    assert "This is a baseline, oracle" in verdict_text(oracle).text


def test_a_baseline_with_fewer_folds_is_said_to_have_fewer(small, tmp_path):
    made_up_run(tmp_path, small("nearest"), by_heart, [1, 2], recorded=False)
    summary = summary_of(made_up_run(tmp_path, small(), noisy))
    assert "(nearest, on 2 of these 10 folds) gets" in verdict_text(summary).text


def test_one_fold_speaks_of_one_network(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(), noisy, [1]))
    assert ", for this one network alone; 10 pairs, 1 fold)" in verdict_text(summary).text


def test_things_are_called_by_their_names(small, tmp_path):
    signs = summary_of(made_up_run(tmp_path, small(operation="shown:+,-"), misreading, [1]))
    assert "mostly misread digits and signs" in verdict_text(signs).text
    digits = summary_of(made_up_run(tmp_path, small(length=1), by_heart))
    assert "wrong answers of unseen digits" in verdict_text(digits).text


def test_the_verdict_names_what_a_network_is_told(small, tmp_path):
    blind = summary_of(made_up_run(tmp_path, small(), noisy, [1]))
    assert "The network is blind" in verdict_text(blind).text
    told = small().vary(model="towers")
    aware = summary_of(made_up_run(tmp_path, told, noisy, [1]))
    assert (
        "panel-aware: it is built to know that a picture holds 2 digits" in verdict_text(aware).text
    )

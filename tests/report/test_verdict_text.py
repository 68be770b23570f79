"""What is said of runs, for networks of which we know what they do."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import write_symbols
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_runs import (
    astray,
    by_heart,
    exact,
    half_composer,
    made_up_run,
    misreading,
    noisy,
    off_by_one_at_times,
    shifted,
    summary_of,
    untrained,
)

from unseen.analysis.error_parts import ErrorParts
from unseen.analysis.intervals import Interval
from unseen.analysis.references import Reference
from unseen.analysis.statistics import Spread
from unseen.analysis.summary import Summary
from unseen.report.result_figures import attribution
from unseen.report.verdict_text import verdict_text
from unseen.report.words import format_percent
from unseen.runs.presets import PRESETS


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
    off_by_one_at_times: ("Yes", "of what it can do with seen pairs carries over"),
    half_composer: ("In part", "of what it can do with seen pairs carries over"),
    untrained: ("Too little learnt to tell", "hardly more than the best constant answer"),
    shifted: ("Not as it stands: all its answers are shifted", "a shift that seen pairs share"),
    by_heart: ("No", "Its errors are mostly wrong sums of unseen pairs"),
    misreading: ("Too little learnt to tell", "Its errors are mostly misread symbols"),
    astray: ("No: training diverged", "Its answers are not finite"),
}


@pytest.mark.parametrize("answering", SAID)
def test_the_headline_and_the_grounds_are_those_of_the_network(small, tmp_path, answering):
    verdict = verdict_text(summary_of(made_up_run(tmp_path, small(), answering)))
    headline, words = SAID[answering]
    assert verdict.headline == headline
    assert words in verdict.text
    assert "nan" not in verdict.text.lower()


def test_three_in_ten_composing_folds_are_neither_yes_nor_no(small, tmp_path):
    def composes_in_some_folds(asked):
        answers = exact(asked) if asked.fold <= 3 else by_heart(asked)
        return answers

    run = made_up_run(tmp_path, small(), composes_in_some_folds)
    assert verdict_text(summary_of(run)).headline == "Folds differ too much to tell"


def test_where_one_answer_fits_all_that_is_unseen_nothing_is_told(small, tmp_path):
    sums_of_nine = [(0, 9), (9, 0), (4, 5), (5, 4)]
    for answering in (by_heart, exact):
        run = made_up_run(
            tmp_path, small(split=sums_of_nine, seed=len(answering.__name__)), answering
        )
        verdict = verdict_text(summary_of(run))
        assert verdict.headline.startswith("One answer fits most of the unseen")
        assert "would get 100.0 % of the unseen pairs" in verdict.text


def test_a_perfect_composer_of_a_common_answer_is_told_yes(small, tmp_path):
    run = made_up_run(tmp_path, small(operation="a // 9"), exact)
    assert verdict_text(summary_of(run)).headline == "Yes"


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
    memory = max(placed.baselines["nearest"].rounded.mean, placed.constant)
    seen = placed.spreads["seen_rounded"].mean
    carried = min(1, (placed.rounded.mean - memory) / (seen - memory))
    assert f"{100 * carried:.0f} % (" in verdict_text(placed).text
    oracle = summary_of(made_up_run(tmp_path, small("oracle"), exact))
    assert "This is a baseline, oracle" in verdict_text(oracle).text


def test_a_baseline_with_fewer_folds_is_said_to_have_fewer(small, tmp_path):
    made_up_run(tmp_path, small("nearest"), by_heart, [1, 2], recorded=False)
    summary = summary_of(made_up_run(tmp_path, small(), noisy))
    assert "(nearest, on 2 of these 10 folds) gets" in verdict_text(summary).text


def test_one_fold_has_no_interval(small, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(), noisy, [1]))
    said = "(no interval from fewer than 3 folds; 10 pairs, 1 fold)"
    assert said in verdict_text(summary).text


def test_things_are_called_by_their_names(small, tmp_path):
    shown = small(operation="shown:+,-", test_samples=60)
    signs = summary_of(made_up_run(tmp_path, shown, misreading, [1]))
    assert "mostly misread symbols and signs" in verdict_text(signs).text
    digits = summary_of(made_up_run(tmp_path, small(length=1), by_heart))
    assert "wrong answers of unseen symbols" in verdict_text(digits).text


def test_the_verdict_names_what_a_network_is_told(small, tmp_path):
    blind = summary_of(made_up_run(tmp_path, small(), noisy, [1]))
    assert "The network is blind" in verdict_text(blind).text
    told = small().vary(model="towers")
    aware = summary_of(made_up_run(tmp_path, told, noisy, [1]))
    assert (
        "panel-aware: it is built to know that a picture holds 2 symbols"
        in verdict_text(aware).text
    )


RANKS = ("No", "Barely", "In part", "Mostly", "Yes")
shares, errors = st.floats(0, 1), st.floats(0, 100)


@st.composite
def imagined(draw, real: Summary) -> Summary:
    """A summary with any figures that could stand beside each other."""
    right, seen, below, above = (draw(shares) for _ in range(4))
    mse = draw(st.just(0.0) | errors | st.just(math.nan)) if right < 1 else draw(shares) / 4
    spread_of = {"seen_rounded": seen, "rounded": right, "test_mse": mse}
    parts = draw(st.none() | st.tuples(errors, shares, shares))
    error_parts = None
    if parts is not None:
        size, shift, wrong = parts
        misread = (size * (1 - shift - wrong), 0.0)
        error_parts = ErrorParts(size, size * shift, 0.0, size * wrong, misread, 0.0)
    baselines = {
        name: Reference(Spread(draw(shares), 0.0), Spread(1.0, 0.0), 10)
        for name in ("nearest", "oracle")
        if draw(st.booleans())
    }
    return replace(
        real,
        intervals=real.intervals
        | {
            "rounded": Interval(right, right * below, right + (1 - right) * above),
            "test_mse": Interval(mse, mse, mse),
        },
        spreads=real.spreads | {name: Spread(each, 0.0) for name, each in spread_of.items()},
        unshifted={"rounded": Spread(draw(shares), 0.0), "test_mse": Spread(draw(errors), 0.0)},
        scores=tuple(
            replace(
                score,
                measures=score.measures | spread_of,
                error_parts=error_parts,
            )
            for score in real.scores
        ),
        one_answer=draw(shares),
        seen_constant=draw(shares),
        baselines=baselines,
        error_parts=error_parts,
        images_per_place=draw(st.integers(2, 100)),
    )


@pytest.fixture(scope="module")
def real(tmp_path_factory) -> Summary:
    folder = tmp_path_factory.mktemp("real")
    symbols = str(write_symbols(folder / "symbols"))
    experiment = PRESETS["fast"]().vary(symbols=symbols, test_samples=12)
    return summary_of(made_up_run(folder, experiment, noisy, [1, 2]))


@settings(max_examples=300)
@given(data=st.data())
def test_no_verdict_contradicts_the_test(real, data):
    summary = data.draw(imagined(real))
    verdict = verdict_text(summary)
    headline, (figure, carried, *_, made_of) = verdict.headline, verdict.sentences
    right, mse = summary.rounded.mean, summary.mse.mean
    assert f"in {format_percent(right)} of pictures" in figure
    assert ("no error" in made_of) == (mse == 0)
    assert ("not finite" in made_of) == math.isnan(mse)
    seen = summary.spreads["seen_rounded"].mean
    if headline in RANKS[1:]:
        assert summary.rounded.low > summary.constant
        assert seen - summary.seen_constant >= (1 - summary.seen_constant) / 6
        assert f"{format_percent(seen)} of seen pairs" in carried
    if headline.startswith("Not as it stands"):
        assert summary.unshifted["test_mse"].mean < mse / 2
        assert summary.unshifted["rounded"].mean > summary.constant
    if share := re.search(r"right: (\d+) %.* of what", carried):
        enough = {
            "Yes": 90,
            "Mostly": 50,
            "In part": 10,
        }
        assert int(share[1]) >= enough.get(headline, 0)
        assert headline not in ("Barely", "No") or int(share[1]) <= 10
    if "of the mean squared error" in made_of:
        split = summary.error_parts.mse
        assert mse / 2 <= split <= mse * 2
        assert f"split on {summary.images_per_place} images in each place" in made_of
        assert summary.images_per_place * 2 * len(summary.scores) >= 100


@settings(max_examples=200)
@given(data=st.data(), more=shares)
def test_more_right_never_has_a_worse_headline(real, data, more):
    summary = data.draw(imagined(real))
    interval = summary.rounded
    better = replace(
        summary,
        intervals=summary.intervals
        | {
            "rounded": Interval(
                *(each + (1 - each) * more for each in (interval.mean, interval.low, interval.high))
            )
        },
    )
    ranks = [
        RANKS.index(headline) if headline in RANKS else 0
        for headline in (verdict_text(summary).headline, verdict_text(better).headline)
    ]
    assert ranks[0] <= ranks[1]


def test_clean_images_do_not_clear_a_test_that_has_errors(real):
    clean = ErrorParts(0.0, 0.0, 0.0, 0.0, (0.0, 0.0), 0.0)
    summary = replace(
        real,
        intervals=real.intervals | {"test_mse": Interval(0.351, 0.2, 0.5)},
        error_parts=clean,
        images_per_place=11,
        scores=tuple(
            replace(score, error_parts=clean, measures=score.measures | {"test_mse": 0.351})
            for score in real.scores
        ),
    )
    said = (
        "split on 11 images in each place of 20 pairs, its mean squared error is 0.000, but 0.351"
    )
    assert said in verdict_text(summary).text
    assert said in attribution(summary)[1]
    few = verdict_text(replace(summary, images_per_place=2)).text
    assert "cannot be told from so few images (split on 2 images in each place of 20 pairs)" in few

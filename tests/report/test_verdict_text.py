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
    by_heart,
    diverged,
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
from unseen.report.repeat_command import as_call
from unseen.report.result_figures import attribution
from unseen.report.verdict_text import verdict_text
from unseen.report.words import format_percent
from unseen.runs.presets import PRESETS


@pytest.fixture
def summed(tmp_path: Path):
    """Makes the summary of a made-up run on a few made-up symbols."""
    symbols = str(write_symbols(tmp_path / "symbols"))

    def summary(answering, folds=None, name="fast", **settings) -> Summary:
        chosen = {"symbols": symbols, "test_samples": 12, **settings}
        return summary_of(made_up_run(tmp_path, PRESETS[name]().vary(**chosen), answering, folds))

    return summary


def composes_in_three_folds(asked):
    return exact(asked) if asked.fold <= 3 else by_heart(asked)


SUMS_OF_NINE = {"split": [(0, 9), (9, 0), (4, 5), (5, 4)]}
ONE_ANSWER = "One answer fits most of the unseen: that tells nothing"
TEXTS = [
    (exact, {}, "Yes", "100.0 % of pictures (95 % interval 96.4 to 100.0 %; 100 pairs, 10 folds)"),
    (exact, {"operation": "a // 9"}, "Yes", "carries over"),
    (exact, SUMS_OF_NINE, ONE_ANSWER, "would get 100.0 % of the unseen pairs"),
    (by_heart, SUMS_OF_NINE, ONE_ANSWER, "would get 100.0 % of the unseen pairs"),
    (off_by_one_at_times, {}, "Yes", "of what it can do with seen pairs carries over"),
    (half_composer, {}, "In part", "of what it can do with seen pairs carries over"),
    (composes_in_three_folds, {}, "Folds differ too much to tell", ""),
    (untrained, {}, "Too little learnt to tell", "hardly more than the best constant answer"),
    (shifted, {}, "Not as it stands: all its answers are shifted", "a shift that seen pairs share"),
    (by_heart, {}, "No", "Its errors are mostly wrong sums of unseen pairs"),
    (by_heart, {"length": 1}, "Folds differ too much to tell", "wrong answers of unseen symbols"),
    (misreading, {}, "Too little learnt to tell", "Its errors are mostly misread symbols"),
    (diverged, {}, "No: training diverged", "Its answers are not finite"),
]


@pytest.mark.parametrize(("answering", "settings", "headline", "words"), TEXTS)
def test_the_headline_and_the_grounds_are_those_of_the_network(
    summed, answering, settings, headline, words
):
    verdict = verdict_text(summed(answering, **settings))
    assert verdict.headline == headline
    assert words in verdict.text
    assert "nan" not in verdict.text.lower()


@pytest.mark.parametrize(
    ("answering", "settings", "words"),
    [
        (noisy, {}, "(no interval from fewer than 3 folds; 10 pairs, 1 fold)"),
        (noisy, {}, "The network is blind"),
        (noisy, {"model": "towers"}, "panel-aware: it is built to know that a picture holds 2 sym"),
        (noisy, {"name": "nearest"}, "takes too long to find out for this baseline"),
        (noisy, {"name": "oracle"}, "This is a baseline, oracle"),
        (misreading, {"operation": "shown:+,-", "test_samples": 60}, "misread symbols and signs"),
    ],
)
def test_a_single_fold_has_a_verdict(summed, answering, settings, words):
    assert words in verdict_text(summed(answering, [1], **settings)).text


def test_a_run_is_placed_between_the_baselines_beside_it(summed):
    alone = summed(noisy)
    assert "unseen run nearest --symbols" in verdict_text(alone).text
    assert "`unseen.run('nearest', symbols=" in verdict_text(alone, as_call).text
    summed(by_heart, [1, 2], name="nearest")
    summed(exact, name="oracle")
    summed(by_heart, name="mean", operation="subtract")
    placed = summed(noisy)
    assert {*placed.baselines} == {"nearest", "oracle"}
    assert placed.baselines["nearest"].folds == 2
    memory = max(placed.baselines["nearest"].headline.mean, placed.constant)
    carried = min(1, (placed.headline.mean - memory) / (placed.seen - memory))
    text = verdict_text(placed).text
    assert f"{100 * carried:.0f} % (" in text
    assert "(nearest, on 2 of these 10 folds) gets" in text


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
        name: Reference({"rounded": Spread(draw(shares), 0.0)}, 10)
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
    right, mse = summary.headline.mean, summary.error.mean
    assert f"in {format_percent(right)} of pictures" in figure
    assert ("no error" in made_of) == (mse == 0)
    assert ("not finite" in made_of) == math.isnan(mse)
    seen = summary.spreads["seen_rounded"].mean
    if headline in RANKS[1:]:
        assert summary.headline.low > summary.constant
        assert seen - summary.seen_constant >= (1 - summary.seen_constant) / 6
        assert f"{format_percent(seen)} of seen pairs" in carried
    if headline.startswith("Not as it stands"):
        assert summary.unshifted["test_mse"].mean < mse / 2
        assert summary.unshifted["rounded"].mean > summary.constant
    if share := re.search(r"right: (\d+) %.* of what", carried):
        assert int(share[1]) >= {"Yes": 90, "Mostly": 50, "In part": 10}.get(headline, 0)
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
    interval = summary.headline
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

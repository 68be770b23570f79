"""The judgement of a run: does its network get combinations it has never seen?"""

from statistics import fmean
from typing import TYPE_CHECKING, Literal

import numpy as np

from unseen.training.metrics import ERROR, HEADLINE

if TYPE_CHECKING:
    from unseen.analysis.summary import Summary

Carried = Literal["yes", "mostly", "in part", "barely", "no"]
Untold = Literal["too few folds", "folds differ", "one answer", "too little learnt"]
Judgement = Literal[Carried, Untold, "shifted", "diverged"]
Unsplit = Literal["diverged", "no errors", "not recorded", "too few images", "unlike the test"]

LEAST_LEARNT = 1 / 6  # of what the best constant answer gets wrong of seen combinations
MUCH = 1 / 3  # by which one answer may get more of unseen combinations than of seen ones
MOST, LITTLE = 0.5, 0.1  # of what seen combinations get, carried over
CARRIED: tuple[tuple[float, Carried], ...] = (
    (0.9, "yes"), (MOST, "mostly"), (LITTLE, "in part"), (-np.inf, "barely"),
)  # fmt: skip
FEWEST_IMAGES = 100  # over all places and combinations, to split an error by
LIKE_THE_TEST = 2.0  # the factor by which the split error may differ from the test's


def judge(summary: "Summary") -> Judgement:
    """What carries over from seen to unseen combinations; docs/report.md has the rule.

    Both are in test handwriting, so what is misread is misread in both, and does not count against
    composition. Where the interval of the unseen accuracy reaches down to memory, it is "no" if
    next to nothing carries over and no more than half may; else folds cannot tell.
    """
    unseen, unshifted, memory = summary.headline, summary.unshifted, memory_share(summary)
    if not np.isfinite(summary.error.mean):
        return "diverged"
    is_above = (unseen.mean if np.isnan(unseen.low) else unseen.low) > memory
    helps = unshifted[HEADLINE.name].mean > memory
    if not is_above and helps and unshifted[ERROR.name].mean < summary.error.mean / 2:
        return "shifted"
    if summary.seen - summary.seen_constant < LEAST_LEARNT * (1 - summary.seen_constant):
        return "too little learnt"
    if summary.one_answer - summary.seen_constant > MUCH:
        return "one answer"
    return _weighed(summary, is_above=is_above)


def _weighed(summary: "Summary", *, is_above: bool) -> Judgement:
    """How much carries over, where more than a memory is right; else whether anything may."""
    carried = carried_over(summary, summary.headline.mean)
    if is_above:
        return next(judgement for least, judgement in CARRIED if carried >= least)
    if carried < LITTLE and not carried_over(summary, summary.headline.high) > MOST:
        return "no"
    return "folds differ" if len(summary.results) == summary.fold_count else "too few folds"


def carried_over(summary: "Summary", unseen: float) -> float:
    """The share of what seen combinations get beyond a memory that unseen ones get as well.

    `unseen` is the accuracy on unseen ones. If a memory gets as much as the seen ones, it is all or
    nothing.
    """
    memory = memory_share(summary)
    seen = summary.seen
    return (unseen - memory) / (seen - memory) if seen > memory else float(unseen > memory)


def memory_share(summary: "Summary") -> float:
    """What a memory gets right: the nearest picture's answer, or one answer to all."""
    nearest = summary.baselines.get("nearest")
    return max(summary.constant, nearest.headline.mean if nearest else 0.0)


def unsplit(summary: "Summary") -> Unsplit | None:
    """Why it cannot be said what the errors of the test are made of; None if it can.

    Errors are split on other pictures than the test's. Where those are few, or have an error of
    another size, their parts are not those of the test's error.
    """
    parts, test_error = summary.error_parts, summary.error.mean
    if not np.isfinite(test_error):
        return "diverged"
    if test_error == 0:
        return "no errors"
    if parts is None:
        return "not recorded"
    split = [score for score in summary.scores if score.error_parts is not None]
    if summary.images_per_place * len(parts.misread) * len(split) < FEWEST_IMAGES:
        return "too few images"
    tested = fmean(score.measures[ERROR.name] for score in split)
    alike = tested / LIKE_THE_TEST <= parts.mse <= tested * LIKE_THE_TEST
    return None if alike else "unlike the test"

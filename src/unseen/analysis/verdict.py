"""The judgement of a run: does its network get combinations it has never seen?"""

from typing import TYPE_CHECKING, Literal

import numpy as np

from unseen.training.metrics import ERROR, HEADLINE

if TYPE_CHECKING:
    from unseen.analysis.summary import Summary

Judgement = Literal[
    "yes", "mostly", "in part", "barely", "no",  # it carries over
    "too few folds", "folds differ", "one answer", "too little learnt",  # it cannot be told
    "shifted", "diverged",
]  # fmt: skip

LEAST_LEARNT = 1 / 6  # of what the best constant answer gets wrong of seen combinations
MUCH = 1 / 3  # by which one answer may get more of unseen combinations than of seen ones
MOST, LITTLE = 0.5, 0.1  # of what seen combinations get, carried over
CARRIED: tuple[tuple[float, Judgement], ...] = (
    (0.9, "yes"), (MOST, "mostly"), (LITTLE, "in part"), (-np.inf, "barely"),
)  # fmt: skip


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

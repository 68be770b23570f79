"""The judgement of a run: does its network get combinations it has never seen?"""

from statistics import fmean
from typing import Literal

import numpy as np

from unseen.insight.summary import Summary

Judgement = Literal["yes", "mostly", "in part", "barely", "no", "shifted", "diverged"]
Unsplit = Literal["diverged", "no errors", "not recorded", "too few images", "unlike the test"]

NEARLY_ALL, MOST, LITTLE = 0.9, 0.5, 0.1  # of the way from memory to perfect composition
FEWEST_IMAGES = 100  # over all places and combinations, to split an error by
LIKE_THE_TEST = 2.0  # the factor by which the split error may differ from the test's


def judge(summary: Summary) -> Judgement:
    """Place a run between what a memory gets right and what perfect composition could.

    "no" if the interval reaches down to what a memory or a constant answer gets right; "shifted"
    if then one number, taken off all answers, removes most of the test's error and lifts it above
    them. Otherwise it counts how far the run has come from there to perfect composition. A run
    that gets fewer than half of the pictures right is no better than "in part", whatever the
    oracle gets.
    """
    rounded, unshifted = summary.rounded, summary.unshifted
    if (rounded.mean if np.isnan(rounded.low) else rounded.low) <= (memory := _memory(summary)):
        if not np.isfinite(summary.mse.mean):
            return "diverged"
        helped = unshifted and unshifted["rounded"].mean > memory
        most = helped and unshifted["test_mse"].mean < summary.spreads["test_mse"].mean / 2
        return "shifted" if most else "no"
    way = way_to_composition(summary)
    if way is not None and way < LITTLE:
        return "barely"
    if rounded.mean < MOST or (way is not None and way < MOST):
        return "in part"
    return "yes" if way is None or way >= NEARLY_ALL else "mostly"


def way_to_composition(summary: Summary) -> float | None:
    """How far a run has come from memory to perfect composition; None if the first gets more."""
    oracle, memory = summary.baselines.get("oracle"), _memory(summary)
    composition = oracle.rounded.mean if oracle else 1.0
    return (
        (summary.rounded.mean - memory) / (composition - memory) if composition > memory else None
    )


def _memory(summary: Summary) -> float:
    """What a memory gets right: the nearest picture's answer, or one answer to all."""
    nearest = summary.baselines.get("nearest")
    return max(summary.guess, nearest.rounded.mean if nearest else 0.0)


def unsplit(summary: Summary) -> Unsplit | None:
    """Why it cannot be said what the errors of the test are made of; None if it can.

    Errors are split on other pictures than the test's. Where those are few, or have an error of
    another size, their parts are not those of the test's error.
    """
    parts, test_mse = summary.error_parts, summary.mse.mean
    if not np.isfinite(test_mse):
        return "diverged"
    if test_mse == 0:
        return "no errors"
    if parts is None:
        return "not recorded"
    split = [score for score in summary.scores if score.error_parts is not None]
    if summary.images_per_place * len(parts.misread) * len(split) < FEWEST_IMAGES:
        return "too few images"
    tested = fmean(score.measures["test_mse"] for score in split)
    alike = tested / LIKE_THE_TEST <= parts.mse <= tested * LIKE_THE_TEST
    return None if alike else "unlike the test"

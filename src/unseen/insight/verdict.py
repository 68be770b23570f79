"""The judgement of a run: does its network get combinations it has never seen?"""

from typing import Literal

import numpy as np

from unseen.insight.summary import Summary

Judgement = Literal["yes", "mostly", "in part", "no", "shifted", "diverged"]

NEARLY_ALL, MOST = 0.9, 0.5  # of what perfect composition gets right


def judge(summary: Summary) -> Judgement:
    """Place a run between what a memory gets right and what perfect composition could.

    "no" if the interval reaches down to what a memory or a constant answer gets right; "shifted"
    if then most of the error is a shift of all answers. Otherwise the run is measured against
    perfect composition: "yes" from nine tenths of what that gets right, "mostly" from half.
    """
    baselines = {name: each.rounded.mean for name, each in summary.baselines.items()}
    rounded, parts = summary.rounded, summary.error_parts
    if parts is not None and not np.isfinite(parts.mse):
        return "diverged"
    low = rounded.mean if np.isnan(rounded.low) else rounded.low
    if low <= max(summary.guess, baselines.get("nearest", 0.0)):
        return "shifted" if parts is not None and parts.shift > parts.mse / 2 else "no"
    share = rounded.mean / (baselines.get("oracle") or 1.0)
    return "yes" if share >= NEARLY_ALL else "mostly" if share >= MOST else "in part"

"""Figures over folds, with their spread."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unseen.experiments.fold import FoldResult

MEASURES = ("test_mse", "train_mse", "rounded", "floor_or_ceiling", "within_one", "seconds")


@dataclass(frozen=True)
class Spread:
    """A mean over folds, and the standard deviation between them (none for a single fold)."""

    mean: float
    deviation: float | None


def spread(values: Sequence[float]) -> Spread:
    """Mean and sample standard deviation (n - 1)."""
    with np.errstate(all="ignore"):  # a fold that went astray makes both of them no number
        deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
        return Spread(float(np.mean(values)), deviation)


def over_folds(results: Sequence[FoldResult]) -> dict[str, Spread]:
    """The spread of every measure; empty where no fold is done."""
    if not results:
        return {}
    return {name: spread([getattr(result, name) for result in results]) for name in MEASURES}

"""Figures over folds, with their spread."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from unseen.experiments.fold import FoldResult

MEASURES = ("test_mse", "train_mse", "rounded", "floor_or_ceiling", "within_one", "seconds")


@dataclass(frozen=True)
class Spread:
    """A mean over folds, and the standard deviation between them (none for a single fold)."""

    mean: float
    deviation: float | None


def spread(values: Sequence[float]) -> Spread:
    """Mean and sample standard deviation (n - 1)."""
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return Spread(statistics.fmean(values), deviation)


def over_folds(results: Sequence[FoldResult]) -> dict[str, Spread]:
    """The spread of every measure; empty where no fold is done."""
    if not results:
        return {}
    return {name: spread([getattr(result, name) for result in results]) for name in MEASURES}

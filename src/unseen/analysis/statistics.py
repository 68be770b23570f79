"""Figures over folds, with their spread."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unseen.runs.fold import FoldResult, known_measures


@dataclass(frozen=True)
class Spread:
    """A mean over folds, and the standard deviation between them (none for a single fold)."""

    mean: float
    deviation: float | None


def spread(values: Sequence[float]) -> Spread:
    """Mean and sample standard deviation (n - 1)."""
    with np.errstate(all="ignore"):  # a fold that diverged makes both NaN
        deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
        return Spread(float(np.mean(values)), deviation)


def over_folds(results: Sequence[FoldResult]) -> dict[str, Spread]:
    """The spread of every measure; empty where no fold is done."""
    if not results:
        return {}
    measured = [measures_of(result) for result in results]
    return {name: spread([measures[name] for measures in measured]) for name in measured[0]}


def measures_of(result: FoldResult) -> dict[str, float]:
    """Every registered metric of a fold, NaN where it was not measured, and its seconds."""
    return known_measures(result) | {"seconds": result.seconds}

"""The results of a run without the shift that all answers of a network have.

Switching dropout off shifts the answers of a regression network, and so does the chance of the
last steps. It has nothing to do with new combinations, and one number per network removes it.
"""

from collections.abc import Sequence

import numpy as np

from unseen.insight.evidence import FoldEvidence
from unseen.insight.statistics import Spread, spread
from unseen.learning.metrics import METRICS


def without_shift(folds: Sequence[FoldEvidence]) -> dict[str, Spread]:
    """Measures on unseen combinations, minus each fold's mean error on seen ones; {} if unknown.

    That error is measured in training handwriting, without test pictures or unseen combinations:
    it could be removed before testing.
    """
    if not all(fold.result.quadrants for fold in folds):
        return {}
    measured: dict[str, list[float]] = {}
    for fold in folds:
        shift = np.float32(fold.result.quadrants["seen_train"]["mean_error"])
        for name, metric in METRICS.items():
            if metric.combinations == "unseen":
                figure = metric(fold.arrays.prediction - shift, fold.arrays.answer)
                measured.setdefault(name, []).append(figure)
    return {name: spread(values) for name, values in measured.items()}

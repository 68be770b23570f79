"""What a run would come to without the shift that a network has everywhere.

Dropout makes one in a regression network when it is switched off, and so does the luck of the last
steps. It is no matter of new combinations, and one number per network takes it off.
"""

from collections.abc import Sequence

import numpy as np

from unseen.insight.evidence import FoldEvidence
from unseen.insight.statistics import Spread, spread
from unseen.learning.metrics import METRICS


def without_shift(folds: Sequence[FoldEvidence]) -> dict[str, Spread]:
    """Measures on unseen combinations, each fold's mean error on seen ones taken off; or nothing.

    That error is of training handwriting: no test picture and no unseen combination has a part in
    it, so anybody could do this before testing.
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

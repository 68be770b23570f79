"""Metrics: what is measured of predictions against answers.

A metric is one entry of METRICS: it gives a value for each sample, and the mean of these values is
reported. Results hold metrics by name; tables, JSON, CSV, LaTeX, the report, intervals and
comparisons read the registry, and name no metric themselves: what they single out is HEADLINE, SEEN
and ERROR. A prediction that is NaN counts as wrong.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Predictions = NDArray[np.float32]
Answers = NDArray[np.int32]


@dataclass(frozen=True)
class Metric:
    """The mean over samples of what `of_samples` gives for each."""

    name: str
    label: str
    unit: Literal["share", "number"]  # a share is shown in %
    of_samples: Callable[[Predictions, Answers], NDArray[Any]]
    # what it is measured on: in test handwriting but for "seen_train", which was trained on
    combinations: Literal["unseen", "seen_test", "seen_train"] = "unseen"
    better: Literal["more", "less"] = "more"

    @property
    def is_share(self) -> bool:
        return self.unit == "share"

    @property
    def scale(self) -> int:
        """What a value is multiplied by where it is shown: shares are shown in %."""
        return 100 if self.is_share else 1

    def __call__(self, predictions: Predictions, answers: Answers) -> float:
        return float(np.mean(self.of_samples(predictions, answers)))


def error(predictions: Predictions, answers: Answers) -> NDArray[np.float64]:
    """How far each prediction lies above its answer."""
    return predictions.astype(np.float64) - answers


def squared_error(predictions: Predictions, answers: Answers) -> NDArray[np.float64]:
    with np.errstate(all="ignore"):  # of a network that diverged
        return error(predictions, answers) ** 2


def rounds_to_answer(predictions: Predictions, answers: Answers) -> NDArray[np.bool_]:
    """Whether each prediction rounds, half to even, to its answer."""
    return np.asarray(np.rint(predictions) == answers)


def floor_or_ceiling(predictions: Predictions, answers: Answers) -> NDArray[np.bool_]:
    """Whether the answer is the next integer below or above each prediction."""
    return np.asarray((np.floor(predictions) == answers) | (np.ceil(predictions) == answers))


def within_one(predictions: Predictions, answers: Answers) -> NDArray[np.bool_]:
    """Whether each prediction rounds to its answer or to a neighbour of it."""
    return np.asarray(np.abs(np.rint(predictions).astype(np.float64) - answers) <= 1)


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("seen_rounded", "seen", "share", rounds_to_answer, "seen_test"),
        Metric("rounded", "rounding", "share", rounds_to_answer),
        Metric("floor_or_ceiling", "floor/ceiling", "share", floor_or_ceiling),
        Metric("within_one", "within one", "share", within_one),
        Metric("test_mse", "test MSE", "number", squared_error, better="less"),
        Metric("train_mse", "train MSE", "number", squared_error, "seen_train", better="less"),
    )
}

# of answers that are numbers: what a run is judged by, the same of seen combinations, and the error
# that is split into parts
HEADLINE, SEEN, ERROR = METRICS["rounded"], METRICS["seen_rounded"], METRICS["test_mse"]


def unseen_metrics() -> dict[str, Metric]:
    """The metrics of unseen combinations, by name."""
    return {name: each for name, each in METRICS.items() if each.combinations == "unseen"}

"""Metrics: what is measured of predictions against answers.

A metric is one entry of METRICS: it says something of each sample, and its figure is the mean of
that. Results hold figures by name; tables, JSON, CSV, LaTeX, the report, intervals and comparisons
read the registry. A prediction that is NaN counts as wrong.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Predictions = NDArray[np.float32]
Answers = NDArray[np.int32]


@dataclass(frozen=True)
class PaperFigures:
    """What the paper prints for its ten folds, and as their mean (Bloice and others, 2020).

    That the rows of its tables are the notebook's folds in their order is likely, not proven.
    """

    by_fold: tuple[float, ...]
    mean: float


@dataclass(frozen=True)
class Metric:
    """A figure over samples: the mean of what `of_samples` gives for each."""

    name: str
    label: str
    unit: Literal["share", "number"]  # a share is shown in %
    of_samples: Callable[[Predictions, Answers], NDArray[Any]]
    combinations: Literal["unseen", "seen"] = "unseen"  # seen: in training handwriting

    @property
    def paper(self) -> PaperFigures | None:
        """What the paper has for it, if anything."""
        return PAPER.get(self.name)

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
    right: NDArray[np.bool_] = np.rint(predictions) == answers
    return right


def floor_or_ceiling(predictions: Predictions, answers: Answers) -> NDArray[np.bool_]:
    """Whether the answer is the next integer below or above each prediction."""
    either: NDArray[np.bool_] = (np.floor(predictions) == answers) | (
        np.ceil(predictions) == answers
    )
    return either


def within_one(predictions: Predictions, answers: Answers) -> NDArray[np.bool_]:
    """Whether each prediction rounds to its answer or to a neighbour of it."""
    near: NDArray[np.bool_] = np.abs(np.rint(predictions).astype(np.float64) - answers) <= 1
    return near


PAPER = {
    "rounded": PaperFigures(
        (0.8119, 0.43, 0.8095, 0.5508, 0.8235, 0.9223, 0.5432, 0.7486, 0.8759, 0.5748), 0.7091
    ),
    "floor_or_ceiling": PaperFigures(
        (0.8551, 0.9089, 0.8695, 0.7121, 0.9356, 0.9549, 0.8694, 0.9471, 0.9433, 0.8553), 0.8851
    ),
    "within_one": PaperFigures(
        (0.9493, 0.9623, 0.9512, 0.8656, 0.9528, 0.9676, 0.9538, 0.9667, 0.9591, 0.9623), 0.949
    ),
    "test_mse": PaperFigures(
        (1.1072, 0.6936, 0.7734, 0.7845, 0.9561, 0.7732, 1.215, 0.7278, 0.9464, 0.5556), 0.8533
    ),
    "train_mse": PaperFigures(
        (0.0632, 0.0623, 0.0661, 0.0607, 0.0694, 0.0553, 0.0803, 0.0674, 0.0602, 0.0709), 0.0656
    ),
}

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("rounded", "rounding", "share", rounds_to_answer),
        Metric("floor_or_ceiling", "floor/ceiling", "share", floor_or_ceiling),
        Metric("within_one", "within one", "share", within_one),
        Metric("test_mse", "test MSE", "number", squared_error),
        Metric("train_mse", "train MSE", "number", squared_error, "seen"),
    )
}

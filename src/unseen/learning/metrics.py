"""Measures of predictions against answers; a prediction that is no number counts as wrong."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Predictions = NDArray[np.float32]
Answers = NDArray[np.int32]


def mse(predictions: Predictions, answers: Answers) -> float:
    """Mean squared error."""
    return float(np.mean((predictions.astype(np.float64) - answers) ** 2))


def mean_error(predictions: Predictions, answers: Answers) -> float:
    """How far predictions lie above the answers, on average."""
    return float(np.mean(predictions.astype(np.float64) - answers))


def rounded(predictions: Predictions, answers: Answers) -> float:
    """Share of predictions that round, half to even, to the answer."""
    return float(np.mean(np.rint(predictions) == answers))


def floor_or_ceiling(predictions: Predictions, answers: Answers) -> float:
    """Share of predictions with the answer next below or above them."""
    return float(np.mean((np.floor(predictions) == answers) | (np.ceil(predictions) == answers)))


def within_one(predictions: Predictions, answers: Answers) -> float:
    """Share of predictions that round to the answer or to a neighbour of it."""
    return float(np.mean(np.abs(np.rint(predictions).astype(np.float64) - answers) <= 1))


METRICS: dict[str, Callable[[Predictions, Answers], float]] = {
    "mse": mse,
    "rounded": rounded,
    "floor_or_ceiling": floor_or_ceiling,
    "within_one": within_one,
}

"""What a run's predictions came to: by combination, by answer, and without a shift."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.analysis.error_parts import ErrorParts, error_parts_by_row
from unseen.analysis.intervals import Interval, mean_interval
from unseen.analysis.run_data import FoldData, RunData
from unseen.analysis.statistics import Spread, spread
from unseen.problem.samples import Combinations
from unseen.training.metrics import Metric, unseen_metrics

BAND = (0.05, 0.95)


@dataclass(frozen=True)
class Score:
    """How a combination did in a fold where it was unseen."""

    fold: int
    row: int  # of the table of all combinations
    combination: tuple[int, ...]
    answer: int
    mean: float  # of its answers
    samples: int
    measures: dict[str, float]  # the metrics of unseen combinations, by name
    error_parts: ErrorParts | None  # None where its error was not split

    @property
    def figures(self) -> dict[str, Any]:
        """What a row of a table has of it."""
        return {
            "fold": self.fold,
            "combination": self.combination,
            "answer": self.answer,
            "mean_answer": self.mean,
            "samples": self.samples,
            **self.measures,
        }

    @property
    def unit(self) -> tuple[int, int]:
        """The combination in its fold: it may be unseen in several."""
        return self.fold, self.row


@dataclass(frozen=True)
class Band:
    """Where nine in ten predictions for an answer lie."""

    answer: int
    low: float
    high: float


def scores_of(fold: FoldData, table: Combinations, parts: dict[int, ErrorParts]) -> Iterator[Score]:
    """Each unseen combination of a fold."""
    arrays = fold.arrays
    rows, at = np.unique(arrays.combination, return_inverse=True)
    counts = np.bincount(at)

    def mean_by_row(values: NDArray[Any]) -> list[float]:
        with np.errstate(all="ignore"):  # a network that diverged has means that are NaN
            means: list[float] = (np.bincount(at, values) / counts).tolist()
        return means

    means = mean_by_row(arrays.prediction.astype(np.float64))
    measures = {
        name: mean_by_row(metric.of_samples(arrays.prediction, arrays.answer))
        for name, metric in unseen_metrics().items()
    }
    for index, row in enumerate(rows.tolist()):
        yield Score(
            fold=fold.result.fold,
            row=row,
            combination=tuple(table.digits[row].tolist()),
            answer=int(table.answers[row]),
            mean=means[index],
            samples=int(counts[index]),
            measures={name: values[index] for name, values in measures.items()},
            error_parts=parts.get(row),
        )


def interval(scores: Sequence[Score], metric: Metric) -> Interval:
    """A metric over combinations, with its 95 % interval; a single network has none."""
    by_fold: dict[int, list[float]] = {}
    for score in scores:
        by_fold.setdefault(score.fold, []).append(score.measures[metric.name])
    found = mean_interval([*by_fold.values()], share=metric.is_share)
    if len(by_fold) == 1:  # its combinations were all answered by one network
        return replace(found, low=math.nan, high=math.nan, unit="folds", units=1)
    return found


def constant_shares(data: RunData) -> tuple[float, float]:
    """What one answer to every picture gets right: of unseen combinations, and of seen ones.

    Of unseen ones it is the best answer in hindsight, among those that a fold has seen.
    """
    answers = data.task.combinations.answers
    right: Counter[int] = Counter()
    commonest = []
    for fold in data.folds:
        unseen, seen = answers[~fold.seen], answers[fold.seen]
        right.update(unseen[np.isin(unseen, seen)].tolist())
        commonest.append(np.unique(seen, return_counts=True)[1].max() / len(seen))
    asked = sum(np.count_nonzero(~fold.seen) for fold in data.folds)
    return max(right.values(), default=0) / asked, float(np.mean(commonest))


def bands_of(folds: Sequence[FoldData]) -> tuple[Band, ...]:
    """For every answer, where the predictions lie, over all folds."""
    predictions = np.concatenate([fold.arrays.prediction for fold in folds]).astype(np.float64)
    answers = np.concatenate([fold.arrays.answer for fold in folds])
    with np.errstate(all="ignore"):
        return tuple(
            Band(answer, *np.quantile(predictions[answers == answer], BAND).tolist())
            for answer in np.unique(answers).tolist()
        )


def without_shift(folds: Sequence[FoldData]) -> dict[str, Spread]:
    """Measures on unseen combinations, minus each fold's mean error on seen ones.

    Switching dropout off shifts all answers of a regression network, and so does the chance of the
    last steps. That has nothing to do with new combinations, and one number per network removes it.
    The number is measured in training handwriting, so it could be removed before testing.
    """
    shifted = [
        (
            fold.arrays.prediction - np.float32(fold.result.quadrants["seen_train"]["mean_error"]),
            fold.arrays.answer,
        )
        for fold in folds
    ]
    return {
        name: spread([metric(*each) for each in shifted])
        for name, metric in unseen_metrics().items()
    }


def error_parts_by_fold(data: RunData) -> tuple[list[dict[int, ErrorParts]], int]:
    """By fold and row what errors are made of, and from how many images in each place.

    There are none of a baseline that is slow to answer.
    """
    deep = [fold.deep for fold in data.folds if fold.deep is not None]
    if len(deep) == len(data.folds):
        return [each.by_row for each in deep], deep[0].images
    found: list[dict[int, ErrorParts]] = []
    images = 0
    for fold in data.folds:
        means, rows, tables = fold.arrays.means, fold.arrays.table_rows, fold.arrays.tables
        if means is None or rows is None or tables is None:
            found.append({})
        else:
            table, images = data.task.combinations, int(tables.shape[1])
            found.append(error_parts_by_row(table, fold.seen, means, rows, tables))
    return found, images

"""Everything that a view says of a run, worked out once: its figures have one source."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unseen.analysis.error_parts import ErrorParts, error_parts_by_row, mean_error_parts
from unseen.analysis.intervals import Interval, mean_interval
from unseen.analysis.layers import MeanProbe, mean_probes
from unseen.analysis.references import Question, Reference, question, references
from unseen.analysis.run_data import FoldData, RunData
from unseen.analysis.statistics import Spread, over_folds, spread
from unseen.analysis.structure import Structure, structure_of
from unseen.errors import printable
from unseen.problem.samples import Combinations
from unseen.problem.task import QUADRANTS
from unseen.runs.experiment import Experiment
from unseen.runs.fold import FoldResult
from unseen.runs.measuring import GROUP_MEASURES, Measurement
from unseen.runs.run_folder import RunFolder
from unseen.training.metrics import METRICS, Metric

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


@dataclass(frozen=True, repr=False)
class Summary:
    """What a run came to, and what it shows."""

    folder: RunFolder
    run: str  # the name that it was given, or else its folder's
    experiment: Experiment
    question: Question
    results: tuple[FoldResult, ...]
    fold_count: int  # that the split has, done or not
    places: tuple[tuple[int, ...], ...]  # by place, what may stand there
    spreads: dict[str, Spread]
    scores: tuple[Score, ...]
    intervals: dict[str, Interval]  # over combinations, by the name of the metric
    one_answer: float  # the most that the same answer to every picture could get right
    seen_constant: float  # the same of seen combinations
    bands: tuple[Band, ...]
    quadrants: dict[str, dict[str, Spread]]
    unshifted: dict[str, Spread]  # with each fold's mean error on seen combinations taken off
    error_parts: ErrorParts | None
    images_per_place: int  # that errors were split by
    structure: Structure | None
    probes: tuple[MeanProbe, ...]
    baselines: dict[str, Reference]  # other than this run itself
    measurements: tuple[tuple[Measurement, ...], ...]  # by fold, made while it learnt
    passed_on: bool = False  # to people who have nothing to do with where its files are

    def __repr__(self) -> str:
        return f"Summary({self.run!r}, folds={len(self.results)}, intervals={self.intervals})"

    @property
    def constant(self) -> float:
        """What a constant answer stands for: of a few unseen combinations, one fits all by chance.

        So it counts for no more than the best of them gets of seen combinations.
        """
        return min(self.one_answer, self.seen_constant)

    @property
    def rounded(self) -> Interval:
        return self.intervals["rounded"]

    @property
    def mse(self) -> Interval:
        return self.intervals["test_mse"]


def sum_up(data: RunData) -> Summary:
    """All figures of a run."""
    experiment, results, folds = data.experiment, data.results, data.folds
    parts_by_fold, images = error_parts_by_fold(data)
    scores = [
        score
        for fold, parts in zip(folds, parts_by_fold, strict=True)
        for score in scores_of(fold, data.task.combinations, parts)
    ]
    asked = question(experiment.problem, data.task.bank.sha256)
    found = references(data.folder, asked, [result.fold for result in results])
    digits = data.task.combinations.digits
    one_answer, seen_constant = constant_shares(data)
    return Summary(
        folder=data.folder,
        run=printable(data.folder.label),
        experiment=experiment,
        question=asked,
        results=tuple(results),
        fold_count=len(data.task.folds),
        places=tuple(tuple(np.unique(column).tolist()) for column in digits.T),
        spreads=over_folds(results),
        scores=tuple(scores),
        intervals={name: interval(scores, metric) for name, metric in unseen_metrics().items()},
        one_answer=one_answer,
        seen_constant=seen_constant,
        bands=bands_of(folds),
        quadrants=quadrant_spreads(results),
        unshifted=without_shift(folds),
        error_parts=mean_error_parts([mean_error_parts([*each.values()]) for each in parts_by_fold])
        if all(parts_by_fold)
        else None,
        images_per_place=images,
        structure=structure_of(data),
        probes=mean_probes([fold.deep for fold in folds]),
        baselines={name: each for name, each in found.items() if name != experiment.training.model},
        measurements=tuple(fold.measurements for fold in folds),
    )


def unseen_metrics() -> dict[str, Metric]:
    """The metrics of unseen combinations, by name."""
    return {name: each for name, each in METRICS.items() if each.combinations == "unseen"}


def scores_of(fold: FoldData, table: Combinations, parts: dict[int, ErrorParts]) -> Iterator[Score]:
    """Each unseen combination of a fold."""
    arrays = fold.arrays
    rows, at = np.unique(arrays.combination, return_inverse=True)
    counts = np.bincount(at)
    with np.errstate(all="ignore"):  # a network that diverged has means that are NaN
        means = np.bincount(at, arrays.prediction.astype(np.float64)) / counts
        measures = {
            name: np.bincount(at, metric.of_samples(arrays.prediction, arrays.answer)) / counts
            for name, metric in unseen_metrics().items()
        }
    for place, row in enumerate(rows.tolist()):
        yield Score(
            fold=fold.result.fold,
            row=row,
            combination=tuple(table.digits[row].tolist()),
            answer=int(table.answers[row]),
            mean=float(means[place]),
            samples=int(counts[place]),
            measures={name: float(values[place]) for name, values in measures.items()},
            error_parts=parts.get(row),
        )


def interval(scores: Sequence[Score], metric: Metric) -> Interval:
    """A metric over combinations, with its 95 % interval; a single network has none."""
    by_fold: dict[int, list[float]] = {}
    for score in scores:
        by_fold.setdefault(score.fold, []).append(score.measures[metric.name])
    found = mean_interval([*by_fold.values()], share=metric.unit == "share")
    if len(by_fold) == 1:  # its combinations were all answered by one network
        return replace(found, low=math.nan, high=math.nan, unit="folds", units=1)
    return found


def constant_shares(data: RunData) -> tuple[float, float]:
    """What one answer to every picture gets right: of unseen combinations, and of seen ones.

    Of unseen ones it is the best answer in hindsight, among those that a fold has seen.
    """
    answers = data.task.combinations.answers
    guessed: Counter[int] = Counter()
    commonest = []
    for fold in data.folds:
        unseen, seen = answers[~fold.seen], answers[fold.seen]
        guessed.update(unseen[np.isin(unseen, seen)].tolist())
        commonest.append(np.unique(seen, return_counts=True)[1].max() / len(seen))
    asked = sum(np.count_nonzero(~fold.seen) for fold in data.folds)
    of_seen = float(np.mean(commonest))
    return max(guessed.values(), default=0) / asked, of_seen


def bands_of(folds: Sequence[FoldData]) -> tuple[Band, ...]:
    """For every answer, where the predictions lie, over all folds."""
    predictions = np.concatenate([fold.arrays.prediction for fold in folds])
    answers = np.concatenate([fold.arrays.answer for fold in folds])
    order = np.argsort(answers, kind="stable")
    values, starts = np.unique(answers[order], return_index=True)
    groups = np.split(predictions[order].astype(np.float64), starts[1:])
    with np.errstate(all="ignore"):
        return tuple(
            Band(value, *np.quantile(group, BAND).tolist())
            for value, group in zip(values.tolist(), groups, strict=True)
        )


def quadrant_spreads(results: Sequence[FoldResult]) -> dict[str, dict[str, Spread]]:
    """Seen and unseen combinations in train and test handwriting; empty for older runs."""
    measured = [result.quadrants for result in results if result.quadrants]
    return {
        name: {
            measure: spread([quadrants[name][measure] for quadrants in measured])
            for measure in GROUP_MEASURES
        }
        for name in (QUADRANTS if measured else ())
    }


def without_shift(folds: Sequence[FoldData]) -> dict[str, Spread]:
    """Measures on unseen combinations, minus each fold's mean error on seen ones; {} if unknown.

    Switching dropout off shifts all answers of a regression network, and so does the chance of the
    last steps. That has nothing to do with new combinations, and one number per network removes it.
    The number is measured in training handwriting, so it could be removed before testing.
    """
    if not all(fold.result.quadrants for fold in folds):
        return {}
    shifts = [np.float32(fold.result.quadrants["seen_train"]["mean_error"]) for fold in folds]
    return {
        name: spread(
            [
                metric(fold.arrays.prediction - shift, fold.arrays.answer)
                for fold, shift in zip(folds, shifts, strict=True)
            ]
        )
        for name, metric in unseen_metrics().items()
    }


def error_parts_by_fold(data: RunData) -> tuple[list[dict[int, ErrorParts]], int]:
    """By fold and row what errors are made of, and from how many images in each place.

    A fold that recorded no tables has no parts.
    """
    deep = [fold.deep for fold in data.folds if fold.deep is not None]
    if len(deep) == len(data.folds):
        return [each.by_row for each in deep], deep[0].images
    found: list[dict[int, ErrorParts]] = []
    for fold in data.folds:
        means, rows, tables = fold.arrays.means, fold.arrays.table_rows, fold.arrays.tables
        if means is None or rows is None or tables is None:
            found.append({})
        else:
            combinations = data.task.combinations
            found.append(error_parts_by_row(combinations, fold.seen, means, rows, tables))
    tables = data.folds[0].arrays.tables
    return found, 0 if tables is None else int(tables.shape[1])

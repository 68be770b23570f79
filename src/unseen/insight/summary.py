"""Everything that a view says of a run, worked out once: its figures have one source."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.experiments.experiment import Experiment
from unseen.experiments.fold import QUADRANT_MEASURES, FoldResult
from unseen.experiments.measuring import Measurement
from unseen.insight.deep import MeanProbe, deep_of, mean_probes
from unseen.insight.error_parts import ErrorParts, error_parts_by_row, mean_error_parts
from unseen.insight.evidence import Evidence, FoldEvidence
from unseen.insight.intervals import Interval, bootstrap_interval
from unseen.insight.references import Reference, references
from unseen.insight.shift import without_shift
from unseen.insight.statistics import Spread, over_folds, spread
from unseen.insight.structure import Structure, structure_of
from unseen.learning.metrics import METRICS, Metric

BOOTSTRAP_DRAWS = 10_000_000
QUADRANTS = ("seen_train", "seen_test", "unseen_train", "unseen_test")
BAND = (0.05, 0.5, 0.95)


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


@dataclass(frozen=True)
class Band:
    """Where nine in ten predictions lie for an answer, and the one in their middle."""

    answer: int
    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Summary:
    """What a run came to, and what it shows."""

    run: str  # the folder's name
    experiment: Experiment
    results: tuple[FoldResult, ...]
    fold_count: int  # that the split has, done or not
    places: tuple[tuple[int, ...], ...]  # by place, what may stand there
    spreads: dict[str, Spread]
    scores: tuple[Score, ...]
    intervals: dict[str, Interval]  # over combinations, by the name of the metric
    guess: float  # the most that the same answer to every picture could get right
    bands: tuple[Band, ...]
    quadrants: dict[str, dict[str, Spread]]
    unshifted: dict[str, Spread]  # with each fold's mean error on seen combinations taken off
    error_parts: ErrorParts | None
    images_per_place: int  # that errors were split by
    error_parts_by_unit: dict[tuple[int, int], ErrorParts]  # by fold and row
    structure: Structure | None
    probes: tuple[MeanProbe, ...]
    baselines: dict[str, Reference]  # other than this run itself
    measurements: tuple[tuple[Measurement, ...], ...]  # by fold, made while it learnt

    @property
    def rounded(self) -> Interval:
        return self.intervals["rounded"]

    @property
    def mse(self) -> Interval:
        return self.intervals["test_mse"]


def sum_up(evidence: Evidence) -> Summary:
    """All figures of a run."""
    experiment, results = evidence.experiment, evidence.results
    scores = [score for fold in evidence.folds for score in scores_of(fold, evidence)]
    parts_by_row, images = all_error_parts(evidence)
    found = references(evidence.folder, experiment, [result.fold for result in results])
    return Summary(
        run=evidence.folder.path.name,
        experiment=experiment,
        results=tuple(results),
        fold_count=len(evidence.posed.folds),
        places=tuple(
            tuple(np.unique(column).tolist()) for column in evidence.posed.combinations.digits.T
        ),
        spreads=over_folds(results),
        scores=tuple(scores),
        intervals={name: interval(scores, metric) for name, metric in unseen_metrics().items()},
        guess=best_constant_share(evidence),
        bands=bands_of(evidence),
        quadrants=quadrant_spreads(results),
        unshifted=without_shift(evidence.folds),
        error_parts=mean_of_folds(parts_by_row),
        images_per_place=images,
        error_parts_by_unit={
            (fold.result.fold, row): each
            for fold, by_row in zip(evidence.folds, parts_by_row, strict=True)
            for row, each in by_row.items()
        },
        structure=structure_of(evidence),
        probes=mean_probes([deep_of(fold.deep) for fold in evidence.folds]),
        baselines={name: each for name, each in found.items() if name != experiment.training.model},
        measurements=tuple(fold.measurements for fold in evidence.folds),
    )


def unseen_metrics() -> dict[str, Metric]:
    """The metrics of unseen combinations, by name."""
    return {name: each for name, each in METRICS.items() if each.combinations == "unseen"}


def scores_of(fold: FoldEvidence, evidence: Evidence) -> list[Score]:
    """Each unseen combination of a fold."""
    table, arrays = evidence.posed.combinations, fold.arrays
    rows, at = np.unique(arrays.combination, return_inverse=True)
    counts = np.bincount(at)
    with np.errstate(all="ignore"):  # a network that diverged has means that are NaN
        means = np.bincount(at, arrays.prediction.astype(np.float64)) / counts
        measures = {
            name: np.bincount(at, metric.of_samples(arrays.prediction, arrays.answer)) / counts
            for name, metric in unseen_metrics().items()
        }
    return [
        Score(
            fold=fold.result.fold,
            row=int(row),
            combination=tuple(table.digits[row].tolist()),
            answer=int(table.answers[row]),
            mean=float(means[place]),
            samples=int(counts[place]),
            measures={name: float(values[place]) for name, values in measures.items()},
        )
        for place, row in enumerate(rows)
    ]


def interval(scores: Sequence[Score], metric: Metric) -> Interval:
    """A metric over combinations, with its 95 % interval."""
    by_fold = values_by_fold(scores, metric.name)
    rounds = min(10_000, max(1_000, BOOTSTRAP_DRAWS // len(scores)))
    return bootstrap_interval(by_fold, rounds=rounds, share=metric.unit == "share")


def values_by_fold(scores: Sequence[Score], measure: str) -> list[NDArray[np.float64]]:
    folds: dict[int, list[float]] = {}
    for score in scores:
        folds.setdefault(score.fold, []).append(score.measures[measure])
    return [np.asarray(values, np.float64) for values in folds.values()]


def best_constant_share(evidence: Evidence) -> float:
    """The share of unseen combinations that the best of all constant answers gets right.

    Only an answer that a fold has seen counts there: nothing else could be given by heart.
    """
    answers = evidence.posed.combinations.answers
    guessed: dict[int, int] = {}
    for fold in evidence.folds:
        unseen = answers[~fold.seen]
        for value, count in zip(*np.unique(unseen, return_counts=True), strict=True):
            if value in answers[fold.seen]:
                guessed[int(value)] = guessed.get(int(value), 0) + int(count)
    return max(guessed.values(), default=0) / sum(
        int((~fold.seen).sum()) for fold in evidence.folds
    )


def bands_of(evidence: Evidence) -> tuple[Band, ...]:
    """For every answer, where the predictions lie, over all folds."""
    predictions = np.concatenate([fold.arrays.prediction for fold in evidence.folds])
    answers = np.concatenate([fold.arrays.answer for fold in evidence.folds])
    order = np.argsort(answers, kind="stable")
    values, starts = np.unique(answers[order], return_index=True)
    bands = []
    for value, group in zip(values, np.split(predictions[order], starts[1:]), strict=True):
        with np.errstate(all="ignore"):
            low, median, high = np.quantile(group.astype(np.float64), BAND).tolist()
        bands.append(Band(int(value), low, median, high))
    return tuple(bands)


def quadrant_spreads(results: Sequence[FoldResult]) -> dict[str, dict[str, Spread]]:
    """Seen and unseen combinations in train and test handwriting; empty for older runs."""
    measured = [result.quadrants for result in results if result.quadrants]
    if not measured:
        return {}
    return {
        name: {
            measure: spread([quadrants[name][measure] for quadrants in measured])
            for measure in QUADRANT_MEASURES
        }
        for name in QUADRANTS
    }


def all_error_parts(evidence: Evidence) -> tuple[list[dict[int, ErrorParts]], int]:
    """By fold and row what errors are made of, and from how many images in each place."""
    deep = [deep_of(fold.deep) for fold in evidence.folds]
    thorough = [each for each in deep if each is not None]
    if len(thorough) == len(deep):
        return [each.by_row for each in thorough], thorough[0].images
    tables = evidence.folds[0].arrays.tables
    images = 0 if tables is None else int(tables.shape[1])
    return [fold_error_parts(fold, evidence) for fold in evidence.folds], images


def fold_error_parts(fold: FoldEvidence, evidence: Evidence) -> dict[int, ErrorParts]:
    """By row what a fold's errors are made of; nothing where it recorded no tables."""
    arrays = fold.arrays
    if arrays.means is None or arrays.table_rows is None or arrays.tables is None:
        return {}
    return error_parts_by_row(
        evidence.posed.combinations,
        fold.seen,
        arrays.means,
        arrays.table_rows,
        arrays.tables,
    )


def mean_of_folds(folds: Sequence[dict[int, ErrorParts]]) -> ErrorParts | None:
    """The mean over folds of the mean over each one's combinations; None where a fold has none."""
    if not all(folds):
        return None
    return mean_error_parts([mean_error_parts([*by_row.values()]) for by_row in folds])

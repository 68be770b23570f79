"""All figures of a run, worked out once: every view reads them here."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from pydantic_core import to_jsonable_python

from unseen.analysis.error_parts import (
    ErrorParts,
    mean_error_parts,
    parts_by_place,
    place_names,
)
from unseen.analysis.intervals import Interval
from unseen.analysis.layers import mean_probes
from unseen.analysis.references import Question, Reference, question, references
from unseen.analysis.run_data import RunData
from unseen.analysis.scores import (
    Band,
    Score,
    bands_of,
    constant_shares,
    error_parts_by_fold,
    interval,
    scores_of,
    without_shift,
)
from unseen.analysis.statistics import Spread, over_folds, spread
from unseen.analysis.structure import Structure, structure_of
from unseen.analysis.verdict import Judgement, judge
from unseen.errors import printable
from unseen.problem.operations import spelled
from unseen.problem.task import QUADRANTS
from unseen.runs.experiment import Experiment
from unseen.runs.fold import FoldResult
from unseen.runs.measuring import GROUP_MEASURES, Measurement
from unseen.runs.run_folder import RunFolder
from unseen.training.metrics import ERROR, HEADLINE, SEEN, unseen_metrics


@dataclass(frozen=True, repr=False)
class Summary:
    """What a run came to, and what it shows."""

    folder: RunFolder
    run: str  # the name that it was given, or else its folder's
    experiment: Experiment
    question: Question
    results: tuple[FoldResult, ...]
    fold_count: int  # that the split has, done or not
    places: tuple[tuple[int, ...], ...]  # by position, what may stand there
    spreads: dict[str, Spread]
    scores: tuple[Score, ...]
    intervals: dict[str, Interval]  # over combinations, by the name of the metric
    one_answer: float  # the most that the same answer to every picture could get right
    seen_constant: float  # the same of seen combinations
    bands: tuple[Band, ...]
    quadrants: dict[str, dict[str, Spread]]  # seen or unseen, in train or test images
    unshifted: dict[str, Spread]  # with each fold's mean error on seen combinations taken off
    error_parts: ErrorParts | None
    images_per_place: int  # that errors were split by
    structure: Structure | None
    probes: dict[str, tuple[Spread, ...]]  # by layer and place, the share read right
    baselines: dict[str, Reference]  # other than this run itself
    measurements: tuple[tuple[Measurement, ...], ...]  # by fold, made while it learnt
    passed_on: bool = False  # to people who have nothing to do with where its files are

    def __repr__(self) -> str:
        return f"Summary({self.run!r}, folds={len(self.results)}, intervals={self.intervals})"

    @property
    def headline(self) -> Interval:
        """The metric that the run is judged by, over unseen combinations."""
        return self.intervals[HEADLINE.name]

    @property
    def seen(self) -> float:
        """The same of seen combinations, in test images."""
        return self.spreads[SEEN.name].mean

    @property
    def error(self) -> Interval:
        return self.intervals[ERROR.name]

    @property
    def constant(self) -> float:
        """What a constant answer stands for: of a few unseen combinations, one fits all by chance.

        So it counts for no more than the best of them gets of seen combinations.
        """
        return min(self.one_answer, self.seen_constant)

    @cached_property
    def judgement(self) -> Judgement:
        return judge(self)

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain dicts, lists and numbers: what JSON and CSV have.

        >>> import unseen
        >>> run = unseen.run("fast", folds=1, samples=2, test_samples=2)
        >>> sorted(run.summary.to_dict()["attribution"]["misread"])
        ['left', 'right']
        """
        figures = {
            "judgement": self.judgement,
            "intervals": self.intervals,
            "combinations": [
                score.figures | {"combination": spelled(score.combination)} for score in self.scores
            ],
            "best_constant": self.constant,
            "baselines": {
                name: {metric: each.mean for metric, each in baseline.spreads.items()}
                | {"folds": baseline.folds}
                for name, baseline in self.baselines.items()
            },
            "quadrants": self.quadrants,
            "without_shift": self.unshifted,
            "attribution": self._error_parts_dict(),
            "structure": self.structure and self._structure_dict(self.structure),
            "probes": [
                {"layer": layer, "places": [place.mean for place in places]}
                for layer, places in self.probes.items()
            ],
        }
        plain: dict[str, Any] = to_jsonable_python(figures)
        return plain

    def _error_parts_dict(self) -> dict[str, Any] | None:
        """The mean squared error of unseen combinations and its parts."""
        if self.error_parts is None:
            return None
        problem, misread = self.experiment.problem, self.error_parts.misread
        return {
            "images": self.images_per_place,
            **vars(self.error_parts),
            "misread": dict(zip(place_names(problem), misread, strict=True)),
            "combinations": [
                {"fold": score.fold, "combination": spelled(score.combination)}
                | {"mse": score.error_parts.mse}
                | parts_by_place(problem, score.error_parts)
                for score in self.scores
                if score.error_parts is not None
            ],
        }

    def _structure_dict(self, structure: Structure) -> dict[str, Any]:
        values = [
            {"place": place, "digit": digit, "worth": worth.mean}
            for (place, digit), worth in structure.values.items()
        ]
        return {
            **structure.figures,
            "true_additivity": structure.true_additivity,
            "values": values,
        }


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
    one_answer, seen_constant = constant_shares(data)
    return Summary(
        folder=data.folder,
        run=printable(data.folder.label),
        experiment=experiment,
        question=asked,
        results=tuple(results),
        fold_count=len(data.task.folds),
        places=tuple(
            tuple(np.unique(column).tolist()) for column in data.task.combinations.digits.T
        ),
        spreads=over_folds(results),
        scores=tuple(scores),
        intervals={name: interval(scores, metric) for name, metric in unseen_metrics().items()},
        one_answer=one_answer,
        seen_constant=seen_constant,
        bands=bands_of(folds),
        quadrants={
            name: {
                measure: spread([result.quadrants[name][measure] for result in results])
                for measure in GROUP_MEASURES
            }
            for name in QUADRANTS
        },
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

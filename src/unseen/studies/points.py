"""What a study shows: its runs as points, each with an interval over folds and seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unseen.experiments.experiment import Experiment, setting_value
from unseen.experiments.fold import FoldResult
from unseen.experiments.run_folder import RunFolder
from unseen.insight.intervals import Interval, bootstrap_interval
from unseen.insight.statistics import measures_of
from unseen.learning.metrics import METRICS
from unseen.studies.study import Study
from unseen.studies.sweep import Plan

REPEATS = ("seed", "split_seed", "folds")  # what is repeated, not compared
ROUNDS = 2_000


@dataclass(frozen=True)
class Point:
    """The networks of a study that differ in nothing but seeds and folds."""

    settings: dict[str, Any]  # those that are compared
    experiment: Experiment  # the first of them
    runs: tuple[RunFolder, ...]
    networks: int
    intervals: dict[str, Interval]  # by metric


def compared_settings(study: Study) -> tuple[str, ...]:
    """The varied settings that tell points apart: all but seeds, unless only they vary."""
    compared = tuple(name for name in study.varied if name not in REPEATS)
    return compared or tuple(name for name in study.varied if name != "folds")


def study_points(plan: Plan) -> list[Point]:
    """The points of a study with a network that is done, in the order of the study."""
    names = compared_settings(plan.study)
    groups: dict[tuple[Any, ...], list[RunFolder]] = {}
    for folder, run in plan.runs.items():
        if plan.done[folder]:
            key = tuple(_value(run.experiment, name) for name in names)
            groups.setdefault(key, []).append(folder)
    return [
        _point(plan, dict(zip(names, key, strict=True)), folders) for key, folders in groups.items()
    ]


def _value(experiment: Experiment, name: str) -> Any:
    return experiment.name if name == "preset" else setting_value(experiment, name)


def _point(plan: Plan, settings: dict[str, Any], folders: Sequence[RunFolder]) -> Point:
    # the same combinations are unseen in a fold with any seed: what its networks share
    by_fold: dict[tuple[int, int], list[FoldResult]] = {}
    for folder in folders:
        split_seed = plan.runs[folder].experiment.problem.split_seed
        for fold, result in plan.done[folder].items():
            by_fold.setdefault((split_seed, fold), []).append(result)
    measured = [[measures_of(result) for result in results] for results in by_fold.values()]
    intervals = {
        name: bootstrap_interval(
            [[measures[name] for measures in fold] for fold in measured],
            share=metric.unit == "share",
            rounds=ROUNDS,
        )
        for name, metric in METRICS.items()
    }
    first = plan.runs[folders[0]].experiment
    return Point(settings, first, (*folders,), sum(map(len, measured)), intervals)

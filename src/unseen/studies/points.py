"""What a study shows: its runs as points, each with an interval over folds and seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unseen.analysis.intervals import Interval, mean_interval
from unseen.analysis.statistics import measures_of
from unseen.problem.leakage import find_leakage, rule_of
from unseen.problem.problem import Problem
from unseen.problem.task import make_task
from unseen.runs.experiment import Experiment, setting_value
from unseen.runs.fold import FoldResult
from unseen.runs.run_folder import RunFolder
from unseen.studies.study import Study
from unseen.studies.sweep import Plan
from unseen.training.metrics import METRICS

REPEATS = ("seed", "split_seed", "folds")  # what is repeated, not compared


@dataclass(frozen=True)
class Point:
    """The networks of a study that differ in nothing but seeds and folds."""

    settings: dict[str, Any]  # those that are compared
    experiment: Experiment  # the first of them
    runs: tuple[RunFolder, ...]
    networks: int
    intervals: dict[str, Interval]  # by metric
    determined: float | None  # share of unseen answers that the seen ones settle; None: no rule


def compared_settings(study: Study) -> tuple[str, ...]:
    """The varied settings that tell points apart: all but seeds, unless only they vary.

    A setting that follows from those before it, as one of a study's cases, tells nothing more.
    """
    compared = [name for name in study.varied if name not in REPEATS]
    compared = compared or [name for name in study.varied if name != "folds"]
    found: list[str] = []
    for name in compared:
        if not found or _points(study, found) < _points(study, [*found, name]):
            found.append(name)
    return tuple(found)


def _points(study: Study, names: Sequence[str]) -> int:
    """How many points these settings tell apart."""
    return len({tuple(_value(run.experiment, name) for name in names) for run in study.runs})


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
    determined: dict[tuple[int, int], float | None] = {}
    for folder in folders:
        problem = plan.runs[folder].experiment.problem
        for fold, result in plan.done[folder].items():
            split = problem.split_seed, fold
            by_fold.setdefault(split, []).append(result)
            if split not in determined:
                determined[split] = _determined_share(problem, fold)
    measured = [[measures_of(result) for result in results] for results in by_fold.values()]
    intervals = {
        name: mean_interval(
            [[measures[name] for measures in fold] for fold in measured],
            share=metric.is_share,
        )
        for name, metric in METRICS.items()
    }
    first = plan.runs[folders[0]].experiment
    shares = [each for each in determined.values() if each is not None]
    settled = sum(shares) / len(shares) if shares else None
    return Point(settings, first, (*folders,), sum(map(len, measured)), intervals, settled)


def _determined_share(problem: Problem, fold: int) -> float | None:
    """The share of a fold's unseen answers that the rule and the seen answers settle."""
    task = make_task(problem)
    leakage = find_leakage(task.combinations, task.folds[fold - 1], rule_of(task.combinations))
    return None if leakage.undetermined is None else 1 - leakage.undetermined / leakage.unseen

"""Baselines that were asked the same question: what a memory can do, what composition could."""

from collections.abc import Sequence
from dataclasses import dataclass

from unseen.errors import UnseenError
from unseen.experiments.experiment import Experiment
from unseen.experiments.find_runs import list_runs
from unseen.experiments.fold import FoldResult
from unseen.experiments.run_folder import RunFolder
from unseen.insight.statistics import Spread, spread
from unseen.learning.baselines import BASELINES
from unseen.problem.settings import Problem

QUESTION = (
    *("operation", "length", "symbols", "split", "split_seed"),
    *("unseen", "unseen_list", "development"),
)


@dataclass(frozen=True)
class Reference:
    """A baseline on folds that a run has as well."""

    rounded: Spread
    test_mse: Spread
    folds: int


def different_settings(ours: Problem, theirs: Problem) -> list[str]:
    """What makes two problems different questions; samples may be as many as they like."""
    return [name for name in QUESTION if getattr(ours, name) != getattr(theirs, name)]


def references(
    folder: RunFolder, experiment: Experiment, folds: Sequence[int]
) -> dict[str, Reference]:
    """The baselines among the runs beside this one; of several, the one with most of its folds."""
    found: dict[str, list[FoldResult]] = {}
    for run in list_runs(folder.path.parent):
        name, results = _baseline(run, experiment.problem)
        common = [result for result in results if result.fold in folds]
        if len(common) > len(found.get(name, [])):
            found[name] = common
    return {name: _reference(found[name]) for name in BASELINES if name in found}


def _baseline(run: RunFolder, problem: Problem) -> tuple[str, list[FoldResult]]:
    """Which baseline a run is of, and its results; nothing of other runs."""
    try:
        other = run.experiment()
        name = other.training.model
        if name not in BASELINES or different_settings(problem, other.problem):
            return "", []
        return name, run.results()[0]
    except UnseenError:
        return "", []


def _reference(results: Sequence[FoldResult]) -> Reference:
    return Reference(
        spread([result.measures["rounded"] for result in results]),
        spread([result.measures["test_mse"] for result in results]),
        len(results),
    )

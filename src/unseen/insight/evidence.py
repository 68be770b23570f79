"""What a run left in its folder, read once: all that summaries and reports are made of."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.experiments.experiment import Experiment
from unseen.experiments.fold import FoldArrays, FoldResult
from unseen.experiments.measuring import Measurement
from unseen.experiments.posing import PosedProblem, pose
from unseen.experiments.run_folder import RunFolder
from unseen.insight.deep import DEEP_FILE, DeepFold, deep_of


@dataclass(frozen=True)
class FoldEvidence:
    """A finished fold: its result, its arrays, which combinations it had seen."""

    result: FoldResult
    arrays: FoldArrays
    seen: NDArray[np.bool_]  # (combinations,)
    measurements: tuple[Measurement, ...]  # made while it learnt
    deep: DeepFold | None  # computed on demand, if it was


@dataclass(frozen=True)
class Evidence:
    """A run: its folder, its problem with symbols and folds, and its finished folds."""

    folder: RunFolder
    experiment: Experiment
    posed: PosedProblem
    folds: tuple[FoldEvidence, ...]

    @property
    def results(self) -> list[FoldResult]:
        return [fold.result for fold in self.folds]


def gather(folder: RunFolder, experiment: Experiment, results: Sequence[FoldResult]) -> Evidence:
    """Read these folds of a run."""
    folder.refuse_changed_parts(experiment)
    posed = pose(experiment.problem)
    folds = []
    for result in results:
        seen = np.ones(len(posed.combinations.digits), np.bool_)
        seen[posed.unseen(result.fold)] = False
        arrays = folder.arrays(result.fold, experiment)
        measurements = tuple(
            each
            for each in folder.measurements(result.fold).read()
            if each.epochs <= experiment.training.epochs
        )
        deep = deep_of(folder.derived(result.fold, DEEP_FILE), posed, result.fold)
        folds.append(FoldEvidence(result, arrays, seen, measurements, deep))
    return Evidence(folder, experiment, posed, tuple(folds))

"""What a run left in its folder, read once: all that summaries and reports are made of."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from unseen.analysis.error_parts import ErrorParts
from unseen.problem.task import Task, make_task
from unseen.runs.experiment import Experiment
from unseen.runs.fold import FoldArrays, FoldResult
from unseen.runs.measuring import Measurement
from unseen.runs.run_folder import RunFolder

DEEP_FILE = "deep.json"


class DeepFold(BaseModel):
    """A fold's layers analysed: errors from many images, and digits read from each layer."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    images: int  # in each place
    by_row: dict[int, ErrorParts]  # of the table of all combinations
    probes: dict[str, tuple[float, ...]]  # layer -> by place, the share read right


@dataclass(frozen=True)
class FoldData:
    """A finished fold: its result, its arrays, which combinations it had seen."""

    result: FoldResult
    arrays: FoldArrays
    seen: NDArray[np.bool_]  # (combinations,)
    measurements: tuple[Measurement, ...]  # made while it learnt
    deep: DeepFold | None  # computed on demand, if it was


@dataclass(frozen=True)
class RunData:
    """A run: its folder, its problem with symbols and folds, and its finished folds."""

    folder: RunFolder
    experiment: Experiment
    task: Task
    folds: tuple[FoldData, ...]

    @property
    def results(self) -> list[FoldResult]:
        return [fold.result for fold in self.folds]


def load_run_data(
    folder: RunFolder, experiment: Experiment, results: Sequence[FoldResult]
) -> RunData:
    """Read these folds of a run."""
    folder.refuse_changed_parts(experiment)
    task = make_task(experiment.problem)
    folds = []
    for result in results:
        seen = np.ones(len(task.combinations.digits), np.bool_)
        seen[task.unseen(result.fold)] = False
        arrays = folder.arrays(result.fold, experiment)
        measurements = tuple(
            each
            for each in folder.measurements(result.fold)
            if each.epochs <= experiment.training.epochs
        )
        deep = deep_of(folder.derived(result.fold, DEEP_FILE), task, result.fold)
        folds.append(FoldData(result, arrays, seen, measurements, deep))
    return RunData(folder, experiment, task, tuple(folds))


def deep_of(kept: bytes | None, task: Task, fold: int) -> DeepFold | None:
    """The analysis that was kept of a fold; None if there is none, or it is of another fold."""
    try:
        deep = DeepFold.model_validate_json(kept or b"")
    except ValidationError:
        return None
    unseen, places = {*task.unseen(fold).tolist()}, task.combinations.digits.shape[1]
    parts = [*(each.misread for each in deep.by_row.values()), *deep.probes.values()]
    is_of_fold = deep.by_row and deep.by_row.keys() <= unseen and deep.images >= 2
    return deep if is_of_fold and all(len(each) == places for each in parts) else None

"""Folds that are run in the process of a test, and saved."""

from pathlib import Path

from unseen.runs.experiment import Experiment
from unseen.runs.fold import FoldResult
from unseen.runs.run_folder import RunFolder
from unseen.runs.worker import work_on_fold


def complete_fold(
    path: Path, experiment: Experiment, fold: int, *, keeps_weights_so_far: bool = False
) -> FoldResult | None:
    """Finish a fold of a run folder as a worker and its parent do; None if it is held."""
    folder = RunFolder(path)
    with folder.in_use() as mark:
        outcome = work_on_fold(mark, experiment, fold, keeps_weights_so_far=keeps_weights_so_far)
    if outcome is not None and not folder.keep(outcome):
        return None
    return folder.result(fold)

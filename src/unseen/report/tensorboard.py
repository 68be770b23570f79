"""The measurements of a run as curves for TensorBoard, in a folder of the run folder."""

import importlib
import math
import shutil
import warnings
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

from unseen.errors import UnseenError, first_line
from unseen.problem.task import make_task
from unseen.runs.events import Event, FoldDone, Measured, Started
from unseen.runs.experiment import Experiment
from unseen.runs.run_folder import RunFolder


class TensorBoardCurves:
    """Writes what the folds of runs have measured."""

    def __init__(self) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._module: Any = importlib.import_module("torch.utils.tensorboard")
        except Exception as error:  # it imports many packages, each of which may be broken
            raise UnseenError(
                "--tensorboard needs the package tensorboard: pip install 'unseen[tensorboard]' "
                f"({first_line(error)})"
            ) from error

    def follow(self, events: Generator[Event, None, None]) -> Generator[Event, None, None]:
        """Hand on the events of a session, and write the curves of its folds."""
        folder = None
        with closing(events):
            for event in events:
                if isinstance(event, Started):
                    folder = RunFolder(Path(event.run))
                elif isinstance(event, Measured | FoldDone) and folder is not None:
                    self.write(folder, folder.experiment(), event.fold)
                yield event

    def write(self, folder: RunFolder, experiment: Experiment, fold: int) -> None:
        """Write all measurements of a fold anew: it may have been begun again since."""
        path = folder.path / "tensorboard" / f"fold-{fold:02}"
        steps = steps_per_epoch(experiment, fold)
        try:
            shutil.rmtree(path, ignore_errors=True)
            with self._module.SummaryWriter(str(path)) as writer:
                for each in folder.measurements(fold):
                    for group, measures in (("unseen", each.unseen), ("seen", each.seen)):
                        for name, value in measures.items():
                            writer.add_scalar(
                                f"{group}/{name}",
                                math.nan if value is None else value,
                                round(each.epochs * steps),
                                each.seconds or 0.0,
                            )
        except OSError as error:
            raise UnseenError(f"cannot write {path}: {error.strerror or error}") from error


def steps_per_epoch(experiment: Experiment, fold: int) -> int:
    """Steps of the optimiser, which TensorBoard counts."""
    task = make_task(experiment.problem)
    seen = len(task.combinations.digits) - len(task.unseen(fold))
    samples = seen * experiment.problem.samples_per_combination
    return math.ceil(samples / experiment.training.batch_size)

"""The measurements of a run as curves for TensorBoard, in a folder of the run folder."""

import importlib
import math
import warnings
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

from unseen.errors import UnseenError, first_line
from unseen.files import remove
from unseen.problem.task import make_task
from unseen.runs.events import Event, FoldDone, Measured, Started
from unseen.runs.experiment import Experiment
from unseen.runs.measuring import Measurement
from unseen.runs.run_folder import RunFolder

EVENTS = "events.out.tfevents*"


class TensorBoardCurves:
    """Writes what the folds of runs have measured, as it comes."""

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
        self._writers: dict[Path, Any] = {}
        self._written: dict[Path, list[Measurement]] = {}

    def follow(self, events: Generator[Event, None, None]) -> Generator[Event, None, None]:
        """Hand on the events of a session, and write the curves of its folds."""
        folder = None
        with closing(events):
            for event in events:
                if isinstance(event, Started):
                    folder = RunFolder(Path(event.run))
                elif isinstance(event, Measured | FoldDone) and folder is not None:
                    ended = isinstance(event, FoldDone)
                    self.write(folder, folder.experiment(), event.fold, ended=ended)
                yield event

    def write(
        self, folder: RunFolder, experiment: Experiment, fold: int, *, ended: bool = True
    ) -> None:
        """Write the measurements of a fold that are not written yet."""
        measurements = folder.measurements(fold).read()
        path = folder.path / "tensorboard" / f"fold-{fold:02}"
        written = self._written.get(path, [])
        if measurements[: len(written)] != written:  # the fold was begun again
            self._writers.pop(path).close()
        if path not in self._writers:
            for earlier in path.glob(EVENTS):
                remove(earlier)
            self._writers[path], written = self._writer(path), []
        steps = steps_per_epoch(experiment, fold)
        for each in measurements[len(written) :]:
            groups = {"unseen": each.unseen, "seen": each.seen}
            for group, measures in groups.items():
                for name, value in measures.items():
                    self._writers[path].add_scalar(
                        f"{group}/{name}",
                        math.nan if value is None else value,
                        round(each.epochs * steps),
                        each.seconds or 0.0,
                    )
        self._written[path] = measurements
        self._writers[path].flush()
        if ended:
            self._writers.pop(path).close()
            del self._written[path]

    def _writer(self, path: Path) -> Any:
        try:
            return self._module.SummaryWriter(str(path))
        except OSError as error:
            raise UnseenError(f"cannot write {path}: {error.strerror or error}") from error


def steps_per_epoch(experiment: Experiment, fold: int) -> int:
    """Steps of the optimiser, which TensorBoard counts."""
    task = make_task(experiment.problem)
    seen = len(task.combinations.digits) - len(task.unseen(fold))
    samples = seen * experiment.problem.samples_per_combination
    return math.ceil(samples / experiment.training.batch_size)

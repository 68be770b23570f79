"""What a worker does: bring one fold to its end, and keep in the run folder how far it has come.

The outcome is returned, and the process that asked for it writes it.
"""

import math
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from unseen.errors import UnseenError
from unseen.files import DamagedFileError
from unseen.parts import find_installed
from unseen.runs.experiment import Experiment
from unseen.runs.fold import FoldOutcome, FoldResult, fold_steps
from unseen.runs.measuring import Measurement
from unseen.runs.run_folder import RunFolder

SECONDS_BETWEEN_REPORTS = 0.5


@dataclass(frozen=True)
class FinishedFold:
    """What a worker returns: an outcome, and measurements that are not in the run folder yet."""

    outcome: FoldOutcome
    measurements: list[Measurement]

    def save(self, folder: RunFolder) -> FoldResult | None:
        """Write the fold into its run folder; None if another process has it."""
        fold = self.outcome.result.fold
        folder.refuse_gone()
        with folder.hold(fold) as held:
            if not held:
                return None
            for measurement in self.measurements:
                folder.measurements(fold).add(measurement)
            folder.save(self.outcome)
        return self.outcome.result


def work_on_fold(
    mark: Path, experiment: Experiment, fold: int, *, keeps_weights_so_far: bool = False
) -> FinishedFold | None:
    """Finish a fold; None if another process has it, or has finished it.

    `mark` is a file that was made in the run folder. A worker that sees it shares the disk: it goes
    on from the fold's checkpoint, and keeps one after each epoch. Where `keeps_weights_so_far` is
    true, it saves the weights at every measurement, so that the network can be asked while it
    learns: 20 MB each time for the network of the paper.
    """
    folder = RunFolder(mark.parent.parent)
    if RunFolder.of(experiment, folder.path.parent) != folder:
        find_installed()  # this process may not know the parts of installed packages yet
        if RunFolder.of(experiment, folder.path.parent) != folder:
            raise UnseenError(
                "the symbols or the model's file have changed since the run began, or differ here"
            )
    if not mark.exists():
        return _finish_apart(experiment, fold)
    with folder.hold(fold) as held:
        with suppress(DamagedFileError):
            if not held or folder.result(fold) is not None:
                return None
        return _finish_in(folder, experiment, fold, keeps_weights_so_far)


def _finish_apart(experiment: Experiment, fold: int) -> FinishedFold:
    """Finish a fold without its run folder."""
    steps, measurements = fold_steps(experiment, fold), list[Measurement]()
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            return FinishedFold(end.value, measurements)
        if step.measurement is not None:
            measurements.append(step.measurement)


def _finish_in(
    folder: RunFolder, experiment: Experiment, fold: int, keeps_weights_so_far: bool
) -> FinishedFold:
    """Finish a fold, and keep in its run folder how far it has come."""
    folder.discard_result(fold)
    checkpoint = None
    with suppress(DamagedFileError):
        checkpoint = folder.checkpoint(fold)
    steps = fold_steps(experiment, fold, checkpoint, folder.shared_file)
    reported = -math.inf
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            return FinishedFold(end.value, [])
        if step.measurement is not None:
            folder.measurements(fold).add(step.measurement)
        epoch_ended = step.progress.epoch_share == 0
        if step.state is not None:
            if keeps_weights_so_far and step.measurement is not None:
                folder.save_weights_so_far(fold, step.state.weights())
            if epoch_ended:
                folder.save_checkpoint(fold, step.state.to_bytes())
        if epoch_ended or time.monotonic() - reported > SECONDS_BETWEEN_REPORTS:
            reported = time.monotonic()
            folder.save_progress(fold, step.progress)

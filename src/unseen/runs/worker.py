"""What a worker does: bring one fold to its end, and keep in the run folder how far it has come.

The outcome is returned, and the process that asked for it writes it.
"""

import math
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.errors import UnseenError
from unseen.files import DamagedFileError
from unseen.parts import find_installed
from unseen.runs.experiment import Experiment
from unseen.runs.fold import FoldOutcome, FoldProgress, follow_fold
from unseen.runs.measuring import Measurement
from unseen.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from unseen.training.loop import TrainingState

SECONDS_BETWEEN_REPORTS = 0.5


def work_on_fold(
    mark: Path, experiment: Experiment, fold: int, *, keeps_weights_so_far: bool = False
) -> FoldOutcome | None:
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
        measured: list[Measurement | None] = []
        outcome = follow_fold(experiment, fold, lambda _, each, state: measured.append(each))
        return replace(outcome, measurements=tuple(each for each in measured if each))
    with folder.hold(fold) as held:
        with suppress(DamagedFileError):
            if not held or folder.result(fold) is not None:
                return None
        return _finish_in(folder, experiment, fold, keeps_weights_so_far)


def _finish_in(
    folder: RunFolder, experiment: Experiment, fold: int, keeps_weights_so_far: bool
) -> FoldOutcome:
    """Finish a fold, and keep in its run folder how far it has come."""
    folder.discard_result(fold)
    checkpoint = None
    with suppress(DamagedFileError):
        checkpoint = folder.checkpoint(fold)
    reported = -math.inf

    def report(
        progress: FoldProgress, measurement: Measurement | None, state: "TrainingState | None"
    ) -> None:
        nonlocal reported
        if measurement is not None:
            folder.add_measurement(fold, measurement)
            if keeps_weights_so_far and state is not None:
                folder.save_weights_so_far(fold, state.weights())
        epoch_ended = progress.epoch_share == 0
        if epoch_ended and state is not None:
            folder.save_checkpoint(fold, state.to_bytes())
        if epoch_ended or time.monotonic() - reported > SECONDS_BETWEEN_REPORTS:
            reported = time.monotonic()
            folder.save_progress(fold, progress)

    return follow_fold(experiment, fold, report, checkpoint, folder.shared_file)

"""What a worker does: bring one fold of a run to its end, saving as it goes."""

import math
import time
from contextlib import suppress
from pathlib import Path

from unseen.errors import UnseenError
from unseen.files import DamagedFileError
from unseen.runs.experiment import Experiment
from unseen.runs.fold import FoldOutcome, FoldResult, fold_steps
from unseen.runs.run_folder import RunFolder

SECONDS_BETWEEN_REPORTS = 0.5


def complete_fold(
    path: Path, experiment: Experiment, fold: int, *, keeps_weights_so_far: bool = False
) -> FoldResult | None:
    """Finish a fold, from its checkpoint where there is one; None if another process has it.

    Where `keeps_weights_so_far` is true, the weights are saved at every measurement, for whoever
    asks the network while it learns: 20 MB each time for the network of the paper.
    """
    folder = RunFolder(path)
    folder.refuse_gone()
    with folder.hold(fold) as held:
        if not held:
            return None
        with suppress(DamagedFileError):
            if (result := folder.result(fold)) is not None:
                return result
        folder.discard_result(fold)
        checkpoint = None
        with suppress(DamagedFileError):
            checkpoint = folder.checkpoint(fold)
        if RunFolder.of(experiment, path.parent) != folder:
            raise UnseenError("the symbols or the model's file have changed since the run began")
        steps = fold_steps(experiment, fold, checkpoint, folder.shared_file)
        reported = -math.inf
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                outcome: FoldOutcome = end.value
                folder.save(outcome)
                return outcome.result
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

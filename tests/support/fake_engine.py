"""An engine that trains nothing: what a fold comes to is made up."""

from collections import Counter
from concurrent.futures import Future

from unseen.runs.engine import Engine
from unseen.runs.fold import FoldResult
from unseen.training.metrics import METRICS


def made_up_result(fold):
    measures = dict.fromkeys(METRICS, 0.5)
    return FoldResult(
        fold=fold, unseen=[], measures=measures, seconds=1.0, epoch_losses=[], parameters=7
    )


class FakeEngine(Engine):
    """Answers at once; `faults` by (seed, fold) are raised so many times before that."""

    slots = 4

    def __init__(self, faults=None):
        self.faults, self.submitted, self.closed = faults or {}, Counter(), False
        self.most, self.open = 0, 0

    def submit_fold(self, path, experiment, fold):
        key = experiment.seed, fold
        self.submitted[path.name, fold] += 1
        future = Future()
        error, times = self.faults.get(key, (None, 0))
        if self.submitted[path.name, fold] <= times:
            future.set_exception(error)
        elif error == "left" and times:
            future.set_result(None)
        else:
            future.set_result(made_up_result(fold))
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        self.closed = not wait

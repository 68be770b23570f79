"""Workers that train nothing: what a fold comes to is made up."""

from collections import Counter
from concurrent.futures import Future

import numpy as np

from unseen.runs.fold import FoldArrays, FoldOutcome, FoldResult
from unseen.runs.local_workers import Workers
from unseen.training.metrics import METRICS


def made_up_result(fold):
    measures = dict.fromkeys(METRICS, 0.5)
    return FoldResult(
        fold=fold, unseen=[], measures=measures, seconds=1.0, epoch_losses=[], parameters=7
    )


def made_up_outcome(fold):
    none = np.empty(0, np.float32)
    return FoldOutcome(made_up_result(fold), FoldArrays(none, none, none, none), b"")


class FakeWorkers(Workers):
    """Answers at once; `faults` by (seed, fold) are raised so many times before that."""

    slots = 4

    def __init__(self, faults=None):
        self.faults, self.submitted = faults or {}, Counter()

    def submit(self, function, mark, experiment, fold):
        key = mark.parent.parent.name, fold
        self.submitted[key] += 1
        future = Future()
        error, times = self.faults.get((experiment.seed, fold), (None, 0))
        if self.submitted[key] <= times:
            future.set_exception(error)
        elif error == "left" and times:
            future.set_result(None)
        else:
            future.set_result(made_up_outcome(fold))
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        """Nothing is under way."""


class IdleWorkers(FakeWorkers):
    """Has no worker for a fold before the test gives its answer."""

    def __init__(self):
        super().__init__()
        self.given = []

    def submit(self, function, *arguments):
        self.given.append(Future())
        return self.given[-1]

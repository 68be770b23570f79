"""Our side of the benchmark: the same tasks as notebook.py, with the project's own functions."""

import statistics
import sys
import time
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from serve import serve

from unseen.problem.randomness import Streams
from unseen.problem.samples import Samples, draw_samples
from unseen.problem.task import fold_samples, make_task
from unseen.runs import fold
from unseen.runs.local_workers import keep_freed_memory
from unseen.runs.presets import fast, paper
from unseen.training.evaluation import predict
from unseen.training.loop import TrainingState, start_training, train

THREADS = 2
BATCH = 128
CPU = torch.device("cpu")


class Ours:
    def __init__(self, precision: str) -> None:
        self.experiment = paper().vary(epochs=1, precision=precision)
        self.streams = Streams(0, 1)
        self.trained = 0  # rows so far

    @cached_property
    def samples(self) -> tuple[Samples, Samples]:
        return fold_samples(self.experiment.problem, self.streams)

    @cached_property
    def state(self) -> TrainingState:
        return start_training(self.experiment.training, self.samples[0], self.streams, CPU)

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Rows as they come in training, all pairs mixed."""
        return np.random.default_rng(0).permutation(len(self.samples[0]))

    def draw(self, samples: int) -> float:
        """Seconds of Algorithm 1 for 90 pairs, the median of five times."""
        task = make_task(self.experiment.problem)
        rng = np.random.default_rng(0)
        times = []
        for _ in range(5):
            started = time.perf_counter()
            draw_samples(task.combinations, np.arange(90), task.bank.train, samples, rng)
            times.append(time.perf_counter() - started)
        return statistics.median(times)

    def train(self, steps: int) -> float:
        """Samples a second of training."""
        some = self.samples[0].some(self.order[self.trained :][: steps * BATCH])
        self.trained += len(some)
        self.state.losses.clear()
        started = time.perf_counter()
        for _ in train(self.state, lambda _: some, self.experiment.training, self.streams, CPU):
            pass
        return len(some) / (time.perf_counter() - started)

    def predict(self, count: int) -> float:
        """Seconds a sample, all at once."""
        some = self.samples[1].some(np.arange(count))
        started = time.perf_counter()
        predict(self.state.model, some, CPU)
        return (time.perf_counter() - started) / count

    def fold(self, samples: int) -> None:
        """A fold from start to end, with checkpoints, though of one epoch only."""
        experiment = self.experiment.vary(samples=samples, test_samples=2 * samples)

        def report(progress: fold.FoldProgress, _: object, state: Any) -> None:
            if state is not None and progress.epoch_share == 0:
                state.to_bytes()

        fold.follow_fold(experiment, 1, report)

    def longer(self, length: int, samples: int) -> float:
        """Seconds a sample of one pass with the fast preset over pictures of so many digits."""
        experiment = fast().vary(length=length, samples=samples)
        seen, _ = fold_samples(experiment.problem, self.streams)
        state = start_training(experiment.training, seen, self.streams, CPU)
        torch.set_num_threads(1)  # as the preset has it
        started = time.perf_counter()
        for _ in train(state, lambda _: seen, experiment.training, self.streams, CPU):
            pass
        return (time.perf_counter() - started) / len(seen)

    def insight(self, folds: int) -> list[float]:
        """Seconds that folds of the fast preset spend on insight, and on all else."""
        from unittest.mock import patch  # with much behind it that a fold has no need of

        on_insight, in_all = [], []
        diagnostics = fold.diagnostics

        def timed(*arguments: Any) -> Any:
            started = time.perf_counter()
            examined = diagnostics(*arguments)
            on_insight.append(time.perf_counter() - started)
            return examined

        with patch.object(fold, "diagnostics", timed):
            for number in range(1, folds + 1):
                in_all.append(fold.run_fold(fast(), number).result.seconds)
        return [sum(on_insight) / folds, (sum(in_all) - sum(on_insight)) / folds]


def main() -> None:
    torch.set_num_threads(THREADS)
    keep_freed_memory()  # as every worker does
    ours = Ours(precision=sys.argv[1])
    serve(ours, {"torch": torch.__version__})


if __name__ == "__main__":
    main()

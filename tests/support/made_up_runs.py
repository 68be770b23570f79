"""Run folders of networks that were never trained: what they answer is made up by a test."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import safetensors.numpy

from unseen.analysis.summary import Summary
from unseen.api import Run
from unseen.problem.randomness import Streams
from unseen.problem.samples import Samples
from unseen.problem.task import Task, make_task, seen_samples
from unseen.runs.experiment import Experiment
from unseen.runs.fold import FittedModel, FoldOutcome, evaluate_fold
from unseen.runs.run_folder import RunFolder


@dataclass(frozen=True)
class Asked:
    """What a made-up network may look at: a sample, and what its fold has seen."""

    samples: Samples
    task: Task
    fold: int

    @property
    def digits(self) -> np.ndarray:
        return self.task.combinations.digits[self.samples.combinations]

    @property
    def seen(self) -> np.ndarray:
        return np.isin(self.samples.combinations, self.task.folds[self.fold - 1].seen)


Answer = Callable[[Asked], np.ndarray]


def exact(asked: Asked) -> np.ndarray:
    return asked.samples.answers.astype(np.float32)


def by_heart(asked: Asked) -> np.ndarray:
    """Right on seen combinations; one and the same answer to all others."""
    mean = round(float(asked.task.combinations.answers.mean()))
    return np.where(asked.seen, asked.samples.answers, mean).astype(np.float32)


def misreading(asked: Asked) -> np.ndarray:
    """Half the images of the first place are worth 2 more, the others 2 less."""
    order, first, _ = asked.samples.symbols.by_label
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - first[asked.samples.symbols.labels[order]]
    off = np.where(rank[asked.samples.images[:, 0]] % 2, 2.0, -2.0)
    return (asked.samples.answers + off).astype(np.float32)


def off_by_one_at_times(asked: Asked) -> np.ndarray:
    """Composes, but one picture in three is misread, of seen pairs as of unseen ones."""
    misread = asked.samples.images.sum(axis=1) % 3 == 0
    return (asked.samples.answers + misread).astype(np.float32)


def half_composer(asked: Asked) -> np.ndarray:
    """Right on seen pairs and on every second unseen one."""
    wrong = ~asked.seen & (asked.digits[:, 0] % 2 == 0)
    return (asked.samples.answers + 3 * wrong).astype(np.float32)


def untrained(asked: Asked) -> np.ndarray:
    return np.full(len(asked.samples), 9.0, np.float32)


def shifted(asked: Asked) -> np.ndarray:
    return (asked.samples.answers - 2.0).astype(np.float32)


def diverged(asked: Asked) -> np.ndarray:
    return np.full(len(asked.samples), np.nan, np.float32)


def noisy(asked: Asked) -> np.ndarray:
    """Right to within the unit, by an error that hangs on the images."""
    images = asked.samples.images.sum(axis=1)
    return (asked.samples.answers + np.sin(images) * 0.9).astype(np.float32)


def made_up_run(
    runs_dir: Path,
    experiment: Experiment,
    answering: Answer = noisy,
    folds: list[int] | None = None,
) -> RunFolder:
    """A run folder as `unseen run` leaves it."""
    task = make_task(experiment.problem)
    folder = RunFolder.of(experiment, runs_dir)
    folder.create(experiment)
    for fold in folds or range(1, len(task.folds) + 1):
        with folder.hold(fold) as held:
            assert held
            folder.save(outcome(experiment, fold, task, answering))
    return folder


def outcome(experiment: Experiment, fold: int, task: Task, answering: Answer) -> FoldOutcome:
    """What a fold whose network answers so would leave."""

    def answer(samples: Samples) -> np.ndarray:
        return answering(Asked(samples, task, fold))

    losses = [2.0 / epoch for epoch in range(1, experiment.training.epochs + 1)]
    fitted = FittedModel(answer, safetensors.numpy.save({}), parameters=7, losses=losses)
    streams = Streams(experiment.seed, fold)
    seen = seen_samples(experiment.problem, streams)
    return evaluate_fold(experiment, seen, fitted, streams, started=time.perf_counter())


def summary_of(folder: RunFolder) -> Summary:
    return Run(folder).summary

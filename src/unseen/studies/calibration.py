"""How long a study takes: from folds that are done, or from a few seconds of each network."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from unseen.problem.problem import Problem
from unseen.problem.task import make_task
from unseen.runs.engine import Engine
from unseen.runs.experiment import Experiment
from unseen.runs.fold import TRAIN_SAMPLES, fold_steps
from unseen.runs.presets import PRESETS
from unseen.runs.queue import FoldJob
from unseen.studies.sweep import Plan
from unseen.training.baselines import BASELINES

CALIBRATION_SECONDS = 3.0
# of test samples: the test itself, mean answers, quadrants and tables, as fold.py asks them
ASKED_PER_TEST_SAMPLE = 1 + 0.2 + 4 * 0.2 + 1.25
FORWARD_SHARE = 1 / 3  # of a training step, which goes back as well


def fold_passes(experiment: Experiment, fold: int) -> float:
    """How many samples a fold trains on, counting what it is only asked as a third."""
    return _train_passes(experiment, fold) + _asked_passes(experiment.problem, fold)


def _train_passes(experiment: Experiment, fold: int) -> float:
    task = make_task(experiment.problem)
    seen = len(task.combinations.digits) - len(task.unseen(fold))
    return seen * experiment.problem.samples_per_combination * experiment.training.epochs


def _asked_passes(problem: Problem, fold: int) -> float:
    unseen = len(make_task(problem).unseen(fold)) * problem.test_samples_per_combination
    return FORWARD_SHARE * (ASKED_PER_TEST_SAMPLE * unseen + TRAIN_SAMPLES)


@dataclass
class Rates:
    """Seconds per pass by model, from folds that are done or from a calibration."""

    known: dict[str, list[float]] = field(default_factory=dict)

    def learn(self, experiment: Experiment, fold: int, seconds: float) -> None:
        rate = seconds / fold_passes(experiment, fold)
        self.known.setdefault(experiment.training.model, []).append(rate)

    def per_pass(self, model: str) -> float:
        """What a model takes; one that is not known, as much as the others, 0 if none is."""
        rates = self.known.get(model) or [each for known in self.known.values() for each in known]
        return float(np.mean(rates)) if rates else 0.0

    def seconds(self, job: FoldJob) -> float:
        """What a fold may take."""
        model = job.experiment.training.model
        return self.per_pass(model) * fold_passes(job.experiment, job.fold)


def known_rates(plan: Plan) -> Rates:
    """What the folds of a study that are done took."""
    rates = Rates()
    for folder, run in plan.runs.items():
        for fold, result in plan.done[folder].items():
            rates.learn(run.experiment, fold, result.seconds / result.starts)
    return rates


def calibrate(plan: Plan, engine: Engine, rates: Rates) -> Iterator[str]:
    """Try the models of the missing folds that have no rate yet; yields each before it is tried."""
    for job, _ in plan.first_missing():
        experiment, model = job.experiment, job.experiment.training.model
        if model in rates.known:
            continue
        if model in BASELINES:
            rates.learn(experiment, job.fold, PRESETS[model].seconds_per_fold)
            continue
        yield model
        rates.known[model] = [engine.submit(seconds_per_pass, experiment, job.fold).result()]


def seconds_per_pass(experiment: Experiment, fold: int) -> float:
    """Train for some seconds, in a worker, and see how far that comes."""
    unwatched = experiment.vary(watched_samples=0, starts=1)
    passes = _train_passes(unwatched, fold) / unwatched.training.epochs  # of an epoch
    steps = fold_steps(unwatched, fold)
    first = next(steps).progress  # what is done once is over
    started, last = time.perf_counter(), first
    for step in steps:
        last = step.progress
        if time.perf_counter() - started > CALIBRATION_SECONDS:
            break
    seconds = time.perf_counter() - started
    epochs = last.epochs_done + last.epoch_share - first.epochs_done - first.epoch_share
    return seconds / max(epochs * passes, 1.0)

"""One fold from start to end: the unit of work. It depends on its two arguments alone."""

import math
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from pydantic import BeforeValidator, ConfigDict, Field

from unseen.errors import SettingError
from unseen.networks.models import parameter_count
from unseen.networks.own_files import faults_told, is_own
from unseen.problem.operations import spelled
from unseen.problem.problem import Problem
from unseen.problem.randomness import Streams
from unseen.problem.samples import Samples
from unseen.problem.task import (
    QUADRANT_SHARE,
    make_task,
    quadrant_samples,
    seen_samples,
    unseen_samples,
)
from unseen.runs.experiment import Experiment
from unseen.runs.measuring import (
    Answer,
    Measurement,
    combination_means,
    measure_group,
    measure_on_the_way,
    prediction_tables,
    watched_samples,
)
from unseen.settings import Frozen
from unseen.training.baselines import BASELINES
from unseen.training.metrics import METRICS

if TYPE_CHECKING:
    from unseen.training.loop import TrainingState

TRAIN_SAMPLES = 10_000
# for a model that is slow to answer: 2,500 samples over ten folds, a standard error of a point
SLOW_QUADRANT_SHARE = QUADRANT_SHARE / 16

# JSON has no NaN: a measure that is not finite is null there
Measure = Annotated[float, BeforeValidator(lambda value: math.nan if value is None else value)]


class FoldResult(Frozen):
    """What a fold came to; small, and the same wherever it is read."""

    fold: int
    unseen: list[list[int | str]]
    measures: dict[str, Measure]  # by the names of METRICS
    seconds: float = Field(ge=0, allow_inf_nan=False)
    epoch_losses: list[Measure]
    parameters: int = Field(ge=0)
    starts: int = Field(1, ge=1)  # trainings; the one with the fewest wrong combinations counts
    wrong_seen: int | None = Field(None, ge=0)  # seen combinations that it has wrong, if looked at
    quadrants: dict[str, dict[str, Measure]] = Field(default_factory=dict)  # by "seen_train", …

    model_config = Frozen.model_config | ConfigDict(allow_inf_nan=True, ser_json_inf_nan="null")


class FoldProgress(Frozen):
    """How far a fold has come, and which process works on it."""

    epochs_done: int = Field(ge=0, le=1_000_000)
    epoch_share: float = Field(ge=0, le=1)  # of the epoch under way; 0 at an epoch's end
    loss: float | None = None  # of the epoch under way or just ended, if it is finite
    start: int = Field(1, ge=1)
    process: int = Field(default_factory=os.getpid)
    host: str = Field(default_factory=socket.gethostname)

    @property
    def epochs(self) -> float:
        return self.epochs_done + self.epoch_share


@dataclass(frozen=True)
class FoldArrays:
    """What a fold's network answered to its test samples, and diagnostics of it."""

    prediction: NDArray[np.float32]  # (n,)
    answer: NDArray[np.int32]  # (n,)
    combination: NDArray[np.int32]  # (n,) rows of the table of combinations
    images: NDArray[np.int32]  # (n, positions) rows of the test images
    means: NDArray[np.float64] | None = None  # (combinations,) mean answers
    table_rows: NDArray[np.intp] | None = None  # the combinations of the tables
    tables: NDArray[np.float32] | None = None  # (rows, k, …, k): an axis for each position


def known_measures(result: FoldResult) -> dict[str, float]:
    """Every registered metric of a fold, in their order; NaN where it was not measured."""
    return {name: result.measures.get(name, math.nan) for name in METRICS}


def with_every_metric(result: FoldResult, arrays: Callable[[], FoldArrays]) -> FoldResult:
    """A result with the metrics that are registered now, in their order.

    One that was registered since is measured on the predictions that the fold left; it is NaN where
    it is about seen combinations, whose predictions are not kept.
    """
    measures = known_measures(result)
    for name in measures.keys() - result.measures.keys():
        if METRICS[name].combinations == "unseen":
            measures[name] = METRICS[name](arrays().prediction, arrays().answer)
    return result.model_copy(update={"measures": measures})


@dataclass(frozen=True)
class FoldOutcome:
    """A fold's result, with what it was measured on."""

    result: FoldResult
    arrays: FoldArrays
    model: bytes  # safetensors
    measurements: tuple[Measurement, ...] = ()  # those that are not in the run folder yet


@dataclass(frozen=True)
class FittedModel:
    """What training, or fitting, has come to."""

    answer: Answer
    weights: bytes  # safetensors
    parameters: int = 0
    losses: list[float] = field(default_factory=list)
    starts: int = 1
    wrong_seen: int | None = None
    earlier_seconds: float = 0.0  # before a checkpoint that this went on from


# called as a fold goes on; a baseline has no state
Report = Callable[[FoldProgress, Measurement | None, "TrainingState | None"], None]


def run_fold(experiment: Experiment, fold: int) -> FoldOutcome:
    """Train and evaluate one fold in this process, keeping nothing on disk.

    >>> import unseen
    >>> experiment = unseen.PRESETS["fast"]().vary(samples=2, test_samples=2)
    >>> unseen.run_fold(experiment, 1).result.fold
    1
    """
    return follow_fold(experiment, fold, lambda progress, measurement, state: None)


def follow_fold(
    experiment: Experiment,
    fold: int,
    report: Report,
    checkpoint: bytes | None = None,
    shared: Path | None = None,
) -> FoldOutcome:
    """Train and evaluate one fold, from a checkpoint of itself where there is one.

    `report` is called with how far it has come. What all folds of a run have in common is kept in
    the file `shared`; it changes no bit, it only saves time.
    """
    started = time.perf_counter()
    task = make_task(experiment.problem)
    if not 1 <= fold <= len(task.folds):
        raise SettingError("folds", fold, f"does not exist; this split has 1 to {len(task.folds)}")
    streams = Streams(experiment.seed, fold)
    seen = seen_samples(experiment.problem, streams)
    with torch_threads(experiment.threads), own_faults_told(experiment.training.model):
        if experiment.training.model in BASELINES:
            fitted = fit_baseline(experiment, seen, streams, shared, report)
        else:
            fitted = train_network(experiment, seen, streams, checkpoint, report)
        return evaluate_fold(experiment, seen, fitted, streams, started=started)


def evaluate_fold(
    experiment: Experiment, seen: Samples, fitted: FittedModel, streams: Streams, *, started: float
) -> FoldOutcome:
    """Ask a fitted model all that is recorded of a fold."""
    task, unseen = make_task(experiment.problem), unseen_samples(experiment.problem, streams)
    some = streams.numpy("train error").permutation(len(seen))[:TRAIN_SAMPLES]
    share = SLOW_QUADRANT_SHARE if is_slow(experiment) else QUADRANT_SHARE
    drawn = {
        name: (fitted.answer(samples), samples.answers)
        for name, samples in quadrant_samples(experiment.problem, streams, share).items()
    }
    trained, predictions = seen.some(some), fitted.answer(unseen)
    measured = {
        "seen_train": (fitted.answer(trained), trained.answers),
        "seen_test": drawn["seen_test"],
        "unseen": (predictions, unseen.answers),
    }
    result = FoldResult(
        fold=streams.fold,
        unseen=[spelled(task.combinations.digits[row]) for row in task.unseen(streams.fold)],
        measures={name: each(*measured[each.combinations]) for name, each in METRICS.items()},
        quadrants={name: measure_group(*answered) for name, answered in drawn.items()},
        epoch_losses=fitted.losses,
        parameters=fitted.parameters,
        starts=fitted.starts,
        wrong_seen=fitted.wrong_seen,
        seconds=0.0,
    )
    arrays = FoldArrays(predictions, unseen.answers, unseen.combinations, unseen.images)
    if not is_slow(experiment):
        arrays = replace(arrays, **diagnostics(fitted.answer, experiment.problem, streams))
    seconds = fitted.earlier_seconds + time.perf_counter() - started
    return FoldOutcome(result.model_copy(update={"seconds": seconds}), arrays, fitted.weights)


def diagnostics(answer: Answer, problem: Problem, streams: Streams) -> dict[str, NDArray[Any]]:
    """What is asked of a fold beyond its test: mean answers, and tables of answers."""
    task = make_task(problem)
    samples = len(task.unseen(streams.fold)) * problem.test_samples_per_combination
    means = combination_means(answer, task, streams, samples // 5)
    rows, tables = prediction_tables(answer, task, streams, table_predictions(problem))
    return {"means": means, "table_rows": rows, "tables": tables}


def is_slow(experiment: Experiment) -> bool:
    """Whether the model takes long to answer, so that it is asked little beyond the test."""
    model = experiment.training.model
    return model in BASELINES and BASELINES[model].is_slow


def table_predictions(problem: Problem) -> int:
    """The most predictions that a fold's table of an unseen combination has."""
    return problem.test_samples_per_combination * 5 // 4


def own_faults_told(model: str) -> AbstractContextManager[None]:
    """For a network in a file of the user's, faults in one line."""
    return faults_told(f"{model} failed on the way") if is_own(model) else nullcontext()


def fit_baseline(
    experiment: Experiment, seen: Samples, streams: Streams, shared: Path | None, report: Report
) -> FittedModel:
    """Fit a baseline; it has no weights that belong to a fold."""
    table = make_task(experiment.problem).combinations
    fitting = BASELINES[experiment.training.model].fit(seen, table, streams, shared)
    while True:
        try:
            share = next(fitting)
        except StopIteration as end:
            return FittedModel(end.value, weights=safetensors.numpy.save({}))
        report(FoldProgress(epochs_done=0, epoch_share=share), None, None)


def train_network(
    experiment: Experiment,
    seen: Samples,
    streams: Streams,
    checkpoint: bytes | None,
    report: Report,
) -> FittedModel:
    """Train the experiment's network on seen samples; unseen ones are only ever measured on."""
    import torch

    from unseen.training import evaluation, loop

    started = time.perf_counter()
    problem, training = experiment.problem, experiment.training
    device = torch.device(experiment.device)
    state = loop.start_training(training, seen, streams, device)
    if checkpoint is not None:
        state.restore(checkpoint)
    earlier_seconds = state.seconds
    watched = watched_samples(make_task(problem), training.watched_samples, streams)

    def samples_of(epoch: int) -> Samples:
        return seen_samples(problem, streams, epoch) if training.fresh_draws else seen

    def answer(samples: Samples) -> NDArray[np.float32]:
        return evaluation.predict(state.model, samples, device)

    for progress in loop.train(state, samples_of, training, streams, device):
        state.seconds = earlier_seconds + time.perf_counter() - started
        measurement = None
        if watched is not None and progress.is_measured:
            measurement = measure_on_the_way(answer, watched, progress.epochs, state.seconds)
        so_far = FoldProgress(
            epochs_done=progress.epochs_done,
            epoch_share=progress.epoch_share,
            loss=progress.loss if math.isfinite(progress.loss) else None,
            start=state.start,
        )
        report(so_far, measurement, state)
    return FittedModel(
        answer=answer,
        weights=state.weights(),
        parameters=parameter_count(state.model),
        losses=state.losses,
        starts=state.start,
        wrong_seen=state.wrong,
        earlier_seconds=earlier_seconds,
    )


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch compute with so many threads within: their number can change the last bits."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)

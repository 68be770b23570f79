"""One fold from start to end: the unit of work. It depends on its two arguments alone."""

import math
import time
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, ConfigDict, Field

from unseen.errors import UnseenError
from unseen.experiments.experiment import Experiment, Frozen
from unseen.experiments.measuring import Answer, combination_means, prediction_tables
from unseen.experiments.posing import fold_samples, pose, quadrant_samples, seen_samples
from unseen.learning.baselines import BASELINES
from unseen.learning.metrics import METRICS, mean_error, mse, rounded
from unseen.learning.models import is_own, parameter_count
from unseen.problem.operations import spelled
from unseen.problem.randomness import Streams
from unseen.problem.samples import Samples

if TYPE_CHECKING:
    import torch
    from torch import nn

    from unseen.learning.training import Progress

TRAIN_SAMPLES = 10_000

# A measure that is no finite number is null in JSON.
Measure = Annotated[float, BeforeValidator(lambda value: math.nan if value is None else value)]

MEASURED = Frozen.model_config | ConfigDict(allow_inf_nan=True, ser_json_inf_nan="null")


class CurvePoint(Frozen):
    """What was measured after an epoch, dropout off, on the same few samples each time."""

    seen_mse: Measure
    seen_mean_error: Measure
    unseen_mse: Measure
    unseen_mean_error: Measure
    unseen_rounded: float

    model_config = MEASURED


class Quadrant(Frozen):
    """Measures on fresh draws of seen or unseen combinations, in train or test handwriting."""

    mse: Measure
    rounded: float
    mean_error: Measure

    model_config = MEASURED


class FoldResult(Frozen):
    """What a fold came to; small, and the same wherever it is read."""

    fold: int
    unseen: list[list[int | str]]
    test_mse: Measure
    train_mse: Measure
    rounded: float
    floor_or_ceiling: float
    within_one: float
    seconds: float
    epoch_losses: list[Measure]
    parameters: int
    curve: tuple[CurvePoint, ...] = ()
    quadrants: dict[str, Quadrant] = Field(default_factory=dict)  # by "seen_train" and its like

    model_config = MEASURED


@dataclass(frozen=True)
class FoldOutcome:
    """A fold's result, with what it was measured on."""

    result: FoldResult
    predictions: dict[str, NDArray[Any]]
    model: bytes  # safetensors


def fold_steps(
    experiment: Experiment, fold: int, checkpoint: bytes | None = None
) -> Generator["Progress", None, FoldOutcome]:
    """Train and evaluate one fold, from a checkpoint of itself where there is one.

    Yields as training goes on, and returns the outcome.
    """
    started = time.perf_counter()
    posed = pose(experiment.problem)
    if not 1 <= fold <= len(posed.folds):
        raise UnseenError(
            f"fold {fold} does not exist; this split has folds 1 to {len(posed.folds)}"
        )
    streams = Streams(experiment.seed, fold)
    seen, unseen = fold_samples(experiment.problem, streams)
    with torch_threads(experiment.threads), own_faults_told(experiment.training.model):
        if experiment.training.model in BASELINES:
            fitted = fit_baseline(experiment, seen, streams)
        else:
            fitted = yield from train_network(experiment, seen, unseen, streams, checkpoint)
        some_seen = seen.some(streams.numpy("train error").permutation(len(seen))[:TRAIN_SAMPLES])
        train_predictions = fitted.answer(some_seen)
        predictions = fitted.answer(unseen)
        quadrants, material = examine(fitted.answer, experiment, streams)
    arrays: dict[str, NDArray[Any]] = {
        "prediction": predictions,
        "answer": unseen.answers,
        "combination": unseen.combinations,
        "images": unseen.images,
        **material,
    }
    measures = {name: measure(predictions, unseen.answers) for name, measure in METRICS.items()}
    result = FoldResult(
        fold=fold,
        unseen=[spelled(row) for row in posed.combinations.digits[posed.folds[fold - 1].unseen]],
        test_mse=measures.pop("mse"),
        train_mse=mse(train_predictions, some_seen.answers),
        **measures,
        seconds=fitted.earlier_seconds + time.perf_counter() - started,
        epoch_losses=fitted.losses,
        parameters=fitted.parameters,
        curve=fitted.curve,
        quadrants=quadrants,
    )
    return FoldOutcome(result, arrays, fitted.weights)


def own_faults_told(model: str) -> AbstractContextManager[None]:
    """For a network of one's own, faults in one line: its code is not ours to print."""
    if not is_own(model):
        return nullcontext()
    from unseen.learning.own_models import faults_told

    return faults_told(f"{model} failed on the way")


def examine(
    answer: Answer, experiment: Experiment, streams: Streams
) -> tuple[dict[str, Quadrant], dict[str, NDArray[Any]]]:
    """What insight asks of a finished fold beyond its test: its quadrants, and material."""
    problem = experiment.problem
    quadrants = {
        name: measured(answer(samples), samples)
        for name, samples in quadrant_samples(problem, streams).items()
    }
    if experiment.training.model == "nearest":  # which takes minutes for the rest
        return quadrants, {}
    posed = pose(problem)
    unseen = len(posed.folds[streams.fold - 1].unseen)
    samples = unseen * problem.test_samples_per_combination
    rows, tables = prediction_tables(
        answer, posed, streams, predictions=problem.test_samples_per_combination * 5 // 4
    )
    means = combination_means(answer, posed, streams, samples // 5)
    return quadrants, {"means": means, "table_rows": rows, "tables": tables}


def measured(predictions: NDArray[np.float32], samples: Samples) -> Quadrant:
    return Quadrant(
        mse=mse(predictions, samples.answers),
        rounded=rounded(predictions, samples.answers),
        mean_error=mean_error(predictions, samples.answers),
    )


@dataclass(frozen=True)
class FittedModel:
    """What training, or fitting, has come to."""

    answer: Answer
    weights: bytes  # safetensors
    parameters: int = 0
    losses: list[float] = field(default_factory=list)
    curve: tuple[CurvePoint, ...] = ()
    earlier_seconds: float = 0.0  # before a checkpoint that this went on from


def fit_baseline(experiment: Experiment, seen: Samples, streams: Streams) -> FittedModel:
    """Answers that take no training of ours."""
    import safetensors.numpy

    table = pose(experiment.problem).combinations
    fit = BASELINES[experiment.training.model].fit
    return FittedModel(fit(seen, table, streams), weights=safetensors.numpy.save({}))


def train_network(
    experiment: Experiment,
    seen: Samples,
    unseen: Samples,
    streams: Streams,
    checkpoint: bytes | None,
) -> Generator["Progress", None, FittedModel]:
    """Train the experiment's network on seen samples; the unseen ones are only ever watched."""
    import safetensors.torch
    import torch

    from unseen.learning.evaluation import predict
    from unseen.learning.modules import saved_weights
    from unseen.learning.training import start_training, train

    started = time.perf_counter()
    problem, training = experiment.problem, experiment.training
    device = torch.device(experiment.device)
    state = start_training(training, seen, streams, device)
    if checkpoint is not None:
        state.restore(checkpoint)
    earlier_seconds = state.seconds
    watched = watched_samples(seen, unseen, training.watched_samples, streams)

    def samples_of(epoch: int) -> Samples:
        return seen_samples(problem, streams, epoch) if training.fresh_draws else seen

    for progress in train(state, samples_of, training, streams, device):
        if progress.epoch_ended and watched is not None:
            state.curve.append(curve_point(state.model, *watched, device).model_dump())
        state.seconds = earlier_seconds + time.perf_counter() - started
        yield progress
    return FittedModel(
        answer=lambda samples: predict(state.model, samples, device),
        weights=safetensors.torch.save(saved_weights(state.model)),
        parameters=parameter_count(state.model),
        losses=state.losses,
        curve=tuple(CurvePoint.model_validate(measures) for measures in state.curve),
        earlier_seconds=earlier_seconds,
    )


def watched_samples(
    seen: Samples, unseen: Samples, count: int, streams: Streams
) -> tuple[Samples, Samples] | None:
    """Some samples of each kind, to measure on after every epoch; None if none are asked for."""
    if count == 0:
        return None
    rng = streams.numpy("watched samples")
    some_seen, some_unseen = (
        samples.some(rng.permutation(len(samples))[:count]) for samples in (seen, unseen)
    )
    return some_seen, some_unseen


def curve_point(
    model: "nn.Module", seen: Samples, unseen: Samples, device: "torch.device"
) -> CurvePoint:
    """Where training has come to; it changes nothing."""
    from unseen.learning.evaluation import predict

    on_seen, on_unseen = predict(model, seen, device), predict(model, unseen, device)
    return CurvePoint(
        seen_mse=mse(on_seen, seen.answers),
        seen_mean_error=mean_error(on_seen, seen.answers),
        unseen_mse=mse(on_unseen, unseen.answers),
        unseen_mean_error=mean_error(on_unseen, unseen.answers),
        unseen_rounded=rounded(on_unseen, unseen.answers),
    )


def run_fold(experiment: Experiment, fold: int) -> FoldOutcome:
    """Train and evaluate one fold."""
    steps = fold_steps(experiment, fold)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            outcome: FoldOutcome = end.value
            return outcome


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Torch computing with so many threads within: their number can change the last bits."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)

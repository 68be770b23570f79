"""One fold from start to end: the unit of work. It depends on its two arguments alone."""

import math
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, ConfigDict

from unseen.errors import UnseenError
from unseen.experiments.experiment import Experiment, Frozen, Problem
from unseen.learning.metrics import METRICS, mse, rounded
from unseen.learning.models import parameter_count
from unseen.problem.operations import OPERATIONS
from unseen.problem.randomness import Streams
from unseen.problem.samples import Combinations, Samples, draw_samples
from unseen.problem.splits import Fold, all_combinations, split_folds
from unseen.problem.symbols import SymbolBank, development_bank, load_symbols

if TYPE_CHECKING:
    import torch
    from torch import nn

    from unseen.learning.training import Progress

TRAIN_MSE_SAMPLES = 10_000
MOST_SAMPLES = 20_000_000

# A measure that is no finite number is null in JSON.
Measure = Annotated[float, BeforeValidator(lambda value: math.nan if value is None else value)]

MEASURED = Frozen.model_config | ConfigDict(allow_inf_nan=True, ser_json_inf_nan="null")


class Waypoint(Frozen):
    """What was measured after an epoch, dropout off, on the same few samples each time."""

    seen_mse: Measure
    seen_mean_error: Measure
    unseen_mse: Measure
    unseen_mean_error: Measure
    unseen_rounded: float

    model_config = MEASURED


class FoldResult(Frozen):
    """What a fold came to; small, and the same wherever it is read."""

    fold: int
    unseen: list[list[int]]
    test_mse: Measure
    train_mse: Measure
    rounded: float
    floor_or_ceiling: float
    within_one: float
    seconds: float
    epoch_losses: list[Measure]
    parameters: int
    curve: tuple[Waypoint, ...] = ()

    model_config = MEASURED


@dataclass(frozen=True)
class FoldOutcome:
    """A fold's result, with what it was measured on."""

    result: FoldResult
    predictions: dict[str, NDArray[Any]]
    model: bytes  # safetensors


@dataclass(frozen=True)
class PosedProblem:
    """A problem with its symbols at hand: every combination, its answer, the folds."""

    bank: SymbolBank
    combinations: Combinations
    folds: list[Fold]


@lru_cache(maxsize=1)
def pose(problem: Problem) -> PosedProblem:
    """Read the symbols and split their combinations."""
    bank = load_symbols(problem.symbols)
    if problem.development:
        bank = development_bank(bank)
    digits = all_combinations(bank.values, problem.length)
    per_combination = max(problem.samples_per_combination, problem.test_samples_per_combination)
    if len(digits) * per_combination > MOST_SAMPLES:
        raise UnseenError(
            f"{len(digits):,} combinations with {per_combination:,} samples each are more "
            f"than {MOST_SAMPLES:,}; ask for fewer with --samples and --test-samples"
        )
    answers = OPERATIONS[problem.operation](digits).astype(np.int32)
    combinations = Combinations(digits, answers)
    return PosedProblem(bank, combinations, split_folds(problem.split, digits, problem.split_seed))


def fold_samples(problem: Problem, streams: Streams) -> tuple[Samples, Samples]:
    """A fold's samples: seen combinations in train handwriting, unseen ones in test handwriting."""
    posed = pose(problem)
    fold = posed.folds[streams.fold - 1]
    seen = draw_samples(
        posed.combinations,
        fold.seen,
        posed.bank.train,
        problem.samples_per_combination,
        streams.numpy("training samples"),
    )
    unseen = draw_samples(
        posed.combinations,
        fold.unseen,
        posed.bank.test,
        problem.test_samples_per_combination,
        streams.numpy("test samples"),
    )
    return seen, unseen


def fold_steps(
    experiment: Experiment, fold: int, checkpoint: bytes | None = None
) -> Generator["Progress", None, FoldOutcome]:
    """Train and evaluate one fold, from a checkpoint of itself where there is one.

    Yields as training goes on, and returns the outcome.
    """
    import safetensors.torch
    import torch

    from unseen.learning.evaluation import predict
    from unseen.learning.training import start_training, train

    started = time.perf_counter()
    count = len(pose(experiment.problem).folds)
    if not 1 <= fold <= count:
        raise UnseenError(f"fold {fold} does not exist; this split has folds 1 to {count}")
    streams = Streams(experiment.seed, fold)
    device = torch.device(experiment.device)
    seen, unseen = fold_samples(experiment.problem, streams)
    with torch_threads(experiment.threads):
        state = start_training(experiment.training, seen, streams, device)
        if checkpoint is not None:
            state.restore(checkpoint)
        earlier_seconds = state.seconds
        watched = watched_samples(seen, unseen, experiment.training.watched_samples, streams)
        for progress in train(state, seen, experiment.training, streams, device):
            if progress.epoch_ended and watched is not None:
                state.curve.append(waypoint(state.model, *watched, device).model_dump())
            state.seconds = earlier_seconds + time.perf_counter() - started
            yield progress
        rows = streams.numpy("train error").permutation(len(seen))[:TRAIN_MSE_SAMPLES]
        some_seen = seen.some(rows)
        train_predictions = predict(state.model, some_seen, device)
        test_predictions = predict(state.model, unseen, device)
    measures = {
        name: measure(test_predictions, unseen.answers) for name, measure in METRICS.items()
    }
    posed = pose(experiment.problem)
    result = FoldResult(
        fold=fold,
        unseen=posed.combinations.digits[posed.folds[fold - 1].unseen].tolist(),
        test_mse=measures.pop("mse"),
        train_mse=mse(train_predictions, some_seen.answers),
        **measures,
        seconds=earlier_seconds + time.perf_counter() - started,
        epoch_losses=state.losses,
        parameters=parameter_count(state.model),
        curve=tuple(Waypoint.model_validate(measures) for measures in state.curve),
    )
    arrays: dict[str, NDArray[Any]] = {
        "prediction": test_predictions,
        "answer": unseen.answers,
        "combination": unseen.combinations,
        "images": unseen.images,
    }
    weights = {name: tensor.contiguous() for name, tensor in state.model.state_dict().items()}
    return FoldOutcome(result, arrays, safetensors.torch.save(weights))


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


def waypoint(
    model: "nn.Module", seen: Samples, unseen: Samples, device: "torch.device"
) -> Waypoint:
    """Where training has come to; it changes nothing."""
    from unseen.learning.evaluation import predict

    on_seen, on_unseen = predict(model, seen, device), predict(model, unseen, device)
    return Waypoint(
        seen_mse=mse(on_seen, seen.answers),
        seen_mean_error=float(np.mean(on_seen.astype(np.float64) - seen.answers)),
        unseen_mse=mse(on_unseen, unseen.answers),
        unseen_mean_error=float(np.mean(on_unseen.astype(np.float64) - unseen.answers)),
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

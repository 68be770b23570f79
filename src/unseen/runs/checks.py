"""Checks before anything is run: devices, folds, networks that cannot work."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, wait
from contextlib import suppress
from numbers import Integral, Real  # numpy's are among them
from operator import index
from pathlib import Path
from typing import Any

import numpy as np

from unseen.errors import SettingError, UnseenError
from unseen.networks.models import MODELS, find_network
from unseen.networks.own_files import is_own
from unseen.problem.leakage import Rule
from unseen.problem.task import Task
from unseen.runs.events import Note
from unseen.runs.experiment import Experiment
from unseen.runs.fold import torch_threads
from unseen.runs.local_workers import WorkerDiedError
from unseen.training.baselines import BASELINES

# Pictures of MNIST's size suit every network here. Smaller ones are tried, which takes torch.
LARGE_ENOUGH = 28
PATIENCE_SECONDS = 15  # to wait for the first batch of a user's network before a note

Folds = int | str | Iterable[int] | None  # as they are named in a call


def check_device(device: str) -> None:
    """Refuse a device that this machine does not have."""
    if device == "cpu":
        return
    import torch

    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        fault = "is not on this machine; cpu always is"
        raise SettingError("device", device, fault) from None


def check_executor(executor: Any, jobs: Any) -> None:
    """Refuse what can run no folds."""
    if not isinstance(executor, Executor | None):
        fault = "is no concurrent.futures.Executor; jobs=2 runs two folds at a time"
        raise SettingError("executor", executor, fault)
    if jobs is not None and (not isinstance(jobs, Integral) or jobs < 1):
        raise SettingError("jobs", jobs, "must be a whole number, at least 1")


def check_path(setting: str, path: Any) -> Path:
    with suppress(TypeError):
        if "\0" not in str(checked := Path(path)):
            return checked
    raise SettingError(setting, path, "is no path")


def check_seconds(setting: str, seconds: Any) -> float:
    if not isinstance(seconds, Real) or not float(seconds) >= 0:
        raise SettingError(setting, seconds, "must be a number of seconds")
    return float(seconds)


def parse_folds(folds: Folds) -> tuple[int, ...] | None:
    """Fold numbers in order, from 3, [1, 3] or "1,3-5"; None, which means all, stays None."""
    if folds is None:
        return None
    if isinstance(folds, str):
        numbers = [number for part in folds.split(",") for number in _fold_range(folds, part)]
    else:
        try:
            numbers = [*map(index, folds if isinstance(folds, Iterable) else [folds])]
        except TypeError:
            raise SettingError("folds", folds, "must be like 3, [1, 3] or '1,3-5'") from None
    if not numbers:
        raise SettingError("folds", folds, "names no fold")
    return tuple(sorted({*numbers}))


def check_fold(fold: Any) -> int:
    """The number of one fold."""
    try:
        return index(fold)
    except TypeError:
        raise SettingError("fold", fold, "must be the number of a fold") from None


def _fold_range(text: str, part: str) -> range:
    found = re.fullmatch(r"\s*0*([0-9]{1,5})\s*(?:-\s*0*([0-9]{1,5})\s*)?", part)
    if found is None:
        raise SettingError("folds", text, f"has {part.strip()!r}, no fold; say it as 1,3-5")
    first, last = int(found[1]), int(found[2] or found[1])
    if first > last:
        raise SettingError("folds", text, f"has {part.strip()}, which runs backwards")
    return range(first, last + 1)


def check_folds(folds: Sequence[int] | None, count: int) -> tuple[int, ...]:
    """The folds to run: all where none are named."""
    if folds is None:
        return tuple(range(1, count + 1))
    for fold in folds:
        if not 1 <= fold <= count:
            raise SettingError("folds", fold, f"does not exist; this split has folds 1 to {count}")
    return tuple(folds)


def check_network(
    experiment: Experiment, task: Task, folds: Sequence[int], executor: Executor
) -> Iterator[Note]:
    """Refuse a network that cannot work with these pictures.

    A user's network is tried by the executor: it may end its process, or never answer.
    """
    model = experiment.training.model
    if model in BASELINES and model != "oracle":
        return
    length = task.combinations.digits.shape[1]
    height, width = task.bank.train.images.shape[1:]
    if is_own(model):
        sizes = batch_sizes(experiment, task, folds)
        trial = executor.submit(try_own, experiment, sizes, length, height, length * width)
        if not wait([trial], PATIENCE_SECONDS).done:
            yield Note("slow network", details={"model": model, "seconds": PATIENCE_SECONDS})
        try:
            trial.result()
        except (WorkerDiedError, BrokenExecutor) as death:
            raise UnseenError(f"{model} cannot be tried: {death}") from None
        return
    if model == "oracle":  # reads symbols one by one with the encoder of latent-deep
        model, length = "latent-deep", 1
    network = find_network(model)
    if min(height, width) < LARGE_ENOUGH or length > network.most_symbols:
        network.build(length, height, length * width)  # which says what it needs


def network_limits(model: str, task: Task, *, rule: Rule | None) -> Iterator[Note]:
    """What a network cannot learn, where it may matter for answers that follow this rule."""
    if model not in MODELS:
        return
    network = MODELS[model]
    if rule != "additive" and network.expresses:
        yield Note("read-out", details={"model": model, "expresses": network.expresses})
    if network.alphabet is not None:
        digits = task.combinations.digits
        symbols, alphabet = len(np.unique(digits)), network.alphabet(digits.shape[1])
        if symbols > alphabet:
            details = {"model": model, "symbols": symbols, "alphabet": alphabet}
            yield Note("small alphabet", details=details)


def try_own(experiment: Experiment, sizes: Collection[int], *shape: int) -> None:
    """Try a user's network, in a worker."""
    from unseen.training.own_check import check_own

    with torch_threads(experiment.threads):
        check_own(experiment.training, sizes, *shape)


def batch_sizes(experiment: Experiment, task: Task, folds: Sequence[int]) -> set[int]:
    """How many pictures a step of training is shown: whole batches, and what is left of them."""
    each, whole = experiment.problem.samples_per_combination, experiment.training.batch_size
    combinations = len(task.combinations.digits)
    counts = {(combinations - len(task.unseen(fold))) * each for fold in folds}
    return {min(whole, count) for count in counts} | {count % whole or whole for count in counts}

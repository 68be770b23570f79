"""Networks of one's own: a class in a Python file, checked before anything is trained."""

import importlib.util
import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import nn
from torch.nn.parameter import is_lazy

from unseen.errors import SettingError, UnseenError, first_line, is_out_of_memory
from unseen.identity import LIBRARY_PATHS
from unseen.learning.models import classes_in
from unseen.learning.modules import RescaledOutput, laid_out_for_speed, saved_weights
from unseen.learning.optimizers import OPTIMIZERS
from unseen.learning.settings import Training
from unseen.learning.training import TrainingState, step_down

MOST_TRIED = 64  # pictures at once, where a run will show more


def build_own(model: str, length: int, height: int, width: int) -> nn.Module:
    """Run the file and build its class; whoever calls this was told to trust the file."""
    with faults_told(f"{model} cannot be built"):
        return _build(model, length, height, width)


def _build(model: str, length: int, height: int, width: int) -> nn.Module:
    sizes = f"(length={length}, height={height}, width={width})"
    make = _load(model)
    with faults_told(f"{model} cannot be built with {sizes}"):
        network = make(length, height, width)
    if not isinstance(network, nn.Module):
        raise UnseenError(f"{model} makes a {type(network).__name__}, not a torch.nn.Module")
    if any(is_lazy(parameter) for parameter in network.parameters()):
        # such layers get their weights from the first pictures, and optimisers want them before
        with faults_told(_on_pictures(model, 2, height, width)), torch.no_grad():
            network(torch.zeros(2, 1, height, width))
    return network


def check_own(
    training: Training, batch_sizes: Collection[int], length: int, height: int, width: int
) -> None:
    """Refuse a network that a run with batches of these sizes could not train, test or save."""
    model = training.model
    with faults_told(f"{model} cannot be trained"):
        network = build_own(model, length, height, width)
        with faults_told(_on_pictures(model, 3, height, width)):
            answers = network(torch.rand(3, 1, height, width))
        _check_answers(model, network, answers)
        # as a run does with it: else hours later it would fail
        answering = laid_out_for_speed(RescaledOutput(network))
        optimizer = OPTIMIZERS[training.optimizer](answering.parameters(), training.learning_rate)
        state = TrainingState(answering, optimizer)
        for count in sorted({min(size, MOST_TRIED) for size in batch_sizes}, reverse=True):
            what = f"{count} pictures" if count > 1 else "one picture by itself"
            if count == 1 < training.batch_size:
                what += ", the last of an epoch; another batch size leaves none over"
            with faults_told(f"{model} cannot be trained on {what}"):
                step_down(state, torch.rand(count, 1, height, width), torch.zeros(count), training)
        answering.eval()
        with faults_told(f"once trained, {_on_pictures(model, 1, height, width)}"):
            answering(torch.rand(1, 1, height, width))
        with faults_told(f"the weights of {model} cannot be saved"):
            safetensors.torch.save(saved_weights(answering))


def _check_answers(model: str, network: nn.Module, answers: Any) -> None:
    """Refuse answers to three pictures that are not one number each, which training can change."""
    if not isinstance(answers, torch.Tensor) or answers.shape not in ((3,), (3, 1)):
        found = [*answers.shape] if isinstance(answers, torch.Tensor) else type(answers).__name__
        raise UnseenError(
            f"{model} must answer 3 pictures with 3 numbers, as (3, 1) or (3,); it gave {found}"
        )
    if not torch.isfinite(answers).all():
        raise UnseenError(f"{model} answers with numbers that are not finite")
    if not answers.requires_grad or not any(p.requires_grad for p in network.parameters()):
        raise UnseenError(f"{model} has nothing to train: its answers depend on no parameter")


def _on_pictures(model: str, count: int, height: int, width: int) -> str:
    return f"{model} fails on pictures of shape ({count}, 1, {height}, {width})"


def _load(model: str) -> Any:
    file, _, name = model.rpartition(":")
    path = Path(file)
    if not os.path.isfile(path):
        raise SettingError("model", model, f"needs a file {path}, as file.py:Class; there is none")
    spec = importlib.util.spec_from_file_location(f"unseen_own_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses, among others, look for it
    known = {*sys.modules}
    with faults_told(f"{path} cannot be loaded"):
        try:
            spec.loader.exec_module(module)
        except ModuleNotFoundError as missing:
            if missing.name and path.with_name(f"{missing.name.partition('.')[0]}.py").exists():
                raise _imports_neighbour(path, missing.name) from missing
            raise
    for name_of_new in sorted({*sys.modules} - known):
        imported = Path(getattr(sys.modules[name_of_new], "__file__", None) or "/").resolve()
        is_library = str(imported).startswith(LIBRARY_PATHS)
        if not is_library and path.resolve().parent in imported.parents:
            raise _imports_neighbour(path, name_of_new)
    if not callable(make := getattr(module, name, None)):
        defined = ", ".join(classes_in(file) or ["none"])
        raise UnseenError(f"{path} has no class {name}; it defines {defined}")
    return make


def _imports_neighbour(path: Path, name: str) -> UnseenError:
    return UnseenError(
        f"{path} imports {name!r} from beside it; put all of the network into one file, because a "
        "run counts by what that file holds"
    )


@contextmanager
def faults_told(what: str) -> Iterator[None]:
    """What fails within is somebody else's code: say in one line what could not be done, and why.

    Short memory is no fault of the code, and whoever started it knows what to say of that.
    """
    try:
        yield
    except (UnseenError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        if is_out_of_memory(error):
            raise
        raise UnseenError(f"{what}: {first_line(error)}") from error

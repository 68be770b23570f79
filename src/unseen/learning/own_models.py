"""Networks of one's own: a class in a Python file, checked before anything is trained."""

import hashlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import nn
from torch.nn.parameter import is_lazy

from unseen.errors import UnseenError
from unseen.learning.modules import Answering, laid_out_for_speed, saved_weights


def build_own(model: str, length: int, height: int, width: int) -> nn.Module:
    """Run the file and build its class; whoever calls this was told to trust the file."""
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


def check_own(model: str, length: int, height: int, width: int) -> None:
    """Refuse a network that training could not use: pictures in, one number each out, gradients."""
    with redirect_stdout(sys.stderr):  # what it prints is no result
        _check(model, length, height, width)


def _check(model: str, length: int, height: int, width: int) -> None:
    network = build_own(model, length, height, width)
    with faults_told(_on_pictures(model, 3, height, width)):
        answers = network(torch.rand(3, 1, height, width))
    if not isinstance(answers, torch.Tensor) or answers.shape not in ((3,), (3, 1)):
        found = [*answers.shape] if isinstance(answers, torch.Tensor) else type(answers).__name__
        raise UnseenError(
            f"{model} must answer 3 pictures with 3 numbers, as (3, 1) or (3,); it gave {found}"
        )
    if not torch.isfinite(answers).all():
        raise UnseenError(f"{model} answers with numbers that are not finite")
    if not answers.requires_grad or not any(p.requires_grad for p in network.parameters()):
        raise UnseenError(f"{model} has nothing to train: its answers depend on no parameter")
    _try_all_that_a_run_does(model, network, height, width)


def _try_all_that_a_run_does(model: str, network: nn.Module, height: int, width: int) -> None:
    """Learn from some pictures, answer one by itself, be saved: else hours later it would fail."""
    answering = laid_out_for_speed(Answering(network))
    with faults_told(f"{model} cannot be trained"):
        answering(torch.rand(2, 1, height, width)).sum().backward()
    answering.eval()
    with faults_told(f"once trained, {_on_pictures(model, 1, height, width)}"):
        count = len(answering(torch.rand(1, 1, height, width)))
    if count != 1:
        raise UnseenError(f"{model} must answer one picture with one number; it gave {count}")
    with faults_told(f"the weights of {model} cannot be saved"):
        safetensors.torch.save(saved_weights(answering))


def _on_pictures(model: str, count: int, height: int, width: int) -> str:
    return f"{model} fails on pictures of shape ({count}, 1, {height}, {width})"


def own_sha256(model: str) -> str:
    """What a model's file holds."""
    path = Path(model.rpartition(":")[0])
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UnseenError(f"cannot read {path}: {error.strerror}") from error


def _load(model: str) -> Any:
    file, _, name = model.rpartition(":")
    path = Path(file)
    if not path.is_file():
        raise UnseenError(f"there is no file {path}; --model takes file.py:Class")
    spec = importlib.util.spec_from_file_location(f"unseen_own_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses, among others, look for it
    with faults_told(f"{path} cannot be loaded"):
        spec.loader.exec_module(module)
    if not callable(make := getattr(module, name, None)):
        raise UnseenError(f"{path} has no class {name}")
    return make


@contextmanager
def faults_told(what: str) -> Iterator[None]:
    """What fails within is somebody else's code: say in one line what could not be done, and why.

    Short memory is no fault of the code, and whoever started it knows what to say of that.
    """
    try:
        yield
    except UnseenError:
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, MemoryError) or "allocate memory" in str(error):
            raise
        raise UnseenError(f"{what}: {_in_short(error)}") from error


def _in_short(error: BaseException) -> str:
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0]}" if said else type(error).__name__

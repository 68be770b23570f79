"""Networks of one's own: a class in a Python file, checked before anything is trained."""

import hashlib
import importlib.util
from pathlib import Path
from typing import Any

import torch
from torch import nn

from unseen.errors import UnseenError


def build_own(model: str, length: int, height: int, width: int) -> nn.Module:
    """Run the file and build its class; whoever calls this was told to trust the file."""
    make = _load(model)
    try:
        network = make(length, height, width)
    except Exception as error:
        raise UnseenError(
            f"{model} cannot be built with (length={length}, height={height}, width={width}): "
            f"{_in_short(error)}"
        ) from error
    if not isinstance(network, nn.Module):
        raise UnseenError(f"{model} makes a {type(network).__name__}, not a torch.nn.Module")
    return network


def check_own(model: str, length: int, height: int, width: int) -> None:
    """Refuse a network that training could not use: pictures in, one number each out, gradients."""
    network = build_own(model, length, height, width)
    pictures = torch.rand(3, 1, height, width)
    try:
        answers = network(pictures)
    except Exception as error:
        raise UnseenError(
            f"{model} fails on pictures of shape (3, 1, {height}, {width}): {_in_short(error)}"
        ) from error
    if not isinstance(answers, torch.Tensor) or answers.shape not in ((3,), (3, 1)):
        found = [*answers.shape] if isinstance(answers, torch.Tensor) else type(answers).__name__
        raise UnseenError(
            f"{model} must answer 3 pictures with 3 numbers, as (3, 1) or (3,); it gave {found}"
        )
    if not torch.isfinite(answers).all():
        raise UnseenError(f"{model} answers with numbers that are not finite")
    if not answers.requires_grad or not any(p.requires_grad for p in network.parameters()):
        raise UnseenError(f"{model} has nothing to train: its answers depend on no parameter")


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
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UnseenError(f"{path} cannot be loaded: {_in_short(error)}") from error
    if not callable(make := getattr(module, name, None)):
        raise UnseenError(f"{path} has no class {name}")
    return make


def _in_short(error: Exception) -> str:
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0]}" if said else type(error).__name__

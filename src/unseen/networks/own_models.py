"""Users' networks: a class in a Python file."""

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from unseen.errors import SettingError, UnseenError
from unseen.identity import LIBRARY_PATHS
from unseen.networks.own_files import faults_told


def build_own(model: str, length: int, height: int, width: int) -> nn.Module:
    """Run the file and build its class; callers were told to trust the file."""
    with faults_told(f"{model} cannot be built"):
        make = _load(model)
        with faults_told(f"{model} cannot be built with {length=}, {height=}, {width=}"):
            network = make(length, height, width)
        if not isinstance(network, nn.Module):
            raise UnseenError(f"{model} makes a {type(network).__name__}, not a torch.nn.Module")
        if any(is_lazy(parameter) for parameter in network.parameters()):
            # such layers get their weights from the first pictures, and optimisers want them before
            with faults_told(on_pictures(model, 2, height, width)), torch.no_grad():
                network(torch.zeros(2, 1, height, width))
        return network


def on_pictures(model: str, count: int, height: int, width: int) -> str:
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
        spec.loader.exec_module(module)
    for imported in sorted({*sys.modules} - known):
        source = Path(getattr(sys.modules[imported], "__file__", None) or "/").resolve()
        is_library = str(source).startswith(LIBRARY_PATHS)
        if not is_library and path.resolve().parent in source.parents:
            raise UnseenError(
                f"{path} imports {imported!r} from beside it; put all of the network into one "
                "file, because a run is identified by what that file holds"
            )
    if not callable(make := getattr(module, name, None)):
        raise UnseenError(f"{path} has no class {name}")
    return make

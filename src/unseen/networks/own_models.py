"""Networks of one's own: a class in a Python file, checked before anything is trained."""

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
from unseen.networks.own_files import classes_in, faults_told

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

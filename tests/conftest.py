"""Small symbol sets and runs that the tests share."""

import gzip
import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import settings
from warm_start import WarmStart

if TYPE_CHECKING:
    from lab_server import RunningLab

# How long an example takes says more about the machine than about the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# A shell has what it runs in the background ignore Ctrl-C, nohup has it ignore a lost terminal, and
# children inherit that; what tests start stands for what is started in a terminal.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Several tests run at once; threads of theirs that wait for each other would wait in turns.
os.environ["OMP_NUM_THREADS"] = "1"


# Tests start hundreds of processes, which would compile the sources each time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

SMALL = [
    *("--samples", "6", "--test-samples", "4", "--batch-size", "32", "--watched-samples", "20"),
    *("--no-report", "--quiet"),
]


def write_idx(path: Path, array: npt.ArrayLike, *, compress: bool = False) -> None:
    array = np.asarray(array)
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    raw = header + array.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(raw) if compress else raw)


def write_symbols(
    folder: Path, *, labels: int = 10, per_label: int = 8, side: int = 28, ink: int = 220
) -> Path:
    """Four IDX files of made-up symbols: noise around a bar whose height is its label."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(5)
    for half, count in (("train", per_label), ("t10k", max(1, per_label // 2))):
        values = rng.permutation(np.repeat(np.arange(labels), count))
        images = rng.integers(0, 40, (len(values), side, side))
        for image, value in zip(images, values, strict=True):
            image[side - 2 - 2 * value : side, 8:20] = ink
        write_idx(folder / f"{half}-images-idx3-ubyte", images)
        write_idx(folder / f"{half}-labels-idx1-ubyte", values)
    return folder


@pytest.fixture(scope="session", autouse=True)
def named_symbols_are_read_once() -> None:
    """Tests turn from one symbol set to another and back, which no command does."""
    from unseen.problem.symbols import SYMBOLS

    for name, read in SYMBOLS.items():
        SYMBOLS[name] = cache(read)


@pytest.fixture
def symbols(tmp_path: Path) -> Path:
    return write_symbols(tmp_path / "symbols")


@pytest.fixture(scope="session")
def shared_browser() -> Iterator[Any]:
    from browsers import chromium

    with chromium() as opened:
        yield opened


@pytest.fixture
def browser(shared_browser: Any) -> Iterator[Any]:
    """A Chromium that tests open pages in, one after the other, because starting one takes seconds.

    Its pages are closed after each test.
    """
    yield shared_browser
    for context in shared_browser.contexts:
        context.close()


@pytest.fixture(scope="session")
def shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator["RunningLab"]:
    from lab_server import running_lab

    with running_lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@pytest.fixture
def lab(shared_lab: "RunningLab") -> Iterator["RunningLab"]:
    """A lab that tests train in, one after the other, because starting one takes seconds."""
    yield shared_lab
    shared_lab.post("/api/stop")  # if a test has failed on the way


@pytest.fixture
def without_added_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to be in; what a test registers there is gone after it."""
    from unseen import parts
    from unseen.networks.models import MODELS
    from unseen.problem.operations import OPERATIONS
    from unseen.problem.splits import SPLITS
    from unseen.problem.symbols import SYMBOLS
    from unseen.training.metrics import METRICS

    monkeypatch.chdir(tmp_path)
    registries: list[dict[str, Any]] = [MODELS, OPERATIONS, SYMBOLS, SPLITS, METRICS]
    before = [{**each} for each in registries]
    yield tmp_path
    for registry, content in zip(registries, before, strict=True):
        registry.clear()
        registry.update(content)
    parts.ADDED.clear()


RULES = ("SYMMETRIC_SUM", "SUM", "SQUARED", "CURVED", "SWITCHED", "CURVED_FROM_MANY_STARTS")


@pytest.fixture
def short_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules that are looked for in a third of the steps: easy ones are found all the same."""
    from unseen.networks import rules

    for name in RULES:
        kind = getattr(rules, name)
        stages = tuple((at_once, steps // 3) for at_once, steps in kind.stages)
        monkeypatch.setattr(rules, name, replace(kind, stages=stages))
    monkeypatch.setattr(rules, "REFITTED", (100, 100))


@cache
def warm_start() -> WarmStart:
    return WarmStart()


def unseen(*arguments: str | Path, cwd: Path, **options: object) -> subprocess.CompletedProcess:
    """The real command, in a process of its own."""
    words = [*map(str, arguments)]
    if not options:
        return warm_start().run(words, cwd, seconds=240)
    return subprocess.run(
        [sys.executable, "-m", "unseen", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=240,
        env=os.environ | {"COLUMNS": "100"},
        check=False,
        **options,
    )


def run_json(*arguments: str | Path, cwd: Path) -> dict:
    """The JSON that `unseen run … --json` prints."""
    ended = unseen("run", *arguments, "--json", cwd=cwd)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def without_seconds(document: dict) -> dict:
    """A run's JSON without what may differ from time to time."""
    folds = [
        {
            **fold,
            "seconds": None,
            "curve": [{**point, "seconds": None} for point in fold["curve"]],
        }
        for fold in document["folds"]
    ]
    return {**document, "folds": folds, "mean": {**document["mean"], "seconds": None}, "run": ""}

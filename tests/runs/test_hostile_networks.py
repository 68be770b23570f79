"""Custom networks that do to their process what no network should."""

import json
import os
from pathlib import Path

import pytest
from complete_folds import complete_fold
from conftest import SMALL, unseen, write_symbols

from unseen.errors import UnseenError
from unseen.problem.task import make_task
from unseen.runs import checks
from unseen.runs.checks import check_network
from unseen.runs.local_workers import LocalWorkers, WorkerDiedError
from unseen.runs.presets import fast
from unseen.runs.run_folder import RunFolder

NETWORK = """
import os, signal, sys, threading, time, torch
class Unspeakable(Exception):
    def __str__(self): raise ValueError
calls = 0
class Net(torch.nn.Module):
    def __init__(self, length, height, width):
        super().__init__()
        self.read = torch.nn.Linear(height * width, 1)
    def forward(self, pictures):
        global calls
        calls += 1
        if calls > {patience}: {deed}
        return self.read(pictures.flatten(1))
"""
DEEDS = {
    "raise Unspeakable": "an exception that cannot be printed",
    "os._exit(0)": "its code ended the process, with exit code 0",
    "os.kill(os.getpid(), 9)": "its process was killed",
    "os.kill(os.getpid(), 11)": r"its code crashed \(SIGSEGV\)",
    "sys.exit(0)": "SystemExit: 0",
    "raise KeyboardInterrupt": "a worker was ended by KeyboardInterrupt",
    "raise GeneratorExit": "a worker was ended by GeneratorExit",
    "self.forward(pictures)": "RecursionError",
    "bytearray(10**15)": "out of memory",
    "self.parameters = None": "cannot be trained: TypeError",
}
HARMLESS = "os.path.exists('end') and os._exit(0); os.fork(); os.write(1, b'{'); print('}'); threading.Thread(target=time.sleep, args=(99,)).start()"  # noqa: E501


@pytest.fixture(scope="module")
def engine():
    with LocalWorkers(1) as executor:
        yield executor


@pytest.fixture(scope="module")
def symbols(tmp_path_factory) -> Path:
    return write_symbols(tmp_path_factory.mktemp("hostile") / "symbols")


def experiment_with(deed: str, patience: int, folder: Path, symbols: Path):
    path = folder / "net.py"
    path.write_text(NETWORK.format(deed=deed, patience=patience))
    return fast().vary(
        model=f"{path}:Net", symbols=str(symbols), samples=6, test_samples=4, batch_size=32
    )


def tried(experiment, engine) -> list:
    return [*check_network(experiment, make_task(experiment.problem), [1], engine)]


@pytest.mark.parametrize("deed", DEEDS)
def test_what_a_network_does_to_its_process_is_said_in_one_line(tmp_path, symbols, engine, deed):
    with pytest.raises(UnseenError, match=DEEDS[deed]) as refused:
        tried(experiment_with(deed, 0, tmp_path, symbols), engine)
    assert "\n" not in str(refused.value)
    if deed == "self.parameters = None":
        return
    late = experiment_with(deed, 9, tmp_path, symbols)  # in training
    folder = RunFolder.of(late, tmp_path)
    folder.create(late)
    with pytest.raises(UnseenError, match=DEEDS[deed]) as failed:
        engine.submit(complete_fold, folder.path, late, 1).result()
    assert "\n" not in str(failed.value)
    assert folder.result(1) is None


def test_a_network_that_does_not_answer_is_told_of(tmp_path, symbols, engine, monkeypatch):
    monkeypatch.setattr(checks, "PATIENCE_SECONDS", 0.05)
    (note,) = tried(experiment_with("time.sleep(1); calls = -99", 0, tmp_path, symbols), engine)
    assert note.kind == "slow network"


def test_only_a_process_that_was_killed_is_worth_another():
    assert WorkerDiedError(-9).was_killed
    assert WorkerDiedError(255).was_killed
    assert not WorkerDiedError(0).was_killed
    assert not WorkerDiedError(-11).was_killed


def test_in_a_worker_stdout_is_stderr(engine):
    first, second = (engine.submit(os.fstat, number).result() for number in (1, 2))
    assert os.path.samestat(first, second)


def test_forks_threads_and_prints_of_a_network_spoil_nothing(tmp_path, symbols):
    model = experiment_with(HARMLESS, 0, tmp_path, symbols).training.model
    options = ["--symbols", symbols, "--model", model, "--folds", "1", *SMALL, "--json"]
    ended = unseen("run", *options, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert [fold["fold"] for fold in json.loads(ended.stdout)["folds"]] == [1]
    (tmp_path / "end").touch()
    looked = unseen("report", "fast", "--deep", "--model", model, cwd=tmp_path)
    assert looked.returncode == 2
    assert looked.stderr.endswith("its code ended the process, with exit code 0\n")

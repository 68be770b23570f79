"""Nothing is lost: real processes, really killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from conftest import run_json, unseen, warm_start, without_seconds
from warm_start import WarmProcess

from unseen.api import follow
from unseen.runs.events import Ended, FoldDone, Measured, Progressed
from unseen.runs.run_folder import RunFolder

# The paper's optimiser on a small network; long enough to be met in the middle.
OPTIONS = ["paper-text", "--epochs", "12", "--samples", "2", "--test-samples", "4"]
OPTIONS += ["--watched-samples", "20"]


@pytest.fixture(scope="module")
def undisturbed_folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("undisturbed")


@pytest.fixture(scope="module")
def undisturbed(undisturbed_folder: Path) -> dict:
    """What an undisturbed run says."""
    return run_json(*OPTIONS, "--folds", "1-3", cwd=undisturbed_folder)


@pytest.fixture
def finished(undisturbed_folder: Path, undisturbed: dict, tmp_path: Path) -> RunFolder:
    """That run, in a folder of a test."""
    return RunFolder(
        shutil.copytree(undisturbed_folder / undisturbed["run"], tmp_path / undisturbed["run"])
    )


def start(*options: str, cwd: Path) -> WarmProcess:
    words = ["run", *OPTIONS, "--folds", "1-3", *options]
    return warm_start().start(words, cwd)


def start_cold(*options: str, cwd: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "unseen", "run", *OPTIONS, "--folds", "1-3", *options],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(condition: Callable[[], object], seconds: float = 120) -> None:
    patience = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < patience, "waited in vain"
        time.sleep(0.02)


def the_run(cwd: Path) -> RunFolder | None:
    runs = [*(cwd / "runs").glob("*/folds")]
    return RunFolder(runs[0].parent) if runs else None


def epochs_saved(cwd: Path, fold: int) -> int:
    run = the_run(cwd)
    progress = run and run.progress(fold)
    return progress.epochs_done if progress else 0


def is_done(cwd: Path, fold: int) -> bool:
    return (run := the_run(cwd)) is not None and run.result(fold, thorough=False) is not None


def workers_of(parent: psutil.Process) -> list[psutil.Process]:
    """The processes that work on folds: those whose number stands in a fold's progress."""
    run = the_run(Path(parent.cwd()))
    assert run is not None
    standings = [run.progress(fold) for fold in (1, 2, 3)]
    pids = {progress.process for progress in standings if progress}
    return [child for child in parent.children(recursive=True) if child.pid in pids]


def test_a_run_killed_at_any_moment_ends_with_the_same_bits(tmp_path: Path, undisturbed: dict):
    with start_cold("--quiet", "--jobs", "2", cwd=tmp_path) as process:
        family = []
        wait_for(lambda: is_done(tmp_path, 1) and epochs_saved(tmp_path, 3) >= 2)
        family = psutil.Process(process.pid).children(recursive=True)
        process.kill()
    _, alive = psutil.wait_procs(family, timeout=20)
    assert not alive, "workers outlived their parent"
    dead = {member.pid for member in family}
    run = the_run(tmp_path)
    assert run is not None
    assert not is_done(tmp_path, 3)
    saved = epochs_saved(tmp_path, 3)
    first = run.path / "folds/01/result.json"
    written = first.stat().st_mtime_ns
    with start("--json", "--quiet", cwd=tmp_path) as process:
        started_at = []
        while process.poll() is None:
            if (progress := run.progress(3)) and progress.process not in dead:
                started_at.append(progress.epochs_done)
            time.sleep(0.01)
        output, _ = process.communicate()
    assert process.returncode == 0
    assert without_seconds(json.loads(output)) == without_seconds(undisturbed)
    assert first.stat().st_mtime_ns == written, "a finished fold was run again"
    assert min(started_at) >= saved, "saved epochs were lost"
    assert not [*run.path.rglob("*.part")]
    assert not [*run.path.rglob("checkpoint")]
    for fold in (1, 2, 3):
        epochs = [each.epochs for each in run.measurements(fold)]
        assert epochs == sorted({*epochs}), "the learning curve has gaps or steps back"
        assert {*range(1, 13)} < {*epochs}


def test_a_fold_is_watched_from_a_second_process_while_it_runs(tmp_path: Path):
    with start("--quiet", "--jobs", "1", cwd=tmp_path) as process:
        wait_for(lambda: (run := the_run(tmp_path)) and run.measurements(1))
        run = the_run(tmp_path)
        events = [*follow(run.path, 1)]
        assert not is_done(tmp_path, 3), "all was over before it could be watched"
        process.kill()
    measured = [event.measurement.epochs for event in events if isinstance(event, Measured)]
    assert measured == sorted({*measured})
    assert measured[-1] == 12
    assert any(isinstance(event, Progressed) for event in events)
    assert events[-2:] == [FoldDone(1), Ended((1,), ())]


def test_a_killed_worker_is_replaced(tmp_path: Path, finished: RunFolder, undisturbed: dict):
    for fold in ("01", "02"):
        shutil.rmtree(finished.path / "folds" / fold)
    with start("--json", "--jobs", "1", cwd=tmp_path) as process:
        parent = psutil.Process(process.pid)
        wait_for(lambda: epochs_saved(tmp_path, 1) >= 2)
        for worker in workers_of(parent):
            worker.kill()
        output, words = process.communicate()
    assert process.returncode == 0, words
    assert "the process of fold 1 was killed; another one goes on with it" in words
    assert without_seconds(json.loads(output)) == without_seconds(undisturbed)


def test_a_worker_that_is_killed_again_and_again_is_given_up(tmp_path: Path):
    with start_cold("--jobs", "1", cwd=tmp_path) as process:
        killed: set[int] = set()
        while process.poll() is None:
            parent = psutil.Process(process.pid)
            try:
                for child in parent.children(recursive=True):
                    if is_worker(child) and child.pid not in killed:
                        killed.add(child.pid)
                        child.kill()
            except psutil.NoSuchProcess:
                pass
            time.sleep(0.05)
        output, words = process.communicate()
    assert process.returncode == 2
    assert output == ""
    assert "was killed 2 times without finishing another epoch" in words.splitlines()[-1]


def is_worker(process: psutil.Process) -> bool:
    """Whether a process was forked by the fork server, which is itself a child of ours."""
    parent = process.parent()
    return parent is not None and any("forkserver" in word for word in parent.cmdline())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_stops_at_once_and_says_how_to_go_on(tmp_path: Path, number, code):
    with start_cold("--jobs", "2", cwd=tmp_path) as process:
        wait_for(lambda: epochs_saved(tmp_path, 1) >= 1 and epochs_saved(tmp_path, 2) >= 1)
        family = psutil.Process(process.pid).children(recursive=True)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            process.send_signal(number)
        output, words = process.communicate()
    assert process.returncode == code, words
    assert output == ""
    assert "stopped; 0 of 3 folds are done, fold 1 is saved up to epoch" in words
    assert "The same command goes on from there." in words
    *gives_away, stopped = words.splitlines()
    assert stopped.startswith("unseen: stopped;")
    assert len(gives_away) == 2  # which a run says before it trains
    assert "unseen combinations in 3 folds" in gives_away[0]
    _, alive = psutil.wait_procs(family, timeout=20)
    assert not alive


def test_an_early_interrupt_is_no_traceback(tmp_path: Path):
    for pause in (0.05, 0.2, 0.6, 1.2):
        with start_cold(cwd=tmp_path) as process:
            time.sleep(pause)
            os.killpg(process.pid, signal.SIGINT)
            words = process.communicate()[1]
        if pause < 1 and "Traceback" in words and "/unseen/" not in words:
            continue  # Python itself was still starting
        assert process.returncode in (130, -signal.SIGINT), words
        assert "Traceback" not in words


def test_a_fold_run_again_for_damage_can_be_interrupted_too(
    tmp_path: Path, finished: RunFolder, undisturbed: dict
):
    (finished.path / "folds/01/result.json").write_text("")
    with start("--quiet", cwd=tmp_path) as process:
        wait_for(lambda: epochs_saved(tmp_path, 1) >= 3)
        process.kill()
    saved = epochs_saved(tmp_path, 1)
    with start("--json", cwd=tmp_path) as process:
        lowest = saved
        while process.poll() is None:
            if progress := finished.progress(1):
                lowest = min(lowest, progress.epochs_done)
            time.sleep(0.01)
        output, _ = process.communicate()
    assert lowest == saved, "saved epochs were lost"
    assert without_seconds(json.loads(output)) == without_seconds(undisturbed)


def test_two_processes_share_a_run(tmp_path: Path, undisturbed: dict):
    both = [start("--json", "--jobs", "1", cwd=tmp_path) for _ in range(2)]
    ends = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    whole = unseen("show", "paper-text", "--json", cwd=tmp_path)
    assert without_seconds(json.loads(whole.stdout)) == without_seconds(undisturbed)
    for output, words in ends:
        done = {fold["fold"] for fold in json.loads(output)["folds"]}
        left = {fold for fold in (1, 2, 3) if f"fold {fold} is being run by another" in words}
        assert done | left == {1, 2, 3}


def test_a_fold_that_is_held_is_named_and_left(tmp_path: Path, symbols: Path):
    options = ["mean", "--symbols", str(symbols), "--samples", "2", "--test-samples", "2"]
    options += ["--folds", "1-2"]
    run = RunFolder(tmp_path / run_json("--no-report", *options, cwd=tmp_path)["run"])
    run.discard(1)
    with run.hold(1) as held:
        assert held
        ended = unseen("run", "--no-report", *options, "--json", cwd=tmp_path)
        run.discard(2)
        nothing = unseen("run", *options[:-1], "1", "--quiet", cwd=tmp_path)
    assert ended.returncode == 0
    assert "fold 1 is being run by another process" in ended.stderr
    assert nothing.returncode == 0
    assert nothing.stderr.count("\n") == 1, "nothing is done, and no report is missed"
    assert [fold["fold"] for fold in json.loads(ended.stdout)["folds"]] == [2]
    both = run_json("--no-report", *options, cwd=tmp_path)["folds"]
    assert [fold["fold"] for fold in both] == [1, 2]


@pytest.mark.parametrize("damage", ["cut short", "of another fold"])
def test_a_damaged_checkpoint_is_named_and_its_fold_begun_anew(
    tmp_path: Path, finished: RunFolder, undisturbed: dict, damage: str
):
    """A network that goes on from another fold's has trained on the pairs it is tested with."""
    shutil.rmtree(finished.path / "folds/01")
    with start("--quiet", cwd=tmp_path) as process:
        wait_for(lambda: epochs_saved(tmp_path, 1) >= 2)
        process.kill()
    checkpoint = finished.path / "folds/01/checkpoint"
    if damage == "cut short":
        checkpoint.write_bytes(checkpoint.read_bytes()[:-100])
    else:
        content = finished.checkpoint(1)
        assert content is not None
        finished.save_checkpoint(2, content)
        (finished.path / "folds/02/checkpoint").rename(checkpoint)
    ended = unseen("run", *OPTIONS, "--folds", "1-3", "--json", cwd=tmp_path)
    assert "folds/01/checkpoint is damaged; fold 1 is run again" in ended.stderr
    assert without_seconds(json.loads(ended.stdout)) == without_seconds(undisturbed)

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from conftest import warm_start

import unseen
from unseen.errors import UnseenError
from unseen.runs.local_workers import LocalWorkers, WorkerDiedError


def refuse() -> None:
    raise UnseenError("no, thank you")


def fail() -> None:
    raise KeyError("gone")


def kill_own_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def saved(run: unseen.Run) -> list[tuple]:
    """What folds left, without the seconds that they took."""
    return [
        (run.folder.weights(each.fold), each.model_copy(update={"seconds": 0.0}).model_dump_json())
        for each in run.results
    ]


def process_pool() -> Executor:
    return ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))


def test_any_executor_comes_to_the_same_bits_and_is_left_open(tmp_path, symbols):
    settings = {"samples": 2, "test_samples": 2, "watched_samples": 20, "batch_size": 32}
    settings |= {"symbols": symbols, "folds": "1-2"}
    ours = unseen.run("fast", runs_dir=tmp_path / "ours", **settings)
    for executor in (ThreadPoolExecutor(1), process_pool()):
        with executor:
            runs_dir = tmp_path / type(executor).__name__
            run = unseen.run("fast", runs_dir=runs_dir, executor=executor, **settings)
            assert executor.submit(pow, 2, 5).result() == 32
        assert saved(run) == saved(ours)
        assert run.folder.measurements(2)


def test_folds_of_an_executor_that_breaks_are_reported(tmp_path, symbols):
    experiment = unseen.PRESETS["mean"]().vary(symbols=symbols, samples=2, test_samples=2)
    with process_pool() as executor:
        executor.submit(kill_own_process)
        with pytest.raises(UnseenError, match=r"fold \d was not finished: .* killed 2 times"):
            [*unseen.session(experiment, [1, 2], tmp_path, executor)]


@pytest.fixture(scope="module")
def engine():
    executor = LocalWorkers(2)
    yield executor
    executor.shutdown()


def test_work_is_done_in_other_processes(engine):
    here = os.getpid()
    assert engine.submit(pow, 2, 10).result() == 1024
    assert engine.submit(os.getpid).result() != here


def test_an_interrupt_reaches_no_worker(engine):
    blocked = engine.submit(signal.pthread_sigmask, signal.SIG_BLOCK, []).result()
    assert signal.SIGINT in blocked
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_a_clear_error_stays_clear(engine):
    with pytest.raises(UnseenError, match="no, thank you") as caught:
        engine.submit(refuse).result()
    assert "Traceback" in caught.value.__notes__[0]  # for the log of a fold that failed


def test_a_fault_comes_with_its_traceback(engine):
    with pytest.raises(RuntimeError, match=r"(?s)test_local_workers\.py.*KeyError: 'gone'"):
        engine.submit(fail).result()


def test_a_death_costs_one_task_only(engine):
    other = engine.submit(time.sleep, 1)
    with pytest.raises(WorkerDiedError):
        engine.submit(kill_own_process).result()
    assert other.result() is None
    assert engine.submit(pow, 2, 3).result() == 8


def test_stopping_kills_what_is_under_way():
    executor = LocalWorkers(1)
    running = executor.submit(time.sleep, 60)
    waiting = executor.submit(time.sleep, 60)
    while not running.process:
        time.sleep(0.01)
    executor.shutdown(wait=False)
    with pytest.raises(WorkerDiedError):
        running.result()
    assert waiting.cancelled()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_workers_die_with_their_parent(tmp_path: Path, number):
    with warm_start().start([], tmp_path, "parent_of_workers") as parent:
        while not (said := tmp_path / "workers").exists():
            assert parent.poll() is None
            time.sleep(0.01)
        workers = [psutil.Process(int(pid)) for pid in said.read_text().split()]
        family = [*psutil.Process(parent.pid).children(recursive=True)]
        assert {*workers} <= {*family}
        assert len(workers) == 2
        parent.send_signal(number)
        parent.wait(20)
    _, alive = psutil.wait_procs({*workers, *family}, timeout=20)
    assert not alive


UNPACKED_ONCE = """
from unseen.runs.local_workers import LocalWorkers
executor = LocalWorkers(2, symbols="dominoes")
for _ in range(2):
    print(executor.submit(eval, "__import__('unseen.problem.symbols').problem.symbols."
                          "_loaded.cache_info().currsize").result())
executor.shutdown()
"""


def test_symbols_are_unpacked_before_workers_are_forked():
    ended = subprocess.run(
        [sys.executable, "-c", UNPACKED_ONCE], capture_output=True, text=True, check=True
    )
    assert ended.stdout == "1\n1\n"

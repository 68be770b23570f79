"""An engine of Dask workers, on this machine or on others: unseen[dask].

Each fold runs in a process of its own, started by a worker as a local engine starts it, so it has
the same memory, threads and bits. Where a worker shares the client's disk, a fold is saved and
checkpointed in its run folder; elsewhere the finished fold is sent, and the client writes it.
"""

import math
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing import process
from pathlib import Path
from typing import Any

from unseen.errors import SettingError, UnseenError
from unseen.files import make_folder, read_file, remove, write_whole
from unseen.runs.engine import (
    ConnectionLostError,
    Engine,
    LocalProcesses,
    WorkerDiedError,
    available_cores,
    working_folder_not_imported,
)
from unseen.runs.environment import current_environment
from unseen.runs.experiment import Experiment, content_sums
from unseen.runs.fold import FoldOutcome, FoldResult, fold_steps
from unseen.runs.measuring import Measurement
from unseen.runs.run_folder import RunFolder
from unseen.runs.worker import complete_fold

LOOPBACK = "127.0.0.1"  # of a cluster on this machine: nobody else is to read or use it
FIRST_CONNECTION_SECONDS = 15
PATIENCE_SECONDS = 60  # with a scheduler that is gone, and with a cluster that has no workers yet
POLL_SECONDS = 0.1
SECONDS_BETWEEN_COUNTS = 1.0  # of workers, which come and go
ADDRESS = r"((tcp|tls|ucx|wss?)://)?[^/\s]+:[0-9]{1,5}"
COMPARED = ("unseen", "torch", "numpy")
MOST_FOLDS_IN_A_WORKER = 1024  # Dask itself runs as many as a worker has threads


@dataclass(frozen=True)
class FinishedFold:
    """A fold that a worker sends to the client, which saves it."""

    outcome: FoldOutcome
    measurements: list[Measurement]


@dataclass(frozen=True)
class SharedMark:
    """A file that the client has written, to find out who shares its disk."""

    path: Path
    content: bytes

    def is_seen(self) -> bool:
        with suppress(UnseenError):
            return read_file(self.path, len(self.content)) == self.content
        return False


@dataclass(frozen=True)
class WorkerFacts:
    """What a worker is: the versions that it has, and whether it shares the client's disk."""

    versions: Mapping[str, str]
    shares_disk: bool


class _Task(Future[Any]):
    """What the client waits for, and how often a worker has begun with it."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: Any = None  # Dask's own
        self.starts = 0


class DaskWorkers(Engine):
    """The workers of a Dask scheduler, or without an address of a cluster on this machine."""

    def __init__(
        self,
        runs_dir: Path,
        address: str | None = None,
        jobs: int | None = None,
        *,
        allow_versions: bool = False,
    ) -> None:
        if address is not None and not re.fullmatch(ADDRESS, address):
            fault = "is no address of a scheduler; it prints its own, as tcp://192.168.0.5:8786"
            raise SettingError("address", address, fault)
        try:
            import distributed
        except ImportError as error:
            raise UnseenError("the engine dask needs Dask: pip install 'unseen[dask]'") from error
        self._versions = None if allow_versions else _versions()
        self._topic = f"unseen-{secrets.token_hex(8)}"
        self._tasks: dict[str, _Task] = {}  # by the keys of Dask's futures
        self._lock, self._lost = threading.Lock(), False
        self._slots, self._counted = 1, -math.inf
        self._cluster: Any = None
        if address is None:
            with working_folder_not_imported():
                self._cluster = distributed.LocalCluster(  # type: ignore[no-untyped-call]
                    n_workers=jobs or available_cores(),
                    threads_per_worker=1,
                    host=LOOPBACK,
                    dashboard_address=f"{LOOPBACK}:0",  # any free port
                    worker_dashboard_address=f"{LOOPBACK}:0",
                    memory_limit=0,  # folds are in processes of their own, which it would not see
                    silence_logs=50,
                )
        self._address = address or self._cluster.scheduler_address
        self._mark = SharedMark(
            runs_dir.resolve() / f".shared-{secrets.token_hex(8)}", secrets.token_bytes(16)
        )
        make_folder(runs_dir)
        try:
            write_whole(self._mark.path, self._mark.content)
            self._client = self._connect(distributed.Client)
            self.workers = self._meet()
        except BaseException:
            self.shutdown(wait=False)
            raise

    def _connect(self, client_of: Callable[..., Any]) -> Any:
        connecting: Future[Any] = Future()

        def connect() -> None:
            try:
                connecting.set_result(
                    client_of(self._address, timeout=FIRST_CONNECTION_SECONDS, set_as_default=False)
                )
            except BaseException as error:
                connecting.set_exception(error)

        # a port that takes the connection and says nothing holds the client for minutes
        threading.Thread(target=connect, daemon=True).start()
        try:
            client = connecting.result(FIRST_CONNECTION_SECONDS + 2)
        except (OSError, ValueError, TypeError) as error:  # a TimeoutError is an OSError
            raise UnseenError(
                f"no Dask scheduler answers at {self._address} within {FIRST_CONNECTION_SECONDS} "
                "seconds; is `dask scheduler` running, and is this its address?"
            ) from error
        client._timeout = PATIENCE_SECONDS  # that it tries to connect again
        client.subscribe_topic(self._topic, self._note_start)
        return client

    def _note_start(self, event: tuple[float, str]) -> None:
        with self._lock:
            if (task := self._tasks.get(event[1])) is not None:
                task.starts += 1

    def deaths(self, future: Future[Any]) -> int:
        return max(0, future.starts - 1) if isinstance(future, _Task) else 0

    def kill(self, future: Future[Any]) -> None:
        with self._lock:
            key = next((key for key, task in self._tasks.items() if task is future), "")
            task = self._tasks.pop(key, None)
        if task is not None:
            with suppress(Exception):  # a scheduler that is just going
                self._client.cancel([task.sent], force=True)

    def _meet(self) -> dict[str, WorkerFacts]:
        """Wait for workers, and refuse those that would compute something else."""
        try:
            self._client.wait_for_workers(1, timeout=PATIENCE_SECONDS)
        except TimeoutError as error:
            raise UnseenError(
                f"the Dask scheduler at {self._address} has had no workers for "
                f"{PATIENCE_SECONDS} seconds; start some with: dask worker {self._address}"
            ) from error
        facts: dict[str, WorkerFacts] = self._client.run(worker_facts, self._mark)
        for address, each in facts.items():
            refuse_other_versions(self._versions, each.versions, address)
        return facts

    @property
    def slots(self) -> int:
        if time.monotonic() - self._counted > SECONDS_BETWEEN_COUNTS:
            with suppress(OSError):  # a scheduler that is just going
                if self._client.status == "running":
                    self._slots = max(1, sum(self._client.nthreads().values()))
            self._counted = time.monotonic()
        return self._slots

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        if named:
            raise TypeError("this engine takes arguments by place")
        return self._send(_as_it_is, "", function, *arguments)

    def submit_fold(
        self, path: Path, experiment: Experiment, fold: int
    ) -> "Future[FoldResult | None]":
        def save(answer: FinishedFold | FoldResult | None) -> FoldResult | None:
            return (
                save_fold(RunFolder(path), answer) if isinstance(answer, FinishedFold) else answer
            )

        try:
            sums = content_sums(experiment)
        except UnseenError as error:  # its files are gone
            refused: Future[FoldResult | None] = Future()
            refused.set_exception(error)
            return refused
        task = (path.resolve(), experiment, fold, sums, self._mark)
        return self._send(save, experiment.problem.symbols, complete_fold_anywhere, *task)

    def _send(self, keep: Callable[[Any], Any], symbols: str, *task: Any) -> Future[Any]:
        client, key = self._connected(), f"unseen-{secrets.token_hex(8)}"
        future = _Task()
        future.set_running_or_notify_cancel()
        self._tasks[key] = future
        try:
            future.sent = client.submit(
                in_own_process, self._topic, self._versions, symbols, *task, key=key, pure=False
            )
        except OSError:  # a scheduler that is just going
            self._lost = True
            del self._tasks[key]
            future.set_exception(ConnectionLostError())
            return future
        future.sent.add_done_callback(lambda ended: self._answer(ended, keep))
        return future

    def _answer(self, ended: Any, keep: Callable[[Any], Any]) -> None:
        """In a thread of Dask's: pass on what a task has come to."""
        with self._lock:
            future = self._tasks.pop(ended.key, None)
        if future is None:
            return
        try:
            future.set_result(keep(ended.result()))
        except CancelledError:
            self._lost = True
            future.set_exception(ConnectionLostError())
        except BaseException as error:
            if type(error).__name__ == "KilledWorker":
                error = WorkerDiedError(None, deaths=future.starts - self.deaths(future))
            future.set_exception(error)
        finally:
            ended.release()

    def _connected(self) -> Any:
        """The client, once it is connected; Dask's own gives up after a minute."""
        waited = threading.Event()
        while self._client.status == "connecting":
            waited.wait(POLL_SECONDS)
        if self._client.status != "running":
            raise UnseenError(
                f"the Dask scheduler at {self._address} is gone, and was waited for "
                f"{PATIENCE_SECONDS} seconds; once it runs again, the same command goes on"
            )
        if self._lost:  # a scheduler that was started anew knows nothing of this
            self._lost = False
            self._client.subscribe_topic(self._topic, self._note_start)
        return self._client

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop: after what is under way, or (`wait` false) at once; workers stop such folds too."""
        with self._lock:
            tasks = [*self._tasks.values()]
            if not wait:
                self._tasks.clear()
        if wait:
            for future in tasks:
                with suppress(BaseException):
                    future.result()
        with suppress(Exception):
            if tasks and not wait:
                self._client.cancel([task.sent for task in tasks], force=True)
            self._client.close(timeout=5)
        with suppress(Exception):
            if self._cluster is not None:
                self._cluster.close(timeout=5)
        with suppress(UnseenError):
            remove(self._mark.path)


def _as_it_is(answer: Any) -> Any:
    return answer


@cache
def _versions() -> dict[str, str]:
    environment = current_environment()
    return {name: environment[name] for name in COMPARED}


def worker_facts(mark: SharedMark) -> WorkerFacts:
    """On a worker: what it is."""
    return WorkerFacts(_versions(), mark.is_seen())


def refuse_other_versions(
    wanted: Mapping[str, str] | None, versions: Mapping[str, str], worker: str
) -> None:
    """Refuse a worker with other versions than the client; None if any will do."""
    others = [name for name in wanted or () if (wanted or {})[name] != versions.get(name)]
    if wanted is not None and others:
        theirs, ours = (
            ", ".join(f"{name} {each.get(name)}" for name in others) for each in (versions, wanted)
        )
        raise UnseenError(
            f"the worker {worker} has {theirs}, and this machine {ours}: the last bits may "
            "differ. Install the same on both, or allow other versions"
        )


_worker_engines: list[LocalProcesses] = []  # in a worker: one, once it has had a task
_starting = threading.Lock()


def _worker_processes(symbols: str) -> LocalProcesses:
    """What a Dask worker starts the processes of its folds with, as a local engine does.

    The symbols of its first fold are unpacked once, for all that follow.
    """
    with _starting:
        if not _worker_engines:
            # Dask's nanny starts a worker as a daemon, which may have no children; ours die with it
            process.current_process()._config.pop("daemon", None)  # type: ignore[attr-defined]
            _worker_engines.append(LocalProcesses(MOST_FOLDS_IN_A_WORKER, symbols))
    return _worker_engines[0]


def in_own_process(
    topic: str,
    versions: Mapping[str, str] | None,
    symbols: str,
    function: Callable[..., Any],
    *arguments: Any,
) -> Any:
    """On a worker: call a function in a process of its own, which ends when nobody wants it."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()
    refuse_other_versions(versions, _versions() if versions else {}, worker.address)
    worker.log_event(topic, key)
    processes = _worker_processes(symbols)
    future = processes.submit(function, *arguments)
    while not wait([future], POLL_SECONDS).done:
        task = worker.state.tasks.get(key)
        wanted = task is not None and task.state not in ("cancelled", "released", "forgotten")
        if not wanted or worker.status.name not in ("running", "paused"):
            processes.kill(future)
            raise UnseenError("the client is gone, or does not want this fold any more")
    return future.result()


def complete_fold_anywhere(
    path: Path, experiment: Experiment, fold: int, sums: dict[str, str], mark: SharedMark
) -> FoldResult | FinishedFold | None:
    """In a worker's process: finish a fold in its run folder where that is shared, else send it."""
    here = content_sums(experiment)
    for part, ours in sums.items():
        if (theirs := here.get(part, "none")) != ours:
            raise UnseenError(
                f"the {part} of a worker and of this machine differ: SHA-256 {theirs[:12]} there, "
                f"{ours[:12]} here"
            )
    if mark.is_seen():
        return complete_fold(path, experiment, fold)
    steps, measurements = fold_steps(experiment, fold), list[Measurement]()
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            return FinishedFold(end.value, measurements)
        if step.measurement is not None:
            measurements.append(step.measurement)


def save_fold(folder: RunFolder, finished: FinishedFold) -> FoldResult | None:
    """Write a fold that was sent; None if another process has it."""
    fold = finished.outcome.result.fold
    folder.refuse_gone()
    with folder.hold(fold) as held:
        if not held:
            return None
        folder.discard(fold)
        for measurement in finished.measurements:
            folder.measurements(fold).add(measurement)
        folder.save(finished.outcome)
    return finished.outcome.result

"""Folds on Dask's workers, on this machine or on others: unseen[dask].

A worker runs each fold in a process of its own, as this machine would, so it has the same memory,
threads and bits, can crash, and can be stopped.
"""

import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import cache, partial
from multiprocessing import process
from pathlib import Path
from typing import Any

from unseen.errors import SettingError, UnseenError
from unseen.files import make_folder, remove, write_whole
from unseen.runs.environment import current_environment
from unseen.runs.local_workers import LocalWorkers, Workers, available_cores, environment_variables

LOCAL_CLUSTER = {  # on this machine, which no other machine is to read or use
    "host": "127.0.0.1",
    "dashboard_address": "127.0.0.1:0",  # any free port
    "worker_dashboard_address": "127.0.0.1:0",
    "threads_per_worker": 1,
    "memory_limit": 0,  # folds are in processes of their own, which it would not see
    "silence_logs": 50,
}
FIRST_CONNECTION_SECONDS = 15
PATIENCE_SECONDS = 60  # with a scheduler that is gone, and with a cluster that has no workers yet
POLL_SECONDS = 0.1
ADDRESS = r"((tcp|tls|ucx|wss?)://)?[^/\s]+:[0-9]{1,5}"
COMPARED = ("unseen", "torch", "numpy")
UNWANTED = ("cancelled", "released", "forgotten")  # states of a task


class DaskWorkers(Workers):
    """The workers of a Dask scheduler, or without an address of a cluster on this machine."""

    def __init__(
        self,
        runs_dir: Path,
        address: str | None = None,
        jobs: int | None = None,
        *,
        symbols: str = "mnist",
        allow_versions: bool = False,
    ) -> None:
        """`symbols` are unpacked once by each worker, for all its folds."""
        if address is not None and not re.fullmatch(ADDRESS, address):
            fault = "is no address of a scheduler; it prints its own, as tcp://192.168.0.5:8786"
            raise SettingError("address", address, fault)
        try:
            import distributed
        except ImportError as error:
            raise UnseenError("the engine dask needs Dask: pip install 'unseen[dask]'") from error
        self._versions = {} if allow_versions else versions_here()
        self._symbols = symbols
        here = LOCAL_CLUSTER | {"n_workers": jobs or available_cores()} if address is None else {}
        self._client = connected(partial(distributed.Client, address, **here), address)
        self._client._timeout = PATIENCE_SECONDS  # that it tries to connect again
        self._address = self._client.scheduler.address
        self._executor = self._client.get_executor(pure=False)
        try:
            self.shares_disk = self._meet_workers(runs_dir)
        except BaseException:
            self.shutdown(wait=False)
            raise

    def _meet_workers(self, runs_dir: Path) -> list[bool]:
        """Wait for workers, and refuse those that would compute something else.

        Returns of each whether it shares the disk of the runs folder.
        """
        try:
            self._client.wait_for_workers(1, timeout=PATIENCE_SECONDS)
        except TimeoutError as error:
            raise UnseenError(
                f"the Dask scheduler at {self._address} has had no workers for "
                f"{PATIENCE_SECONDS} seconds; start some with: dask worker {self._address}"
            ) from error
        make_folder(runs_dir)
        mark = runs_dir.absolute() / f".shared-{secrets.token_hex(8)}"
        write_whole(mark, b"")
        try:
            return [*self._client.run(sees, mark, self._versions).values()]
        finally:
            remove(mark)

    @property
    def slots(self) -> int:
        """How many folds run at once now; a scheduler that is gone is waited for."""
        while self._client.status == "connecting":  # Dask gives up after a minute
            time.sleep(POLL_SECONDS)
        if self._client.status != "running":
            raise UnseenError(
                f"the Dask scheduler at {self._address} is gone, and was waited for "
                f"{PATIENCE_SECONDS} seconds; once it runs again, the same command goes on"
            )
        with suppress(OSError):  # a scheduler that is just going
            threads: dict[str, int] = self._client.nthreads()
            return max(1, sum(threads.values()))
        return 1

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        task = (in_own_process, self._versions, self._symbols, function, *arguments)
        future: Future[Any] = self._executor.submit(*task, **named)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop: after what is under way, or (`wait` false) at once; workers stop such folds too."""
        with suppress(Exception):  # a scheduler that is gone
            self._executor.shutdown(wait)
        with suppress(Exception):
            self._client.close(timeout=5)  # and with it a cluster on this machine


def connected(client: Callable[..., Any], address: str | None) -> Any:
    """A client of a scheduler, or of a new cluster on this machine.

    A port that takes the connection and says nothing would hold it for minutes.
    """
    seconds = FIRST_CONNECTION_SECONDS if address else PATIENCE_SECONDS
    connecting: Future[Any] = Future()

    def connect() -> None:
        try:
            with environment_variables(PYTHONSAFEPATH="1"):  # see local_workers.start_conditions
                connecting.set_result(client(timeout=seconds, set_as_default=False))
        except BaseException as error:
            connecting.set_exception(error)

    threading.Thread(target=connect, daemon=True).start()
    try:
        return connecting.result(seconds + 2)
    except (OSError, ValueError, TypeError) as error:  # a TimeoutError is an OSError
        raise UnseenError(
            f"no Dask scheduler answers at {address} within {seconds} seconds; is `dask scheduler` "
            "running, and is this its address?"
        ) from error


@cache
def versions_here() -> dict[str, str]:
    environment = current_environment()
    return {name: environment[name] for name in COMPARED}


def sees(mark: Path, versions: Mapping[str, str]) -> bool:
    """On a worker: whether it sees a file of the client's; one with other versions is refused."""
    refuse_other_versions(versions)
    return mark.exists()


def refuse_other_versions(wanted: Mapping[str, str]) -> None:
    """On a worker: raise an UnseenError if it has other versions than the client wants."""
    here = versions_here()
    if wanted and here != wanted:
        theirs, ours = (
            ", ".join(f"{name} {version}" for name, version in each.items())
            for each in (here, wanted)
        )
        raise UnseenError(
            f"a Dask worker has {theirs}, and this machine {ours}: the last bits may differ. "
            "Install the same on both, or allow other versions"
        )


def in_own_process(
    versions: Mapping[str, str], symbols: str, function: Callable[..., Any], *arguments: Any
) -> Any:
    """On a worker: call a function in a process, which is killed when no client wants it."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()
    refuse_other_versions(versions)
    # Dask's nanny starts a worker as a daemon, which may have no children; ours die with it
    process.current_process()._config.pop("daemon", None)  # type: ignore[attr-defined]
    with LocalWorkers(1, symbols) as processes:
        future = processes.submit(function, *arguments)
        while not wait([future], POLL_SECONDS).done:
            task = worker.state.tasks.get(key)
            is_working = worker.status.name in ("running", "paused")
            if task is None or task.state in UNWANTED or not is_working:
                raise UnseenError("the client is gone, or does not want this fold any more")
        return future.result()

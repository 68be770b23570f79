"""How work is spread: the only code that knows about processes.

A `concurrent.futures.Executor` takes the work, so that one of a cluster can stand in for this one.
"""

import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import connection, forkserver, resource_tracker
from multiprocessing.connection import Connection
from typing import Any

from unseen.errors import UnseenError

# What every worker needs first and slowest to load: loaded once, then shared by forking.
PRELOADED = [
    "unseen.learning.training",
    "unseen.experiments.worker",
    "unseen.experiments.preloaded",
]

SYMBOLS_VARIABLE = "UNSEEN_PRELOADED_SYMBOLS"  # which symbols the last of them unpacks

# of glibc's malloc.h
M_TRIM_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -4, -8


class WorkerDiedError(Exception):
    """A worker process ended without an answer: it was killed."""


class LocalProcesses(Executor):
    """Each task in a process of its own, so many at once.

    A pool that shares its processes breaks as a whole when one of them is killed; here a death
    costs one task. The processes die with the one that started them, whichever way it goes.
    """

    def __init__(self, jobs: int, symbols: str = "") -> None:
        """`symbols` are unpacked once, for all workers."""
        self._can_fork = "forkserver" in multiprocessing.get_all_start_methods()
        method = "forkserver" if self._can_fork else "spawn"
        self._context: Any = multiprocessing.get_context(method)
        self._threads = ThreadPoolExecutor(jobs)
        self._symbols = symbols
        self._processes: set[Any] = set()
        self._closed = False
        self._lock, self._starting = threading.Lock(), threading.Lock()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        if self._can_fork:
            self._start_server()
        return self._threads.submit(self._in_process, function, arguments, named)

    def _start_server(self) -> None:
        """Start the process that workers are forked from, unless it runs."""
        self._context.set_forkserver_preload(PRELOADED)
        resource_tracker.ensure_running()  # before, because starting it unblocks the signal
        # Ctrl-C reaches the whole process group; blocked here, it stays blocked in the server and
        # in all its children, and only this process answers it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        os.environ[SYMBOLS_VARIABLE] = self._symbols
        try:
            forkserver.ensure_running()
        finally:
            del os.environ[SYMBOLS_VARIABLE]
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop: after what is under way, or (`wait` false) at once by killing it."""
        if not wait:
            with self._lock:
                self._closed = True
                for process in self._processes:
                    process.kill()
            _kill_server()
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures or not wait)

    def _in_process(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        receiver, sender = self._context.Pipe(duplex=False)
        process = self._context.Process(
            target=_answer, args=(sender, function, arguments, named), daemon=True
        )
        with self._starting, main_module_left_alone():
            process.start()  # seconds, for the first one: the server loads torch
        sender.close()
        with self._lock:
            self._processes.add(process)
            if self._closed:
                process.kill()
        try:
            succeeded, answer = pickle.loads(receiver.recv_bytes())
        except (EOFError, OSError) as error:
            raise WorkerDiedError("a worker process was killed") from error
        finally:
            receiver.close()
            process.join()
            with self._lock:
                self._processes.discard(process)
        if succeeded:
            return answer
        raise answer


@contextmanager
def main_module_left_alone() -> Iterator[None]:
    """Start a process that does not import the script of whoever called us.

    By default a new process runs the main script again, up to where it is guarded by
    `if __name__ == "__main__"`; without the guard, a script that calls `unseen.run` would start
    itself over and over. Nothing that we send to a worker is defined there.
    """
    main = sys.modules["__main__"]
    kept = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
    main.__spec__ = None
    if "__file__" in kept:
        del main.__file__
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(main, name, value)


def _answer(
    sender: Connection,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    named: dict[str, Any],
) -> None:
    """In the worker: call the function and send what it returns or raises."""
    threading.Thread(target=_die_with_parent, daemon=True).start()
    sys.stdout = sys.stderr  # results go through the pipe; what else is printed is none
    keep_freed_memory()
    answer: Any
    try:
        succeeded, answer = True, function(*arguments, **named)
    except UnseenError as error:
        succeeded, answer = False, error
    except Exception as error:
        if isinstance(error, MemoryError) or "allocate memory" in str(error):
            answer = UnseenError(
                "out of memory; a smaller batch size or fewer folds at once need less"
            )
        else:
            answer = RuntimeError(f"in a worker:\n{traceback.format_exc()}")
        succeeded = False
    sender.send_bytes(pickle.dumps((succeeded, answer)))


def _kill_server() -> None:
    """Kill the fork server: it may still be loading torch, deaf to all else, our pipes in hand."""
    server = getattr(forkserver._forkserver, "_forkserver_pid", None)
    if server is not None:
        with suppress(ProcessLookupError):
            os.kill(server, signal.SIGKILL)


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def keep_freed_memory() -> None:
    """Have the C library keep what is freed, where it can be asked to.

    By default glibc hands every large block back to the system, and a training step takes it anew
    page by page: up to a quarter of the time of a fold. One store for all threads, as each would
    keep its own.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        for parameter, value in ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, 2**31 - 1), (M_ARENA_MAX, 1)):
            mallopt(parameter, value)


def available_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

"""What runs folds: processes on this machine here, Dask's workers in dask_workers.py.

Both are executors of `concurrent.futures`, and any other can stand in for them.
"""

import concurrent.futures
import ctypes
import multiprocessing
import multiprocessing.util
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from typing import Any

from unseen.errors import SettingError, UnseenError, first_line, is_out_of_memory
from unseen.streams import show_on_stderr

# What every worker needs first and slowest to load: loaded once, then shared by forking.
PRELOADED = ["unseen.training.loop", "unseen.runs.worker", "unseen.runs.preloaded"]
SYMBOLS_VARIABLE = "UNSEEN_PRELOADED_SYMBOLS"  # which symbols the last of them unpacks

LONGEST_TEMPORARY_FOLDER = 60  # bytes; the names of the sockets in it have some 40 more
SECONDS_TO_DIE = 1.0  # for killed processes, which the system takes milliseconds for

CRASHES = (signal.SIGSEGV, signal.SIGILL, signal.SIGFPE)  # faults of the code, not of the machine
UNKNOWN_EXIT_CODE = 255  # what multiprocessing says where it does not know

# of glibc's malloc.h
M_TRIM_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -4, -8

_starting = threading.Lock()  # held while a process is started, which changes what all threads see


class WorkerDiedError(UnseenError):
    """A worker process ended without an answer: killed, or by the code of a custom network."""

    def __init__(self, exit_code: int | None, deaths: int = 1) -> None:
        """`deaths` is how often that happened without progress in between."""
        code = UNKNOWN_EXIT_CODE if exit_code is None else exit_code
        self.was_killed = code == UNKNOWN_EXIT_CODE or (code < 0 and -code not in CRASHES)
        if not self.was_killed and code < 0:
            text = f"its code crashed ({signal.Signals(-code).name})"
        elif not self.was_killed:
            text = f"its code ended the process, with exit code {code}"
        elif deaths == 1:
            text = "its process was killed; is memory short?"
        else:
            text = (
                f"its process was killed {deaths} times without finishing another epoch; is memory "
                "short? Fewer folds at once need less"
            )
        super().__init__(text)


class Workers(Executor):
    """An executor that says how many folds it runs at once, and that stops at once if it must."""

    @property
    def slots(self) -> int:
        """How many folds run at once; a cluster's may change."""
        raise NotImplementedError

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.shutdown(wait=kind is None)


class ProcessFuture(Future[Any]):
    """The answer of a process of its own, which is killed if the answer is not wanted any more."""

    def __init__(self) -> None:
        super().__init__()
        self.process: Any = None
        self.is_wanted = True

    def cancel(self) -> bool:
        self.is_wanted = False
        if self.process is not None:
            self.process.kill()
        return super().cancel()


class LocalWorkers(Workers):
    """Each task in a process of its own, so many at once.

    A pool that shares its processes breaks as a whole when one of them is killed; here a death
    costs one task. The processes die with the one that started them, even if that is killed.
    """

    def __init__(self, jobs: int, symbols: str = "") -> None:
        """`symbols` are unpacked once, for all workers."""
        self._jobs, self._turns = jobs, threading.Semaphore(jobs)
        self._futures: set[ProcessFuture] = set()
        self._symbols = symbols
        can_fork = "forkserver" in multiprocessing.get_all_start_methods()
        self._context: Any = multiprocessing.get_context("forkserver" if can_fork else "spawn")

    @property
    def slots(self) -> int:
        return self._jobs

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        future, call = ProcessFuture(), partial(function, *arguments, **named)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        # a thread of a pool would keep a script that has failed from ending
        threading.Thread(target=self._work, args=(future, call), daemon=True).start()
        return future

    def _work(self, future: ProcessFuture, call: Callable[[], Any]) -> None:
        with self._turns:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(self._answer_of_process(future, call))
                except BaseException as error:
                    future.set_exception(error)

    def _answer_of_process(self, future: ProcessFuture, call: Callable[[], Any]) -> Any:
        receiver, sender = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_answer, args=(sender, call), daemon=True)
        with receiver:
            try:
                with sender, start_conditions(self._symbols):
                    process.start()  # seconds, for the first one: the fork server loads torch
            except (EOFError, ConnectionError) as error:  # the server was killed meanwhile
                raise WorkerDiedError(None) from error
            future.process = process
            if not future.is_wanted:
                process.kill()
            try:
                succeeded, answer = receiver.recv()
            except (EOFError, OSError) as error:
                process.join()
                raise WorkerDiedError(process.exitcode) from error
        process.join()
        if succeeded:
            return answer
        raise answer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop: after what is under way, or (`wait` false) at once by killing it."""
        futures = [*self._futures]
        for future in futures if cancel_futures or not wait else ():
            future.cancel()
        under_way = [future for future in futures if not future.cancelled()]
        concurrent.futures.wait(under_way, None if wait else SECONDS_TO_DIE)


@contextmanager
def start_conditions(symbols: str) -> Iterator[None]:
    """Start a process that imports and hears nothing that it should not, in a thread of its own.

    `python -c`, which multiprocessing starts, looks for modules in the working folder first: a file
    `random.py` in a downloaded folder would be run. And a new process runs the main script again,
    up to where it is guarded by `if __name__ == "__main__"`; without the guard, a script that calls
    `unseen.run` would start itself over and over.
    """
    main = sys.modules["__main__"]
    with _starting, environment_variables(PYTHONSAFEPATH="1", **{SYMBOLS_VARIABLE: symbols}):
        multiprocessing.set_forkserver_preload(PRELOADED)
        make_socket_folder()
        if hasattr(signal, "pthread_sigmask"):
            resource_tracker.ensure_running()  # before, because starting it unblocks the signal
            # Ctrl-C reaches the whole process group; blocked here, it stays blocked in the fork
            # server and in all its children, and only this process answers it.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        kept: dict[str, Any] = {
            name: vars(main)[name] for name in ("__file__", "__spec__") if name in vars(main)
        }
        main.__spec__ = None
        vars(main).pop("__file__", None)
        try:
            yield
        finally:
            vars(main).update(kept)


@contextmanager
def environment_variables(**variables: str) -> Iterator[None]:
    """Set variables for the processes that are started within."""
    before = {name: os.environ[name] for name in variables if name in os.environ}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
        os.environ.update(before)


def make_socket_folder() -> None:
    """Have multiprocessing make its folder of sockets, whose paths may have about 100 characters.

    Where the folder of temporary files has too long a path, as on clusters, it is in /tmp.
    """
    before = tempfile.tempdir
    if len(os.fsencode(tempfile.gettempdir())) > LONGEST_TEMPORARY_FOLDER:
        tempfile.tempdir = "/tmp"
    multiprocessing.util.get_temp_dir()
    tempfile.tempdir = before


def _answer(sender: Connection, call: Callable[[], Any]) -> None:
    """In the worker: call the function and send what it returns or raises.

    The function may run a custom network, which can do anything: print, fork, or leave a thread.
    """
    threading.Thread(target=_die_with_parent, daemon=True).start()
    show_on_stderr()
    if hasattr(os, "register_at_fork"):  # a second process must not go on as this one
        os.register_at_fork(after_in_child=partial(os._exit, 1))
    keep_freed_memory()
    try:
        answer = True, call()
    except BaseException as error:
        answer = False, _as_sent(error)
    with suppress(BrokenPipeError):  # the parent is gone
        sender.send(answer)
    sys.stderr.flush()
    os._exit(0)  # not waiting for threads that are left


def _as_sent(error: BaseException) -> Exception:
    """What a worker sends for an exception: one that can be pickled, with its traceback."""
    if isinstance(error, UnseenError):
        if not isinstance(error, SettingError):  # which says all there is to it
            error.add_note(traceback.format_exc())  # what it came from is not sent
        return error
    if is_out_of_memory(error):
        return UnseenError("out of memory; a smaller batch size or fewer folds at once need less")
    if isinstance(error, Exception):
        return RuntimeError(f"in a worker:\n{traceback.format_exc()}")
    # interrupts are blocked here, so this is no real one
    return UnseenError(f"a worker was ended by {first_line(error)}")


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

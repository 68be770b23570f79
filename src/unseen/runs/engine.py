"""Engines take folds and give results: here with local processes, in dask_engine.py with Dask.

Only engines know of processes and workers. Any `concurrent.futures.Executor` can stand in for one.
"""

import ctypes
import multiprocessing
import multiprocessing.util
import os
import pickle
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import connection, forkserver, resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unseen.errors import SettingError, UnseenError, first_line, is_out_of_memory
from unseen.streams import show_on_stderr

if TYPE_CHECKING:
    from unseen.runs.experiment import Experiment
    from unseen.runs.fold import FoldResult

# What every worker needs first and slowest to load: loaded once, then shared by forking.
PRELOADED = [
    "unseen.training.loop",
    "unseen.runs.worker",
    "unseen.runs.preloaded",
]

SYMBOLS_VARIABLE = "UNSEEN_PRELOADED_SYMBOLS"  # which symbols the last of them unpacks

LONGEST_TEMPORARY_FOLDER = 60  # bytes; the names of the sockets in it have some 40 more
LEAST_ADDRESS_SPACE = 768 * 1024**2  # with less, loading torch and the symbols fails

CRASHES = (signal.SIGSEGV, signal.SIGILL, signal.SIGFPE)  # faults of the code, not of the machine

# of glibc's malloc.h
M_TRIM_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -4, -8


class WorkerDiedError(UnseenError):
    """A worker process ended without an answer: killed, or by the code of somebody's network.

    `deaths` is how often the task was under way in a process that died; 0 if it only waited there.
    """

    def __init__(self, exit_code: int | None, deaths: int = 1) -> None:
        self.exit_code, self.deaths = exit_code, deaths
        # multiprocessing says 255 where it does not know
        crashed = exit_code is not None and -exit_code in CRASHES
        self.was_killed = not crashed and (exit_code is None or exit_code < 0 or exit_code == 255)
        if crashed:
            said = f"its code crashed ({signal.Signals(-(exit_code or 0)).name})"
        elif self.was_killed:
            said = "its process was killed; is memory short?"
        else:
            said = f"its code ended the process, with exit code {exit_code}"
        super().__init__(said)


class ConnectionLostError(WorkerDiedError):
    """The scheduler of a cluster is gone, and with it all that its workers were doing."""

    def __init__(self) -> None:
        super().__init__(None, deaths=0)


class Engine(Executor):
    """What runs folds: so many at once, each in a process that runs no other."""

    @property
    def slots(self) -> int:
        """How many folds run at once; a cluster's may change."""
        raise NotImplementedError

    def submit_fold(
        self, path: Path, experiment: "Experiment", fold: int
    ) -> "Future[FoldResult | None]":
        """Bring a fold of the run folder `path` to its result; None if another process has it."""
        from unseen.runs.worker import complete_fold

        return self.submit(complete_fold, path, experiment, fold)

    def deaths(self, future: Future[Any]) -> int:
        """How often a task has died so far and was begun again by the engine itself."""
        return 0

    def kill(self, future: Future[Any]) -> None:
        """End one task, wherever it is."""

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.shutdown(wait=kind is None)


class LocalProcesses(Engine):
    """Each task in a process of its own, so many at once.

    A pool that shares its processes breaks as a whole when one of them is killed; here a death
    costs one task. The processes die with the one that started them, whichever way it goes.
    """

    def __init__(self, jobs: int, symbols: str = "") -> None:
        """`symbols` are unpacked once, for all workers."""
        refuse_low_memory_limit()
        self._can_fork = "forkserver" in multiprocessing.get_all_start_methods()
        method = "forkserver" if self._can_fork else "spawn"
        self._context: Any = multiprocessing.get_context(method)
        self._jobs, self._turns = jobs, threading.Semaphore(jobs)
        self._tasks: dict[Future[Any], threading.Thread] = {}
        self._symbols = symbols
        self._processes: dict[Any, Future[Any]] = {}
        self._closed = False
        self._lock, self._starting = threading.Lock(), threading.Lock()

    @property
    def slots(self) -> int:
        return self._jobs

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        if self._can_fork:
            self._start_server()
        future: Future[Any] = Future()
        # a thread of a pool would keep a script that has failed from ending
        thread = threading.Thread(
            target=self._work, args=(future, function, arguments, named), daemon=True
        )
        self._tasks[future] = thread
        thread.start()
        return future

    def _work(self, future: Future[Any], *task: Any) -> None:
        with self._turns:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(self._in_process(future, *task))
                except BaseException as error:
                    future.set_exception(error)
        self._tasks.pop(future, None)  # it would keep its result

    def kill(self, future: Future[Any]) -> None:
        future.cancel()
        with self._lock:
            for process in [each for each, owner in self._processes.items() if owner is future]:
                process.kill()

    def _start_server(self) -> None:
        """Start the process that workers are forked from, unless it runs."""
        self._context.set_forkserver_preload(PRELOADED)
        make_socket_folder()
        with working_folder_not_imported():
            resource_tracker.ensure_running()  # before, because starting it unblocks the signal
        # Ctrl-C reaches the whole process group; blocked here, it stays blocked in the server and
        # in all its children, and only this process answers it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        os.environ[SYMBOLS_VARIABLE] = self._symbols
        try:
            with working_folder_not_imported():
                forkserver.ensure_running()
        finally:
            del os.environ[SYMBOLS_VARIABLE]
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop: after what is under way, or (`wait` false) at once by killing it."""
        # first what waits for its turn, which it would get when another is killed
        for future in [*self._tasks] if cancel_futures or not wait else ():
            future.cancel()
        if not wait:
            with self._lock:
                self._closed = True
                for process in self._processes:
                    process.kill()
            _kill_server()
        for thread in [*self._tasks.values()] if wait else ():
            thread.join()

    def _in_process(
        self,
        future: Future[Any],
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        named: dict[str, Any],
    ) -> Any:
        receiver, sender = self._context.Pipe(duplex=False)
        process = self._context.Process(
            target=_answer, args=(sender, function, arguments, named), daemon=True
        )
        try:
            with self._starting, main_module_left_alone(), working_folder_not_imported():
                process.start()  # seconds, for the first one: the server loads torch
        except (EOFError, ConnectionError) as error:  # the server was killed meanwhile
            raise WorkerDiedError(None) from error
        sender.close()
        with self._lock:
            self._processes[process] = future
            if self._closed:
                process.kill()
        try:
            succeeded, answer = pickle.loads(receiver.recv_bytes())
        except (EOFError, OSError) as error:
            process.join()
            raise WorkerDiedError(process.exitcode) from error
        finally:
            receiver.close()
            process.join()
            with self._lock:
                self._processes.pop(process, None)
        if succeeded:
            return answer
        raise answer


def refuse_low_memory_limit() -> None:
    """Raise an UnseenError where a limit (ulimit -v) leaves too little to load torch."""
    with suppress(ImportError):  # which there is on POSIX only
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY and limit < LEAST_ADDRESS_SPACE:
            raise UnseenError(
                f"the memory limit is {limit / 1e6:,.0f} MB (see ulimit -v); a process that trains "
                f"needs at least {LEAST_ADDRESS_SPACE / 1e6:,.0f} MB"
            )


def make_socket_folder() -> None:
    """Have multiprocessing make its folder of sockets, whose paths may have about 100 characters.

    Where the folder of temporary files has too long a path, as on clusters, it is in /tmp.
    """
    before = tempfile.tempdir
    if len(os.fsencode(tempfile.gettempdir())) > LONGEST_TEMPORARY_FOLDER:
        tempfile.tempdir = "/tmp"
    try:
        multiprocessing.util.get_temp_dir()
    except OSError as error:
        raise UnseenError(
            f"cannot make a folder in {tempfile.gettempdir()}: {error.strerror}; set TMPDIR to a "
            f"folder whose path has at most {LONGEST_TEMPORARY_FOLDER} characters"
        ) from error
    finally:
        tempfile.tempdir = before


@contextmanager
def working_folder_not_imported() -> Iterator[None]:
    """Start Python processes that import nothing from the working folder.

    `python -c`, which multiprocessing starts, looks there first: a file `random.py` in a downloaded
    folder would be run, and break every process.
    """
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


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
    """In the worker: call the function and send what it returns or raises.

    The function may run somebody's network, which can do anything: print, fork, or leave a thread.
    """
    threading.Thread(target=_die_with_parent, daemon=True).start()
    show_on_stderr()
    if hasattr(os, "register_at_fork"):  # a second process must not go on as this one
        os.register_at_fork(after_in_child=partial(os._exit, 1))
    keep_freed_memory()
    answer: Any
    try:
        succeeded, answer = True, function(*arguments, **named)
    except UnseenError as error:
        if not isinstance(error, SettingError):  # which says all there is to it
            error.add_note(traceback.format_exc())  # what it came from is not sent
        succeeded, answer = False, error
    except BaseException as error:
        if is_out_of_memory(error):
            answer = UnseenError(
                "out of memory; a smaller batch size or fewer folds at once need less"
            )
        elif isinstance(error, Exception):
            answer = RuntimeError(f"in a worker:\n{traceback.format_exc()}")
        else:  # interrupts are blocked here, so this is no real one
            answer = UnseenError(f"a worker was ended by {first_line(error)}")
        succeeded = False
    with suppress(BrokenPipeError):  # where whoever asked is gone
        sender.send_bytes(pickle.dumps((succeeded, answer)))
    sys.stderr.flush()
    os._exit(0)  # not waiting for threads that are left


def _kill_server() -> None:
    """Kill the fork server: it may still be loading torch, deaf to all else, our pipes in hand."""
    server = getattr(forkserver._forkserver, "_forkserver_pid", None)
    if server is not None:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(server, signal.SIGKILL)
            # dead, but not collected: multiprocessing asks for that before it starts another
            os.waitid(os.P_PID, server, os.WEXITED | os.WNOWAIT)


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

"""The real command in a process of its own, forked from one that has imported it already.

Python needs more than a second to import torch, and each run needs it for the process that its
workers are forked from. Tests start commands some hundred times, so all is imported once. What has
to start cold (imports, Ctrl-C, some kills) starts Python itself.
"""

import atexit
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO
from unittest import mock

IMPORTED = ["cli", "commands.run", "commands.show", "commands.report", "commands.compare"]
IMPORTED += ["commands.runs", "runs.worker", "training.loop", "analysis.layers"]
IMPORTED += ["report.report", "report.progress", "report.leakage_text"]


class WarmProcess:
    """A process that was forked for a command line, to be used as one of `subprocess`."""

    def __init__(self, status: socket.socket, out: IO[bytes], err: IO[bytes]) -> None:
        self.pid, self.returncode = int(status.recv(100)), None
        self._status, self._streams = status, (out, err)

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._status.settimeout(timeout)
            try:
                self.returncode = int(self._status.recv(100))
            except (TimeoutError, BlockingIOError) as error:
                raise subprocess.TimeoutExpired("a forked command", timeout or 0) from error
            self._status.close()
        return self.returncode

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for its end; what it wrote to its streams."""
        self.wait(timeout)
        said = []
        for stream in self._streams:
            with stream:
                stream.seek(0)
                said.append(stream.read().decode())
        return said[0], said[1]

    def __enter__(self) -> "WarmProcess":
        return self

    def __exit__(self, *fault: object) -> None:
        self.wait()
        for stream in self._streams:
            stream.close()


class WarmStart:
    """Starts commands by forking."""

    def __init__(self, modules: tuple[str, ...] = ()) -> None:
        """`modules` are imported, too."""
        # messages, not a stream: one is one command
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno()), *modules],
                pass_fds=[theirs.fileno()],
                cwd="/",
            )
        atexit.register(self.close)

    def close(self) -> None:
        self.ours.close()  # at which it ends
        self.process.wait()

    def start(
        self,
        arguments: list[str],
        cwd: Path,
        module: str = "unseen",
        *,
        out: IO[bytes] | None = None,
        err: IO[bytes] | None = None,
    ) -> WarmProcess:
        """Start `python -m module`, in a session of its own.

        What it writes goes to `out` and `err`, or is kept for `communicate`.
        """
        out, err = out or tempfile.TemporaryFile(), err or tempfile.TemporaryFile()  # noqa: SIM115
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            environment = {**os.environ, "COLUMNS": "100"}
            asked = json.dumps([module, arguments, str(cwd), environment]).encode()
            streams = [out.fileno(), err.fileno(), theirs.fileno()]
            socket.send_fds(self.ours, [asked], streams)
        return WarmProcess(ours, out, err)

    def run(self, arguments: list[str], cwd: Path, seconds: float) -> subprocess.CompletedProcess:
        """Run one command line to its end."""
        with self.start(arguments, cwd) as process:
            try:
                said = process.communicate(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return subprocess.CompletedProcess(arguments, process.returncode, *said)


def fork_for_each(theirs: socket.socket, modules: list[str]) -> str:
    """Import all, then fork for each command line; returns its module in the forked process."""
    from multiprocessing import process

    from unseen.problem.symbols import load_symbols

    for module in [*(f"unseen.{each}" for each in IMPORTED), *modules]:
        import_module(module)
    load_symbols("mnist")
    gc.freeze()  # looking for garbage would copy all that forked processes share
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that those who wait are not waited for
    while True:
        asked, streams, _, _ = socket.recv_fds(theirs, 100_000, 3)
        if not asked:
            os._exit(0)
        if os.fork() == 0:
            break
        for stream in streams:
            os.close(stream)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    theirs.close()
    status = socket.socket(fileno=streams.pop())
    if (pid := os.fork()) != 0:  # this process only waits for the command
        status.send(str(pid).encode())
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with suppress(OSError):  # the test no longer listens
            status.send(str(code).encode())
        os._exit(0)
    status.close()
    os.setsid()
    for stream, number in zip(streams, (1, 2), strict=True):
        os.dup2(stream, number)
        os.close(stream)
    # anew: a stream remembers whether what it was opened for can be rewound
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    module, arguments, cwd, environment = json.loads(asked)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.argv = [module, *arguments]
    process.ORIGINAL_DIR = cwd
    if module != "unseen" or arguments[:1] in (["run"], ["sweep"]):  # others have no workers
        start_fork_server()
    return module


def start_fork_server() -> None:
    """Start the process that workers are forked from, which has imported all that this one has."""
    from multiprocessing import forkserver, util

    from unseen.runs.local_workers import start_conditions

    def fork(_: object, command: list[str], passed: list[int]) -> int:
        if (pid := os.fork()) == 0:
            for number in map(int, os.listdir("/dev/fd")):
                if number > 2 and number not in passed:
                    with suppress(OSError):  # the one of the list itself
                        os.close(number)
            try:
                exec(command[-1], {})
            finally:
                os._exit(0)
        return pid

    with start_conditions("mnist"), mock.patch.object(util, "spawnv_passfds", fork):
        forkserver.ensure_running()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def run_to_the_end(module: str) -> None:
    """Run a module and exit as Python does, but leave all that was imported to the system.

    Taking it apart would be most of what a short command does.
    """
    code: object = 0
    try:
        if module == "unseen":
            import_module("unseen.__main__").main()
        else:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    with suppress(OSError):  # Python too leaves what a lost stderr would not take
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    run_to_the_end(fork_for_each(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:]))

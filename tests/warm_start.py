"""The real command in a process of its own, forked from one that has imported it already.

Python needs more than a second to import torch, and each run needs it twice: for the command, and
for the process that its workers are forked from. Tests start the command some hundred times, so
both are imported once. What has to start cold (imports, Ctrl-C, kills) starts Python itself.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

IMPORTED = ["cli", "commands.run", "commands.show", "commands.report", "commands.compare"]
IMPORTED += ["experiments.worker", "learning.training", "insight.probing"]
IMPORTED += ["views.report", "views.progress", "views.leakage_text"]
NOT_COMPARED = {"PYTEST_CURRENT_TEST"}  # of the environment


class WarmStart:
    """Starts commands by forking; to be used for one environment only."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment
        # messages, not a stream: a process number and an exit code must not run together
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=environment,
                cwd="/",
            )
        atexit.register(self.close)

    def close(self) -> None:
        self.ours.close()  # at which it ends
        self.process.wait()

    def fits(self, environment: dict[str, str]) -> bool:
        changed = self.environment.items() ^ environment.items()
        return {name for name, _ in changed} <= NOT_COMPARED

    def run(self, arguments: list[str], cwd: Path, seconds: float) -> subprocess.CompletedProcess:
        """Run one command line to its end."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            asked = json.dumps([arguments, str(cwd)]).encode()
            socket.send_fds(self.ours, [asked], [out.fileno(), err.fileno()])
            pid = int(self.ours.recv(100))
            self.ours.settimeout(seconds)
            try:
                code = int(self.ours.recv(100))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise
            finally:
                self.ours.settimeout(None)
            for file in (out, err):
                file.seek(0)
            said = [file.read().decode() for file in (out, err)]
        return subprocess.CompletedProcess(arguments, code, *said)


def fork_for_each(theirs: socket.socket) -> None:
    """Import all, then fork for each command line; returns in the forked processes alone."""
    from multiprocessing import forkserver, process

    from unseen.experiments.engine import LocalProcesses
    from unseen.problem.symbols import load_symbols

    for module in IMPORTED:
        import_module(f"unseen.{module}")
    load_symbols("mnist")
    LocalProcesses(1, "mnist")._start_server()
    while True:
        asked, streams, _, _ = socket.recv_fds(theirs, 100_000, 2)
        if not asked:
            os._exit(0)
        if (pid := os.fork()) == 0:
            break
        for stream in streams:
            os.close(stream)
        theirs.send(str(pid).encode())
        theirs.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
    theirs.close()
    for stream, number in zip(streams, (1, 2), strict=True):
        os.dup2(stream, number)
        os.close(stream)
    arguments, cwd = json.loads(asked)
    os.chdir(cwd)
    sys.argv = ["unseen", *arguments]
    process.ORIGINAL_DIR = cwd
    server = forkserver._forkserver
    if any(".py" in each for each in arguments):
        # what somebody's network prints or breaks is seen in workers that are forked from our own
        server._forkserver_pid = None
        server._forkserver_address = server._forkserver_alive_fd = None
    else:
        server._forkserver_pid = None  # not ours to wait for or to kill
        server.ensure_running = forkserver.ensure_running = lambda: None


if __name__ == "__main__":
    fork_for_each(socket.socket(fileno=int(sys.argv[1])))
    from unseen.__main__ import main

    main()

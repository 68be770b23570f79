"""The process that trains for the lab: warm before it is told what to train, then one session.

It reads one line of JSON from stdin, writes the events of the session to stdout, a line each, and
ends. It also ends when stdin does, because whoever held it is gone.
"""

import json
import os
import signal
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

from unseen.errors import UnseenError
from unseen.experiments.engine import LocalProcesses
from unseen.experiments.events import Measured, Progressed, event_json
from unseen.experiments.experiment import Experiment
from unseen.experiments.session import session

READY = {"event": "Ready"}


def main() -> None:
    """Wait for a task, and do it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which is for the server to answer
    with LocalProcesses(1, "mnist") as engine:
        engine.submit(int).result()  # loads torch and the digits, which takes seconds
        _tell(READY)
        if not (line := sys.stdin.readline()):
            return
        threading.Thread(target=_end_with_stdin, daemon=True).start()
        _train(json.loads(line), engine)


def _train(task: dict[str, Any], engine: LocalProcesses) -> None:
    experiment = Experiment.model_validate(task["experiment"])
    events = session(experiment, [task["fold"]], Path(task["runs_dir"]), engine)
    try:
        with closing(events):
            for event in events:
                # how far it has come is in the run folder, where everybody reads it
                if not isinstance(event, Measured | Progressed):
                    _tell(event_json(event))
    except UnseenError as error:
        _tell({"event": "Failed", "fault": str(error)})


def _tell(event: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(event, default=str) + "\n")
    sys.stdout.flush()


def _end_with_stdin() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()

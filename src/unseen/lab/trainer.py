"""The process that trains for the lab: loaded in advance, it runs one session at a time.

It reads tasks from stdin, a line of JSON each, and writes the events of their sessions to stdout.
It ends when stdin does, because then its server is gone.
"""

import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from unseen.errors import UnseenError
from unseen.runs.events import Measured, Progressed, event_json
from unseen.runs.experiment import Experiment
from unseen.runs.local_workers import LocalWorkers
from unseen.runs.session import session
from unseen.runs.worker import work_on_fold


class TrainingProcess(LocalWorkers):
    """Trains folds whose networks can be asked while they learn."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        if function is work_on_fold:
            named["keeps_weights_so_far"] = True
        return super().submit(function, *arguments, **named)


def main() -> None:
    """Wait for tasks, and do them."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which is for the server to answer
    tasks: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read, args=(tasks,), daemon=True).start()
    try:
        executor = TrainingProcess(1, "mnist")
        executor.submit(int).result()  # loads torch and the digits, which takes seconds
    except UnseenError as error:
        _fail(f"Training could not start: {error}")
    with executor:
        _emit({"event": "Ready"})
        while True:
            _train(json.loads(tasks.get()), executor)


def _stop(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one would cut the tidying short
    sys.exit(143)


def _train(task: dict[str, Any], executor: LocalWorkers) -> None:
    experiment = Experiment.model_validate(task["experiment"])
    events = session(experiment, [task["fold"]], Path(task["runs_dir"]), executor)
    try:
        with closing(events):
            for event in events:
                # the server reads measurements and progress from the run folder
                if not isinstance(event, Measured | Progressed):
                    _emit(event_json(event))
    except UnseenError as error:
        _fail(str(error))  # another process takes the next task


def _fail(fault: str) -> NoReturn:
    _emit({"event": "Failed", "fault": fault})
    sys.exit(1)


def _emit(event: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(event, default=str) + "\n")
    sys.stdout.flush()


def _read(tasks: queue.Queue[str]) -> None:
    for line in sys.stdin:
        tasks.put(line)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()

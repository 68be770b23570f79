"""The one training at a time: how far it is, how it is started and stopped."""

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process, create_subprocess_exec
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from starlette.exceptions import HTTPException

from unseen.runs.experiment import Experiment
from unseen.runs.run_folder import RunFolder

LONGEST_LINE = 8 * 1024**2  # of an event: a note may name many combinations
MOST_NOTES = 20
STOP_SECONDS = 0.6  # for a training to end when asked, before it is killed


@dataclass
class Training:
    """A fold of a run that the lab trains, or has trained last."""

    run: str  # the name of its folder
    fold: int
    status: Literal["starting", "training", "done", "stopped", "failed", "killed"] = "starting"
    fault: str = ""
    notes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_under_way(self) -> bool:
        return self.status in ("starting", "training")

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {"under_way": self.is_under_way}


class Trainings:
    """Starts and stops trainings, in a process of their own that is loaded in advance."""

    def __init__(self, runs_dir: Path) -> None:
        self.runs_dir = runs_dir
        self.last: Training | None = None
        self._process: Process | None = None
        self._listener: asyncio.Task[None] | None = None
        self._is_loaded = self._is_stopped = self._is_closed = False

    async def load_process(self) -> None:
        """Have a process wait for the next training."""
        if self._is_closed or self._process is not None:
            return
        self._is_loaded = False
        self._process = await create_subprocess_exec(
            *(sys.executable, "-P", "-m", "unseen.lab.trainer"),  # nothing of the working folder
            stdin=PIPE,
            stdout=PIPE,
            stderr=None if sys.stderr else DEVNULL,
            limit=LONGEST_LINE,
            start_new_session=True,  # only the server handles Ctrl-C
        )
        self._listener = asyncio.create_task(self._listen(self._process))

    def refuse_if_busy(self) -> None:
        if self.last is not None and self.last.is_under_way:
            raise HTTPException(
                409, f"{self.last.run} is being trained; stop it first, or wait until it is done"
            )

    async def start(self, experiment: Experiment, fold: int) -> Training:
        """Begin a training, or go on with one; refused while another is under way."""
        self.refuse_if_busy()
        self.last = Training(RunFolder.of(experiment, self.runs_dir).path.name, fold)
        self._is_stopped = False
        await self.load_process()
        task = {
            "experiment": experiment.model_dump(mode="json"),
            "fold": fold,
            "runs_dir": str(self.runs_dir),
        }
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(json.dumps(task).encode() + b"\n")
        return self.last

    async def _listen(self, process: Process) -> None:
        """Read the events of a process until it ends, and replace it by another."""
        assert process.stdout is not None
        with suppress(ValueError):  # a line that is too long
            async for line in process.stdout:
                self._take(json.loads(line))
        code = await process.wait()
        if self.last is not None and self.last.is_under_way:
            self.last.status = "stopped" if self._is_stopped else "killed"
            if not self._is_stopped:
                self.last.fault = f"The training process was killed (exit code {code})."
        self._process = None
        if self._is_loaded or self._is_stopped:  # else it cannot begin: the next start tries again
            await self.load_process()

    def _take(self, event: dict[str, Any]) -> None:
        """Note what an event of the training process says."""
        kind, last = event["event"], self.last
        self._is_loaded |= kind == "Ready"
        if last is None or not last.is_under_way:  # the next process could not start
            return
        if kind == "Started":
            last.status = "training"
        elif kind == "Note" and event["kind"] != "leakage":
            last.notes.append({name: event[name] for name in ("kind", "fold", "details")})
            del last.notes[:-MOST_NOTES]
        elif kind == "Failed":
            last.status, last.fault = "failed", event["fault"]
        elif kind == "Ended" and event["left"]:
            last.status, last.fault = "failed", "Another process is already training this fold."
        elif kind == "Ended":
            last.status = "done"

    async def stop(self) -> None:
        """End the training under way; what it has learnt stays in its run folder."""
        if self._process is None or self.last is None or not self.last.is_under_way:
            return
        self._is_stopped = True
        await self._end(self._process)
        if self._listener is not None:  # which sets the status, and loads the next process
            await asyncio.wait([self._listener])

    async def _end(self, process: Process) -> None:
        with suppress(ProcessLookupError):
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), STOP_SECONDS)
            except TimeoutError:
                process.kill()
                await process.wait()

    async def close(self) -> None:
        """End the training under way and the process."""
        self._is_closed = self._is_stopped = True
        if self._process is not None:
            await self._end(self._process)

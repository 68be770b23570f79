"""The one training at a time: where it stands, how it is started and stopped."""

import asyncio
import json
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process, create_subprocess_exec
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from unseen.lab.faults import BusyError
from unseen.runs.experiment import Experiment
from unseen.runs.run_folder import RunFolder

Status = Literal["starting", "training", "done", "stopped", "failed", "killed"]
UNDER_WAY = ("starting", "training")
LONGEST_LINE = 8 * 1024**2  # of an event: a note may name many combinations
MOST_NOTES = 20
PATIENCE_SECONDS = 0.6  # with a training that was asked to end, before it is killed


@dataclass(frozen=True)
class Training:
    """A fold of a run that the lab trains, or has trained last."""

    run: str  # the name of its folder
    fold: int
    status: Status
    started: float = field(default_factory=time.time)
    fault: str = ""
    notes: tuple[dict[str, Any], ...] = ()

    @property
    def is_under_way(self) -> bool:
        return self.status in UNDER_WAY

    def is_of(self, run: str, fold: int) -> bool:
        return (self.run, self.fold) == (run, fold)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"under_way": self.is_under_way}


class Trainings:
    """Starts and stops trainings, in a process of their own that is warmed up before."""

    def __init__(self, runs_dir: Path) -> None:
        self.runs_dir = runs_dir
        self.last: Training | None = None
        self.is_warm = asyncio.Event()
        self._process: Process | None = None
        self._attending: asyncio.Task[None] | None = None
        self._stopped = self._closed = False

    async def warm_up(self) -> None:
        """Have a process wait for the next training."""
        if self._closed or self._process is not None:
            return
        self._process = await create_subprocess_exec(
            *(sys.executable, "-P", "-m", "unseen.lab.trainer"),  # nothing of the working folder
            stdin=PIPE,
            stdout=PIPE,
            stderr=None if sys.stderr else DEVNULL,
            limit=LONGEST_LINE,
            start_new_session=True,  # Ctrl-C is answered by the server alone
        )
        self._attending = asyncio.create_task(self._attend(self._process))

    def refuse_if_busy(self) -> None:
        if self.last is not None and self.last.is_under_way:
            raise BusyError(
                f"{self.last.run} is being trained; stop it first, or wait until it is done"
            )

    async def start(self, experiment: Experiment, fold: int) -> Training:
        """Begin a training, or go on with one; a BusyError while another is under way."""
        self.refuse_if_busy()
        name = RunFolder.of(experiment, self.runs_dir).path.name
        self.last, self._stopped = Training(name, fold, "starting"), False
        await self.warm_up()
        task = {
            "experiment": experiment.model_dump(mode="json"),
            "fold": fold,
            "runs_dir": str(self.runs_dir),
        }
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(json.dumps(task).encode() + b"\n")
        return self.last

    async def _attend(self, process: Process) -> None:
        """Listen to a process until it ends, and have another one take its place."""
        assert process.stdout is not None
        with suppress(ValueError):  # a line beyond all measure
            async for line in process.stdout:
                self._hear(json.loads(line))
        code = await process.wait()
        if self.last is not None and self.last.is_under_way:
            if self._stopped:
                self.last = replace(self.last, status="stopped")
            else:
                fault = f"The training process was killed (exit code {code})."
                self.last = replace(self.last, status="killed", fault=fault)
        was_warm, self._process = self.is_warm.is_set(), None
        self.is_warm.clear()
        if was_warm or self._stopped:  # one that cannot even begin is tried again by the next start
            await self.warm_up()

    def _hear(self, event: dict[str, Any]) -> None:
        if event["event"] == "Ready":
            self.is_warm.set()
        if self.last is None:
            return
        match event["event"]:
            case "Started":
                self.last = replace(self.last, status="training")
            case "Note" if event["kind"] != "leakage":
                told = {"kind": event["kind"], "fold": event["fold"], "details": event["details"]}
                self.last = replace(self.last, notes=(*self.last.notes, told)[-MOST_NOTES:])
            case "Failed" if self.last.is_under_way:  # or the next process could not start
                self.last = replace(self.last, status="failed", fault=event["fault"])
            case "Ended" if event["left"]:
                fault = "Another process trains this fold; it was left to it."
                self.last = replace(self.last, status="failed", fault=fault)
            case "Ended":
                self.last = replace(self.last, status="done")

    async def stop(self) -> None:
        """End the training under way; what it has learnt stays in its run folder."""
        if self._process is None or self.last is None or not self.last.is_under_way:
            return
        self._stopped = True
        await self._end(self._process)
        if self._attending is not None:  # which says so, and has another process for the next start
            await asyncio.wait([self._attending])

    async def _end(self, process: Process) -> None:
        with suppress(ProcessLookupError):
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), PATIENCE_SECONDS)
            except TimeoutError:
                process.kill()
                await process.wait()

    def interrupt(self) -> None:
        """Ask the process to end, from a signal's handler: the server goes."""
        self._closed = self._stopped = True
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.terminate()

    async def close(self) -> None:
        """See everything end."""
        self.interrupt()
        if self._process is not None:
            await self._end(self._process)

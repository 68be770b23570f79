"""A fold as it learns, read from its run folder: what all who watch it share."""

import math
import time
from typing import Any

import numpy as np

from unseen.files import DamagedFileError
from unseen.lab.choices import Setup
from unseen.lab.trainings import Training
from unseen.problem.operations import spelled
from unseen.problem.randomness import Streams
from unseen.problem.samples import render_pictures
from unseen.report.report import as_data_uri
from unseen.runs.events import Measured, Progressed
from unseen.runs.fold import FoldResult
from unseen.runs.measuring import Measurement, shown_samples, watched_samples
from unseen.runs.run_folder import RunFolder
from unseen.runs.session import FoldFollower
from unseen.training.metrics import HEADLINE

REFRESH_SECONDS = 0.15
RESULT_SECONDS = 1.0  # between looks whether a fold is done
HELD_SECONDS = 3.0  # between looks whether some other process works on a fold
SNAPSHOTS_AT_ONCE = 100


class History:
    """What is known of a fold so far; `refresh` reads what is new."""

    def __init__(self, folder: RunFolder, setup: Setup) -> None:
        self.folder, self.setup = folder, setup
        self.snapshots: list[dict[str, Any]] = []
        self.restarts = 0  # how often snapshots were taken back
        self.progress: dict[str, Any] | None = None
        self.result: FoldResult | None = None
        self.refreshed = self._result_read = self._held_read = -math.inf
        self._is_held = False
        self._follower = FoldFollower(folder, setup.fold)
        digits = setup.task.combinations.digits
        self._rows = {str(spelled(each)): row for row, each in enumerate(digits)}

    def refresh(self, is_over: bool = False) -> None:
        """Read what has happened since the last time; the result only now and then."""
        if not is_over and time.monotonic() - self.refreshed < REFRESH_SECONDS:
            return  # another page has just asked
        self.refreshed = time.monotonic()
        if is_over or self.refreshed - self._result_read > RESULT_SECONDS:
            # before the measurements: once there is a result, no other follows
            self._result_read = self.refreshed
            try:
                self.result = self.folder.result(self.setup.fold, thorough=False)
            except DamagedFileError:
                self.result = None
        news = [*self._follower.news()]
        measured = [each.measurement for each in news if isinstance(each, Measured)]
        known = len(self._follower.measured) - len(measured)
        self.restarts += known < len(self.snapshots)
        self.snapshots[known:] = [self._snapshot(each) for each in measured]
        for each in news:
            if isinstance(each, Progressed):
                self.progress = {"epochs": each.epochs, "start": each.start}

    @property
    def key(self) -> tuple[str, int]:
        return self.folder.path.name, self.setup.fold

    def is_held(self) -> bool:
        """Whether some process trains the fold; looking takes its lock, so it is done rarely."""
        if time.monotonic() - self._held_read > HELD_SECONDS:
            self._is_held = self.folder.is_held(self.setup.fold)
            self._held_read = time.monotonic()
        return self._is_held

    def _snapshot(self, measurement: Measurement) -> dict[str, Any]:
        """A measurement as the page takes it: shares by row of the table."""
        shares: list[float | None] = [None] * len(self._rows)
        columns = (measurement.combinations, measurement.right, measurement.samples)
        for combination, right, samples in zip(*columns, strict=False):
            row = self._rows.get(str(combination))
            if row is not None and samples > 0:
                shares[row] = round(right / samples, 4)
        names = ("epochs", "seconds", "seen", "unseen", "shown")
        kept = {name: getattr(measurement, name) for name in names}
        return kept | {"share": shares}

    def outcome(self) -> dict[str, Any] | None:
        """What the finished fold came to; None before."""
        if (result := self.result) is None:
            return None
        return {
            "measures": result.measures,
            "quadrants": {name: each.get(HEADLINE.name) for name, each in result.quadrants.items()},
        }

    def after(self, last: str) -> dict[str, Any]:
        """The snapshots after the `last` that a page has, and how it asks for those that follow."""
        restarts, _, number = last.partition("-")
        is_known = restarts == str(self.restarts) and number.isdecimal()
        start = int(number[:9]) if is_known else 0
        start = start if start <= len(self.snapshots) else 0
        some = self.snapshots[start : start + SNAPSHOTS_AT_ONCE]
        return {
            "from": f"{self.restarts}-{start + len(some)}",
            "restarted": bool(last) and start == 0 and not last.endswith("-0"),
            "snapshots": some,
        }

    def state(self, training: Training | None) -> dict[str, Any]:
        """What the status of the fold is, which the lab may train, and how far it has come."""
        status: str = "unfinished" if training is None else training.status
        if training is None or not training.is_under_way:
            # first whether it is held: a process that has released it has saved its result
            is_held = self.result is None and self.is_held()
            if self.result is None and not is_held:
                self.refresh(is_over=True)
            if self.result is not None:
                status = "done"
            elif is_held:
                status = "elsewhere"
            elif status == "done":  # and its files are damaged since
                status = "unfinished"
        return {
            "status": status,
            "under_way": status in ("starting", "training", "elsewhere"),
            "fault": "" if training is None else training.fault,
            "notes": [] if training is None else training.notes,
            "progress": self.progress,
            "outcome": self.outcome() if status == "done" else None,
        }

    def samples(self) -> list[dict[str, Any]]:
        """The samples whose answers are in every snapshot."""
        experiment, task = self.setup.experiment, self.setup.task
        streams = Streams(experiment.seed, self.setup.fold)
        watched = watched_samples(task, experiment.training.watched_samples, streams)
        if watched is None:
            return []
        samples = watched.samples.some(shown_samples(watched))
        rows = zip(
            task.combinations.digits[samples.combinations],
            samples.answers.tolist(),
            render_pictures(samples, np.arange(len(samples))),
            strict=True,
        )
        return [
            {"combination": spelled(digits), "answer": answer, "picture": as_data_uri(picture)}
            for digits, answer, picture in rows
        ]

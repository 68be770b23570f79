"""A fold as it learns, read from its run folder: what any number of listeners are told.

Each listener has a position of its own in what was measured, so one that is slow, or gone, holds
nobody up.
"""

import math
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from unseen.files import DamagedFileError
from unseen.lab.offers import Setup
from unseen.problem.operations import spelled
from unseen.problem.randomness import Streams
from unseen.problem.samples import render_pictures
from unseen.report.report import as_data_uri
from unseen.runs.events import Measured, Progressed
from unseen.runs.fold import FoldResult
from unseen.runs.measuring import Measurement, shown_samples, watched_samples
from unseen.runs.run_folder import RunFolder
from unseen.runs.session import FoldFollower

RESULT_SECONDS = 1.0  # between looks whether a fold is done
HELD_SECONDS = 3.0  # between looks whether some other process works on a fold


class Film:
    """What is known of a fold so far; `refresh` reads what is new."""

    def __init__(self, folder: RunFolder, setup: Setup) -> None:
        self.folder, self.setup = folder, setup
        self.frames: list[dict[str, Any]] = []
        self.restarts = 0  # how often frames were taken back
        self.progress: dict[str, Any] | None = None
        self.result: FoldResult | None = None
        self._follower = FoldFollower(folder, setup.fold)
        self._held, self._held_at = False, -math.inf
        self.refreshed = self._looked_at = -math.inf

    def refresh(self, *, ended: bool = False) -> None:
        """Read what has happened since the last time; for a result only now and then."""
        news = [*self._follower.news()]
        measured = [each.measurement for each in news if isinstance(each, Measured)]
        if measured or len(self._follower.measured) < len(self.frames):
            known = len(self._follower.measured) - len(measured)
            self.restarts += known < len(self.frames)
            self.frames[known:] = [self._frame(each) for each in measured]
        for each in news:
            if isinstance(each, Progressed):
                self.progress = {"epochs": each.epochs, "loss": each.loss, "start": each.start}
        self.refreshed = time.monotonic()
        if ended or self.refreshed - self._looked_at > RESULT_SECONDS:
            self._looked_at = self.refreshed
            try:
                self.result = self.folder.result(self.setup.fold, thorough=False)
            except DamagedFileError:
                self.result = None

    def is_held(self) -> bool:
        """Whether some process trains the fold. Looking takes its lock, so it is done rarely."""
        if time.monotonic() - self._held_at > HELD_SECONDS:
            self._held = self.folder.is_held(self.setup.fold)
            self._held_at = time.monotonic()
        return self._held

    @cached_property
    def _rows(self) -> dict[tuple[int | str, ...], int]:
        digits = self.setup.task.combinations.digits.tolist()
        return {tuple(spelled(each)): row for row, each in enumerate(digits)}

    def _frame(self, measurement: Measurement) -> dict[str, Any]:
        """A measurement as the page takes it: shares and means by row of the table."""
        shares: list[float | None] = [None] * len(self._rows)
        means: list[float | None] = [None] * len(self._rows)
        columns = (measurement.combinations, measurement.right, measurement.samples)
        for combination, right, samples, mean in zip(*columns, measurement.mean, strict=False):
            at = combination if isinstance(combination, int) else self._rows.get(tuple(combination))
            if at is not None and 0 <= at < len(shares) and samples > 0:
                shares[at], means[at] = round(right / samples, 4), mean
        return {
            "epochs": measurement.epochs,
            "seconds": measurement.seconds,
            "seen": measurement.seen,
            "unseen": measurement.unseen,
            "share": shares,
            "mean": means,
            "shown": measurement.shown,
        }

    def outcome(self) -> dict[str, Any] | None:
        """What the finished fold came to; None before."""
        if (result := self.result) is None:
            return None
        return {
            "measures": result.measures,
            "quadrants": {name: each.get("rounded") for name, each in result.quadrants.items()},
            "seconds": result.seconds,
            "parameters": result.parameters,
        }

    def shown(self) -> list[dict[str, Any]]:
        """The samples whose answers are in every frame."""
        experiment, task = self.setup.experiment, self.setup.task
        streams = Streams(experiment.seed, self.setup.fold)
        watched = watched_samples(task, experiment.training.watched_samples, streams)
        if watched is None:
            return []
        samples = watched.samples.some(shown_samples(watched))
        pictures = render_pictures(samples, np.arange(len(samples)))
        return [
            {
                "combination": spelled(task.combinations.digits[row]),
                "answer": int(answer),
                "picture": as_data_uri(picture),
            }
            for row, answer, picture in zip(
                samples.combinations, samples.answers, pictures, strict=True
            )
        ]


class Films:
    """The films that were asked for lately, shared by all who watch."""

    def __init__(self, open_setup: Callable[[str, int | None], tuple[RunFolder, Setup]]) -> None:
        self._open = open_setup
        self._films: dict[tuple[str, int], Film] = {}

    def film(self, run: str, fold: int | None) -> Film:
        folder, setup = self._open(run, fold)
        key = run, setup.fold
        film = self._films.pop(key, None)
        if film is None or film.setup != setup:
            film = Film(folder, setup)
        self._films[key] = film  # the last used stands last
        while len(self._films) > 20:
            del self._films[next(iter(self._films))]
        return film

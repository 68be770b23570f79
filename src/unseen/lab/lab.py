"""What the lab knows and can tell: its runs, what it offers, its trainings and its networks."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from unseen.analysis.comparison import RunGroup, compare_groups
from unseen.api import Run
from unseen.errors import UnseenError, printable
from unseen.lab.cells import Networks, cell_json, picture_of
from unseen.lab.faults import NotThereError
from unseen.lab.film import Films
from unseen.lab.offers import EFFORTS, Offer, Setup, setup_json, setup_of
from unseen.lab.speed import Speed
from unseen.lab.state import Trainings
from unseen.problem.problem import Problem
from unseen.report.comparisons import comparison_dict
from unseen.report.json_view import jsonable
from unseen.report.repeat_command import side_by_side
from unseen.report.tables import describe
from unseen.report.verdict_text import verdict_text
from unseen.runs.experiment import Experiment
from unseen.runs.find_runs import list_runs
from unseen.runs.presets import PRESETS
from unseen.runs.run_folder import RunFolder
from unseen.training.metrics import HEADLINE

MOST_LISTED = 200  # runs
Given = TypeVar("Given")


class Lab:
    """What the server knows: its runs, what it offers, its trainings and its networks."""

    def __init__(self, runs_dir: Path, offer: Offer, first_run: str | None = None) -> None:
        self.runs_dir, self.offer, self.first_run = runs_dir, offer, first_run
        self.trainings = Trainings(runs_dir)
        self.networks, self.speed = Networks(offer.model), Speed()
        self.films = Films(self.open_setup)
        self.closing, self.starting = False, asyncio.Lock()
        # one thread for what is asked often, one for what takes seconds
        self._quick, self._slow = (ThreadPoolExecutor(1) for _ in range(2))
        self._background: set[asyncio.Task[Any]] = set()

    async def _measure_speed(self) -> None:
        """Find out how fast this machine is, once the trainer has loaded and leaves it alone."""
        await self.trainings.is_warm.wait()
        await self.slow(self.speed.measure)

    def close(self) -> None:
        """Have listeners and training end; the rest ends with the server."""
        self.closing = True
        self.trainings.interrupt()

    async def quick(self, function: Callable[..., Given], *arguments: Any) -> Given:
        return await asyncio.get_running_loop().run_in_executor(
            self._quick, partial(function, *arguments)
        )

    async def slow(self, function: Callable[..., Given], *arguments: Any) -> Given:
        return await asyncio.get_running_loop().run_in_executor(
            self._slow, partial(function, *arguments)
        )

    @asynccontextmanager
    async def lifespan(self, app: object) -> AsyncIterator[None]:
        await self.trainings.warm_up()
        # what the first page asks takes a second or two the first time
        for task in (self.quick(self.described, {}), self._measure_speed()):
            self._background.add(asyncio.create_task(task))
        try:
            yield
        finally:
            self.closing = True
            await self.trainings.close()
            for pool in (self._quick, self._slow):
                pool.shutdown(wait=False, cancel_futures=True)

    def folder(self, name: str) -> RunFolder:
        """A run by the name of its folder: one that is in the runs folder, and nowhere else."""
        for folder in list_runs(self.runs_dir):
            if folder.path.name == name:
                return folder
        raise NotThereError(f"there is no run {printable(name[:80])!r}")

    def open_setup(self, name: str, fold: int | None) -> tuple[RunFolder, Setup]:
        folder = self.folder(name)
        folder.refuse_other_versions() if self._may_read(folder) else None
        return folder, setup_of(folder, fold, self.offer)

    def _may_read(self, folder: RunFolder) -> bool:
        return folder.experiment().problem.symbols in self.offer.symbol_sets()

    def estimates(self, chosen: Setup) -> dict[str, Any]:
        """How long a setup will take here, and the same problem with each effort."""
        problem = chosen.experiment.problem
        return {
            "seconds": self.speed.seconds(chosen.experiment),
            "estimates": {
                name: self.speed.seconds(_with_problem(PRESETS[name](), problem))
                for name in EFFORTS
            },
        }

    def loaded(self, name: str) -> Run:
        """A run with all that is known of it."""
        return Run(self.open_setup(name, None)[0])

    def described(self, document: Any) -> dict[str, Any]:
        """All that is said of a setup that a page has sent."""
        chosen = self.offer.setup(document)
        folder = RunFolder.of(chosen.experiment, self.runs_dir)
        there = folder.is_there()
        return setup_json(chosen) | {
            **self.estimates(chosen),
            "run": folder.path.name if there and chosen.fold in folder.folds() else None,
            "guess": folder.guess() if there else None,
        }

    def record(self, experiment: Experiment, guess: float | None) -> None:
        """Have the run folder there before anybody looks for it."""
        folder = RunFolder.of(experiment, self.runs_dir)
        folder.refuse_other_versions()
        folder.create(experiment)
        if guess is not None and folder.guess() is None:  # the first one: later ones know better
            folder.save_guess(float(guess))

    def listed(self) -> list[dict[str, Any]]:
        """The runs of the folder, the latest first."""
        folders = list_runs(self.runs_dir)[-MOST_LISTED:]
        rows = []
        for folder in reversed(folders):
            row: dict[str, Any] = {"run": folder.path.name, "label": printable(folder.label)}
            try:
                experiment = folder.experiment()
                self.offer.refuse_others(experiment)
                results, damages = folder.results(thorough=False)
            except UnseenError as error:
                rows.append(row | {"fault": printable(str(error))})
                continue
            right = [each.measures.get(HEADLINE.name, math.nan) for each in results]
            rows.append(
                row
                | {
                    "described": describe(experiment, results),
                    "done": [each.fold for each in results],
                    "begun": folder.folds(),
                    "damaged": len(damages),
                    HEADLINE.name: float(np.mean(right)) if right else None,
                    "guess": folder.guess(),
                }
            )
        return rows

    def opened(self, name: str, fold: int | None) -> dict[str, Any]:
        """A run as the page shows it, from what it was run with."""
        folder, chosen = self.open_setup(name, fold)
        film = self.films.film(name, chosen.fold)
        return setup_json(chosen) | {
            **self.estimates(chosen),
            "run": name,
            "label": printable(folder.label),
            "guess": folder.guess(),
            "shown": film.shown(),
        }

    def compared(self, names: list[str]) -> dict[str, Any]:
        """Two runs: where their settings differ, and by how much if they were asked the same."""
        loaded = [self.loaded(name) for name in names]
        apart, alike = side_by_side([each.experiment for each in loaded])
        found: dict[str, Any] = {"apart": apart, "alike": alike, "fault": None, "comparison": None}
        try:
            groups = [RunGroup(each.name, (each.summary,)) for each in loaded]
            found["comparison"] = jsonable(comparison_dict(compare_groups(groups)))
        except UnseenError as error:
            found["fault"] = printable(str(error))
        return found

    def verdict(self, name: str) -> dict[str, Any]:
        """The judgement of a run, in words."""
        said = verdict_text(self.loaded(name).summary)
        return {"headline": said.headline, "sentences": said.sentences}

    def cell(self, name: str, fold: int, row: int) -> dict[str, Any]:
        """What a network makes of one combination."""
        folder, chosen = self.open_setup(name, fold)
        if not 0 <= row < len(chosen.task.combinations.digits):
            raise NotThereError("there is no such combination")
        return cell_json(self.networks, folder, chosen, row)

    def answer(self, name: str, fold: int, panels: Any) -> float:
        """What a network answers to a drawn picture."""
        folder, chosen = self.open_setup(name, fold)
        return float(self.networks.answers(folder, chosen, picture_of(panels, chosen))[0])


def _with_problem(experiment: Experiment, problem: Problem) -> Experiment:
    """A preset asked another problem, with as many samples as it takes itself."""
    own = experiment.problem
    samples = {name: getattr(own, name) for name in Problem.model_fields if "samples" in name}
    return experiment.change(problem=problem.change(**samples))

"""What the lab knows: its runs, what can be chosen, its trainings and its networks."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from starlette.exceptions import HTTPException

from unseen.analysis.comparison import RunGroup, compare_groups
from unseen.api import Run
from unseen.errors import UnseenError, printable
from unseen.lab.cells import Networks, cell_json, picture_of
from unseen.lab.choices import Choices, Setup, setup_json, setup_of
from unseen.lab.history import History
from unseen.lab.trainings import Training, Trainings
from unseen.report.comparisons import comparison_dict
from unseen.report.drawing import share_colours
from unseen.report.json_view import jsonable
from unseen.report.repeat_command import side_by_side
from unseen.report.tables import describe
from unseen.report.verdict_text import verdict_text
from unseen.runs.experiment import Experiment
from unseen.runs.find_runs import list_runs
from unseen.runs.run_folder import RunFolder
from unseen.training.metrics import HEADLINE

MOST_LISTED = 200  # runs
MOST_HISTORIES = 20  # in memory
Result = TypeVar("Result")


class Lab:
    """The state of the server; its methods answer the requests."""

    def __init__(self, runs_dir: Path, choices: Choices, first_run: str | None = None) -> None:
        self.runs_dir, self.choices, self.first_run = runs_dir, choices, first_run
        self.trainings = Trainings(runs_dir)
        self.networks = Networks(choices.own_model)
        self.histories: dict[tuple[str, int], History] = {}
        self.last_seconds: dict[str, float] = {}  # by preset: what its last fold took here
        self.starting = asyncio.Lock()
        # one thread for what takes milliseconds, one for what takes seconds
        self._short, self._long = ThreadPoolExecutor(1), ThreadPoolExecutor(1)

    @asynccontextmanager
    async def lifespan(self, app: object) -> AsyncIterator[None]:
        """Load in advance what the first requests need, and end what was started."""
        await self.trainings.load_process()
        self._short.submit(self.described, {})
        try:
            yield
        finally:
            await self.trainings.close()
            for pool in (self._short, self._long):
                pool.shutdown(wait=False, cancel_futures=True)

    async def run_short(self, function: Callable[..., Result], *arguments: Any) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._short, function, *arguments)

    async def run_long(self, function: Callable[..., Result], *arguments: Any) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._long, function, *arguments)

    def state(self) -> dict[str, Any]:
        """What the page needs before anything else."""
        return self.training_state() | {
            "catalogue": self.choices.catalogue(),
            "first_run": self.first_run,
            "colours": [share_colours(percent / 100) for percent in range(101)],
        }

    def training_state(self) -> dict[str, Any]:
        last = self.trainings.last
        return {"training": last and last.to_json()}

    def folder(self, name: str) -> RunFolder:
        """A run by the name of its folder: one that is in the runs folder, and nowhere else."""
        for folder in list_runs(self.runs_dir):
            if folder.path.name == name:
                return folder
        raise HTTPException(404, f"there is no run {printable(name[:80])!r}")

    def open_setup(self, name: str, fold: int | None) -> tuple[RunFolder, Setup]:
        """A run with what it was run with."""
        folder = self.folder(name)
        setup = setup_of(folder, fold, self.choices)
        folder.refuse_other_versions()
        return folder, setup

    def loaded(self, name: str) -> Run:
        """A run with all that is known of it."""
        return Run(self.open_setup(name, None)[0])

    def history(self, name: str, fold: int | None) -> History:
        """The history of a fold, which all who watch it share."""
        folder, setup = self.open_setup(name, fold)
        history = self.histories.pop((name, setup.fold), None)
        if history is None or history.setup != setup:
            history = History(folder, setup)
        self.histories[history.key] = history  # the last used is the last to go
        for oldest in [*self.histories][:-MOST_HISTORIES]:
            del self.histories[oldest]
        return history

    def news(self, name: str, fold: int, last: str) -> dict[str, Any]:
        """What is new in a fold after the `last` snapshot that a page has; asked every moment."""
        history = self.histories.get((name, fold)) or self.history(name, fold)
        training = self.trainings.last
        if training is not None and (training.run, training.fold) != history.key:
            training = None
        history.refresh()
        state = history.state(training)  # first: a fold that is done has all its snapshots
        if training is not None and training.status == "done" and history.result is not None:
            self.last_seconds[history.setup.experiment.name] = history.result.seconds
        return history.after(last) | {"state": state}

    def described(self, document: dict[str, Any]) -> dict[str, Any]:
        """A setup that the page has sent, with what is known of it."""
        setup = self.choices.setup(document)
        folder = RunFolder.of(setup.experiment, self.runs_dir)
        there = folder.is_there()
        return setup_json(setup) | {
            "last_seconds": self.last_seconds,
            "run": folder.path.name if there and setup.fold in folder.folds() else None,
            "guess": folder.guess() if there else None,
        }

    def opened(self, name: str, fold: int | None) -> dict[str, Any]:
        """A run as the page shows it, from what it was run with."""
        self._long.submit(import_module, "torch")  # seconds, which the first drawing need not wait
        history = self.history(name, fold)
        return setup_json(history.setup) | {
            "last_seconds": self.last_seconds,
            "run": name,
            "label": printable(history.folder.label),
            "guess": history.folder.guess(),
            "shown": history.samples(),
        }

    async def start(self, document: dict[str, Any]) -> Training:
        """Train the fold of a setup, with a person's guess of its outcome."""
        guess = document.pop("guess", None)
        is_number = isinstance(guess, int | float) and not isinstance(guess, bool)
        if guess is not None and not (is_number and 0 <= guess <= 1):
            raise UnseenError("a guess is a share from 0 to 1")
        async with self.starting:  # of two at once, the second is refused before it makes a folder
            self.trainings.refuse_if_busy()
            setup = await self.run_short(self.choices.setup, document)
            await self.run_short(self._record, setup.experiment, guess)
            return await self.trainings.start(setup.experiment, setup.fold)

    def _record(self, experiment: Experiment, guess: float | None) -> None:
        """Make the run folder, so that it can be watched at once; keep the first guess."""
        folder = RunFolder.of(experiment, self.runs_dir)
        folder.refuse_other_versions()
        folder.create(experiment)
        if guess is not None and folder.guess() is None:
            folder.save_guess(float(guess))

    def listed(self) -> dict[str, Any]:
        """The runs of the folder, the latest first."""
        folders = list_runs(self.runs_dir)[-MOST_LISTED:]
        return {"runs": [self._row(folder) for folder in reversed(folders)]}

    def _row(self, folder: RunFolder) -> dict[str, Any]:
        row: dict[str, Any] = {"run": folder.path.name, "label": printable(folder.label)}
        try:
            experiment = folder.experiment()
            self.choices.refuse_others(experiment)
            results, _ = folder.results(thorough=False)
        except UnseenError as error:
            return row | {"fault": printable(str(error))}
        right = [each.measures.get(HEADLINE.name, math.nan) for each in results]
        return row | {
            "described": describe(experiment, results),
            "done": [each.fold for each in results],
            HEADLINE.name: float(np.mean(right)) if right else None,
            "guess": folder.guess(),
        }

    def compared(self, names: list[str]) -> dict[str, Any]:
        """Two runs: where their settings differ, and by how much if they were asked the same."""
        if len(names) != 2:
            raise UnseenError("a comparison is of two runs")
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
        verdict = verdict_text(self.loaded(name).summary)
        return {"headline": verdict.headline, "sentences": verdict.sentences}

    def report(self, name: str) -> bytes:
        return self.loaded(name).report().read_bytes()

    def cell(self, name: str, fold: int, row: int) -> dict[str, Any]:
        """What a network answers for one combination."""
        folder, setup = self.open_setup(name, fold)
        if not 0 <= row < len(setup.task.combinations.digits):
            raise HTTPException(404, "there is no such combination")
        return cell_json(self.networks, folder, setup, row)

    def answer(self, name: str, fold: int, panels: Any) -> dict[str, float]:
        """What a network answers to a drawn picture."""
        folder, setup = self.open_setup(name, fold)
        (answer,) = self.networks.answers(folder, setup, picture_of(panels, setup)).tolist()
        return {"answer": answer}

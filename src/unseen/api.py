"""The library: run an experiment in one call, and read a run from its folder.

import unseen

run = unseen.run("fast", operation="subtract", samples=100, folds=[1, 2])
print(run)
print(run.measures.by_fold)
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen.analysis.run_data import RunData, load_run_data
from unseen.analysis.summary import Summary, sum_up
from unseen.errors import SettingError, UnseenError
from unseen.files import DamagedFileError
from unseen.report.progress import watch
from unseen.report.repeat_command import as_call
from unseen.report.verdict_text import verdict_text
from unseen.runs.checks import Folds, check_fold, check_path, check_seconds, parse_folds
from unseen.runs.events import Event
from unseen.runs.experiment import Experiment, refuse_unknown
from unseen.runs.find_runs import find_run
from unseen.runs.fold import FoldResult, torch_threads, with_every_metric
from unseen.runs.measuring import Measurement
from unseen.runs.run_folder import RunFolder
from unseen.runs.session import find_experiment, follow_folder, session
from unseen.runs.trained_networks import load_network
from unseen.use.predictions import (
    FailedPicture,
    Prediction,
    answers_by_fold,
    combined,
    grey_values,
    picture_shape,
    predict_files,
)

if TYPE_CHECKING:
    from unseen.networks.modules import RescaledOutput


@dataclass(frozen=True)
class Measures:
    """The measures of a run as rows of tables: `pandas.DataFrame(run.measures.by_fold)`."""

    by_fold: list[dict[str, Any]]
    by_combination: list[dict[str, Any]]


@dataclass(frozen=True)
class Run:
    """A run on disk: what was run, what came out, and what it means.

    `unseen.run(…, folds=[1])` gives a run of this fold alone; where others were done before, they
    are in `other_folds`, and `unseen.load` has all. What is read is what was there when it was
    asked for first; `unseen.load` reads it anew.

    >>> import numpy as np, unseen
    >>> run = unseen.run("fast", folds=1, samples=2, test_samples=2)
    >>> run.experiment.problem.operation, [each.fold for each in run.results]
    ('add', [1])
    >>> run.predict(np.zeros((5, 28, 56))).shape
    (5,)
    >>> len(run.measures.by_combination)
    10
    """

    folder: RunFolder
    folds: tuple[int, ...] | None = None  # that were asked for; None for all that are done

    def __str__(self) -> str:
        return verdict_text(self.summary, as_call).text

    def __repr__(self) -> str:
        return f"Run({str(self.folder.path)!r}, folds={[each.fold for each in self.results]})"

    @property
    def name(self) -> str:
        return self.folder.label

    @cached_property
    def experiment(self) -> Experiment:
        return self.folder.experiment()

    @cached_property
    def _done(self) -> tuple[list[FoldResult], list[DamagedFileError]]:
        """The results of all folds that are done, and the files that are damaged."""
        self.folder.refuse_other_versions()
        results, damages = self.folder.results()
        arrays = cache(partial(self.folder.arrays, experiment=self.experiment))
        return [with_every_metric(each, partial(arrays, each.fold)) for each in results], damages

    @property
    def results(self) -> list[FoldResult]:
        """The results of the folds that were asked for, as far as they are done, in order."""
        return [each for each in self._done[0] if self.folds is None or each.fold in self.folds]

    @property
    def other_folds(self) -> list[int]:
        """The folds that are done as well, and were not asked for."""
        asked = [each.fold for each in self.results]
        return [each.fold for each in self._done[0] if each.fold not in asked]

    @property
    def damages(self) -> list[DamagedFileError]:
        """The files that are damaged; their folds are not among the results."""
        return self._done[1]

    @cached_property
    def data(self) -> RunData:
        """Everything that the finished folds left, which the summary is made from."""
        if not self.results:
            raise UnseenError(f"no fold of {self.name} is done; there is nothing to report")
        return load_run_data(self.folder, self.experiment, self.results)

    @cached_property
    def summary(self) -> Summary:
        """Every figure of the run: intervals, what errors are made of, the judgement."""
        return sum_up(self.data)

    @property
    def measures(self) -> Measures:
        return Measures(
            [{"fold": each.fold, **each.measures} for each in self.results],
            [score.figures for score in self.summary.scores],
        )

    def measurements(self, fold: int) -> list[Measurement]:
        """The learning curve of a fold: what was measured while it learnt."""
        return self.folder.measurements(check_fold(fold))

    def report(self, path: Path | str | None = None) -> Path:
        """Write the report as one HTML page, by default into the run folder."""
        from unseen.report.report import write_report  # and matplotlib

        output = None if path is None else check_path("path", path)
        return write_report(self.data, self.summary, output)

    def network(self, fold: int, model: str | None = None) -> "RescaledOutput":
        """The trained network of a fold: a torch module, (n, 1, height, width) in 0 to 1 -> (n,).

        Where it is a user's own network, `model` names its file again, as file.py:Class.
        """
        return load_network(self.folder, self.experiment, check_fold(fold), model)

    def predict(
        self, pictures: Any, fold: int | None = None, model: str | None = None
    ) -> NDArray[np.float32]:
        """The answer to each picture: (n, height, width) grey values, light on dark -> (n,).

        Whole numbers go from 0 to 255, and floats from 0 to 1; floats up to 255 are taken as well.
        Arrays, torch tensors, PIL pictures and lists of these will do, one picture (height, width)
        and torch's (n, 1, height, width) too. The answer is the median of the networks of all
        finished folds, or that of the network of one fold.
        """
        shape = picture_shape(self.experiment.problem)
        grey = grey_values(pictures, shape.height, shape.length * shape.width)
        with torch_threads(self.experiment.threads):
            return combined(answers_by_fold(self.networks(fold, model), grey))

    def networks(
        self, fold: int | None = None, model: str | None = None
    ) -> dict[int, "RescaledOutput"]:
        """The trained networks by fold: of all finished folds, or of one."""
        folds = [each.fold for each in self.results] if fold is None else [fold]
        if not folds:
            raise UnseenError(f"no fold of {self.name} is done; there is no network to ask")
        return {each: self.network(each, model) for each in folds}

    def predict_files(
        self, paths: Iterable[Path | str], fold: int | None = None, model: str | None = None
    ) -> Iterator[Prediction | FailedPicture]:
        """What the networks answer to picture files, in order; what was wrong with those that fail.

        A picture is prepared as MNIST's digits were: PNG, JPEG, WebP or TIFF of any size, light on
        dark or dark on light. Files are read as the answers are asked for.
        """
        networks, given = self.networks(fold, model), [*paths]
        for path in given:
            if not isinstance(path, str | os.PathLike):  # what is no file is one that fails
                raise SettingError("path", path, "is no path")
        shape = picture_shape(self.experiment.problem)
        return predict_files([*map(Path, given)], shape, networks, self.experiment.threads)


def run(
    experiment: Experiment | str = "fast",
    *,
    folds: Folds = None,
    runs_dir: Path | str = "runs",
    executor: Executor | None = None,
    jobs: int | None = None,
    restart: bool = False,
    name: str | None = None,
    on_event: Callable[[Event], None] | None = None,
    **settings: Any,
) -> Run:
    """Run an experiment, or finish one that was begun, and return it.

    `experiment` is a preset's name or an `Experiment`; `settings` change it, by the names of the
    command line (`unseen run --help`): `unseen.run("fast", operation="subtract", samples=100)`.
    `folds` are 3, [1, 3] or "1,3-5", by default all; `jobs` of them run at a time, by default one
    per core, or any `concurrent.futures.Executor` runs them (`executor`). What was run before is
    not run again, unless `restart` is true. `name` is one to find the run by, which changes nothing
    else of it. Progress is shown in a terminal and in Jupyter; `on_event` is called with each event
    instead.

    >>> import unseen
    >>> run = unseen.run("fast", operation="max(a, b)", samples=2, test_samples=2, folds=[1])
    >>> run.measures.by_fold[0]["fold"]
    1
    """
    refuse_unknown(settings, ("folds", "jobs", "runs_dir", "restart", "name"))
    if on_event is not None and not callable(on_event):
        raise SettingError("on_event", on_event, "must be a function that takes an event")
    chosen = find_experiment(experiment).vary(**settings)
    events = session(chosen, folds, runs_dir, executor, jobs=jobs, restart=restart, name=name)
    if on_event is None:
        watch(events)
    else:
        with closing(events):  # whatever happens in on_event
            for event in events:
                on_event(event)
    return Run(RunFolder.of(chosen, Path(runs_dir)), parse_folds(folds))


def load(run: Run | Path | str, runs_dir: Path | str = "runs", **settings: Any) -> Run:
    """A run on disk: its path, its name, the beginning of its name, or its preset.

    Of several, the one that was run with these settings: `unseen.load("fast", split="diagonal")`.

    >>> import unseen
    >>> ran = unseen.run("fast", operation="max(a, b)", samples=2, test_samples=2, folds=1)
    >>> unseen.load("fast", operation="max(a, b)").name == ran.name
    True
    """
    if isinstance(run, Run):
        return Run(run.folder)
    check_path("run", run)
    return Run(find_run(run, check_path("runs_dir", runs_dir), settings))


def follow(
    run: Run | Path | str,
    folds: Folds = None,
    runs_dir: Path | str = "runs",
    *,
    timeout: float = 10.0,
) -> Iterator[Event]:
    """The events of a run that another process works on, read from its folder as they happen.

    Ends when the `folds` are done, or when for `timeout` seconds nothing has happened and no
    process works on the run. Without `folds`, every fold is followed that the run has begun.

    >>> import unseen
    >>> run = unseen.run("fast", folds=1, samples=2, test_samples=2)
    >>> [type(event).__name__ for event in unseen.follow(run, folds=1)][-1]
    'Ended'
    """
    seconds = check_seconds("timeout", timeout)
    return follow_folder(load(run, runs_dir).folder, parse_folds(folds), seconds)

"""A session: the folds of an experiment brought to their results, as a stream of events.

The command line, the library call and whatever comes later listen to it. The results are in the
run folder, where several processes may work at once: a fold that another one holds is left to it.
"""

import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from unseen.errors import SettingError, UnseenError, unknown
from unseen.files import DamagedFileError
from unseen.problem.fashion import fetch_fashion_mnist, find_fashion_mnist
from unseen.problem.leakage import split_leakage
from unseen.problem.task import make_task
from unseen.runs.checks import (
    Folds,
    check_device,
    check_engine,
    check_folds,
    check_network,
    check_path,
    network_limits,
    parse_folds,
)
from unseen.runs.engine import LocalProcesses, available_cores
from unseen.runs.environment import current_environment
from unseen.runs.events import (
    Downloaded,
    Ended,
    Event,
    FoldDone,
    Measured,
    Note,
    Progressed,
    Started,
)
from unseen.runs.experiment import Experiment, added_parts
from unseen.runs.find_runs import check_name
from unseen.runs.fold import FoldResult
from unseen.runs.measuring import Measurement
from unseen.runs.presets import PRESETS
from unseen.runs.queue import FoldJob, FoldQueue
from unseen.runs.run_folder import RunFolder

POLL_SECONDS = 0.1


def find_experiment(experiment: Experiment | str) -> Experiment:
    """An experiment as it is, or the one of a preset's name."""
    if isinstance(experiment, Experiment):
        return experiment
    name: Any = experiment
    if not isinstance(name, str):
        fault = f"must be an Experiment, or the name of a preset: {', '.join(PRESETS)}"
        raise SettingError("experiment", name, fault)
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    return PRESETS[name]()


def session(
    experiment: Experiment | str,
    folds: Folds = None,
    runs_dir: Path | str = "runs",
    engine: Executor | None = None,
    *,
    jobs: int | None = None,
    restart: bool = False,
    name: str | None = None,
) -> Generator[Event, None, None]:
    """Finish the folds of an experiment that are not done yet, and yield what happens.

    `engine` is an executor that runs the folds; by default that many local processes at a time as
    `jobs` says, or one for each core. Everything is checked before anything is written. Closing
    the generator, or an error within it, stops the engine at once; what was saved until then stays,
    and the next session goes on from it. `name` is one to find the run by, which changes nothing
    else of it.

    >>> import unseen
    >>> experiment = unseen.PRESETS["fast"]().vary(samples=2, test_samples=2)
    >>> [type(event).__name__ for event in unseen.session(experiment, folds=1)][-1]
    'Ended'
    """
    experiment = find_experiment(experiment)
    for kind, part in added_parts(experiment).items():
        if (why := part.renew()) is not None:
            yield Note("untold part", details={"kind": kind, "why": why})
    named, runs_dir = parse_folds(folds), check_path("runs_dir", runs_dir)
    check_engine(engine, jobs)
    check_device(experiment.device)
    if experiment.problem.symbols == "fashion-mnist" and find_fashion_mnist() is None:
        yield from (Downloaded(*news) for news in fetch_fashion_mnist())
    task = make_task(experiment.problem)
    chosen = check_folds(named, len(task.folds))
    folder = None
    own: Executor | None = None
    if engine is None:
        jobs = jobs or max(1, available_cores() // experiment.threads)
        # what was registered in this process, other processes do not know
        is_known = all(part.is_installed for part in added_parts(experiment).values())
        symbols = experiment.problem.symbols
        own = LocalProcesses(jobs, symbols) if is_known else ThreadPoolExecutor(1)
        engine = own
    try:
        yield from check_network(experiment, task, chosen, engine)
        folder = RunFolder.of(experiment, runs_dir)
        folder.refuse_other_versions()
        if name is not None:
            check_name(name, folder)
        yield Started(str(folder.path), chosen, experiment.training.epochs)
        if (damaged := folder.create(experiment)) is not None:
            yield Note("record damaged", details={"path": str(damaged)})
        if name is not None:
            folder.give_name(name)
        try:
            left = yield from _finish(experiment, folder, chosen, engine, restart=restart)
        except UnseenError:
            folder.refuse_gone()  # which explains whatever else failed
            raise
        folder.refuse_gone()
    except BaseException:
        engine.shutdown(wait=False)
        if folder is not None:
            sweep(folder, chosen)
        raise
    if own is not None:
        own.shutdown()
    yield Ended(tuple(fold for fold in chosen if fold not in left), tuple(left))


def _finish(
    experiment: Experiment,
    folder: RunFolder,
    folds: Sequence[int],
    engine: Executor,
    *,
    restart: bool,
) -> Generator[Event, None, list[int]]:
    """Run what is missing; returns the folds that other processes hold."""
    if restart:
        yield from _discard(folder, folds)
    before, torch = folder.environment().get("torch"), current_environment()["torch"]
    if before != torch:
        yield Note("other torch", details={"before": before, "now": torch})
    missing = yield from _missing(folder, folds)
    if missing:
        task = make_task(experiment.problem)
        leakage = split_leakage(task.combinations, [task.folds[fold - 1] for fold in folds])
        yield Note("leakage", details={"split": leakage})
        yield from network_limits(experiment.training.model, task, rule=leakage.rule)
    left = yield from _run(experiment, folder, missing, engine)
    # whoever held these may have died since
    left = yield from _run(experiment, folder, left, engine)
    for fold in left:
        holder = folder.progress(fold)
        who = {"process": holder.process, "host": holder.host} if holder else {}
        yield Note("run elsewhere", fold, who)
    return left


def _missing(folder: RunFolder, folds: Sequence[int]) -> Generator[Event, None, list[int]]:
    missing = []
    for fold in folds:
        try:
            if folder.result(fold) is not None:
                folder.tidy(fold)
                yield FoldDone(fold)
                continue
            folder.checkpoint(fold)
        except DamagedFileError as damage:
            yield Note("fold damaged", fold, {"path": str(damage.path), "fault": str(damage)})
        missing.append(fold)
    return missing


def _discard(folder: RunFolder, folds: Sequence[int]) -> Iterator[Note]:
    for fold in folds:
        with folder.hold(fold) as held:
            if held:
                folder.discard(fold)
            else:
                yield Note("not restarted", fold)


def _run(
    experiment: Experiment, folder: RunFolder, folds: Sequence[int], engine: Executor
) -> Generator[Event, None, list[int]]:
    """Run some folds; returns those that another process holds."""
    followers = {fold: FoldFollower(folder, fold) for fold in folds}
    left: list[int] = []
    tasks = (FoldJob(folder, experiment, fold) for fold in folds)
    with closing(FoldQueue(engine, tasks)) as queue:
        while queue:
            ended = queue.advance(POLL_SECONDS)
            for job in (*queue.running.values(), *(job for job, _ in ended)):
                yield from followers[job.fold].news()
            for job, end in ended:
                if isinstance(end, FoldResult):
                    yield FoldDone(job.fold)
                elif isinstance(end, Note):
                    yield end
                elif isinstance(end, Exception):
                    raise end
                else:
                    left.append(job.fold)
    return left


@dataclass
class FoldFollower:
    """Reads from a run folder what is new in a fold, whoever runs it."""

    folder: RunFolder
    fold: int
    reached: tuple[int, float] = (0, 0.0)  # start and epochs of the last progress
    told: list[Measurement] = field(default_factory=list)
    stamp: tuple[int, int] | None = None  # of the file of measurements

    def news(self) -> Iterator[Progressed | Measured]:
        """What has happened since the last time; what a restarted fold measures again is news."""
        stamp, self.stamp = self.stamp, self.folder.measurements(self.fold).stamp()
        if stamp != self.stamp:
            told, self.told = self.told, self.folder.measurements(self.fold).read()
            pairs = zip(told, self.told, strict=False)
            known = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            yield from (Measured(self.fold, each) for each in self.told[known:])
        progress = self.folder.progress(self.fold)
        if progress is not None and (progress.start, progress.epochs) != self.reached:
            self.reached = progress.start, progress.epochs
            yield Progressed(self.fold, progress.epochs, progress.loss, progress.start)


def follow_folder(
    folder: RunFolder, folds: Sequence[int] | None, timeout: float
) -> Iterator[Event]:
    """The events of a run that another process works on, read from its folder.

    Ends when all these folds are done, or when for `timeout` seconds nothing has happened and no
    process works on the run. Without `folds`, every fold is followed that is begun.
    """
    followers: dict[int, FoldFollower] = {}
    done: list[int] = []
    wanted = folds or folder.folds()
    yield Started(str(folder.path), tuple(wanted), folder.experiment().training.epochs)
    heard = time.monotonic()
    while folds is None or len(done) < len(folds):
        folder.refuse_gone()
        wanted = folds or folder.folds()
        for fold in (fold for fold in wanted if fold not in done):
            is_done = False
            with suppress(DamagedFileError):  # to be run again by whoever works on it
                is_done = folder.result(fold, thorough=False) is not None
            news: list[Event] = [*followers.setdefault(fold, FoldFollower(folder, fold)).news()]
            if is_done:
                done.append(fold)
                news.append(FoldDone(fold))
            heard = time.monotonic() if news else heard
            yield from news
        if time.monotonic() - heard > timeout:
            if not folder.is_in_use():
                break
            heard = time.monotonic()
        time.sleep(POLL_SECONDS)
    yield Ended(tuple(sorted(done)), tuple(fold for fold in wanted if fold not in done))


def sweep(folder: RunFolder, folds: Sequence[int]) -> None:
    """Remove what killed workers left half-written; as soon as they are dead, but soon."""
    patience = time.monotonic() + 0.5
    while folder.has_leftovers() and time.monotonic() < patience:
        for fold in folds:
            with folder.hold(fold):  # which sweeps
                pass
        time.sleep(0.02)

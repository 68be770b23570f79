"""A session: the folds of an experiment brought to their results, as a stream of events.

The command line, the library call and whatever comes later listen to it. The results are in the
run folder, where several processes may work at once: a fold that another one holds is left to it.
"""

import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
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
    check_executor,
    check_folds,
    check_network,
    check_path,
    network_limits,
    parse_folds,
)
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
from unseen.runs.local_workers import LocalWorkers, WorkerDiedError, available_cores
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
    executor: Executor | None = None,
    *,
    jobs: int | None = None,
    restart: bool = False,
    name: str | None = None,
) -> Generator[Event, None, None]:
    """Finish the folds of an experiment that are not done yet, and yield what happens.

    `executor` runs the folds; by default that many local processes at a time as `jobs` says, or one
    for each core. Everything is checked before anything is written. Closing the generator, or an
    error within it, cancels the folds that are under way, which kills local processes; what was
    saved until then stays, and the next session goes on from it. An executor that was handed over
    is not shut down. `name` is one to find the run by, which changes nothing else of it.

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
    check_executor(executor, jobs)
    check_device(experiment.device)
    if experiment.problem.symbols == "fashion-mnist" and find_fashion_mnist() is None:
        yield from (Downloaded(*news) for news in fetch_fashion_mnist())
    task = make_task(experiment.problem)
    chosen = check_folds(named, len(task.folds))
    is_ours = executor is None
    if executor is None:
        executor = _local_executor(experiment, jobs)
    try:
        yield from check_network(experiment, task, chosen, executor)
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
            left = yield from _finish(experiment, folder, chosen, executor, restart=restart)
        except UnseenError:
            folder.refuse_gone()  # which explains whatever else failed
            raise
        folder.refuse_gone()
    finally:
        if is_ours:
            executor.shutdown(wait=False)
    yield Ended(tuple(fold for fold in chosen if fold not in left), tuple(left))


def _local_executor(experiment: Experiment, jobs: int | None) -> Executor:
    if not all(part.is_installed for part in added_parts(experiment).values()):
        return ThreadPoolExecutor(1)  # other processes do not know what was registered in this one
    jobs = jobs or max(1, available_cores() // experiment.threads)
    return LocalWorkers(jobs, experiment.problem.symbols)


def _finish(
    experiment: Experiment,
    folder: RunFolder,
    folds: Sequence[int],
    executor: Executor,
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
    left = yield from _run(experiment, folder, missing, executor)
    # the processes that held these may have died since
    left = yield from _run(experiment, folder, left, executor)
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
    experiment: Experiment, folder: RunFolder, folds: Sequence[int], executor: Executor
) -> Generator[Event, None, list[int]]:
    """Run some folds; returns those that another process holds."""
    followers = {fold: FoldFollower(folder, fold) for fold in folds}
    left: list[int] = []
    died: list[UnseenError] = []
    jobs = (FoldJob(folder, experiment, fold) for fold in folds)
    with closing(FoldQueue(executor, jobs)) as queue:
        while queue:
            ended = queue.advance(POLL_SECONDS)
            folder.refuse_gone()
            for job in (*queue.running.values(), *(job for job, _ in ended)):
                yield from followers[job.fold].news()
            for job, end in ended:
                if isinstance(end, FoldResult):
                    yield FoldDone(job.fold)
                elif isinstance(end, Note):
                    yield end
                elif isinstance(end, WorkerDiedError):  # the others may well be finished
                    died.append(UnseenError(f"fold {job.fold} was not finished: {end}"))
                elif isinstance(end, Exception):
                    raise end
                else:
                    left.append(job.fold)
    if died:
        raise died[0]
    return left


@dataclass
class FoldFollower:
    """Reads from a run folder what is new in a fold, whichever process runs it."""

    folder: RunFolder
    fold: int
    reached: tuple[int, float] = (0, 0.0)  # start and epochs of the last progress
    measured: list[Measurement] = field(default_factory=list)
    stamp: tuple[int, int] | None = None  # of the file of measurements

    def news(self) -> Iterator[Progressed | Measured]:
        """What has happened since the last time; what a restarted fold measures again is news."""
        stamp, self.stamp = self.stamp, self.folder.measurements_stamp(self.fold)
        if stamp != self.stamp:
            known, self.measured = self.measured, self.folder.measurements(self.fold)
            yield from (Measured(self.fold, each) for each in self.measured if each not in known)
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
            with suppress(DamagedFileError):  # to be run again
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

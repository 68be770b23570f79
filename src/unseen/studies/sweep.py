"""A study brought to its results: what is done is found, the rest goes through an executor."""

import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from unseen.errors import UnseenError, first_line
from unseen.networks.own_files import is_own
from unseen.problem.task import make_task
from unseen.runs.checks import check_device, check_network
from unseen.runs.engine import LocalProcesses
from unseen.runs.events import Note
from unseen.runs.fold import FoldResult
from unseen.runs.queue import FoldJob, FoldQueue
from unseen.runs.run_folder import RunFolder
from unseen.studies.study import Study, StudyRun

POLL_SECONDS = 0.2
SECONDS_BEFORE_ANOTHER_LOOK = 1.0  # at folds that other processes held


@dataclass(frozen=True)
class Plan:
    """A study in a runs folder: its runs, and the folds of them that are done."""

    study: Study
    runs: Mapping[RunFolder, StudyRun]
    done: Mapping[RunFolder, Mapping[int, FoldResult]]

    @cached_property
    def missing(self) -> list[FoldJob]:
        """The folds that are still to be run, in the order of the study."""
        return [
            FoldJob(folder, run.experiment, fold)
            for folder, run in self.runs.items()
            for fold in run.folds
            if fold not in self.done[folder]
        ]

    @cached_property
    def fold_count(self) -> int:
        return sum(len(run.folds) for run in self.runs.values())

    @property
    def done_count(self) -> int:
        return sum(map(len, self.done.values()))

    def first_missing(self) -> Iterator[tuple[FoldJob, int]]:
        """Of each run that is not done, a fold that is missing, and how many are."""
        for folder, run in self.runs.items():
            if count := len(run.folds) - len(self.done[folder]):
                fold = next(each for each in run.folds if each not in self.done[folder])
                yield FoldJob(folder, run.experiment, fold), count


@dataclass(frozen=True)
class StudyFold:
    """A fold of a study has come to an end: its result, or why it has none."""

    folder: RunFolder
    run: StudyRun
    fold: int
    result: FoldResult | None
    error: str = ""
    was_done: bool = False  # before this sweep


@dataclass(frozen=True)
class StudyNote:
    """Something to tell a person about a run."""

    folder: RunFolder
    note: Note


@dataclass(frozen=True)
class Working:
    """The study goes on; these folds are with the executor."""

    running: tuple[FoldJob, ...]
    waiting: int


StudyEvent = StudyFold | StudyNote | Working


@dataclass
class Tally:
    """How far a sweep has come."""

    whole: int
    done: int = 0
    failed: list[StudyFold] = field(default_factory=list)
    left: int = 0  # to other processes

    def count(self, fold: StudyFold) -> None:
        if fold.result is not None:
            self.done += 1
        elif fold.error:
            self.failed.append(fold)
        else:
            self.left += 1


def plan_study(study: Study, runs_dir: Path) -> Plan:
    """Find what is done of a study; nothing is written.

    A result counts if its record is whole: nothing else of a fold is used by a study.
    """
    runs = study.by_folder(runs_dir)
    done = {}
    for folder, run in runs.items():
        results = folder.results(thorough=False)[0] if folder.is_there() else []
        done[folder] = {each.fold: each for each in results if each.fold in run.folds}
    return Plan(study, runs, done)


def check_plan(plan: Plan, executor: Executor) -> None:
    """Refuse what cannot work before anything is run: devices that are not there, and networks.

    A network of one's own is not tried here; a fold of it that fails is one that failed.
    """
    tried = set()
    for run in plan.runs.values():
        problem, model = run.experiment.problem, run.experiment.training.model
        kind = run.experiment.device, model, problem.symbols, problem.length
        if kind not in tried and not is_own(model):
            tried.add(kind)
            if isinstance(executor, LocalProcesses):  # else it is the workers' matter
                check_device(run.experiment.device)
            [*check_network(run.experiment, make_task(problem), run.folds, executor)]


def sweep(plan: Plan, executor: Executor) -> Generator[StudyEvent, None, None]:
    """Run what is missing of a study, and yield every fold of it: first those that were done.

    A fold that fails is recorded as failed, and the others go on. Closing the generator, or an
    error within it, cancels the folds that are under way; what was saved stays.
    """
    for folder, run in plan.runs.items():
        for fold, result in plan.done[folder].items():
            yield StudyFold(folder, run, fold, result, was_done=True)
    begun: set[RunFolder] = set()

    def begin(job: FoldJob) -> None:
        if job.folder not in begun:
            job.folder.create(job.experiment)
            begun.add(job.folder)

    left = yield from _run(plan, FoldQueue(executor, plan.missing, begin))
    if left:  # the processes that held these may have died since, or have finished them
        time.sleep(SECONDS_BEFORE_ANOTHER_LOOK)
        for job in (yield from _run(plan, FoldQueue(executor, left, begin))):
            yield StudyFold(job.folder, plan.runs[job.folder], job.fold, None)


def folds_as_they_are(plan: Plan, tally: Tally) -> Iterator[StudyFold]:
    """Every fold of a study as the run folders have it now, or as it failed in this sweep."""
    failed = {(each.folder, each.fold): each for each in tally.failed}
    now = plan_study(plan.study, next(iter(plan.runs)).path.parent)
    for folder, run in now.runs.items():
        for fold in run.folds:
            there = StudyFold(folder, run, fold, now.done[folder].get(fold))
            yield failed.get((folder, fold), there) if there.result is None else there


def _run(plan: Plan, queue: FoldQueue) -> Generator[StudyEvent, None, list[FoldJob]]:
    left = []
    with closing(queue):
        while queue:
            for job, end in queue.advance(POLL_SECONDS):
                folder, run = job.folder, plan.runs[job.folder]
                if isinstance(end, FoldResult):
                    yield StudyFold(folder, run, job.fold, end)
                elif isinstance(end, Note):
                    yield StudyNote(folder, end)
                elif isinstance(end, Exception):
                    yield StudyFold(folder, run, job.fold, None, _recorded(job, end))
                else:
                    left.append(job)
            yield Working(tuple(queue.running.values()), len(queue.waiting))
    return left


def _recorded(job: FoldJob, error: Exception) -> str:
    """What a fold failed with, in a line; all of it is kept in its folder where that can be."""
    said = str(error)
    with suppress(UnseenError):  # a disk that is full, which may well be why it failed
        log = "\n".join([said, *getattr(error, "__notes__", ())])
        job.folder.record_failure(job.fold, log)
    if isinstance(error, UnseenError):
        return said
    return said.strip().splitlines()[-1] if said.strip() else first_line(error)


def failures(tally: Tally) -> Iterator[tuple[str, int]]:
    """What folds failed with, and how many with the same."""
    yield from Counter(each.error for each in tally.failed).most_common()

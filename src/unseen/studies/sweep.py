"""A study brought to its results: what is done is found, the rest goes through an executor."""

import time
from collections.abc import Generator, Mapping
from concurrent.futures import Executor
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from unseen.errors import UnseenError, first_line
from unseen.networks.models import MODELS
from unseen.networks.own_files import is_own
from unseen.problem.symbols import load_symbols
from unseen.problem.task import make_task
from unseen.runs.checks import check_device, check_network
from unseen.runs.events import Note
from unseen.runs.experiment import Experiment
from unseen.runs.fold import FoldResult
from unseen.runs.local_workers import LocalWorkers
from unseen.runs.presets import PRESETS
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

    @property
    def fold_count(self) -> int:
        return sum(len(run.folds) for run in self.runs.values())

    @property
    def done_count(self) -> int:
        return sum(map(len, self.done.values()))

    def seconds_left(self) -> float:
        """Roughly what the missing folds take on one core, in proportion to those that are done."""
        left = expected = taken = 0.0
        for folder, run in self.runs.items():
            rough, done = rough_seconds(run.experiment), self.done[folder]
            left += rough * (len(run.folds) - len(done))
            expected += rough * len(done)
            taken += sum(result.seconds for result in done.values())
        return left * taken / expected if expected else left


@dataclass(frozen=True)
class StudyFold:
    """A fold of a study has come to an end: done, failed, or left to another process."""

    folder: RunFolder
    run: StudyRun
    fold: int
    result: FoldResult | None
    error: str = ""
    was_done: bool = False  # before this sweep


@dataclass(frozen=True)
class StudyNote:
    """A note about a run, for the terminal."""

    folder: RunFolder
    note: Note


@dataclass(frozen=True)
class Working:
    """The study goes on; these folds are with the executor."""

    running: tuple[FoldJob, ...]
    waiting: int


StudyEvent = StudyFold | StudyNote | Working


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


def rough_seconds(experiment: Experiment) -> float:
    """About what a fold takes on one core, in proportion to one of its preset."""
    preset = PRESETS[experiment.name]
    return preset.seconds_per_fold * _pictures(experiment) / _pictures(preset())


def _pictures(experiment: Experiment) -> float:
    """How many pictures a fold learns from and is tested on, weighted by its network's cost."""
    problem, training = experiment.problem, experiment.training
    combinations: int = len(load_symbols(problem.symbols).values) ** problem.length
    unseen = problem.unseen or max(1, combinations // 10)
    learnt = (combinations - unseen) * problem.samples_per_combination * training.epochs
    cost = MODELS[training.model].cost if training.model in MODELS else 1.0
    # a test picture is asked some three times, and an answer costs a third of a training step
    return cost * (learnt + unseen * problem.test_samples_per_combination)


def check_plan(plan: Plan, executor: Executor) -> None:
    """Refuse what cannot work before anything is run: devices that are not there, and networks.

    A network of the user's own is not tried here; a fold of it that fails is one that failed.
    """
    tried = set()
    for run in plan.runs.values():
        problem, model = run.experiment.problem, run.experiment.training.model
        kind = run.experiment.device, model, problem.symbols, problem.length
        if kind not in tried and not is_own(model):
            tried.add(kind)
            if isinstance(executor, LocalWorkers):  # else the devices are those of its workers
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
    text = str(error)
    with suppress(UnseenError):  # a disk that is full, which may well be why it failed
        log = "\n".join([text, *getattr(error, "__notes__", ())])
        job.folder.record_failure(job.fold, log)
    if isinstance(error, UnseenError):
        return text
    return text.strip().splitlines()[-1] if text.strip() else first_line(error)

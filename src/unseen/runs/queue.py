"""Folds on their way through an executor: some at a time, and tried again if a worker dies."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Set
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from unseen.errors import CheckpointError, UnseenError
from unseen.runs.events import Note
from unseen.runs.experiment import Experiment
from unseen.runs.fold import FoldOutcome, FoldResult
from unseen.runs.local_workers import SECONDS_TO_DIE, WorkerDiedError, Workers
from unseen.runs.run_folder import RunFolder
from unseen.runs.worker import work_on_fold

DEATHS_WITHOUT_PROGRESS = 2


@dataclass(frozen=True)
class FoldJob:
    """A fold to be run."""

    folder: RunFolder
    experiment: Experiment
    fold: int


# what has become of a fold: done, left to a process that holds it, failed, or tried again
Ending = FoldResult | Literal["left"] | Exception | Note


class FoldQueue:
    """The folds that an executor is given: of `Workers`, at most two for each slot at a time."""

    def __init__(
        self,
        executor: Executor,
        jobs: Iterable[FoldJob],
        prepare: Callable[[FoldJob], object] = lambda job: None,
    ) -> None:
        """`prepare` is called with each fold before the executor gets it."""
        self.waiting = deque(jobs)
        self.running: dict[Future[FoldOutcome | None], FoldJob] = {}
        self._executor, self._prepare = executor, prepare
        self._in_use: dict[RunFolder, tuple[Path, ExitStack]] = {}
        # by run, by fold and by how far it had come
        self._deaths: Counter[tuple[Path, int, int, int]] = Counter()

    def __bool__(self) -> bool:
        """Whether there is anything left to do."""
        return bool(self.waiting or self.running)

    def advance(self, seconds: float) -> list[tuple[FoldJob, Ending]]:
        """Wait so long at the most for folds to end, write them, and hand out the next."""
        self._fill()
        self._let_go(but={job.folder for job in self.running.values()})
        ended, _ = wait(self.running, timeout=seconds, return_when=FIRST_COMPLETED)
        endings = []
        for future in [each for each in self.running if each in ended]:
            job = self.running.pop(future)
            endings.append((job, self._ending(future, job)))
        self.waiting.extendleft(job for job, end in endings if isinstance(end, Note))
        return endings

    def close(self) -> None:
        """Stop what is under way, as far as the executor can, and let go of all runs."""
        for future in self.running:
            future.cancel()
        wait([each for each in self.running if not each.cancelled()], SECONDS_TO_DIE)
        for job in self.running.values():
            if job.folder.has_leftovers():
                with job.folder.hold(job.fold):  # which removes what was left half-written
                    pass
        self._let_go(but=set())

    def _let_go(self, but: Set[RunFolder]) -> None:
        for folder in self._in_use.keys() - but:
            self._in_use.pop(folder)[1].close()

    def _mark(self, folder: RunFolder) -> Path:
        """The file that says that a run is in use here."""
        if folder not in self._in_use:
            users = ExitStack()
            self._in_use[folder] = users.enter_context(folder.in_use()), users
        folder.refuse_gone()
        return self._in_use[folder][0].absolute()

    def _fill(self) -> None:
        if not self.waiting:
            return
        most = len(self.waiting) + len(self.running)
        if isinstance(self._executor, Workers):  # another does not say how many it runs
            most = 2 * self._executor.slots
        while self.waiting and len(self.running) < most:
            self._submit(self.waiting.popleft())

    def _submit(self, job: FoldJob) -> None:
        try:
            self._prepare(job)
            arguments = self._mark(job.folder), job.experiment, job.fold
            future = self._executor.submit(work_on_fold, *arguments)
        except (UnseenError, BrokenExecutor) as error:  # ends at once
            future = Future()
            future.set_exception(error)
        self.running[future] = job

    def _ending(self, future: Future[FoldOutcome | None], job: FoldJob) -> Ending:
        fold, folder = job.fold, job.folder
        try:
            if (outcome := future.result()) is None:
                result = folder.result(fold, thorough=False)
            else:
                result = outcome.result if folder.keep(outcome) else None
            return result or "left"
        except CheckpointError as error:  # its hash was right, but it is of no use
            folder.tidy(fold)
            return Note("fold damaged", fold, {"path": str(folder.path), "fault": str(error)})
        except CancelledError:
            return Note("scheduler gone", fold)
        except WorkerDiedError as death:
            return self._after_death(job) if death.was_killed else death
        except Exception as error:
            # the second of Dask, which is not imported here
            if isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker":
                return self._after_death(job)
            return error

    def _after_death(self, job: FoldJob) -> Note | WorkerDiedError:
        progress = job.folder.progress(job.fold)
        reached = (progress.start, progress.epochs_done) if progress else (1, 0)
        death = job.folder.path, job.fold, *reached
        self._deaths[death] += 1
        if self._deaths[death] >= DEATHS_WITHOUT_PROGRESS:
            return WorkerDiedError(None, self._deaths[death])
        return Note("worker died", job.fold)

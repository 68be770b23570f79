"""Folds on their way through an engine: some at a time, and tried again where a worker died."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Set
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from unseen.errors import CheckpointError, UnseenError
from unseen.runs.engine import ConnectionLostError, Engine, WorkerDiedError
from unseen.runs.events import Note
from unseen.runs.experiment import Experiment
from unseen.runs.fold import FoldResult
from unseen.runs.run_folder import RunFolder
from unseen.runs.worker import complete_fold

DEATHS_WITHOUT_PROGRESS = 5


@dataclass(frozen=True)
class FoldJob:
    """A fold to be run."""

    folder: RunFolder
    experiment: Experiment
    fold: int


# what has become of a fold: done, left to a process that holds it, failed, or tried again
Ending = FoldResult | Literal["left"] | Exception | Note


class NotFinishedError(UnseenError):
    """A fold whose process ended before it."""

    def __init__(self, fold: int, reason: str) -> None:
        super().__init__(f"fold {fold} was not finished: {reason}")
        self.reason = reason


class FoldQueue:
    """The folds that an engine is given, at most two for each of its slots at a time."""

    def __init__(
        self,
        engine: Executor,
        tasks: Iterable[FoldJob],
        prepare: Callable[[FoldJob], None] = lambda job: None,
    ) -> None:
        """`prepare` is called with each fold before the engine gets it."""
        self.waiting = deque(tasks)
        self.running: dict[Future[FoldResult | None], FoldJob] = {}
        self._engine, self._prepare = engine, prepare
        self._in_use: dict[RunFolder, ExitStack] = {}
        # by run, by fold and by how far it had come
        self._deaths: Counter[tuple[Path, int, int, int]] = Counter()
        # of the tasks that are running, how many deaths are among those
        self._counted: Counter[Future[FoldResult | None]] = Counter()

    def __bool__(self) -> bool:
        """Whether there is anything left to do."""
        return bool(self.waiting or self.running)

    def advance(self, seconds: float) -> list[tuple[FoldJob, Ending]]:
        """Wait so long at the most for folds to end, and hand out the next."""
        self._fill()
        ended, _ = wait(self.running, timeout=seconds, return_when=FIRST_COMPLETED)
        tasks = {future: self.running.pop(future) for future in [*self.running] if future in ended}
        endings = [(job, self._ending(future, job)) for future, job in tasks.items()]
        for future in tasks:
            del self._counted[future]
        self.waiting.extendleft(job for job, end in endings if isinstance(end, Note))
        endings += self._begun_again()
        self._fill()
        self._let_go({job.folder for job in self.running.values()})
        return endings

    def close(self) -> None:
        """Let go of all runs."""
        self._let_go(set())

    def _let_go(self, needed: Set[RunFolder]) -> None:
        for folder in self._in_use.keys() - needed:
            self._in_use.pop(folder).close()

    def _begun_again(self) -> list[tuple[FoldJob, Ending]]:
        """What an engine has begun again by itself: told, or ended after too many deaths."""
        endings: list[tuple[FoldJob, Ending]] = []
        for future, job in [*self.running.items()]:
            if isinstance(self._engine, Engine) and self._deaths_of(future):
                end = self._after_death(job, future, WorkerDiedError(None, deaths=0))
                endings.append((job, end))
                if not isinstance(end, Note):
                    del self.running[future], self._counted[future]
                    self._engine.kill(future)
        return endings

    def _deaths_of(self, future: Future[FoldResult | None]) -> int:
        """How often an engine has begun a job again since that was counted."""
        deaths = self._engine.deaths(future) if isinstance(self._engine, Engine) else 0
        return deaths - self._counted[future]

    def _fill(self) -> None:
        # an executor of somebody else's does not say how many it takes
        most = 2 * self._engine.slots if isinstance(self._engine, Engine) else len(self.waiting)
        while self.waiting and len(self.running) < max(most, 1):
            job = self.waiting.popleft()
            self.running[self._submit(job)] = job

    def _submit(self, job: FoldJob) -> Future[FoldResult | None]:
        arguments = (job.folder.path, job.experiment, job.fold)
        try:
            self._prepare(job)
            if job.folder not in self._in_use:
                self._in_use[job.folder] = ExitStack()
                self._in_use[job.folder].enter_context(job.folder.in_use())
        except UnseenError as error:
            refused: Future[FoldResult | None] = Future()
            refused.set_exception(error)
            return refused
        if isinstance(self._engine, Engine):
            return self._engine.submit_fold(*arguments)
        return self._engine.submit(complete_fold, *arguments)

    def _ending(self, future: Future[FoldResult | None], job: FoldJob) -> Ending:
        fold, folder = job.fold, job.folder
        try:
            return future.result() or "left"
        except CheckpointError as error:  # its hash was right, but it is of no use
            folder.tidy(fold)
            return Note("fold damaged", fold, {"path": str(folder.path), "fault": str(error)})
        except ConnectionLostError:
            return Note("scheduler gone", fold)
        except WorkerDiedError as dead:
            return self._after_death(job, future, dead)
        except Exception as error:
            return error

    def _after_death(
        self, job: FoldJob, future: Future[FoldResult | None], dead: WorkerDiedError
    ) -> Ending:
        if not dead.was_killed:
            return NotFinishedError(job.fold, str(dead))
        progress = job.folder.progress(job.fold)
        reached = (progress.start, progress.epochs_done) if progress else (1, 0)
        death = job.folder.path, job.fold, *reached
        begun_again = self._deaths_of(future)
        self._counted[future] += begun_again
        self._deaths[death] += begun_again + dead.deaths
        if self._deaths[death] >= DEATHS_WITHOUT_PROGRESS:
            return NotFinishedError(
                job.fold,
                f"its process was killed {self._deaths[death]} times without finishing another "
                "epoch; is memory short? Fewer folds at once need less",
            )
        return Note("worker died", job.fold)

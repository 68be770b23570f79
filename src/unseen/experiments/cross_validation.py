"""A cross-validation: folds to results, taken up where they stopped."""

import math
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from unseen.errors import UnseenError
from unseen.experiments.engine import WorkerDiedError
from unseen.experiments.experiment import Experiment
from unseen.experiments.fold import fold_steps
from unseen.experiments.posing import pose
from unseen.experiments.run_folder import FoldProgress, RunFolder, current_environment
from unseen.files import DamagedFileError
from unseen.problem.leakage import WARNING, in_words

POLL_SECONDS = 0.1
SECONDS_BETWEEN_WORDS = 0.5
DEATHS_WITHOUT_PROGRESS = 5


@dataclass(frozen=True)
class Note:
    """Something that whoever watches should be told, or may like to know."""

    text: str
    urgent: bool = True


@dataclass(frozen=True)
class RunProgress:
    """How far the folds have come: those done, and those under way here."""

    done: frozenset[int]
    running: dict[int, FoldProgress]


def cross_validate(
    experiment: Experiment,
    folder: RunFolder,
    folds: Sequence[int],
    executor: Executor,
    *,
    fresh: bool = False,
) -> Iterator[Note | RunProgress]:
    """Finish the folds that are not done, and tell how it goes.

    The results are in the folder, where several processes may work at once: a fold that another
    one holds is left to it.
    """
    if (damaged := folder.create(experiment)) is not None:
        yield Note(f"{damaged} was damaged; written anew")
    if fresh:
        yield from _discard(folder, folds)
    begun_with = folder.environment().get("torch")
    if begun_with != (torch := current_environment()["torch"]):
        yield Note(f"begun with torch {begun_with}, going on with {torch}: last bits may differ")
    missing = []
    for fold in folds:
        try:
            if folder.result(fold) is not None:
                folder.tidy(fold)
                continue
            folder.checkpoint(fold)
        except DamagedFileError as damage:
            yield Note(f"{damage}; fold {fold} is run again")
        missing.append(fold)
    if missing:
        posed = pose(experiment.problem)
        for words in in_words(posed.combinations, [posed.folds[fold - 1] for fold in folds]):
            yield Note(words, urgent=words.startswith(WARNING))
    elsewhere = yield from _run(experiment, folder, folds, missing, executor)
    # whoever held these may have died since
    elsewhere = yield from _run(experiment, folder, folds, elsewhere, executor)
    for fold in elsewhere:
        holder = folder.progress(fold)
        who = f" ({holder.process} on {holder.host})" if holder else ""
        yield Note(f"fold {fold} is being run by another process{who}, and left to it")


def _discard(folder: RunFolder, folds: Sequence[int]) -> Iterator[Note]:
    for fold in folds:
        with folder.hold(fold) as held:
            if held:
                folder.discard(fold)
            else:
                yield Note(f"fold {fold} is being run by another process; not started afresh")


def _run(
    experiment: Experiment,
    folder: RunFolder,
    folds: Sequence[int],
    missing: Sequence[int],
    executor: Executor,
) -> Generator[Note | RunProgress, None, list[int]]:
    """Run the missing folds; returns those that another process holds."""

    def submit(fold: int) -> Future[bool]:
        return executor.submit(complete_fold, folder.path, experiment, fold)

    pending = {submit(fold): fold for fold in missing}
    elsewhere: list[int] = []
    deaths: Counter[tuple[int, int]] = Counter()  # by fold and by how far it had come
    while pending:
        ended, _ = wait(pending, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
        for future in ended:
            fold = pending.pop(future)
            try:
                if not future.result():
                    elsewhere.append(fold)
            except WorkerDiedError:
                progress = folder.progress(fold)
                death = fold, progress.epochs_done if progress else 0
                deaths[death] += 1
                if deaths[death] >= DEATHS_WITHOUT_PROGRESS:
                    raise UnseenError(
                        f"the process of fold {fold} was killed {deaths[death]} times without "
                        "finishing another epoch; is memory short? Fewer --jobs need less of it"
                    ) from None
                yield Note(f"the process of fold {fold} was killed; another one goes on with it")
                pending[submit(fold)] = fold
        running = {fold: folder.progress(fold) for fold in pending.values()}
        yield RunProgress(
            frozenset(folds) - set(running) - set(elsewhere),
            {fold: progress for fold, progress in running.items() if progress},
        )
    return elsewhere


def complete_fold(path: Path, experiment: Experiment, fold: int) -> bool:
    """In a worker: bring a fold to its end, saving as it goes. False if another process has it."""
    folder = RunFolder(path)
    with folder.hold(fold) as held:
        if not held:
            return False
        with suppress(DamagedFileError):
            if folder.result(fold) is not None:
                return True
        folder.discard_result(fold)
        checkpoint = None
        with suppress(DamagedFileError):
            checkpoint = folder.checkpoint(fold)
        if RunFolder.of(experiment, path.parent) != folder:
            raise UnseenError(
                "the symbols or the model's file have changed since the run began, or numba was "
                "installed or removed"
            )
        steps = fold_steps(experiment, fold, checkpoint)
        spoke = -math.inf
        while True:
            try:
                progress = next(steps)
            except StopIteration as end:
                folder.save(end.value)
                return True
            if progress.epoch_ended:
                folder.save_checkpoint(fold, progress.state.to_bytes())
            if progress.epoch_ended or time.monotonic() - spoke > SECONDS_BETWEEN_WORDS:
                spoke = time.monotonic()
                folder.save_progress(
                    fold, progress.epochs_done, progress.epoch_share, progress.loss
                )

"""The files of each fold of a run, under way or done: the only code that knows their names.

    folds/03/  result.json  predictions.npz  model.safetensors
               measurements.jsonl            (a line for each measurement on the way)
               deep.json                     (worked out from them on demand)
               checkpoint  progress.json  so_far.safetensors  (while it is under way)
               failure.txt                   (why it was given up, until it is done)
               lock

Each file appears whole or not at all. A fold counts as done once its result.json is there.
"""

import io
import math
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from unseen.errors import UnseenError
from unseen.files import (
    LARGEST_JSON_BYTES,
    DamagedFileError,
    as_json,
    make_folder,
    open_recorded,
    read_checked,
    read_file,
    read_json,
    remove,
    sha256,
    write_checked,
    write_whole,
)
from unseen.locks import is_locked, locked
from unseen.problem.problem import Problem
from unseen.problem.task import make_task
from unseen.runs.experiment import Experiment
from unseen.runs.fold import FoldArrays, FoldOutcome, FoldProgress, table_predictions
from unseen.runs.measuring import MOST_TABLES, Measurement, images_per_position
from unseen.runs.records import FoldRecord

SAVED = ("predictions.npz", "model.safetensors")  # beside a result, which has their hashes
UNDER_WAY = ("checkpoint", "progress.json", "so_far.safetensors", "failure.txt")
ZIP_BYTES = 1024**2  # of an archive, beyond its arrays
MEASUREMENT = TypeAdapter(Measurement)


@dataclass(frozen=True)
class FoldFiles:
    """What the folds of a run left on disk, by their numbers."""

    path: Path  # of the run

    def arrays(self, fold: int, experiment: Experiment) -> FoldArrays:
        """The arrays that a finished fold left; a DamagedFileError if they cannot be its own."""
        return read_arrays(self._file(fold, "predictions.npz"), experiment.problem, fold)

    def weights(self, fold: int) -> bytes:
        """The weights that a finished fold left, as safetensors."""
        path = self._file(fold, "model.safetensors")
        if (content := read_file(path)) is None:
            raise DamagedFileError(path)
        return content

    def missing(self, fold: int) -> list[DamagedFileError]:
        """The files that a finished fold has lost; those that are there are not looked into."""
        paths = [self._file(fold, name) for name in SAVED]
        return [DamagedFileError(path) for path in paths if not os.path.lexists(path)]

    def weights_so_far(self, fold: int) -> bytes | None:
        """The weights of an unfinished fold as they were last measured; None if they never were."""
        return read_file(self._file(fold, "so_far.safetensors"))

    def save_weights_so_far(self, fold: int, content: bytes) -> None:
        # as with progress, losing it to a power cut is no loss
        replace_file(self._file(fold, "so_far.safetensors"), content, sync=False)

    def measurements(self, fold: int) -> list[Measurement]:
        """What was measured of a fold on the way; what cannot be read is left out."""
        found = []
        with suppress(DamagedFileError):
            content = read_file(self._measurements(fold), LARGEST_JSON_BYTES) or b""
            for line in content.splitlines():
                with suppress(ValueError):
                    found.append(MEASUREMENT.validate_json(line))
        return found

    def measurements_stamp(self, fold: int) -> tuple[int, int]:
        """Time and size of the file of measurements: others when there is news."""
        try:
            status = self._measurements(fold).stat()
        except OSError:
            return 0, 0
        return status.st_mtime_ns, status.st_size

    def add_measurement(self, fold: int, measurement: Measurement) -> None:
        """Add a line, after those of earlier epochs; it replaces what went further before."""
        kept = [each for each in self.measurements(fold) if each.epochs < measurement.epochs]
        lines = [MEASUREMENT.dump_json(each) + b"\n" for each in (*kept, measurement)]
        if sum(map(len, lines)) <= LARGEST_JSON_BYTES:  # what can be read again
            replace_file(self._measurements(fold), *lines, sync=False)

    def _measurements(self, fold: int) -> Path:
        return self._file(fold, "measurements.jsonl")

    def derived(self, fold: int, name: str) -> bytes | None:
        """What was worked out from a finished fold before; None if nothing was."""
        with suppress(DamagedFileError):
            return read_file(self._file(fold, name), LARGEST_JSON_BYTES)
        return None

    def save_derived(self, fold: int, name: str, content: bytes) -> None:
        replace_file(self._file(fold, name), content)

    def save(self, outcome: FoldOutcome) -> None:
        """Write a finished fold: its result last, with the hashes of the files beside it."""
        fold, arrays = outcome.result.fold, vars(outcome.arrays).items()
        for measurement in outcome.measurements:
            self.add_measurement(fold, measurement)
        np.savez_compressed(
            predictions := io.BytesIO(),
            **{name: each for name, each in arrays if name in STORED and each is not None},
        )
        files = dict(zip(SAVED, (predictions.getvalue(), outcome.model), strict=True))
        for name, content in files.items():
            replace_file(self._file(fold, name), content)
        hashes = {name: sha256(content) for name, content in files.items()}
        record = FoldRecord(result=outcome.result, sha256=hashes)
        replace_file(self._file(fold, "result.json"), as_json(record.model_dump(mode="json")))
        self.tidy(fold)

    def checkpoint(self, fold: int) -> bytes | None:
        """What a fold under way last saved; damaged if it is that of another fold or run."""
        return read_checked(self._file(fold, "checkpoint"), self._owner(fold))

    def save_checkpoint(self, fold: int, content: bytes) -> None:
        write_checked(self._file(fold, "checkpoint"), content, self._owner(fold))

    def _owner(self, fold: int) -> str:
        """Whose a checkpoint is: the run's folder is named by its fingerprint."""
        return f"{self.path.absolute().name} fold {fold}"

    def progress(self, fold: int) -> FoldProgress | None:
        """How far an unfinished fold has come; None if no process has begun it."""
        try:
            return FoldProgress.model_validate(read_json(self._file(fold, "progress.json")))
        except (UnseenError, ValueError, TypeError):
            return None

    def save_progress(self, fold: int, progress: FoldProgress) -> None:
        # losing it to a power cut is no loss, so it need not reach the disk at once
        content = progress.model_dump_json().encode()
        replace_file(self._file(fold, "progress.json"), content, sync=False)

    def record_failure(self, fold: int, error: str) -> None:
        """Keep why a fold was given up; the next that finishes it removes this."""
        make_folder(self._fold(fold))
        replace_file(self._file(fold, "failure.txt"), f"{error}\n".encode())

    def discard(self, fold: int) -> None:
        """Forget a fold altogether."""
        self.discard_result(fold)
        self.tidy(fold)
        remove(self._measurements(fold))

    def discard_result(self, fold: int) -> None:
        """Forget what a fold came to: its result first, so that it is never half there."""
        for name in ("result.json", *SAVED, "deep.json"):
            remove(self._file(fold, name))

    def tidy(self, fold: int) -> None:
        """Remove what only a fold under way needs."""
        for name in UNDER_WAY:
            remove(self._file(fold, name))

    def has_leftovers(self) -> bool:
        """Whether some killed process left part of a file."""
        return any(self.path.glob("folds/*/.*.part"))

    def hold(self, fold: int) -> AbstractContextManager[bool]:
        """Hold a fold against other processes; False if one of them has it."""
        for folder in (self._folds, self._fold(fold)):
            make_way(folder)
        return locked(self._file(fold, "lock"))

    def is_held(self, fold: int) -> bool:
        """Whether a process works on a fold."""
        return is_locked(self._file(fold, "lock"))

    def folds(self) -> list[int]:
        """The folds that were begun, in order."""
        names = sorted(path.name for path in self.path.glob("folds/*"))
        return [int(name) for name in names if name.isdecimal()]

    def fold_of(self, path: Path) -> int | None:
        """The fold that a file belongs to; None if it belongs to none."""
        fold = int(path.parent.name) if path.parent.name.isdecimal() else 0
        return fold if path.parent == self._fold(fold) else None

    def _file(self, fold: int, name: str) -> Path:
        return self._fold(fold) / name

    def _fold(self, fold: int) -> Path:
        return self._folds / f"{fold:02d}"

    @property
    def _folds(self) -> Path:
        return self.path / "folds"


def make_way(folder: Path) -> None:
    """Remove what stands where a folder should be."""
    if not folder.is_dir():
        remove(folder)


def replace_file(path: Path, *pieces: bytes, sync: bool = True) -> None:
    """Write a file, replacing whatever is there."""
    if path.is_dir():
        remove(path)
    write_whole(path, *pieces, sync=sync)


def read_arrays(path: Path, problem: Problem, fold: int) -> FoldArrays:
    """The arrays that a finished fold left; damaged where they are not what the problem implies."""
    task = make_task(problem)
    unseen, table = task.unseen(fold), task.combinations
    rows = np.repeat(unseen, problem.test_samples_per_combination).astype(np.int32)
    if (file := open_recorded(path)) is None:
        raise DamagedFileError(path)
    try:
        with file:
            found = load_arrays(file, stored_shapes(problem, fold))
        arrays = FoldArrays(answer=table.answers[rows], combination=rows, **found)
        shown = task.bank.test.labels[arrays.images]
        is_whole = np.array_equal(shown, table.digits[rows]) and (
            arrays.table_rows is None or np.isin(arrays.table_rows, unseen).all()
        )
    except Exception as error:  # archives and headers that lie do so in many ways
        raise DamagedFileError(path, "its arrays are not those of this fold") from error
    if not is_whole:
        raise DamagedFileError(path, "its samples are not those of this fold")
    return arrays


def load_arrays(file: BinaryIO, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, NDArray[Any]]:
    """The arrays of an archive; a ValueError where they have other types or shapes than these."""
    with np.load(file, allow_pickle=False) as archive:
        sizes = [math.prod(shape) * STORED[name].itemsize for name, shape in shapes.items()]
        if sum(member.file_size for member in archive.zip.infolist()) > sum(sizes) + ZIP_BYTES:
            raise ValueError("it unpacks to more than it may hold")
        found = {name: archive[name] for name in archive.files}
    if {*found} not in ({*STORED}, {"prediction", "images"}):
        raise ValueError(f"it has {', '.join(found)}")
    for name, array in found.items():
        if (array.dtype, array.shape) != (STORED[name], shapes[name]):
            raise ValueError(f"{name} is {array.dtype} of {array.shape}")
    return found


def stored_shapes(problem: Problem, fold: int) -> dict[str, tuple[int, ...]]:
    """The shape of each array that a fold leaves."""
    task = make_task(problem)
    combinations, positions = task.combinations.digits.shape
    unseen = len(task.unseen(fold))
    samples, tables = unseen * problem.test_samples_per_combination, min(unseen, MOST_TABLES)
    images = images_per_position(table_predictions(problem), positions)
    return {
        "prediction": (samples,),
        "images": (samples, positions),
        "means": (combinations,),
        "table_rows": (tables,),
        "tables": (tables, *[images] * positions),
    }


# what is kept of FoldArrays, with its type; the rest follows from the experiment
STORED: dict[str, np.dtype[Any]] = {
    "prediction": np.dtype(np.float32),
    "images": np.dtype(np.int32),
    "means": np.dtype(np.float64),
    "table_rows": np.dtype(np.intp),
    "tables": np.dtype(np.float32),
}

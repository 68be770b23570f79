"""The files of each fold of a run, under way or done: the only code that knows their names.

    folds/03/  result.json  predictions.npz  model.safetensors
               measurements.jsonl            (a line for each measurement on the way)
               deep.json                     (worked out from them on demand)
               checkpoint  progress.json  so_far.safetensors  (while it is under way)
               failure.txt                   (why it was given up, until it is done)
               lock

Each file appears whole or not at all, measurements line by line. A fold counts as done once its
result.json is there.
"""

import io
import json
import math
import os
import socket
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from unseen.errors import UnseenError, printable
from unseen.files import (
    LARGEST_JSON_BYTES,
    DamagedFileError,
    as_json,
    file_sha256,
    make_folder,
    read_checked,
    read_file,
    read_json,
    remove,
    sha256,
    write_checked,
    write_whole,
)
from unseen.locks import is_locked, locked
from unseen.runs.experiment import Experiment
from unseen.runs.fold import FoldArrays, FoldOutcome
from unseen.runs.fold_checks import read_arrays
from unseen.runs.measurements_file import MeasurementsFile
from unseen.runs.records import sealed
from unseen.settings import Frozen

SAVED = ("predictions.npz", "model.safetensors")  # beside a result, which has their hashes


class FoldProgress(Frozen):
    """How far an unfinished fold has come, as its process last reported."""

    epochs_done: Annotated[int, Field(ge=0, le=1_000_000)]
    epoch_share: Annotated[float, Field(ge=0, le=1)]
    loss: float | None
    start: Annotated[int, Field(ge=1)] = 1
    process: int
    host: str

    @property
    def epochs(self) -> float:
        return self.epochs_done + self.epoch_share


@dataclass(frozen=True)
class FoldFiles:
    """What the folds of a run left on disk, by their numbers."""

    path: Path  # of the run

    def arrays(self, fold: int, experiment: Experiment) -> FoldArrays:
        """The arrays that a finished fold left; a DamagedFileError if they cannot be its own."""
        return read_arrays(self._fold(fold) / "predictions.npz", experiment.problem, fold)

    def weights(self, fold: int) -> bytes:
        """The weights that a finished fold left, as safetensors."""
        path = self._fold(fold) / "model.safetensors"
        if (content := read_file(path)) is None:
            raise DamagedFileError(path)
        return content

    def missing(self, fold: int) -> list[DamagedFileError]:
        """The files that a finished fold has lost; those that are there are not looked into."""
        paths = [self._fold(fold) / name for name in SAVED]
        return [DamagedFileError(path) for path in paths if not os.path.lexists(path)]

    def weights_so_far(self, fold: int) -> bytes | None:
        """The weights of an unfinished fold as they were last measured; None if they never were."""
        return read_file(self._fold(fold) / "so_far.safetensors")

    def save_weights_so_far(self, fold: int, content: bytes) -> None:
        # as with progress, losing it to a power cut is no loss
        self._write(self._fold(fold) / "so_far.safetensors", content, sync=False)

    def measurements(self, fold: int) -> MeasurementsFile:
        """What was measured of a fold on the way."""
        return MeasurementsFile(self._fold(fold) / "measurements.jsonl")

    def derived(self, fold: int, name: str) -> bytes | None:
        """What was worked out from a fold before; None if its result is no longer the same."""
        whole = read_file(self._fold(fold) / name, LARGEST_JSON_BYTES) or b""
        key, _, content = whole.partition(b"\n")
        return content if key == self._key(fold) and content else None

    def save_derived(self, fold: int, name: str, content: bytes) -> None:
        self._write(self._fold(fold) / name, self._key(fold) + b"\n" + content)

    def _key(self, fold: int) -> bytes:
        return (file_sha256(self._fold(fold) / "result.json") or "").encode()

    def save(self, outcome: FoldOutcome) -> None:
        """Write a finished fold: its result last, with the hashes of the files beside it."""
        folder = self._fold(outcome.result.fold)
        predictions = io.BytesIO()
        arrays = {name: array for name, array in vars(outcome.arrays).items() if array is not None}
        np.savez_compressed(predictions, **arrays)
        files = dict(zip(SAVED, (predictions.getvalue(), outcome.model), strict=True))
        for name, content in files.items():
            self._write(folder / name, content)
        record = {
            "result": json.loads(outcome.result.model_dump_json()),
            "files": {name: sha256(content) for name, content in files.items()},
        }
        self._write(folder / "result.json", sealed(record))
        self.tidy(outcome.result.fold)

    def checkpoint(self, fold: int) -> bytes | None:
        """What a fold under way last saved; damaged if it is that of another fold or run."""
        path = self._fold(fold) / "checkpoint"
        if (saved := read_checked(path)) is None:
            return None
        owner, _, content = saved.partition(b"\n")
        if owner != self._owner(fold):
            raise DamagedFileError(
                path, f"it is of {printable(owner[:80].decode(errors='replace'))}"
            )
        return content

    def save_checkpoint(self, fold: int, content: bytes) -> None:
        write_checked(self._fold(fold) / "checkpoint", self._owner(fold) + b"\n" + content)

    def _owner(self, fold: int) -> bytes:
        """Whose a checkpoint is: the run's folder is named by its fingerprint."""
        return os.fsencode(f"{self.path.absolute().name} fold {fold}")

    def progress(self, fold: int) -> FoldProgress | None:
        """How far an unfinished fold has come; None if nobody has begun it."""
        try:
            return FoldProgress.model_validate(read_json(self._fold(fold) / "progress.json"))
        except (UnseenError, ValueError, TypeError):
            return None

    def save_progress(
        self, fold: int, epochs_done: int, epoch_share: float, loss: float, start: int = 1
    ) -> None:
        progress = FoldProgress(
            epochs_done=epochs_done,
            epoch_share=epoch_share,
            loss=loss if math.isfinite(loss) else None,
            start=start,
            process=os.getpid(),
            host=socket.gethostname(),
        )
        # losing it to a power cut is no loss, so it need not reach the disk at once
        path = self._fold(fold) / "progress.json"
        self._write(path, as_json(progress.model_dump()), sync=False)

    def record_failure(self, fold: int, error: str) -> None:
        """Keep why a fold was given up; the next that finishes it removes this."""
        make_folder(self._fold(fold))
        self._write(self._fold(fold) / "failure.txt", f"{error}\n".encode())

    def discard(self, fold: int) -> None:
        """Forget a fold altogether."""
        self.discard_result(fold)
        self.tidy(fold)
        remove(self.measurements(fold).path)

    def discard_result(self, fold: int) -> None:
        """Forget what a fold came to: its result first, so that it is never half there."""
        for name in ("result.json", *SAVED, "deep.json"):
            remove(self._fold(fold) / name)

    def tidy(self, fold: int) -> None:
        """Remove what only a fold under way needs."""
        for name in ("checkpoint", "progress.json", "so_far.safetensors", "failure.txt"):
            remove(self._fold(fold) / name)

    def has_leftovers(self) -> bool:
        """Whether some killed process left part of a file."""
        return any(self.path.glob("folds/*/.*.part"))

    def hold(self, fold: int) -> AbstractContextManager[bool]:
        """Hold a fold against other processes; False if one of them has it."""
        self._make_way(self._folds)
        self._make_way(self._fold(fold))
        return locked(self._lock_file(fold))

    def _make_way(self, folder: Path) -> None:
        """Remove what has taken the place of a folder."""
        if not folder.is_dir():
            remove(folder)

    def fold_of(self, path: Path) -> int | None:
        """The fold that a file belongs to; None if it belongs to none."""
        fold = int(path.parent.name) if path.parent.name.isdecimal() else 0
        return fold if path.parent == self._fold(fold) else None

    def _write(self, path: Path, *pieces: bytes, sync: bool = True) -> None:
        """Write a file, in the place of whatever is there."""
        if path.is_dir():
            remove(path)
        write_whole(path, *pieces, sync=sync)

    def is_held(self, fold: int) -> bool:
        """Whether a process works on a fold."""
        return is_locked(self._lock_file(fold))

    def _lock_file(self, fold: int) -> Path:
        return self._fold(fold) / "lock"

    def folds(self) -> list[int]:
        """The folds that were begun, in order."""
        names = sorted(path.name for path in self.path.glob("folds/*"))
        return [int(name) for name in names if name.isdecimal()]

    def _fold(self, fold: int) -> Path:
        return self._folds / f"{fold:02d}"

    @property
    def _folds(self) -> Path:
        return self.path / "folds"

"""The run folder: the only code that knows its layout on disk.

    runs/<name>-<fingerprint>/
      experiment.json  environment.json  report.html
      folds/03/  result.json  predictions.npz  model.safetensors
                 deep.json                     (worked out from them on demand)
                 checkpoint  progress.json     (while it is under way)
                 lock

Each file appears whole or not at all, and a fold counts as done once its result.json is there.
"""

import importlib.metadata
import io
import json
import math
import os
import platform
import socket
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import filelock
import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from unseen.errors import UnseenError
from unseen.experiments.experiment import Experiment, Frozen, fingerprint
from unseen.experiments.fold import FoldOutcome, FoldResult
from unseen.experiments.presets import PRESETS
from unseen.files import (
    DamagedFileError,
    as_json,
    make_folder,
    read_file,
    remove,
    sha256,
    write_whole,
)
from unseen.learning.models import has_numba
from unseen.problem.symbols import symbols_sha256

RECORDED_PACKAGES = ("unseen", "torch", "numpy", "safetensors")
SYMBOLS_SUM = "symbols' SHA-256"


class FoldProgress(Frozen):
    """Where an unfinished fold stands, as its process last said."""

    epochs_done: int
    epoch_share: float
    loss: float | None
    process: int
    host: str


@dataclass(frozen=True)
class RunFolder:
    """A run on disk."""

    path: Path

    @classmethod
    def of(cls, experiment: Experiment, runs_dir: Path) -> "RunFolder":
        """The folder that belongs to an experiment, there or not."""
        return cls(runs_dir / f"{experiment.name}-{fingerprint(experiment)}")

    def create(self, experiment: Experiment) -> Path | None:
        """Record the experiment and the machine; returns a damaged record that this replaced."""
        make_folder(self.path)
        if not self.environment():
            symbols = {SYMBOLS_SUM: symbols_sha256(experiment.problem.symbols)}
            write_whole(self._environment_file, as_json(current_environment() | symbols))
        damaged = None
        try:
            if self._experiment_file.exists() and self.experiment() == experiment:
                return None
        except DamagedFileError as damage:
            damaged = damage.path
            remove(damaged)
        write_whole(self._experiment_file, as_json(experiment.model_dump(mode="json")))
        return damaged

    def experiment(self) -> Experiment:
        """The experiment as it was recorded."""
        try:
            return Experiment.model_validate_json(read_file(self._experiment_file) or b"")
        except ValidationError as error:
            raise DamagedFileError(self._experiment_file) from error

    def environment(self) -> dict[str, str]:
        """The machine and the versions that the run was started with; empty if not known."""
        try:
            recorded = json.loads(read_file(self._environment_file) or b"")
        except (ValueError, DamagedFileError):
            return {}
        return recorded if isinstance(recorded, dict) else {}

    def result(self, fold: int) -> FoldResult | None:
        """The result of a fold if it is done; a DamagedFileError if it cannot be trusted."""
        path = self._fold(fold) / "result.json"
        if (content := read_file(path)) is None:
            return None
        try:
            recorded = json.loads(content)
            said_sum = recorded.pop("sha256")
            result = FoldResult.model_validate(recorded["result"])
            siblings: dict[str, str] = recorded["files"]
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise DamagedFileError(path) from error
        if said_sum != sha256(as_json(recorded)) or result.fold != fold:
            raise DamagedFileError(path)
        for name, expected in siblings.items():
            sibling = path.with_name(name)
            if sha256(read_file(sibling) or b"") != expected:
                raise DamagedFileError(sibling)
        return result

    def predictions(self, fold: int) -> dict[str, NDArray[Any]]:
        """The arrays that a finished fold left; a DamagedFileError if they cannot be read."""
        path = self._fold(fold) / "predictions.npz"
        try:
            with np.load(io.BytesIO(read_file(path) or b""), allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files}
        except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise DamagedFileError(path) from error

    def weights(self, fold: int) -> bytes:
        """The weights that a finished fold left, as safetensors."""
        path = self._fold(fold) / "model.safetensors"
        if (content := read_file(path)) is None:
            raise DamagedFileError(path)
        return content

    def derived(self, fold: int, name: str) -> bytes | None:
        """What was worked out from a fold before; None if its result is no longer the same."""
        folder = self._fold(fold)
        key, _, content = (read_file(folder / name) or b"").partition(b"\n")
        return content if key == self._key(fold) and content else None

    def save_derived(self, fold: int, name: str, content: bytes) -> None:
        write_whole(self._fold(fold) / name, self._key(fold) + b"\n" + content)

    def _key(self, fold: int) -> bytes:
        return sha256(read_file(self._fold(fold) / "result.json") or b"").encode()

    def results(self) -> tuple[list[FoldResult], list[DamagedFileError]]:
        """The results of all folds that are done, in order, and what is damaged."""
        results, damages = [], []
        for path in sorted(self.path.glob("folds/*/result.json")):
            fold = int(path.parent.name) if path.parent.name.isdecimal() else 0
            if path.parent != self._fold(fold):
                continue
            try:
                if (result := self.result(fold)) is not None:
                    results.append(result)
            except DamagedFileError as damage:
                damages.append(damage)
        return results, damages

    def save(self, outcome: FoldOutcome) -> None:
        """Write a finished fold: its result last, with the sums of the files beside it."""
        folder = self._fold(outcome.result.fold)
        predictions = io.BytesIO()
        np.savez_compressed(predictions, **outcome.predictions)  # type: ignore[arg-type]
        files = {"predictions.npz": predictions.getvalue(), "model.safetensors": outcome.model}
        for name, content in files.items():
            write_whole(folder / name, content)
        recorded: dict[str, Any] = {
            "result": json.loads(outcome.result.model_dump_json()),
            "files": {name: sha256(content) for name, content in files.items()},
        }
        recorded["sha256"] = sha256(as_json(recorded))
        write_whole(folder / "result.json", as_json(recorded))
        self.tidy(outcome.result.fold)

    def checkpoint(self, fold: int) -> bytes | None:
        """What a fold under way last saved."""
        path = self._fold(fold) / "checkpoint"
        if (whole := read_file(path)) is None:
            return None
        digest, _, content = whole.partition(b"\n")
        if digest != sha256(content).encode():
            raise DamagedFileError(path)
        return content

    def save_checkpoint(self, fold: int, content: bytes) -> None:
        digest = sha256(content).encode() + b"\n"
        write_whole(self._fold(fold) / "checkpoint", digest, content)

    def progress(self, fold: int) -> FoldProgress | None:
        """Where an unfinished fold stands; None if nobody has begun it."""
        try:
            said = read_file(self._fold(fold) / "progress.json")
            return FoldProgress.model_validate_json(said or b"")
        except (UnseenError, ValidationError):
            return None

    def save_progress(self, fold: int, epochs_done: int, epoch_share: float, loss: float) -> None:
        known_loss = loss if math.isfinite(loss) else None
        said = FoldProgress(
            epochs_done=epochs_done,
            epoch_share=epoch_share,
            loss=known_loss,
            process=os.getpid(),
            host=socket.gethostname(),
        )
        # losing a word to a power cut is no loss, so it need not reach the disk at once
        write_whole(self._fold(fold) / "progress.json", as_json(said.model_dump()), sync=False)

    def discard(self, fold: int) -> None:
        """Forget a fold altogether."""
        self.discard_result(fold)
        self.tidy(fold)

    def discard_result(self, fold: int) -> None:
        """Forget what a fold came to: its result first, so that it is never half there."""
        for name in ("result.json", "predictions.npz", "model.safetensors", "deep.json"):
            remove(self._fold(fold) / name)

    def tidy(self, fold: int) -> None:
        """Remove what only a fold under way needs."""
        for name in ("checkpoint", "progress.json"):
            remove(self._fold(fold) / name)

    def has_leftovers(self) -> bool:
        """Whether some killed process left part of a file."""
        return any(self.path.glob("folds/*/.*.part"))

    @contextmanager
    def hold(self, fold: int) -> Iterator[bool]:
        """Hold a fold against other processes; False if one of them has it.

        The system takes the lock back when its holder dies, however that happens.
        """
        folder = self._fold(fold)
        make_folder(folder)
        lock = filelock.FileLock(folder / "lock")
        try:
            lock.acquire(blocking=False)
        except filelock.Timeout:
            yield False
            return
        except OSError as error:
            raise UnseenError(f"cannot lock {folder}: {error.strerror}") from error
        try:
            for leftover in folder.glob(".*.part"):  # of a process that was killed
                remove(leftover)
            yield True
        finally:
            lock.release()

    def _fold(self, fold: int) -> Path:
        return self.path / "folds" / f"{fold:02d}"

    @property
    def report_file(self) -> Path:
        return self.path / "report.html"

    @property
    def _experiment_file(self) -> Path:
        return self.path / "experiment.json"

    @property
    def _environment_file(self) -> Path:
        return self.path / "environment.json"


def find_run(run: str, runs_dir: Path) -> RunFolder:
    """The run of a path, a folder's name, or the beginning of just one.

    Where a preset was also run with other settings, its name means the run without them.
    """
    try:
        for path in (Path(run), runs_dir / run):
            if run and (path / "experiment.json").is_file():
                return RunFolder(path)
    except OSError as error:
        raise UnseenError(f"cannot read {run}: {error.strerror}") from error
    runs = [folder for folder in list_runs(runs_dir) if run]
    begun = [folder for folder in runs if folder.path.name.rpartition("-")[0] == run]
    if len(begun) > 1 and run in PRESETS:
        begun = [folder for folder in begun if _is_unchanged(folder, run)] or begun
    begun = begun or [folder for folder in runs if folder.path.name.startswith(run)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        names = ", ".join(folder.path.name for folder in begun)
        raise UnseenError(f"{run!r} is the beginning of several runs: {names}")
    raise UnseenError(f"no run {run!r} in {runs_dir}; 'unseen runs' lists those that are there")


def _is_unchanged(folder: RunFolder, preset: str) -> bool:
    """Whether a run is of a preset as it comes; one that cannot be read is not."""
    try:
        return folder.experiment() == PRESETS[preset]()
    except UnseenError:
        return False


def list_runs(runs_dir: Path) -> list[RunFolder]:
    """All runs of a folder, the oldest first."""
    try:
        recorded = [(path.stat().st_mtime, path) for path in runs_dir.glob("*/experiment.json")]
    except OSError as error:
        raise UnseenError(f"cannot read {runs_dir}: {error.strerror}") from error
    return [RunFolder(path.parent) for _, path in sorted(recorded)]


def current_environment() -> dict[str, str]:
    """The machine and the versions at hand."""
    versions = {name: importlib.metadata.version(name) for name in RECORDED_PACKAGES}
    versions["numba"] = importlib.metadata.version("numba") if has_numba() else "not installed"
    machine = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": str(os.cpu_count()),
        "host": socket.gethostname(),
    }
    return machine | versions

"""The run folder: the only code that knows its layout on disk.

    runs/<name>-<fingerprint>/
      experiment.json  environment.json  report.html  shared/oracle
      folds/03/  result.json  predictions.npz  model.safetensors
                 measurements.jsonl            (a line for each measurement on the way)
                 deep.json                     (worked out from them on demand)
                 checkpoint  progress.json     (while it is under way)
                 lock

Each file appears whole or not at all, measurements line by line. A fold counts as done once its
result.json is there. A record is whole, damaged (its hash is wrong), or made by another version
(whole, but not understood); only what is damaged may be replaced.
"""

import io
import json
import math
import os
import socket
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import filelock
import numpy as np
from pydantic import ValidationError

from unseen.errors import UnseenError
from unseen.experiments.environment import current_environment
from unseen.experiments.experiment import Experiment, fingerprint
from unseen.experiments.fold import FoldArrays, FoldOutcome, FoldResult
from unseen.experiments.measuring import Measurement
from unseen.files import (
    DamagedFileError,
    append_line,
    as_json,
    make_folder,
    read_checked,
    read_file,
    remove,
    sha256,
    write_checked,
    write_whole,
)
from unseen.learning.models import is_own
from unseen.problem.symbols import SYMBOLS, symbols_sha256
from unseen.settings import Frozen

FORMAT = 2  # of the records; 1 is version 0.1's, which had no number
SYMBOLS_SUM = "symbols' SHA-256"


class OtherVersionError(UnseenError):
    """A record that is whole, but that only another version of the program understands."""

    def __init__(self, path: Path, theirs: str) -> None:
        super().__init__(
            f"{path} was made by another version, unseen {theirs}; this is unseen "
            f"{version('unseen')} (format {FORMAT}), which does not understand it. Nothing was "
            "changed: use that version, or another runs folder"
        )


class FoldProgress(Frozen):
    """How far an unfinished fold has come, as its process last reported."""

    epochs_done: int
    epoch_share: float
    loss: float | None
    process: int
    host: str

    @property
    def epochs(self) -> float:
        return self.epochs_done + self.epoch_share


@dataclass(frozen=True)
class RunFolder:
    """A run on disk."""

    path: Path

    @classmethod
    def of(cls, experiment: Experiment, runs_dir: Path) -> "RunFolder":
        """The folder that belongs to an experiment, there or not."""
        earlier = runs_dir / f"{experiment.name}-{fingerprint(experiment, earlier=True)}"
        if earlier.exists():
            return cls(earlier)
        return cls(runs_dir / f"{experiment.name}-{fingerprint(experiment)}")

    def create(self, experiment: Experiment) -> Path | None:
        """Record the experiment and the machine; returns a damaged record that this replaced."""
        damaged = None
        try:
            recorded = self._experiment_file.exists() and self.records(experiment)
        except DamagedFileError as damage:
            recorded, damaged = False, damage.path
        make_folder(self.path)
        if not self.environment():
            symbols = {SYMBOLS_SUM: symbols_sha256(experiment.problem.symbols)}
            write_whole(self._environment_file, as_json(current_environment() | symbols))
        if not recorded:
            if damaged is not None:
                remove(damaged)
            record = {"experiment": experiment.model_dump(mode="json")}
            write_whole(self._experiment_file, _sealed(record))
        return damaged

    def experiment(self) -> Experiment:
        """The experiment as it was recorded."""
        path = self._experiment_file
        record = _unsealed(path, read_file(path) or b"", format_1_is_sealed=False)
        settings = record.get("experiment", record)
        if not (isinstance(settings, dict) and {"name", "problem", "training"} <= settings.keys()):
            raise DamagedFileError(path)
        try:
            _refuse_later_format(record)
            return Experiment.model_validate(settings)
        except (ValidationError, UnseenError, ValueError, TypeError) as error:
            raise self._other_version(path, record) from error

    def records(self, experiment: Experiment) -> bool:
        """Whether this is the run of an experiment, wherever its symbols or its network's file are.

        What is measured on the way does not count either.
        """
        recorded, settings = self.experiment(), experiment.training
        training: dict[str, Any] = {"watched_samples": settings.watched_samples}
        if is_own(recorded.training.model) and is_own(settings.model):
            training["model"] = settings.model
        problem = {}
        if not {recorded.problem.symbols, experiment.problem.symbols} & SYMBOLS.keys():
            problem["symbols"] = experiment.problem.symbols
        parts = {
            "problem": recorded.problem.model_copy(update=problem),
            "training": recorded.training.model_copy(update=training),
        }
        return recorded.model_copy(update=parts) == experiment

    def environment(self) -> dict[str, str]:
        """The machine and the versions that the run was started with; empty if not known."""
        try:
            recorded = json.loads(read_file(self._environment_file) or b"")
        except (ValueError, DamagedFileError):
            return {}
        return recorded if isinstance(recorded, dict) else {}

    def refuse_other_versions(self) -> None:
        """Raise an OtherVersionError if any record here was made by a version with other records.

        To be called before anything is written; a damaged record is no reason to refuse.
        """
        with suppress(DamagedFileError):
            self.experiment()
        self.results(thorough=False)

    def result(self, fold: int, *, thorough: bool = True) -> FoldResult | None:
        """The result of a fold if it is done; a DamagedFileError if it cannot be trusted.

        A thorough look takes in the files beside it, whose hashes the result has.
        """
        path = self._fold(fold) / "result.json"
        if (content := read_file(path)) is None:
            return None
        record = _unsealed(path, content)
        try:
            siblings: dict[str, str] = record["files"]
            result = FoldResult.model_validate(_upgraded(record))
        except (ValueError, LookupError, TypeError, AttributeError, UnseenError) as error:
            raise self._other_version(path, record) from error
        if result.fold != fold:
            raise DamagedFileError(path)
        for name, expected in siblings.items() if thorough else ():
            sibling = path.with_name(name)
            if sha256(read_file(sibling) or b"") != expected:
                raise DamagedFileError(sibling)
        return result

    def _other_version(self, path: Path, record: dict[str, Any]) -> OtherVersionError:
        theirs = record.get("unseen") or self.environment().get("unseen", "of unknown version")
        return OtherVersionError(path, f"{theirs} (format {record.get('format', 1)})")

    def arrays(self, fold: int) -> FoldArrays:
        """The arrays that a finished fold left; a DamagedFileError if they cannot be read."""
        path = self._fold(fold) / "predictions.npz"
        try:
            with np.load(io.BytesIO(read_file(path) or b""), allow_pickle=False) as arrays:
                known = [field.name for field in fields(FoldArrays) if field.name in arrays.files]
                return FoldArrays(**{name: arrays[name] for name in known})
        except (ValueError, OSError, EOFError, TypeError, zipfile.BadZipFile) as error:
            raise DamagedFileError(path) from error

    def weights(self, fold: int) -> bytes:
        """The weights that a finished fold left, as safetensors."""
        path = self._fold(fold) / "model.safetensors"
        if (content := read_file(path)) is None:
            raise DamagedFileError(path)
        return content

    def measurements(self, fold: int) -> list[Measurement]:
        """What was measured of a fold on the way, so far."""
        content = read_file(self._fold(fold) / "measurements.jsonl")
        if content is None:
            return self._earlier_curve(fold)
        found = []
        for line in content.splitlines(keepends=True):
            try:
                found.append(Measurement.from_json(json.loads(line)))
            except (ValueError, LookupError, TypeError):
                continue  # a line that is still being written, or was cut by a power failure
        return found

    def measurements_stamp(self, fold: int) -> tuple[int, int]:
        """Time and size of the file of measurements: others when there is news."""
        try:
            status = (self._fold(fold) / "measurements.jsonl").stat()
        except OSError:
            return 0, 0
        return status.st_mtime_ns, status.st_size

    def _earlier_curve(self, fold: int) -> list[Measurement]:
        """The learning curve of a run of version 0.1, which kept it in the result."""
        try:
            record = json.loads(read_file(self._fold(fold) / "result.json") or b"")
            points = record["result"].get("curve", ())
            return [
                Measurement(
                    epochs=epoch,
                    seconds=None,
                    seen={"mse": point["seen_mse"], "mean_error": point["seen_mean_error"]},
                    unseen={
                        name: point[f"unseen_{name}"] for name in ("rounded", "mse", "mean_error")
                    },
                    **{name: [] for name in ("combinations", "right", "samples", "mean")},
                )
                for epoch, point in enumerate(points, start=1)
            ]
        except (ValueError, LookupError, TypeError, AttributeError, UnseenError):
            return []

    def add_measurement(self, fold: int, measurement: Measurement, *, first: bool) -> None:
        """Append a line; the first of a process also removes those that it will make again."""
        path = self._fold(fold) / "measurements.jsonl"
        if first:
            earlier = [each for each in self.measurements(fold) if each.epochs < measurement.epochs]
            write_whole(path, *(_as_line(each) for each in earlier))
        append_line(path, _as_line(measurement))

    def derived(self, fold: int, name: str) -> bytes | None:
        """What was worked out from a fold before; None if its result is no longer the same."""
        folder = self._fold(fold)
        key, _, content = (read_file(folder / name) or b"").partition(b"\n")
        return content if key == self._key(fold) and content else None

    def save_derived(self, fold: int, name: str, content: bytes) -> None:
        write_whole(self._fold(fold) / name, self._key(fold) + b"\n" + content)

    def _key(self, fold: int) -> bytes:
        return sha256(read_file(self._fold(fold) / "result.json") or b"").encode()

    def results(self, *, thorough: bool = True) -> tuple[list[FoldResult], list[DamagedFileError]]:
        """The results of all folds that are done, in order, and what is damaged."""
        results, damages = [], []
        for path in sorted(self.path.glob("folds/*/result.json")):
            fold = int(path.parent.name) if path.parent.name.isdecimal() else 0
            if path.parent != self._fold(fold):
                continue
            try:
                if (result := self.result(fold, thorough=thorough)) is not None:
                    results.append(result)
            except DamagedFileError as damage:
                damages.append(damage)
        return results, damages

    def save(self, outcome: FoldOutcome) -> None:
        """Write a finished fold: its result last, with the hashes of the files beside it."""
        folder = self._fold(outcome.result.fold)
        predictions = io.BytesIO()
        arrays = {name: array for name, array in vars(outcome.arrays).items() if array is not None}
        np.savez_compressed(predictions, **arrays)
        files = {"predictions.npz": predictions.getvalue(), "model.safetensors": outcome.model}
        for name, content in files.items():
            write_whole(folder / name, content)
        record = {
            "result": json.loads(outcome.result.model_dump_json()),
            "files": {name: sha256(content) for name, content in files.items()},
        }
        write_whole(folder / "result.json", _sealed(record))
        self.tidy(outcome.result.fold)

    def checkpoint(self, fold: int) -> bytes | None:
        """What a fold under way last saved."""
        return read_checked(self._fold(fold) / "checkpoint")

    def save_checkpoint(self, fold: int, content: bytes) -> None:
        write_checked(self._fold(fold) / "checkpoint", content)

    def progress(self, fold: int) -> FoldProgress | None:
        """How far an unfinished fold has come; None if nobody has begun it."""
        try:
            said = json.loads(read_file(self._fold(fold) / "progress.json") or b"")
            return FoldProgress.model_validate(said)
        except (UnseenError, ValueError, TypeError):
            return None

    def save_progress(self, fold: int, epochs_done: int, epoch_share: float, loss: float) -> None:
        progress = FoldProgress(
            epochs_done=epochs_done,
            epoch_share=epoch_share,
            loss=loss if math.isfinite(loss) else None,
            process=os.getpid(),
            host=socket.gethostname(),
        )
        # losing it to a power cut is no loss, so it need not reach the disk at once
        write_whole(self._fold(fold) / "progress.json", as_json(progress.model_dump()), sync=False)

    def discard(self, fold: int) -> None:
        """Forget a fold altogether."""
        self.discard_result(fold)
        self.tidy(fold)
        remove(self._fold(fold) / "measurements.jsonl")

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

    def is_held(self, fold: int) -> bool:
        """Whether a process works on a fold; False where that cannot be found out."""
        if (self._fold(fold) / "lock").exists():
            with suppress(UnseenError), self.hold(fold) as held:
                return not held
        return False

    def folds(self) -> list[int]:
        """The folds that were begun, in order."""
        names = sorted(path.name for path in self.path.glob("folds/*"))
        return [int(name) for name in names if name.isdecimal()]

    def _fold(self, fold: int) -> Path:
        return self.path / "folds" / f"{fold:02d}"

    @property
    def shared_file(self) -> Path:
        """What all folds of a run have in common: the oracle's classifier."""
        return self.path / "shared" / "oracle"

    @property
    def report_file(self) -> Path:
        return self.path / "report.html"

    @property
    def _experiment_file(self) -> Path:
        return self.path / "experiment.json"

    @property
    def _environment_file(self) -> Path:
        return self.path / "environment.json"


def _sealed(record: dict[str, Any]) -> bytes:
    """A record with the format, the version that wrote it, and its own hash."""
    record = {"format": FORMAT, "unseen": version("unseen"), **record}
    return as_json(record | {"sha256": sha256(as_json(record))})


def _unsealed(path: Path, content: bytes, *, format_1_is_sealed: bool = True) -> dict[str, Any]:
    """A record as it was sealed; damaged where it is none, or where its hash is wrong."""
    try:
        record = json.loads(content)
        if format_1_is_sealed or "format" in record:
            said = record.pop("sha256")
            if said != sha256(as_json(record)):
                raise DamagedFileError(path)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedFileError(path) from error
    if not isinstance(record, dict):
        raise DamagedFileError(path)
    return record


def _upgraded(record: dict[str, Any]) -> dict[str, Any]:
    """The result of a record; one of format 1 had each measure as a field of its own."""
    _refuse_later_format(record)
    result: dict[str, Any] = dict(record["result"])
    if "format" not in record:
        result.pop("curve", None)
        names = ("test_mse", "train_mse", "rounded", "floor_or_ceiling", "within_one")
        result["measures"] = {name: result.pop(name) for name in names}
    return result


def _refuse_later_format(record: dict[str, Any]) -> None:
    if record.get("format", 1) > FORMAT:
        raise ValueError(f"a later format, {record['format']}")


def _as_line(measurement: Measurement) -> bytes:
    return json.dumps(measurement.to_json(), separators=(",", ":")).encode() + b"\n"

"""The run folder: what was run, and the results that can be trusted.

    runs/<name>-<fingerprint>/
      experiment.json  environment.json  report.html  shared/oracle
      unseen.txt  name  guess  (if it has them: a list of combinations, a name, what was expected)
      folds/03/  …     (fold_files.py)

What cannot be what was written here is damaged, and a run replaces it.
"""

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unseen.errors import UnseenError
from unseen.files import (
    LARGEST_JSON_BYTES,
    DamagedFileError,
    as_json,
    file_sha256,
    make_folder,
    open_recorded,
    read_file,
    read_json,
    remove,
)
from unseen.locks import is_locked, locked
from unseen.networks.own_files import is_own, own_sha256
from unseen.problem.splits import written_folds
from unseen.problem.symbols import BANK_SHA256, symbols_sha256
from unseen.runs.environment import current_environment, version
from unseen.runs.experiment import (
    Experiment,
    added_parts,
    content_sums,
    fingerprint,
)
from unseen.runs.fold import FoldResult
from unseen.runs.fold_checks import check_result, check_unseen, check_weights
from unseen.runs.fold_files import SAVED, FoldFiles
from unseen.runs.records import (
    OtherVersionError,
    made_by,
    read_record,
    sealed,
)
from unseen.settings import setting_errors

# what is known of a run beside its experiment: what its files and parts held when it began
SYMBOLS_SUM, MODEL_SUM = "symbols' SHA-256", "model's SHA-256"
SUMS = {"symbols": SYMBOLS_SUM, "model": MODEL_SUM}
SUMS |= {kind: f"{kind}'s SHA-256" for kind in ("operation", "split")}
NAME = "[A-Za-z0-9][A-Za-z0-9._-]{0,59}"  # that a run can be given


@dataclass(frozen=True)
class RunFolder(FoldFiles):
    """A run on disk."""

    @classmethod
    def of(cls, experiment: Experiment, runs_dir: Path) -> "RunFolder":
        """The folder that belongs to an experiment, there or not."""
        return cls(runs_dir / f"{experiment.name}-{fingerprint(experiment)}")

    def create(self, experiment: Experiment) -> Path | None:
        """Record the experiment and the machine; returns a damaged record that this replaced."""
        make_folder(self.path)
        self._record_environment(experiment)
        if experiment.problem.unseen_list and not self.unseen_file.is_file():
            self._write(self.unseen_file, written_folds(experiment.problem.unseen_list))
        path = self._experiment_file
        try:
            if self.is_there() and self.records(experiment):
                return None
        except DamagedFileError:
            pass
        damaged = path if self.is_there() else None
        self._write(path, sealed({"experiment": experiment.model_dump(mode="json")}))
        return damaged

    def is_there(self) -> bool:
        return os.path.lexists(self._experiment_file)

    def refuse_gone(self) -> None:
        """Raise an UnseenError if the run is no longer there."""
        if not self.is_there():
            raise UnseenError(f"{self.path} is gone: it was removed, moved or renamed while in use")

    def names(self) -> list[str]:
        """The names that the run was given, the first one first."""
        try:
            text = (read_file(self._name_file, LARGEST_JSON_BYTES) or b"").decode()
        except (UnseenError, ValueError):
            return []
        return [name for name in text.splitlines() if re.fullmatch(NAME, name)]

    def give_name(self, name: str) -> None:
        """Give the run a name more; it keeps those that it has."""
        if name not in (names := self.names()):
            self._write(self._name_file, "\n".join([*names, name]).encode())

    def guess(self) -> float | None:
        """The share of unseen pictures that somebody expected to be right; None if nobody did."""
        try:
            share = float((read_file(self._guess_file, LARGEST_JSON_BYTES) or b"").decode())
        except (UnseenError, ValueError):
            return None
        return share if 0 <= share <= 1 else None

    def save_guess(self, share: float) -> None:
        self._write(self._guess_file, str(share).encode())

    @property
    def label(self) -> str:
        """What the run is called where runs stand side by side."""
        return next(iter(self.names()), self.path.absolute().name)

    def recorded_symbols(self) -> str | None:
        """The hash of the symbols that it was run with; None if that is not known."""
        return self.environment().get(SYMBOLS_SUM)

    def _record_environment(self, experiment: Experiment) -> None:
        """Record the machine, unless it was; a record of other symbols than these is corrected."""
        recorded, sums = self.environment(), content_sums(experiment)
        if not recorded or recorded.get(SYMBOLS_SUM, sums["symbols"]) != sums["symbols"]:
            held = {SUMS[kind]: held for kind, held in sums.items()}
            self._write(self._environment_file, as_json(current_environment() | recorded | held))

    def experiment(self) -> Experiment:
        """The experiment as it was recorded; damaged if it is not what the folder is named for."""
        path = self._experiment_file
        record = read_record(path) or {}
        settings = record.get("experiment")
        if not (isinstance(settings, dict) and {"name", "problem", "training"} <= settings.keys()):
            fault = "it has no settings"
        else:
            try:
                with setting_errors(Experiment):
                    experiment = Experiment.model_validate(settings)
            except (UnseenError, ValueError, TypeError) as error:
                if record.get("unseen") != version("unseen"):
                    raise self._other_version(path, record) from error
                said = str(error)
                if said.startswith("unknown"):  # without all that is known
                    said = re.split(r" \(|, and there|;", said)[0] + ": register it first"
                raise UnseenError(f"{self.label}: {said}") from error
            if self._is_named_for(experiment):
                return experiment
            fault = "its settings are not those that its folder is named for"
        if record.get("unseen", version("unseen")) != version("unseen"):
            raise self._other_version(path, record)
        raise DamagedFileError(path, fault)

    def _is_named_for(self, experiment: Experiment) -> bool:
        """Whether the name of the folder has the experiment's fingerprint.

        A folder that was given another name says nothing. Symbols and a network of one's own count
        by what they held when the run began; where that was not recorded, nothing can be said.
        """
        name, dash, ending = self.path.absolute().name.rpartition("-")
        if not dash or not re.fullmatch("[0-9a-f]{12}", ending):
            return True
        recorded, own = self.environment(), is_own(experiment.training.model)
        symbols = BANK_SHA256.get(experiment.problem.symbols) or recorded.get(SYMBOLS_SUM)
        if symbols is None or (own and SYMBOLS_SUM not in recorded):
            return True
        sums = {kind: part.sha256() for kind, part in added_parts(experiment).items()}
        sums |= {"model": ""} | self.recorded_sums() | {"symbols": symbols}
        return name == experiment.name and ending == fingerprint(experiment, sums)

    def recorded_sums(self) -> dict[str, str]:
        """What symbols and parts held when the run began, by kind; {} if not known."""
        recorded = self.environment()
        return {kind: recorded[name] for kind, name in SUMS.items() if recorded.get(name)}

    def refuse_changed_parts(self, experiment: Experiment, own: str | None = None) -> None:
        """Raise an UnseenError if a part is not what the run was made with: it answers otherwise.

        `own` is the file of a network of one's own, where it is now; where nobody says, it is not
        looked at.
        """
        problem, model = experiment.problem, own or experiment.training.model
        now = {kind: part.sha256() for kind, part in added_parts(experiment).items()}
        now |= {"symbols": symbols_sha256(problem.symbols)}
        if own is not None:
            now["model"] = own_sha256(own)
        named = {"model": model, "operation": problem.operation, "split": problem.split}
        for kind, before in self.recorded_sums().items():
            if now.get(kind, before) != before:
                raise UnseenError(
                    f"{kind} {named.get(kind, problem.symbols)!r} changed after {self.label} was "
                    "run with it, or a library that it uses or Python did; put it back as it was, "
                    "or run again"
                )

    def records(self, experiment: Experiment) -> bool:
        """Whether this is the run of an experiment, wherever its symbols or its network's file are.

        What is measured on the way does not count either.
        """
        recorded, settings = self.experiment(), experiment.training
        training: dict[str, Any] = {"watched_samples": settings.watched_samples}
        if is_own(recorded.training.model) and is_own(settings.model):
            training["model"] = settings.model
        problem = {}
        if self.recorded_symbols() in (None, symbols_sha256(experiment.problem.symbols)):
            problem["symbols"] = experiment.problem.symbols
        parts = {
            "problem": recorded.problem.model_copy(update=problem),
            "training": recorded.training.model_copy(update=training),
        }
        return recorded.model_copy(update=parts) == experiment

    def environment(self) -> dict[str, str]:
        """The machine and the versions that the run was started with; empty if not known."""
        try:
            recorded = read_json(self._environment_file)
        except DamagedFileError:
            return {}
        said = recorded.items() if isinstance(recorded, dict) else ()
        return {name: text for name, text in said if isinstance(text, str)}

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
        return self._result(fold, self._known_experiment(), thorough=thorough)

    def _known_experiment(self) -> Experiment | None:
        """The experiment; None if its record is damaged."""
        try:
            return self.experiment()
        except DamagedFileError:
            return None

    def _result(
        self, fold: int, experiment: Experiment | None, *, thorough: bool
    ) -> FoldResult | None:
        path = self._fold(fold) / "result.json"
        if (record := read_record(path)) is None:
            return None
        try:
            result = FoldResult.model_validate(record["result"])
        except (ValueError, LookupError, TypeError, AttributeError, UnseenError) as error:
            raise self._other_version(path, record) from error
        if result.fold != fold:
            raise DamagedFileError(path, f"it is of fold {result.fold}")
        if experiment is not None:
            check_result(path, result, experiment.problem)
        try:
            if thorough:
                self._check_files(path, record.get("files"), fold)
                if experiment is not None and self.has_its_parts(experiment):
                    check_unseen(path, result, experiment.problem)
                    self.arrays(fold, experiment)
        except DamagedFileError:
            if as_json(read_record(path)) != as_json(record):
                # another process has just begun the fold again
                return self._result(fold, experiment, thorough=thorough)
            raise
        return result

    def _check_files(self, path: Path, hashes: object, fold: int) -> None:
        """Refuse a fold with a file that is not the one its result was saved with."""
        for name in SAVED:
            expected = hashes.get(name) if isinstance(hashes, dict) else None
            if not isinstance(expected, str):
                raise DamagedFileError(path, f"it has no hash of {name}")
            if file_sha256(path.with_name(name)) != expected:
                raise DamagedFileError(path.with_name(name))
        check_weights(path.with_name("model.safetensors"))
        for unhashed in (self.measurements(fold).path, path.with_name("deep.json")):
            if (file := open_recorded(unhashed, LARGEST_JSON_BYTES)) is not None:
                file.close()

    def has_its_parts(self, experiment: Experiment) -> bool:
        """Whether symbols and parts are at hand, and are what they were when the run began."""
        try:
            self.refuse_changed_parts(experiment)
        except UnseenError:
            return False
        return self.recorded_symbols() is not None

    def _other_version(self, path: Path, record: dict[str, Any]) -> OtherVersionError:
        began_with = self.environment().get("unseen", "of unknown version")
        return OtherVersionError(path, made_by(record, began_with))

    def results(self, *, thorough: bool = True) -> tuple[list[FoldResult], list[DamagedFileError]]:
        """The results of all folds that are done, in order, and what is damaged."""
        results, damages = [], list[DamagedFileError]()
        experiment = self._known_experiment()
        if os.path.lexists(folds := self.path / "folds") and not folds.is_dir():
            damages.append(DamagedFileError(folds, "it is no folder"))
        for path in sorted(self.path.glob("folds/*")):
            if (fold := self.fold_of(path / "result.json")) is None:
                continue
            try:
                if (result := self._result(fold, experiment, thorough=thorough)) is not None:
                    results.append(result)
            except DamagedFileError as damage:
                damages.append(damage)
        return results, damages

    @contextmanager
    def in_use(self) -> Iterator[Path]:
        """Keep the run from being removed while its folds run or wait for a worker.

        Yields the file that says so, which only a process on the same disk can see.
        """
        self.refuse_gone()
        for left in self._user_files():
            if not is_locked(left):  # by a process that was killed
                remove(left)
        self._make_way(self._folds)
        path = self._folds / f".user-{secrets.token_hex(8)}"
        with locked(path):
            yield path
        remove(path)

    def is_in_use(self) -> bool:
        """Whether a process runs a fold of it, or has one waiting for a worker."""
        return any(map(is_locked, self._user_files())) or any(map(self.is_held, self.folds()))

    def _user_files(self) -> list[Path]:
        return [*self.path.glob("folds/.user-*")]

    def remove(self) -> bool:
        """Remove the run with all that is in it; False if a process works on it."""
        if any(map(is_locked, self._user_files())):
            return False
        with ExitStack() as holding:
            if not all(holding.enter_context(self.hold(fold)) for fold in self.folds()):
                return False
            remove(self._experiment_file)  # first, so that nobody begins another fold
            remove(self.path)
        return True

    @property
    def shared_file(self) -> Path:
        """What all folds of a run have in common: the oracle's classifier."""
        return self.path / "shared" / "oracle"

    @property
    def report_file(self) -> Path:
        return self.path / "report.html"

    def report_is_behind(self) -> bool:
        """Whether there is no report, or a fold was finished since."""
        try:
            written = self.report_file.stat().st_mtime
            done = [path.stat().st_mtime for path in self.path.glob("folds/*/result.json")]
        except OSError:
            return True
        return any(each > written for each in done)

    @property
    def unseen_file(self) -> Path:
        """The list of combinations that are unseen, where that was the split."""
        return self.path / "unseen.txt"

    @property
    def _name_file(self) -> Path:
        return self.path / "name"

    @property
    def _guess_file(self) -> Path:
        return self.path / "guess"

    @property
    def _experiment_file(self) -> Path:
        return self.path / "experiment.json"

    @property
    def _environment_file(self) -> Path:
        return self.path / "environment.json"

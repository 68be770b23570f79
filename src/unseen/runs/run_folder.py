"""The run folder: what was run, and the results that can be trusted.

    runs/<name>-<fingerprint>/
      experiment.json  report.html  shared/oracle
      unseen.txt  name  guess  (if it has them: a list of combinations, a name, what was expected)
      folds/03/  …     (fold_files.py)

A folder is whole, damaged (a run replaces what is), or of another format (left alone).
"""

import math
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from unseen.errors import UnseenError
from unseen.files import (
    LARGEST_JSON_BYTES,
    DamagedFileError,
    as_json,
    file_sha256,
    make_folder,
    read_file,
    remove,
)
from unseen.locks import is_locked, locked
from unseen.networks.own_files import own_sha256
from unseen.problem.problem import Problem
from unseen.problem.splits import written_folds
from unseen.problem.task import QUADRANTS, make_task
from unseen.runs.environment import current_environment, version
from unseen.runs.experiment import (
    PART_KINDS,
    Experiment,
    content_sums,
    fingerprint,
    part_sums,
    setting_value,
)
from unseen.runs.fold import FoldOutcome, FoldResult
from unseen.runs.fold_files import SAVED, FoldFiles, make_way, replace_file
from unseen.runs.measuring import GROUP_MEASURES
from unseen.runs.records import OtherVersionError, RunRecord, read_fold_record, read_run_record
from unseen.settings import setting_errors
from unseen.training.metrics import METRICS

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
        if experiment.problem.unseen_list and not self.unseen_file.is_file():
            replace_file(self.unseen_file, written_folds(experiment.problem.unseen_list))
        self.refuse_other_versions()
        with suppress(UnseenError):
            self.experiment()
            return None
        damaged = self._experiment_file if self.is_there() else None
        record = RunRecord(
            experiment=experiment.model_dump(mode="json"),
            sums=content_sums(experiment),
            environment=current_environment(),
        )
        replace_file(self._experiment_file, as_json(record.model_dump()))
        return damaged

    def is_there(self) -> bool:
        return os.path.lexists(self._experiment_file)

    def refuse_gone(self) -> None:
        """Raise an UnseenError if the run is no longer there."""
        if not self.is_there():
            raise UnseenError(f"{self.path} is gone: it was removed, moved or renamed while in use")

    def keep(self, outcome: FoldOutcome) -> bool:
        """Save a finished fold; False if another process has it."""
        self.refuse_gone()
        with self.hold(outcome.result.fold) as held:
            if held:
                self.save(outcome)
        return held

    def names(self) -> list[str]:
        """The names that the run was given, the first one first."""
        return [name for name in self._note("name").splitlines() if re.fullmatch(NAME, name)]

    def give_name(self, name: str) -> None:
        """Give the run a name more; it keeps those that it has."""
        if name not in (names := self.names()):
            replace_file(self.path / "name", "\n".join([*names, name]).encode())

    def guess(self) -> float | None:
        """The share of unseen pictures that a person expected to be right, if one was asked."""
        try:
            share = float(self._note("guess"))
        except ValueError:
            return None
        return share if 0 <= share <= 1 else None

    def save_guess(self, share: float) -> None:
        replace_file(self.path / "guess", str(share).encode())

    def _note(self, name: str) -> str:
        """A short text beside the record; empty if there is none."""
        with suppress(UnseenError, ValueError):
            return (read_file(self.path / name, LARGEST_JSON_BYTES) or b"").decode()
        return ""

    @property
    def label(self) -> str:
        """What the run is called where runs stand side by side."""
        return next(iter(self.names()), self.path.absolute().name)

    def experiment(self) -> Experiment:
        """The experiment as it was recorded; damaged if it is not what the folder is named for."""
        record = read_run_record(self._experiment_file)
        try:
            with setting_errors(Experiment):
                experiment = Experiment.model_validate(record.experiment)
            if self._is_named_for(experiment, record.sums):
                return experiment
            fault = "its settings are not those that its folder is named for"
        except (UnseenError, ValueError, TypeError) as error:
            fault = str(error)
        if record.unseen != version("unseen"):
            raise OtherVersionError(self._experiment_file, record.unseen)
        if re.match("unknown (?!setting)", fault):  # without all that is known
            short = re.split(r" \(|, and there|;", fault)[0]
            raise UnseenError(f"{self.label}: {short}: register it first")
        raise DamagedFileError(self._experiment_file, fault)

    def _is_named_for(self, experiment: Experiment, sums: dict[str, str]) -> bool:
        """Whether the folder has the experiment's fingerprint; another name says nothing."""
        name, dash, ending = self.path.absolute().name.rpartition("-")
        if not dash or not re.fullmatch("[0-9a-f]{12}", ending):
            return True
        return name == experiment.name and ending == fingerprint(experiment, sums)

    def recorded_sums(self) -> dict[str, str]:
        """What symbols and parts held when the run began, by kind."""
        return read_run_record(self._experiment_file).sums

    def refuse_changed_parts(self, experiment: Experiment, own: str | None = None) -> None:
        """Raise an UnseenError if a part is not what the run was made with: it answers otherwise.

        `own` names the file of a user's network where it is now; without it, that file is not read.
        """
        now = part_sums(experiment) | ({} if own is None else {"model": own_sha256(own)})
        for kind, before in self.recorded_sums().items():
            if kind in PART_KINDS and now.get(kind, before) != before:
                named = own if own and kind == "model" else setting_value(experiment, kind)
                raise UnseenError(
                    f"{kind} {named!r} changed after {self.label} was run with it, or a library "
                    "that it uses or Python did; put it back as it was, or run again"
                )

    def environment(self) -> dict[str, str]:
        """The machine and the versions that the run was started with; empty if not known."""
        with suppress(UnseenError):
            return read_run_record(self._experiment_file).environment
        return {}

    def refuse_other_versions(self) -> None:
        """Raise an OtherVersionError if the run was made by a version with another format.

        To be called before anything is written; damage is no reason to refuse.
        """
        try:
            self.experiment()
        except OtherVersionError:
            raise
        except UnseenError:
            pass

    def result(self, fold: int, *, thorough: bool = True) -> FoldResult | None:
        """The result of a fold if it is done; a DamagedFileError if it cannot be trusted.

        A thorough look takes in the files beside it, whose hashes the result has.
        """
        return self._result(fold, self._known_problem(), thorough=thorough)

    def _known_problem(self) -> Problem | None:
        """The problem; None if the record of the experiment is damaged."""
        with suppress(DamagedFileError):
            return self.experiment().problem
        return None

    def _result(self, fold: int, problem: Problem | None, *, thorough: bool) -> FoldResult | None:
        path = self._file(fold, "result.json")
        if (record := read_fold_record(path)) is None:
            return None
        if record.result.fold != fold:
            raise DamagedFileError(path, f"it is of fold {record.result.fold}")
        if problem is not None and (fault := fault_of(record.result, problem)):
            raise DamagedFileError(path, fault)
        for name in SAVED if thorough else ():
            if file_sha256(path.with_name(name)) != record.sha256.get(name):
                if not path.is_file():  # another process has just begun the fold again
                    return None
                raise DamagedFileError(path.with_name(name))
        return record.result

    def results(self, *, thorough: bool = True) -> tuple[list[FoldResult], list[DamagedFileError]]:
        """The results of all folds that are done, in order, and what is damaged."""
        results, damages = [], list[DamagedFileError]()
        problem = self._known_problem()
        if os.path.lexists(self._folds) and not self._folds.is_dir():
            damages.append(DamagedFileError(self._folds, "it is no folder"))
        for path in sorted(self.path.glob("folds/*")):
            if (fold := self.fold_of(path / "result.json")) is None:
                continue
            try:
                if (result := self._result(fold, problem, thorough=thorough)) is not None:
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
        make_way(self._folds)
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
            remove(self._experiment_file)  # first, so that no other fold is begun
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
    def _experiment_file(self) -> Path:
        return self.path / "experiment.json"


def fold_count(problem: Problem) -> float:
    """How many folds a problem has, without its symbols where that can be; inf if not known."""
    if problem.split == "corner":
        return 1
    if problem.unseen_list:
        return len(problem.unseen_list)
    if problem.split in ("random", "mirror") and problem.unseen is None:
        return 10
    try:
        return len(make_task(problem).folds)
    except UnseenError:  # its symbols are gone
        return math.inf


def fault_of(result: FoldResult, problem: Problem) -> str | None:
    """What no fold of the problem can have come to, if there is such a thing."""
    if not 1 <= result.fold <= fold_count(problem):
        return f"there is no fold {result.fold} in this split"
    for name, value in result.measures.items():
        if name in METRICS and METRICS[name].unit == "share" and (value < 0 or value > 1):
            return f"{name} cannot be {value}"
    measured = [result.quadrants.get(name, {}) for name in QUADRANTS]
    if not all(GROUP_MEASURES.keys() <= each.keys() for each in measured):
        return "its quadrants are incomplete"
    return None

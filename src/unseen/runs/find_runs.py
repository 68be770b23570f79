"""Runs by path, by name, by the beginning of a name, or by their settings."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from unseen.errors import SettingError, UnseenError, shortened
from unseen.networks.own_files import is_own
from unseen.runs.differences import differences
from unseen.runs.experiment import Experiment
from unseen.runs.presets import PRESETS
from unseen.runs.run_folder import NAME, RunFolder

MOST_NAMED = 10  # runs in an error


def read_experiments(runs: Iterable[RunFolder]) -> dict[RunFolder, Experiment]:
    """The experiments of the runs that can be read; the same symbols have the same name."""
    read = {}
    names: dict[str, str] = {}  # of symbols, by their sums
    for run in runs:
        with suppress(UnseenError):
            experiment = run.experiment()
            recorded = run.recorded_sums().get("symbols") or experiment.problem.symbols
            name = names.setdefault(recorded, experiment.problem.symbols)
            problem = experiment.problem.model_copy(update={"symbols": name})
            read[run] = experiment.model_copy(update={"problem": problem})
    return read


def find_run(
    run: str | Path, runs_dir: Path, settings: Mapping[str, Any] | None = None
) -> RunFolder:
    """The run of a path, a name, or the beginning of just one, that has these settings.

    Of the runs of a preset, its name means the one with no settings that others do not have.
    """
    name, settings = str(run), settings or {}
    begun = _begun(name, runs_dir)
    if not begun:
        known = ", ".join(folder.label for folder in list_runs(runs_dir)[-MOST_NAMED:])
        there = f"; the last that were run are {known}" if known else ", which has none"
        raise UnseenError(f"no run {name!r} in {runs_dir}{there}")
    chosen = having(settings, begun) if settings else begun
    if not chosen:
        raise UnseenError(f"no run {name!r} in {runs_dir} has {_listed(settings)}")
    if len(chosen) == 1:
        return chosen[0]
    experiments = read_experiments(chosen)
    apart = dict(zip(experiments, differences([*experiments.values()])[0], strict=True))
    plain = [each for each, others in apart.items() if not others]
    if len(plain) == 1 and name in PRESETS:
        return plain[0]
    named = [_named(each, apart.get(each, {})) for each in chosen[:MOST_NAMED]]
    more = f" and {len(chosen) - MOST_NAMED} more" if len(chosen) > MOST_NAMED else ""
    raise UnseenError(
        f"{name!r} is the beginning of several runs: {', '.join(named)}{more}; name one in full, "
        "or add settings that only one of them has"
    )


def _named(run: RunFolder, settings: Mapping[str, Any]) -> str:
    return f"{run.label} ({_listed(settings)})" if settings else run.label


def _listed(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={shortened(repr(value))}" for name, value in settings.items())


def _begun(name: str, runs_dir: Path) -> list[RunFolder]:
    """The run of this path or name; else those of a preset; else those whose name begins so."""
    for path in (Path(name), runs_dir / name):
        if name and os.path.lexists(path / "experiment.json"):
            # . and .. do not say which folder the run is in
            return [RunFolder(path if path.name not in ("", "..") else path.resolve())]
    runs = list_runs(runs_dir) if name else []
    return (
        [folder for folder in runs if name in folder.names()]
        or [folder for folder in runs if folder.path.name.rpartition("-")[0] == name]
        or [folder for folder in runs if folder.label.startswith(name)]
        or [folder for folder in runs if folder.path.name.startswith(name)]
    )


def having(settings: Mapping[str, Any], runs: Sequence[RunFolder]) -> list[RunFolder]:
    """The runs that would be the same with these settings.

    Symbols and networks in files count by what they hold, wherever they are now.
    """
    found, faults = [], []
    for run in runs:
        try:
            experiment = run.experiment()
            varied = experiment.vary(**settings)
            as_recorded = varied == experiment and not is_own(settings.get("model", ""))
            if as_recorded or RunFolder.of(varied, run.path.parent).path == run.path:
                found.append(run)
        except UnseenError as fault:
            faults.append(fault)
    if len(faults) == len(runs):
        raise faults[-1]
    return found


def preset_of(run: RunFolder) -> str | None:
    """The preset that a run was made from; None if its record cannot be read."""
    try:
        return run.experiment().name
    except UnseenError:
        return None


def check_name(name: str, run: RunFolder) -> None:
    """Refuse a name that a run cannot be given."""
    others = [other for other in list_runs(run.path.parent) if other.path != run.path]
    fault = None
    if not isinstance(name, str) or not re.fullmatch(NAME, name):
        fault = "must be of letters, digits and . _ -, up to 60, and begin with a letter or digit"
    elif name in PRESETS:
        fault = "is a preset's name; choose another"
    else:
        for known in (each for other in others for each in (*other.names(), other.path.name)):
            if known.startswith(name):
                fault = f"finds another run in {run.path.parent}, {known}; choose another"
    if fault:
        raise SettingError("name", name, fault)


def list_runs(runs_dir: Path) -> list[RunFolder]:
    """All runs of a folder, the oldest first; also those that have lost their record."""
    recorded: dict[Path, float] = {}
    try:
        for path in runs_dir.iterdir() if runs_dir.is_dir() else ():
            for name in ("experiment.json", "folds"):
                if os.path.lexists(path / name):
                    recorded.setdefault(path, (path / name).lstat().st_mtime)
    except OSError as error:
        raise UnseenError(f"cannot read {runs_dir}: {error.strerror}") from error
    return [RunFolder(path) for path in sorted(recorded, key=lambda path: (recorded[path], path))]

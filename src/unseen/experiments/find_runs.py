"""Runs by path, by name, or by the beginning of a name."""

from pathlib import Path

from unseen.errors import UnseenError
from unseen.experiments.presets import PRESETS
from unseen.experiments.run_folder import RunFolder


def find_run(run: str | Path, runs_dir: Path) -> RunFolder:
    """The run of a path, a folder's name, or the beginning of just one.

    Where a preset was also run with other settings, its name means the run without them.
    """
    name = str(run)
    try:
        for path in (Path(run), runs_dir / run):
            if name and (path / "experiment.json").is_file():
                return RunFolder(path)
    except OSError as error:
        raise UnseenError(f"cannot read {run}: {error.strerror}") from error
    runs = [folder for folder in list_runs(runs_dir) if name]
    begun = [folder for folder in runs if folder.path.name.rpartition("-")[0] == name]
    if len(begun) > 1 and name in PRESETS:
        begun = [folder for folder in begun if _is_unchanged(folder, name)] or begun
    begun = begun or [folder for folder in runs if folder.path.name.startswith(name)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        names = ", ".join(folder.path.name for folder in begun)
        raise UnseenError(f"{name!r} is the beginning of several runs: {names}")
    there = ", ".join(folder.path.name for folder in list_runs(runs_dir)[-10:])
    raise UnseenError(f"no run {name!r} in {runs_dir}; the last ones there: {there or 'none'}")


def _is_unchanged(folder: RunFolder, preset: str) -> bool:
    """Whether a run is of a preset as it comes; one that cannot be read is not."""
    try:
        return folder.records(PRESETS[preset]())
    except UnseenError:
        return False


def list_runs(runs_dir: Path) -> list[RunFolder]:
    """All runs of a folder, the oldest first."""
    try:
        recorded = [(path.stat().st_mtime, path) for path in runs_dir.glob("*/experiment.json")]
    except OSError as error:
        raise UnseenError(f"cannot read {runs_dir}: {error.strerror}") from error
    return [RunFolder(path.parent) for _, path in sorted(recorded)]

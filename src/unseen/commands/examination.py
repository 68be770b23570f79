"""What a report of a fault needs to know of a machine, and common troubles on it."""

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from unseen.errors import UnseenError
from unseen.files import DamagedFileError
from unseen.locks import is_locked, locked
from unseen.problem.symbols import load_symbols
from unseen.runs.engine import available_cores
from unseen.runs.find_runs import list_runs
from unseen.runs.run_folder import RunFolder

LEAST_DISK = 500_000_000  # bytes: ten folds of the largest network, with room to spare
AGAIN = "the command that made it runs again what is damaged"
FOLD_AGAIN = "run it again; `unseen show` of the run prints the command"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
# by what it is for; an extra of the same name where it is one
OPTIONAL_PACKAGES = {
    "distributed": "studies on a cluster (unseen[dask])",
    "tensorboard": "curves for TensorBoard (unseen[tensorboard])",
    "onnxruntime": "networks as ONNX (unseen[onnx])",
    "pyarrow": "results of studies as Parquet",
    "pandas": "to_frame() of measures",
}


@dataclass(frozen=True)
class Finding:
    """What was looked at, what was found, and what to do about it where it is a trouble."""

    about: str
    found: str
    remedy: str = ""

    @property
    def is_trouble(self) -> bool:
        return bool(self.remedy)


def examine(runs_dir: Path) -> Iterator[Finding]:
    """Look at everything that has made trouble before; nothing is left behind."""
    yield from _threads()
    yield _disk(runs_dir)
    yield _locks(runs_dir)
    yield _symbols()
    yield from _runs(runs_dir)
    for package, purpose in OPTIONAL_PACKAGES.items():
        is_there = importlib.util.find_spec(package) is not None
        yield Finding(package, "installed" if is_there else f"not installed: {purpose}")


def _threads() -> Iterator[Finding]:
    cores, machine = available_cores(), os.cpu_count() or 1
    of_them = f" of the machine's {machine}" if cores < machine else ""
    yield Finding("cores", f"{cores}{of_them}: so many folds run at once")
    for name in THREAD_VARIABLES:
        if name in os.environ:
            yield Finding(
                name,
                f"is set to {os.environ[name]!r}, and has no effect: the setting threads counts",
            )


def _disk(runs_dir: Path) -> Finding:
    place = _nearest_folder(runs_dir)
    free = shutil.disk_usage(place).free
    found = f"{free / 1e9:.1f} GB free where {runs_dir} is"
    short = "remove runs (unseen runs prune), or choose another runs folder"
    return Finding("disk", found, short if free < LEAST_DISK else "")


def _locks(runs_dir: Path) -> Finding:
    """Whether a lock keeps a second holder out, which some network file systems only pretend."""
    place = _nearest_folder(runs_dir)
    try:
        with tempfile.TemporaryDirectory(prefix=".unseen-doctor-", dir=place) as folder:
            path = Path(folder) / "lock"
            with locked(path) as held:
                works = held and is_locked(path)
    except (OSError, UnseenError) as error:
        remedy = f"make {place} writable, or choose another runs folder"
        return Finding("locks", f"{place} cannot be written: {error}", remedy)
    if works:
        return Finding("locks", f"work where {runs_dir} is")
    remedy = "run one process at a time there, or choose a runs folder on a local disk"
    return Finding("locks", f"do not work where {runs_dir} is", remedy)


def _symbols() -> Finding:
    try:
        load_symbols("mnist")
    except UnseenError as error:
        return Finding("symbols", str(error), "install unseen again")
    return Finding("symbols", "mnist is whole")


def _runs(runs_dir: Path) -> Iterator[Finding]:
    if os.path.lexists(runs_dir) and not runs_dir.is_dir():
        yield Finding("runs", f"{runs_dir} is no folder", "choose another runs folder")
        return
    try:
        runs = list_runs(runs_dir)
    except UnseenError as error:
        yield Finding("runs", str(error), "choose another runs folder")
        return
    faults = []
    for run in runs:
        if (fault := _fault(run)) is not None:
            faults.append(fault)
    whole = len(runs) - len(faults)
    yield Finding("runs", f"{whole} in {runs_dir} can be read, {len(faults)} cannot")
    yield from faults


def _fault(run: RunFolder) -> Finding | None:
    """What a run cannot be read for, and what to do about it."""
    try:
        run.experiment()
        results, damaged = run.results(thorough=False)
    except DamagedFileError as error:
        return Finding(run.path.name, str(error), AGAIN)
    except UnseenError as error:
        return Finding(run.path.name, str(error), "read it with the version that made it")
    damaged += [each for result in results for each in run.missing(result.fold)]
    return Finding(run.path.name, "; ".join(map(str, damaged)), FOLD_AGAIN) if damaged else None


def _nearest_folder(path: Path) -> Path:
    """The folder itself, or the first above it that is there."""
    path = path.absolute()
    return next(each for each in (path, *path.parents) if each.is_dir())

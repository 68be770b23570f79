"""`unseen doctor`: what a bug report needs, and common troubles on this machine."""

import importlib.util
import json as json_module
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from unseen.commands.output import AsJson, RunsDir, emit
from unseen.errors import UnseenError
from unseen.files import DamagedFileError
from unseen.locks import is_locked, locked
from unseen.problem.symbols import load_symbols
from unseen.report.words import format_count
from unseen.runs.environment import current_environment
from unseen.runs.find_runs import list_runs
from unseen.runs.local_workers import available_cores
from unseen.runs.run_folder import RunFolder

LEAST_DISK = 500_000_000  # bytes: ten folds of the largest network, with room to spare
OTHER_FOLDER = "choose another runs folder"
OPTIONAL_PACKAGES = {
    "distributed": "studies on a cluster (unseen[dask])",
    "tensorboard": "curves for TensorBoard (unseen[tensorboard])",
    "onnxruntime": "networks as ONNX (unseen[onnx])",
    "pyarrow": "results of studies as Parquet",
}


@dataclass(frozen=True)
class Finding:
    """What was looked at, what was found, and what to do about it where it is a trouble."""

    about: str
    found: str
    remedy: str = ""


def doctor(*, runs_dir: RunsDir = Path("runs"), json: AsJson = False) -> int:
    environment = {name: text for name, text in current_environment().items() if name != "host"}
    findings = [*examine(runs_dir)]
    troubles = sum(1 for each in findings if each.remedy)
    if json:
        found = {"environment": environment, "findings": [asdict(each) for each in findings]}
        emit(json_module.dumps(found, indent=2))
        return int(troubles > 0)
    width = max(map(len, [*environment, *(each.about for each in findings)]))
    for name, text in environment.items():
        emit(f"  {name:<{width}}  {text}")
    for each in findings:
        emit(f"{'!' if each.remedy else ' '} {each.about:<{width}}  {each.found}")
        if each.remedy:
            emit(f"  {'':<{width}}  → {each.remedy}")
    emit(f"{format_count(troubles, 'trouble') if troubles else 'No trouble'} found.")
    return int(troubles > 0)


def examine(runs_dir: Path) -> Iterator[Finding]:
    """Look at everything that has made trouble before; nothing is left behind."""
    cores, machine = available_cores(), os.cpu_count() or 1
    of_them = f" of the machine's {machine}" if cores < machine else ""
    yield Finding("cores", f"{cores}{of_them}: so many folds run at once")
    path = runs_dir.absolute()
    folder = next(each for each in (path, *path.parents) if each.is_dir())
    free = shutil.disk_usage(folder).free
    remedy = f"remove runs (unseen runs prune), or {OTHER_FOLDER}" if free < LEAST_DISK else ""
    yield Finding("disk", f"{free / 1e9:.1f} GB free where {runs_dir} is", remedy)
    yield _locks(folder)
    try:
        load_symbols("mnist")
        yield Finding("symbols", "mnist is whole")
    except UnseenError as error:
        yield Finding("symbols", str(error), "install unseen again")
    yield from _runs(runs_dir)
    for package, purpose in OPTIONAL_PACKAGES.items():
        is_there = importlib.util.find_spec(package) is not None
        yield Finding(package, "installed" if is_there else f"not installed: {purpose}")


def _locks(folder: Path) -> Finding:
    """Whether a lock keeps a second holder out, which some network file systems only pretend."""
    try:
        with tempfile.TemporaryDirectory(prefix=".unseen-doctor-", dir=folder) as scratch:
            path = Path(scratch) / "lock"
            with locked(path) as held:
                works = held and is_locked(path)
    except (OSError, UnseenError) as error:
        remedy = f"make it writable, or {OTHER_FOLDER}"
        return Finding("locks", f"{folder} cannot be written: {error}", remedy)
    if works:
        return Finding("locks", f"work in {folder}")
    remedy = "run one process at a time there, or choose a runs folder on a local disk"
    return Finding("locks", f"do not work in {folder}", remedy)


def _runs(runs_dir: Path) -> Iterator[Finding]:
    if os.path.lexists(runs_dir) and not runs_dir.is_dir():
        yield Finding("runs", f"{runs_dir} is no folder", OTHER_FOLDER)
        return
    try:
        runs = list_runs(runs_dir)
    except UnseenError as error:
        yield Finding("runs", str(error), OTHER_FOLDER)
        return
    faults = [fault for run in runs if (fault := _fault(run)) is not None]
    whole = len(runs) - len(faults)
    yield Finding("runs", f"{whole} in {runs_dir} can be read, {len(faults)} cannot")
    yield from faults


def _fault(run: RunFolder) -> Finding | None:
    """Why a run cannot be read, and what to do about it."""
    try:
        run.experiment()
        results, damaged = run.results(thorough=False)
    except DamagedFileError as error:
        remedy = "the command that made it runs again what is damaged"
        return Finding(run.path.name, str(error), remedy)
    except UnseenError as error:
        return Finding(run.path.name, str(error), "read it with the version that made it")
    damaged += [each for result in results for each in run.missing(result.fold)]
    remedy = "run it again; `unseen show` of the run prints the command"
    return Finding(run.path.name, "; ".join(map(str, damaged)), remedy) if damaged else None

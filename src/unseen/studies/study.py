"""A study: a preset, settings for all of its runs, and settings that vary, as a TOML file.

    preset = "fast"

    [settings]
    samples = 200
    folds = "1-3"

    [vary]
    unseen = [10, 50, 90]
    seed = [0, 1, 2]

Every combination of the varied settings is a run. Settings that change together are cases, as
cases = [{unseen = 10, samples = 800}, {unseen = 50, samples = 1440}]. Several blocks [[vary]] are
taken one after the other. The settings are those of `unseen run`, by its names; and `folds`, and
`preset` to vary it.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from unseen.errors import UnseenError, as_called, unknown
from unseen.files import open_regular
from unseen.problem.task import make_task
from unseen.runs.checks import check_folds, parse_folds
from unseen.runs.experiment import SETTINGS, Experiment
from unseen.runs.run_folder import RunFolder
from unseen.runs.session import find_experiment

Settings = dict[str, Any]  # by their names in calls

MOST_RUNS = 100_000
LARGEST_STUDY_BYTES = 1_000_000
ENTRIES = ("preset", "about", "settings", "vary")
CASES = "cases"


@dataclass(frozen=True)
class StudyRun:
    """One run of a study: its experiment, the folds to run, and what sets it apart."""

    experiment: Experiment
    folds: tuple[int, ...]
    varied: Mapping[str, Any]


@dataclass(frozen=True)
class Study:
    """Many runs that answer one question."""

    name: str
    about: str
    varied: tuple[str, ...]  # settings, in the order of the file
    runs: tuple[StudyRun, ...]

    def by_folder(self, runs_dir: Path) -> dict[RunFolder, StudyRun]:
        """The runs by where they are; the same experiment twice is one run with all its folds."""
        found: dict[RunFolder, StudyRun] = {}
        for run in self.runs:
            folder = RunFolder.of(run.experiment, runs_dir)
            before = found[folder].folds if folder in found else ()
            folds = tuple(sorted({*before, *run.folds}))
            found[folder] = StudyRun(run.experiment, folds, run.varied)
        return found


def ready_studies() -> dict[str, Path]:
    """The studies that come with the package, by name."""
    folder = Path(str(resources.files("unseen.studies"))) / "ready"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def find_study(study: str) -> Study:
    """The study of a file, or the one that comes with the package under this name."""
    if Path(study).is_file():
        return read_study(Path(study))
    ready = ready_studies()
    if study not in ready:
        raise unknown("study", study, ready, place="file")
    return read_study(ready[study])


def read_study(path: Path) -> Study:
    """Read the file of a study; an error names the setting that it is about."""
    try:
        with open_regular(path, LARGEST_STUDY_BYTES) as file:
            content = file.read()
    except OSError as error:
        raise UnseenError(f"cannot read {path}: {error.strerror}") from error
    try:
        return _study(path, tomllib.loads(content.decode("utf-8-sig")))
    except RecursionError as error:
        raise UnseenError(f"{path}: is nested too deeply") from error
    except (UnseenError, ValueError) as error:  # ValueError: no UTF-8, no TOML, a huge number
        raise UnseenError(f"{path}: {error}") from error


def _study(path: Path, document: Settings) -> Study:
    for name in document:
        if name not in ENTRIES:
            raise unknown("entry", name, ENTRIES)
    about, settings = document.get("about", ""), document.get("settings", {})
    if not isinstance(about, str) or not isinstance(settings, dict):
        raise UnseenError("about must be a text, and settings a table")
    blocks = document.get("vary", [])
    blocks = [blocks] if isinstance(blocks, dict) else blocks
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise UnseenError("vary must be a table: [vary], or [[vary]] several times")
    alternatives = [[*_alternatives(block)] for block in blocks] or [[]]
    count = sum(prod(map(len, block)) for block in alternatives)
    if count > MOST_RUNS:
        raise UnseenError(f"has {count:,} runs; at most {MOST_RUNS:,} can be made")
    shared = {"preset": document.get("preset", "fast")} | _by_call(settings)
    runs = [
        _run(path.parent, shared, _merged(chosen))
        for block in alternatives
        for chosen in product(*block)
    ]
    varied = tuple(dict.fromkeys(name for run in runs for name in run.varied))
    return Study(path.stem, about, varied, tuple(runs))


def _alternatives(block: Settings) -> Iterator[list[Settings]]:
    """For each entry of a block, the settings that are taken in turn."""
    for name, values in block.items():
        if not isinstance(values, list) or not values:
            raise UnseenError(f"{name} must be a list of values, as [1, 2]")
        cases = values if name == CASES else [{name: value} for value in values]
        if not all(isinstance(case, dict) and case for case in cases):
            raise UnseenError(f"{CASES} must be tables, as [{{seed = 1, epochs = 2}}]")
        yield [_by_call(case) for case in cases]


def _by_call(settings: Settings) -> Settings:
    """Settings of a table by their names in calls: the command line has hyphens."""
    known = [*SETTINGS, "folds", "preset"]
    for name in settings:
        if name.replace("-", "_") not in known:
            raise unknown("setting", name, known)
    return _merged([{name.replace("-", "_"): value} for name, value in settings.items()])


def _merged(parts: Iterable[Settings]) -> Settings:
    """Settings from several places, each from one of them."""
    found: Settings = {}
    for part in parts:
        for name in part.keys() & found.keys():
            raise UnseenError(f"{name} is set twice")
        found |= part
    return found


def _run(folder: Path, shared: Settings, varied: Settings) -> StudyRun:
    """The run of a study with these settings."""
    settings = {name: _beside(folder, name, each) for name, each in (shared | varied).items()}
    try:
        preset, folds = settings.pop("preset"), settings.pop("folds", None)
        experiment = find_experiment(str(preset)).vary(**settings)
        count = len(make_task(experiment.problem).folds)
        return StudyRun(experiment, check_folds(parse_folds(folds), count), varied)
    except UnseenError as error:
        where = f" (where {as_called(varied)})" if varied else ""
        raise UnseenError(f"{error}{where}") from error


def _beside(folder: Path, name: str, value: Any) -> Any:
    """A file or folder beside the study is meant as such, wherever the study is run."""
    if name in ("symbols", "model", "split") and isinstance(value, str):
        file, colon, last = value.rpartition(":") if ".py:" in value else (value, "", "")
        if file and (folder / file).exists():
            return f"{(folder / file).resolve()}{colon}{last}"
    return value

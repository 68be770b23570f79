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

import re
import tomllib
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, NoReturn, get_args

from unseen.errors import UnseenError, unknown
from unseen.experiments.checks import check_folds, parse_folds
from unseen.experiments.experiment import SETTINGS, Experiment
from unseen.experiments.posing import pose
from unseen.experiments.presets import PRESETS
from unseen.experiments.run_folder import RunFolder

MOST_RUNS = 100_000
LARGEST_STUDY_BYTES = 1_000_000
TABLES = ("preset", "about", "settings", "vary")
CASES = "cases"
KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


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
    """Read the file of a study; whatever is wrong in it is named with its place."""
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_STUDY_BYTES).decode()
        said = tomllib.loads(text)
    except OSError as error:
        raise UnseenError(f"cannot read {path}: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UnseenError(f"{path}: {error}") from error
    return _Reader(path, text).study(said)


@dataclass(frozen=True)
class _Reader:
    """Turns what a file says into a study, and knows where it is said."""

    path: Path
    text: str

    def study(self, said: Mapping[str, Any]) -> Study:
        for name in said:
            if name not in TABLES:
                self.refuse("", name, str(unknown("entry", name, TABLES)))
        settings = self.settings("settings", said.get("settings", {}))
        preset = said.get("preset", "fast")
        self.check_preset("", preset)
        about = said.get("about", "")
        if not isinstance(about, str):
            self.refuse("", "about", "must be a text")
        blocks = said.get("vary", [])
        if isinstance(blocks, dict):
            blocks = [blocks]
        if not isinstance(blocks, list) or not all(isinstance(each, dict) for each in blocks):
            self.refuse("", "vary", "must be a table: [vary], or [[vary]] several times")
        lists = [self.lists(number, block) for number, block in enumerate(blocks)]
        count = sum(prod(map(len, block)) for block in lists) if lists else 1
        if count > MOST_RUNS:
            raise UnseenError(f"{self.path} has {count:,} runs; at most {MOST_RUNS:,} can be made")
        runs = [
            self.run(number, {"preset": preset} | settings, dict(ChainMap(*reversed(values))))
            for number, block in enumerate(lists or [[]])
            for values in product(*block)
        ]
        varied = tuple(dict.fromkeys(name for run in runs for name in run.varied))
        return Study(self.path.stem, about, varied, tuple(runs))

    def settings(self, table: str, said: Any) -> dict[str, Any]:
        """The settings of a table by their names in calls."""
        if not isinstance(said, dict):
            self.refuse("", table, f"must be a table: [{table}]")
        for name, value in said.items():
            self.check(table, name, value)
        return {_called(name): value for name, value in said.items()}

    def lists(self, number: int, block: Mapping[str, Any]) -> list[list[dict[str, Any]]]:
        """What a block says to vary: for each entry its values, as settings by name."""
        entries = []
        for name, values in block.items():
            if not isinstance(values, list) or not values:
                self.refuse("vary", name, "must be a list of values, as [1, 2]", number)
            cases = values if name == CASES else [{name: value} for value in values]
            for case in cases:
                if not isinstance(case, dict) or not case:
                    self.refuse("vary", name, "must be tables, as [{seed = 1, epochs = 2}]", number)
                for each, value in case.items():
                    self.check("vary", each, value, number)
            entries.append([{_called(each): case[each] for each in case} for case in cases])
        names = [each for entry in entries for each in {key for case in entry for key in case}]
        for each in names:
            if names.count(each) > 1:
                self.refuse("vary", each, "is varied twice", number)
        return entries

    def check(self, table: str, name: str, value: Any, number: int = 0) -> None:
        """Refuse a setting that there is not, or a value of another kind."""
        called = _called(name)
        if called == "preset" and table == "vary":
            self.check_preset(table, value, number)
        elif called == "folds":
            if isinstance(value, bool) or not isinstance(value, int | str | list):
                self.refuse(table, name, "must be like 3, [1, 3] or '1,3-5'", number)
        elif called not in SETTINGS:
            known = [*SETTINGS, "folds", *(["preset", CASES] if table == "vary" else [])]
            self.refuse(table, name, str(unknown("setting", called, known)), number)
        else:
            annotation = SETTINGS[called].annotation
            kinds = {annotation, *get_args(annotation)}
            kind = next((each for each in (bool, int, float) if each in kinds), str)
            fits = type(value) is kind or (kind is float and type(value) is int)
            if not fits:
                self.refuse(table, name, f"must be {KINDS[kind]}, not {value!r}", number)

    def check_preset(self, table: str, preset: Any, number: int = 0) -> None:
        if preset not in PRESETS:
            self.refuse(table, "preset", str(unknown("preset", str(preset), PRESETS)), number)

    def run(self, number: int, settings: dict[str, Any], varied: dict[str, Any]) -> StudyRun:
        """The run of a combination of values."""
        chosen = {name: self.beside(name, value) for name, value in (settings | varied).items()}
        preset, folds = chosen.pop("preset"), chosen.pop("folds", None)
        try:
            experiment = PRESETS[preset]().vary(**chosen)
            named = parse_folds(folds)
            numbers = check_folds(named, len(pose(experiment.problem).folds))
        except UnseenError as error:
            name = getattr(error, "setting", None) or next(iter(varied), "")
            at = "vary" if name in varied else "settings"
            values = ", ".join(f"{each} = {value!r}" for each, value in varied.items())
            self.refuse(at, name, f"{error}" + (f" (where {values})" if values else ""), number)
        return StudyRun(experiment, numbers, varied)

    def beside(self, name: str, value: Any) -> Any:
        """A file or folder beside the study is meant as such, wherever the study is run."""
        if name in ("symbols", "model", "split") and isinstance(value, str):
            file, colon, last = value.rpartition(":") if ".py:" in value else (value, "", "")
            if file and (self.path.parent / file).exists():
                return f"{(self.path.parent / file).resolve()}{colon}{last}"
        return value

    def refuse(self, table: str, name: str, fault: str, number: int = 0) -> NoReturn:
        line = self.line_of(table, name, number)
        place = f"{self.path}, line {line}" if line else f"{self.path}"
        where = f"[{table}] {name}" if table else name
        raise UnseenError(f"{place}: {where}: {fault}")

    def line_of(self, table: str, name: str, number: int) -> int | None:
        """The line where a table's entry is; that of the table where the entry is not found."""
        now, seen, found = "", -1, None
        for at, line in enumerate(self.text.splitlines(), start=1):
            if header := re.match(r"\s*\[+\s*([\w-]+)\s*\]+", line):
                now = header[1]
                seen += now == table
                if now in (table, name) and (seen == number or not table):
                    found = found or at
            elif now == table and (not table or seen == number):
                key = re.match(r"""\s*["']?([\w-]+)["']?\s*=""", line)
                if key and _called(key[1]) == _called(name):
                    return at
        return found


def _called(name: str) -> str:
    """A setting's name in calls: the command line has hyphens."""
    return name.replace("-", "_")

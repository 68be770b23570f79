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
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, NoReturn, get_args

from unseen.errors import SettingError, UnseenError, unknown
from unseen.files import open_regular
from unseen.problem.task import make_task
from unseen.runs.checks import check_folds, parse_folds
from unseen.runs.experiment import SETTINGS, Experiment
from unseen.runs.presets import PRESETS
from unseen.runs.run_folder import RunFolder

Place = tuple[str | int, ...]  # in a file: keys and, in lists, numbers from 0

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
        with open_regular(path, LARGEST_STUDY_BYTES) as file:
            content = file.read()
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
        said = tomllib.loads(text)
    except OSError as error:
        raise UnseenError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = 1 + content.count(b"\n", 0, error.start)
        raise UnseenError(f"{path}, line {line}: is no text in UTF-8") from error
    except RecursionError as error:
        raise UnseenError(f"{path}: is nested too deeply") from error
    except ValueError as error:  # of TOML, and of numbers with thousands of digits
        raise UnseenError(f"{path}: {error}") from error
    return _Reader(path).study(said)


@dataclass(frozen=True)
class _Said:
    """A value of a setting, and where the file has it."""

    value: Any
    place: Place


@dataclass(frozen=True)
class _Reader:
    """Turns what a file says into a study, and knows its place."""

    path: Path

    def study(self, said: Mapping[str, Any]) -> Study:
        for name in said:
            if name not in TABLES:
                self.refuse((name,), str(unknown("entry", name, TABLES)))
        if not isinstance(said.get("settings", {}), dict):
            self.refuse(("settings",), "must be a table: [settings]")
        settings = self.settings(("settings",), said.get("settings", {}))
        preset = _Said(said.get("preset", "fast"), ("preset",))
        self.check_preset(preset)
        about = said.get("about", "")
        if not isinstance(about, str):
            self.refuse(("about",), "must be a text")
        blocks = self.blocks(said.get("vary", []))
        lists = [self.lists(place, block) for place, block in blocks]
        count = sum(prod(map(len, block)) for block in lists) if lists else 1
        if count > MOST_RUNS:
            raise UnseenError(f"{self.path} has {count:,} runs; at most {MOST_RUNS:,} can be made")
        runs = [
            self.run({"preset": preset} | settings, dict(ChainMap(*reversed(values))))
            for block in lists or [[]]
            for values in product(*block)
        ]
        varied = tuple(dict.fromkeys(name for run in runs for name in run.varied))
        return Study(self.path.stem, about, varied, tuple(runs))

    def blocks(self, said: Any) -> list[tuple[Place, Mapping[str, Any]]]:
        """What is varied, block by block."""
        if isinstance(said, dict):
            return [(("vary",), said)]
        if not isinstance(said, list) or not all(isinstance(each, dict) for each in said):
            self.refuse(("vary",), "must be a table: [vary], or [[vary]] several times")
        return [(("vary", number), block) for number, block in enumerate(said)]

    def settings(self, table: Place, said: Mapping[str, Any]) -> dict[str, _Said]:
        """The settings of a table by their names in calls."""
        found: dict[str, _Said] = {}
        for name, value in said.items():
            if _called(name) in found:
                self.refuse((*table, name), "is said twice, with a hyphen and an underscore")
            found[_called(name)] = _Said(value, (*table, name))
            self.check(_called(name), found[_called(name)])
        return found

    def lists(self, table: Place, block: Mapping[str, Any]) -> list[list[dict[str, _Said]]]:
        """What a block says to vary: for each entry its values, as settings by name."""
        entries, taken = [], set[str]()
        for name, values in block.items():
            place = (*table, name)
            if not isinstance(values, list) or not values:
                self.refuse(place, "must be a list of values, as [1, 2]")
            entry = []
            for number, value in enumerate(values):
                if name != CASES:
                    said = _Said(value, (*place, number))
                    self.check(_called(name), said)
                    entry.append({_called(name): said})
                elif isinstance(value, dict) and value:
                    entry.append(self.settings((*place, number), value))
                else:
                    self.refuse((*place, number), "must be tables, as [{seed = 1, epochs = 2}]")
            entries.append(entry)
            varied = {each: said for case in entry for each, said in case.items()}
            for each in varied.keys() & taken:
                self.refuse(varied[each].place, "is varied twice")
            taken |= varied.keys()
        return entries

    def check(self, name: str, said: _Said) -> None:
        """Refuse a setting that there is not, or a value of another kind."""
        value, is_varied = said.value, said.place[0] == "vary"
        if name == "preset" and is_varied:
            self.check_preset(said)
        elif name == "folds":
            items = value if isinstance(value, list) else [value]
            if any(isinstance(each, bool) or not isinstance(each, int | str) for each in items):
                self.refuse(said.place, "must be like 3, [1, 3] or '1,3-5'")
        elif name == "preset":
            self.refuse(said.place, "stands before all tables, or is varied")
        elif name not in SETTINGS:
            known = [*SETTINGS, "folds", *(["preset", CASES] if is_varied else [])]
            self.refuse(said.place, str(unknown("setting", name, known)))
        else:
            kind = setting_kind(name)
            fits = type(value) is kind or (kind is float and type(value) is int)
            if not fits:
                self.refuse(said.place, f"must be {KINDS[kind]}, not {value!r}")

    def check_preset(self, said: _Said) -> None:
        if not isinstance(said.value, str) or said.value not in PRESETS:
            self.refuse(said.place, str(unknown("preset", str(said.value), PRESETS)))

    def run(self, settings: dict[str, _Said], varied: dict[str, _Said]) -> StudyRun:
        """The run of a combination of values."""
        said = settings | varied
        chosen = {name: self.beside(name, each.value) for name, each in said.items()}
        values = {name: each.value for name, each in varied.items()}
        try:
            return StudyRun(*_made(chosen), values)
        except UnseenError as error:
            where = ", ".join(f"{name} = {value!r}" for name, value in values.items())
            culprit = said[_culprit(chosen, error, [*varied, *settings])]
            self.refuse(culprit.place, f"{error}" + (f" (where {where})" if where else ""))

    def beside(self, name: str, value: Any) -> Any:
        """A file or folder beside the study is meant as such, wherever the study is run."""
        if name in ("symbols", "model", "split") and isinstance(value, str):
            file, colon, last = value.rpartition(":") if ".py:" in value else (value, "", "")
            if file and (self.path.parent / file).exists():
                return f"{(self.path.parent / file).resolve()}{colon}{last}"
        return value

    def refuse(self, place: Place, fault: str) -> NoReturn:
        table, name = place[0], [step for step in place if isinstance(step, str)][-1]
        where = f"[{table}] {name}" if name != table else name
        raise UnseenError(f"{self.path}: {where}: {fault}")


def setting_kind(name: str) -> type:
    """The kind of value that a setting has in files: bool, int, float or str."""
    annotation = SETTINGS[name].annotation
    kinds = {annotation, *get_args(annotation)}
    return next((each for each in (bool, int, float) if each in kinds), str)


def _made(chosen: Mapping[str, Any]) -> tuple[Experiment, tuple[int, ...]]:
    """The experiment and the folds that settings of a study make."""
    settings = dict(chosen)
    preset, folds = settings.pop("preset"), settings.pop("folds", None)
    experiment = PRESETS[preset]().vary(**settings)
    return experiment, check_folds(parse_folds(folds), len(make_task(experiment.problem).folds))


def _culprit(chosen: Mapping[str, Any], error: UnseenError, names: Sequence[str]) -> str:
    """The setting that an error is about: it says so, or it is the first that alone leads to it."""
    if isinstance(error, SettingError) and error.setting in chosen:
        return error.setting
    for name in names:
        try:
            _made({"preset": chosen["preset"], name: chosen[name]})
        except UnseenError:
            return name
    return names[0]


def _called(name: str) -> str:
    """A setting's name in calls: the command line has hyphens."""
    return name.replace("-", "_")

"""What can be chosen on the page, and the experiment that its settings make.

The page names no file and no folder: symbols and networks of the user's are those that the lab was
started with.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from unseen.analysis.error_parts import place_names
from unseen.errors import SettingError, UnseenError, printable, unknown
from unseen.networks.models import MODELS
from unseen.networks.own_files import is_own
from unseen.problem.fashion import find_fashion_mnist
from unseen.problem.leakage import determined_answers, rule_of, split_leakage
from unseen.problem.operations import OPERATIONS, parse_operation, spelled
from unseen.problem.splits import SPLITS, ready_lists
from unseen.problem.symbols import SYMBOLS, canonical_symbols, load_symbols
from unseen.problem.task import Task, make_task
from unseen.report.catalogues import CATALOGUES
from unseen.report.leakage_text import format_leakage
from unseen.report.repeat_command import command_of
from unseen.report.symbol_words import symbol_words
from unseen.report.words import answers_word, combinations_word
from unseen.runs.checks import check_fold
from unseen.runs.differences import changes
from unseen.runs.experiment import SETTINGS, Experiment, setting_value
from unseen.runs.presets import PRESETS
from unseen.runs.run_folder import RunFolder
from unseen.runs.session import find_experiment
from unseen.training.baselines import BASELINES

MOST_COMBINATIONS = 1_000  # that the page can show
LONGEST_TEXT = 1_000  # of a setting
LARGEST_JSON_INTEGER = 2**53 - 1  # that a browser reads exactly
EFFORTS = {"fast": "Seconds", "good": "A minute", "best": "Minutes"}
SHOWN_FIRST = ("operation", "symbols", "split", "model", "seed")  # with controls of their own


@dataclass(frozen=True)
class Setup:
    """An experiment, and the fold of it that is trained."""

    experiment: Experiment
    fold: int

    @property
    def task(self) -> Task:
        return make_task(self.experiment.problem)


@dataclass(frozen=True)
class Choices:
    """What can be chosen: what is registered, and what the lab was started with."""

    own_symbols: str | None = None  # a folder
    own_model: str | None = None  # file.py:Class

    @classmethod
    def of(cls, symbols: Path | None, model: str | None) -> "Choices":
        """Check what the lab is started with."""
        if model is not None:
            if not is_own(model):
                raise SettingError("model", model, "names no network of your own, as file.py:Class")
            model = Experiment(name="own").vary(model=model).training.model
        return cls(None if symbols is None else canonical_symbols(str(symbols)), model)

    def symbol_sets(self) -> dict[str, str]:
        """Symbol sets by name, with what they are."""
        about = _about("symbols")
        found = {name: about[name] for name in SYMBOLS}
        if find_fashion_mnist() is None:
            del found["fashion-mnist"]  # which would have to be fetched
        if self.own_symbols is not None:
            found.setdefault(self.own_symbols, f"Your own: {Path(self.own_symbols).name}")
        return found

    def models(self) -> dict[str, str]:
        found = {name: network.about for name, network in MODELS.items()}
        if self.own_model is not None:
            found[self.own_model] = f"Your own: {Path(self.own_model).name}"
        return found

    def refuse_others(self, experiment: Experiment) -> None:
        """Refuse a run whose symbols are in a folder that the lab was not given."""
        if experiment.problem.symbols not in self.symbol_sets():
            raise UnseenError(
                "its symbols are not among those that the lab was started with: "
                f"unseen lab --symbols {printable(experiment.problem.symbols)} shows them"
            )

    def setup(self, document: Any) -> Setup:
        """The experiment that a page's settings make; an UnseenError says what is wrong."""
        if not document.keys() <= {"preset", "settings", "fold"}:
            raise UnseenError("a setup is an object with preset, settings and fold")
        preset, settings = document.get("preset", "fast"), document.get("settings", {})
        if preset not in (presets := effort_presets()):
            raise unknown("preset", printable(str(preset)[:40]), presets)
        if not isinstance(settings, dict):
            raise UnseenError("settings are an object of names and values")
        self._check(settings)
        experiment = find_experiment(preset).vary(**settings)
        refuse_many(experiment)
        fold, count = check_fold(document.get("fold", 1)), len(make_task(experiment.problem).folds)
        if not 1 <= fold <= count:
            raise SettingError("fold", fold, f"does not exist; this split has 1 to {count}")
        return Setup(experiment, fold)

    def _check(self, settings: Mapping[str, Any]) -> None:
        """Refuse what is no setting, and all that would have a file of the user's read."""
        if stray := settings.keys() - SETTINGS.keys():
            raise unknown("setting", printable(min(stray)[:40]), SETTINGS)
        for name, value in settings.items():
            if isinstance(value, list) and name == "split":
                continue  # which Problem checks
            if not isinstance(value, str | int | float):
                raise UnseenError(f"{name} must be a text or a number")
            if isinstance(value, str) and len(value) > LONGEST_TEXT:
                raise UnseenError(f"{name} is longer than {LONGEST_TEXT:,} characters")
            if name in (known := self._by_name()) and value not in known[name]:
                raise unknown(name, printable(str(value)), known[name])

    def _by_name(self) -> dict[str, dict[str, str]]:
        """What there is of those settings that could name a file, each with what it is."""
        splits = _about("splits")
        return {
            "split": {name: splits[name] for name in (*SPLITS, *ready_lists())},
            "symbols": self.symbol_sets(),
            "model": self.models(),
        }

    def catalogue(self) -> dict[str, Any]:
        """All that can be chosen, with what it is."""
        operations = _about("operations")
        return self._by_name() | {
            "presets": [
                {"name": name, "effort": EFFORTS.get(name, ""), "about": PRESETS[name].about}
                | {"settings": _settings_of(PRESETS[name]())}
                for name in effort_presets()
            ],
            "operation": {
                **{name: operations[name] for name in OPERATIONS},
                "shown:+,-,*": operations["shown:+,-,*"],
                "table:1": operations["table:SEED"],
            },
            "more": [_field(name) for name in SETTINGS if name not in SHOWN_FIRST],
        }


def _about(catalogue: str) -> dict[str, str]:
    return {row["name"]: row["about"] for row in CATALOGUES[catalogue]()}


def effort_presets() -> list[str]:
    """The presets that train a network, those of EFFORTS first."""
    trained = [name for name, each in PRESETS.items() if each().training.model not in BASELINES]
    return sorted(trained, key=[*EFFORTS, *trained].index)


def _settings_of(experiment: Experiment) -> dict[str, Any]:
    return {name: setting_value(experiment, name) for name in SETTINGS}


def _field(name: str) -> dict[str, Any]:
    """A setting as a form has it."""
    info = SETTINGS[name]
    kinds = {*get_args(info.annotation), info.annotation}
    kind = next((each.__name__ for each in (bool, int, float) if each in kinds), "str")
    return {"name": name, "kind": kind, "about": info.description}


def refuse_many(experiment: Experiment) -> None:
    """Refuse more combinations than the page can show, before any of them is made."""
    problem = experiment.problem
    count = len(load_symbols(problem.symbols).values) ** problem.length
    count *= max(1, len(parse_operation(problem.operation, problem.length).signs))
    if count > MOST_COMBINATIONS:
        raise UnseenError(
            f"the lab shows up to {MOST_COMBINATIONS:,} combinations, and these are {count:,}; "
            "the command unseen run has no such limit"
        )


def setup_json(setup: Setup) -> dict[str, Any]:
    """All that the page says of a setup before anything is trained."""
    experiment, task = setup.experiment, setup.task
    problem, table = experiment.problem, task.combinations
    fold = task.folds[setup.fold - 1]
    leakage = split_leakage(table, [fold])
    determined = determined_answers(table, fold, rule_of(table))
    words = symbol_words(problem.symbols)
    return {
        "preset": experiment.name,
        "settings": _changed_settings(experiment),
        "fold": setup.fold,
        "folds": len(task.folds),
        "places": [spelled(np.unique(column)) for column in table.digits.T],
        "place_names": place_names(problem),
        "symbol_names": words.names,
        "answers": table.answers.tolist(),
        "unseen": fold.unseen.tolist(),
        "undetermined": [] if determined is None else fold.unseen[~determined].tolist(),
        "leakage": format_leakage(leakage),
        "things": combinations_word(problem),
        "symbol": words.one,
        "answers_word": answers_word(problem),
        "picture": task.bank.test.images.shape[1:],
        "epochs": experiment.training.epochs,
        "command": command_of(experiment, [setup.fold] if len(task.folds) > 1 else ()),
    }


def _changed_settings(experiment: Experiment) -> dict[str, Any]:
    """The settings that differ from the preset, as JSON has them; listed folds as lists."""
    settings = {
        name: str(value) if isinstance(value, int) and value > LARGEST_JSON_INTEGER else value
        for name, value in changes(experiment).items()
    }
    if listed := [[spelled(each) for each in fold] for fold in experiment.problem.unseen_list]:
        settings["split"] = listed[0] if len(listed) == 1 else listed
    return settings


def setup_of(folder: RunFolder, fold: int | None, choices: Choices) -> Setup:
    """What a run was run with; by default, of the first fold that is done, else begun."""
    experiment = folder.experiment()
    choices.refuse_others(experiment)
    refuse_many(experiment)
    known = range(1, len(make_task(experiment.problem).folds) + 1)
    if fold is None:
        done = [each.fold for each in folder.results(thorough=False)[0]]
        fold = next((each for each in [*done, *folder.folds()] if each in known), 1)
    if fold not in known:
        raise SettingError("fold", fold, "does not exist in this run")
    return Setup(experiment, fold)

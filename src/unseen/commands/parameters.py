"""The settings of an experiment as options of a command, made from its models."""

import re
from collections.abc import Sequence
from dataclasses import make_dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_args

from cyclopts import Group, Parameter, Token

from unseen.problem.problem import Problem
from unseen.runs.experiment import SETTINGS, Experiment, setting_value
from unseen.runs.presets import PRESETS
from unseen.settings import Frozen, format_value, setting_names
from unseen.training.recipe import Training

DEFAULT_PRESET = "fast"
PROBLEM, TRAINING, RUN = (Group.create_ordered(name) for name in ("Problem", "Training", "Run"))
GROUPS: dict[Group, type[Frozen]] = {PROBLEM: Problem, TRAINING: Training, RUN: Experiment}


def _whole(_: type, tokens: Sequence[Token]) -> int:
    text = tokens[0].value
    if not re.fullmatch("[+-]?[0-9]{1,4000}", text):  # cyclopts would round 2.5
        raise ValueError(f"{text[:40]!r} is no whole number.")
    return int(text)


WHOLE = Parameter(converter=_whole)


def _option(name: str) -> Any:
    """A setting as an option; not given, it stays as the preset has it."""
    info, default = SETTINGS[name], setting_value(PRESETS[DEFAULT_PRESET](), name)
    kinds = {*get_args(info.annotation), info.annotation}
    kind: Any = next((each for each in (bool, int, float) if each in kinds), str)
    shown = ("no", "yes")[default] if kind is bool else format_value(default)
    parameter = Parameter(
        help=f"{info.description}" + ("" if default is None else f" [{shown}]"),
        group=next(group for group, model in GROUPS.items() if name in setting_names(model)),
        allow_leading_hyphen=kind is str,  # "-a + b" is an expression
    )
    return Annotated[(kind | None, parameter, *([WHOLE] if kind is int else []))]


if TYPE_CHECKING:
    Settings = Any
else:
    Settings = make_dataclass("Settings", [(name, _option(name), None) for name in SETTINGS])
    Settings.__module__ = __name__  # where cyclopts looks for its annotations

# the settings that a run was run with, to find it by; its help is that of `unseen run`
RunSettings = Annotated[Settings | None, Parameter(name="*", show=False)]


def given(settings: Any) -> dict[str, Any]:
    """The settings that were typed."""
    typed = vars(settings) if settings else {}
    return {name: value for name, value in typed.items() if value is not None}

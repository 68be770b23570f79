"""The settings of an experiment as options of a command, made from its models."""

import re
from collections.abc import Sequence
from dataclasses import make_dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_args

from cyclopts import Group, Parameter, Token
from pydantic.fields import FieldInfo

from unseen.problem.problem import Problem
from unseen.runs.experiment import SETTINGS, Experiment, setting_value
from unseen.runs.presets import PRESETS
from unseen.settings import format_value, setting_names, without_none
from unseen.training.recipe import Training

DEFAULT_PRESET = "fast"
PROBLEM, TRAINING, RUN = (Group.create_ordered(name) for name in ("Problem", "Training", "Run"))


def _whole(_: type, tokens: Sequence[Token]) -> int:
    text = tokens[0].value
    if not re.fullmatch("[+-]?[0-9]{1,4000}", text):  # and 2.5 is not rounded
        raise ValueError(f"{text[:40]!r} is no whole number.")
    return int(text)


WHOLE = Parameter(converter=_whole)


def _option(name: str, info: FieldInfo, *, shown: bool) -> Any:
    """A setting as an option of the command line; not given, it stays as the preset has it."""
    kinds = {*get_args(info.annotation), info.annotation}
    kind: Any = next((each for each in (bool, int, float) if each in kinds), str)
    default = setting_value(PRESETS[DEFAULT_PRESET](), name)
    said = ("no", "yes")[default] if kind is bool else format_value(default)
    models = ((PROBLEM, Problem), (TRAINING, Training), (RUN, Experiment))
    parameter = Parameter(
        help=f"{info.description}" + ("" if default is None else f" [{said}]"),
        group=next(group for group, model in models if name in setting_names(model)),
        allow_leading_hyphen=kind is str,  # "-a + b" is an expression
        show=shown,
    )
    return Annotated[(kind | None, parameter, *([WHOLE] if kind is int else []))]


def _options(name: str, *, shown: bool) -> type:
    fields = [(each, _option(each, info, shown=shown), None) for each, info in SETTINGS.items()]
    options = make_dataclass(name, fields)
    options.__module__ = __name__  # where cyclopts looks for its annotations
    return options


if TYPE_CHECKING:
    Settings = Any
    NamingSettings = Any
else:
    Settings = _options("Settings", shown=True)
    NamingSettings = _options("NamingSettings", shown=False)

# the settings that a run was run with, to find it by; its help is that of `unseen run`
RunSettings = Annotated[NamingSettings | None, Parameter(name="*")]


def given(settings: Any) -> dict[str, Any]:
    """The settings that were typed."""
    return without_none(vars(settings) if settings else {})

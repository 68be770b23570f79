"""What can be chosen: a table of each registry."""

import tomllib
from collections.abc import Callable, Mapping
from typing import Any, Literal

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unseen.networks.models import MODELS
from unseen.problem.operations import OPERATIONS
from unseen.problem.splits import SPLITS, ready_lists
from unseen.problem.symbols import SYMBOLS
from unseen.report.tables import console_table
from unseen.runs.presets import PRESETS
from unseen.studies.study import ready_studies
from unseen.training.baselines import BASELINES

Row = dict[str, Any]
HEADINGS = {
    "about": "what it is",
    "seconds_per_fold": "a fold, one core",
    "step_cost": "a step, × lenet5-strided",
}
NUMBERS = ("seconds_per_fold", "step_cost")


def presets() -> list[Row]:
    return [
        {"name": name, "about": preset.about, "layout": layout(preset().training.model)}
        | {"seconds_per_fold": preset.seconds_per_fold}
        for name, preset in PRESETS.items()
    ]


def operations() -> list[Row]:
    others = {
        "a*b + 2": "Any expression in the letters of the places, with abs, min and max",
        "shown:+,-,*": "A sign between two digits says what to do",
        "table:SEED": "Random answers, as a control",
    }
    return _rows(_first_lines(OPERATIONS.with_installed()) | others)


def symbols() -> list[Row]:
    return _rows(_first_lines(SYMBOLS.with_installed()) | {"DIR": "A folder of four IDX files"})


def splits() -> list[Row]:
    listed = {
        name: path.read_text("utf-8").splitlines()[0].strip("# .")
        for name, path in ready_lists().items()
    }
    listed |= {"FILE": "One fold: the combinations that a text file lists, one a line as 3 4"}
    return _rows(_first_lines(SPLITS.with_installed()) | listed)


def networks() -> list[Row]:
    own = "your own, built with (length, height, width)"
    return [
        {"name": name, "about": network.about, "layout": layout(name), "step_cost": network.cost}
        for name, network in MODELS.with_installed().items()
    ] + [{"name": "file.py:Class", "about": own, "layout": None, "step_cost": None}]


def baselines() -> list[Row]:
    return [
        {"name": name, "about": each.about, "seconds_per_fold": PRESETS[name].seconds_per_fold}
        for name, each in BASELINES.items()
    ]


def studies() -> list[Row]:
    return _rows(
        {name: tomllib.loads(path.read_text())["about"] for name, path in ready_studies().items()}
        | {"FILE.toml": "your own: a preset, settings, and settings to vary"}
    )


def layout(model: str) -> str | None:
    """What a network is built to know of a picture: "blind" is nothing; None for a baseline."""
    return None if model in BASELINES else MODELS[model].layout


def _first_lines(functions: Mapping[str, Callable[..., Any]]) -> dict[str, str]:
    return {
        name: (function.__doc__ or "registered").strip().splitlines()[0].rstrip(".")
        for name, function in functions.items()
    }


def _rows(about: Mapping[str, str]) -> list[Row]:
    return [{"name": name, "about": text} for name, text in about.items()]


def catalogue_tables(catalogues: Mapping[str, list[Row]]) -> RenderableType:
    """A table for each catalogue."""
    return Group(*(_table(title, rows) for title, rows in catalogues.items()))


def _table(title: str, rows: list[Row]) -> Table:
    table = console_table(title)
    for key in rows[0]:
        side: Literal["left", "right"] = "right" if key in NUMBERS else "left"
        table.add_column(HEADINGS.get(key, key), justify=side, no_wrap=key == "name")
    for row in rows:
        table.add_row(*(Text(format_cell(key, value)) for key, value in row.items()))
    return table


def format_cell(key: str, value: Any) -> str:
    """A value as a table shows it: 9 s, 11 min, 4.6 h, yes or no, nothing for None."""
    if value is None:
        return ""
    if key == "seconds_per_fold":
        unit, seconds = next(
            each for each in UNITS.items() if value >= 1.5 * each[1] or each[1] == 1
        )
        return f"{value / seconds:.2g} {unit}"
    if key == "step_cost":
        return f"{value:g}"
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


UNITS = {"h": 3600, "min": 60, "s": 1}
CATALOGUES: dict[str, Callable[[], list[Row]]] = {
    each.__name__: each
    for each in (presets, operations, symbols, splits, networks, baselines, studies)
}

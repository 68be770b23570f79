"""What can be chosen: a table of each registry."""

import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Group, RenderableType

from unseen.networks.models import MODELS
from unseen.problem.operations import OPERATIONS
from unseen.problem.splits import SPLITS, ready_lists
from unseen.problem.symbols import SYMBOLS
from unseen.report.tables import TextTable, layout
from unseen.report.words import format_duration
from unseen.runs.presets import PRESETS
from unseen.studies.study import ready_studies
from unseen.training.baselines import BASELINES

Row = dict[str, Any]
HEADINGS = {
    "about": "what it is",
    "seconds_per_fold": "a fold, one core",
    "step_cost": "a step, × lenet5-strided",
}
OTHER_OPERATIONS = {
    "a*b + 2": "Any expression in the letters of the places, with abs, min and max",
    "shown:+,-,*": "A sign between two digits says what to do",
    "table:SEED": "Random answers, as a control",
}


def presets() -> list[Row]:
    rows = []
    for name, preset in PRESETS.items():
        model = preset().training.model
        told = None if model in BASELINES else layout(model)
        row = {"name": name, "about": preset.about, "layout": told}
        rows.append(row | {"seconds_per_fold": preset.seconds_per_fold})
    return rows


def operations() -> list[Row]:
    return _rows(_first_lines(OPERATIONS.with_installed()) | OTHER_OPERATIONS)


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
        {"name": name, "about": each.about, "layout": each.layout, "step_cost": each.cost}
        for name, each in MODELS.with_installed().items()
    ] + [{"name": "file.py:Class", "about": own, "layout": None, "step_cost": None}]


def baselines() -> list[Row]:
    return [
        {"name": name, "about": each.about, "seconds_per_fold": PRESETS[name].seconds_per_fold}
        for name, each in BASELINES.items()
    ]


def studies() -> list[Row]:
    ready = {name: tomllib.loads(path.read_text()) for name, path in ready_studies().items()}
    own = {"FILE.toml": "your own: a preset, settings, and settings to vary"}
    return _rows({name: study["about"] for name, study in ready.items()} | own)


def _first_lines(functions: Mapping[str, Callable[..., Any]]) -> dict[str, str]:
    return {
        name: (function.__doc__ or "registered").strip().splitlines()[0].rstrip(".")
        for name, function in functions.items()
    }


def _rows(about: Mapping[str, str]) -> list[Row]:
    return [{"name": name, "about": text} for name, text in about.items()]


def catalogue_tables(catalogues: Mapping[str, list[Row]]) -> RenderableType:
    """A table for each catalogue."""
    tables = []
    for title, rows in catalogues.items():
        headings = tuple(HEADINGS.get(key, key) for key in rows[0])
        cells = tuple(tuple(format_cell(*each) for each in row.items()) for row in rows)
        texts = 3 if "layout" in rows[0] else 2
        tables.append(TextTable(title, headings, (cells,), texts).for_console())
    return Group(*tables)


def format_cell(key: str, value: Any) -> str:
    """A value as a table shows it; nothing for None."""
    if value is None:
        return ""
    if key == "seconds_per_fold":
        return format_duration(value)
    return f"{value:g}" if key == "step_cost" else str(value)


CATALOGUES: dict[str, Callable[[], list[Row]]] = {
    each.__name__: each
    for each in (presets, operations, symbols, splits, networks, baselines, studies)
}

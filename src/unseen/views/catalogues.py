"""What can be chosen: a table of each registry."""

from collections.abc import Callable, Mapping
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unseen.experiments.presets import PRESETS
from unseen.learning.baselines import BASELINES
from unseen.learning.models import MODELS, OWN
from unseen.problem.operations import OPERATIONS
from unseen.problem.splits import SPLITS
from unseen.problem.symbols import SYMBOLS

Row = dict[str, str]


def presets() -> list[Row]:
    return [
        {"preset": name, "what it is for": preset.about, "a fold, one core": preset.time_per_fold}
        for name, preset in PRESETS.items()
    ]


def operations() -> list[Row]:
    others = {
        "a*b + 2": "Any expression in the letters of the places, with abs, min and max",
        "shown:+,-,*": "A sign between two digits says what to do",
        "table:SEED": "Random answers, as a control",
    }
    return _rows("operation", _first_lines(OPERATIONS) | others)


def symbols() -> list[Row]:
    return _rows("symbols", _first_lines(SYMBOLS) | {"DIR": "A folder of four IDX files"})


def splits() -> list[Row]:
    listed = {"FILE": "One fold: the combinations that a text file lists, one a line as 3 4"}
    return _rows("split", _first_lines(SPLITS) | listed)


def networks() -> list[Row]:
    own = {"network": "file.py:Class", "what it is": "Your own, built with (length, height, width)"}
    return [
        {
            "network": name,
            "what it is": network.about,
            "sight": network.sight,
            "time of a step": f"{network.cost:g} ×",
        }
        for name, network in MODELS.items()
    ] + [own | {"sight": OWN, "time of a step": ""}]


def baselines() -> list[Row]:
    return _rows("baseline", {name: each.about for name, each in BASELINES.items()})


def _first_lines(functions: Mapping[str, Callable[..., Any]]) -> dict[str, str]:
    return {
        name: (function.__doc__ or "").splitlines()[0].rstrip(".")
        for name, function in functions.items()
    }


def _rows(heading: str, about: Mapping[str, str]) -> list[Row]:
    return [{heading: name, "what it is": text} for name, text in about.items()]


def catalogue_tables(catalogues: Mapping[str, list[Row]]) -> RenderableType:
    """A table for each catalogue."""
    return Group(*(_table(title, rows) for title, rows in catalogues.items()))


def _table(title: str, rows: list[Row]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for column, heading in enumerate(rows[0]):
        table.add_column(heading, no_wrap=column == 0)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row.values()))
    return table


CATALOGUES: dict[str, Callable[[], list[Row]]] = {
    "presets": presets,
    "operations": operations,
    "symbols": symbols,
    "splits": splits,
    "networks": networks,
    "baselines": baselines,
}

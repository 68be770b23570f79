"""How figures look: colours, axes, and SVG that follows the page's colours."""

import html
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from unseen.analysis.summary import Summary

Item = TypeVar("Item")
Offset = tuple[float, float]

# told apart by colour-blind readers too (Okabe and Ito); the page has others at night
COLOURS = {
    "ink": "#1b1b1b",
    "faint": "#8c8c8c",
    "blue": "#0072b2",
    "orange": "#d55e00",
    "green": "#009e73",
    "pink": "#cc79a7",
}
INK, FAINT, BLUE, ORANGE, GREEN, PINK = COLOURS.values()
SERIES = (BLUE, ORANGE, GREEN, PINK)
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "text.parse_math": False,  # a name with two $ in it is no formula
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.fonttype": "none",  # text stays text: smaller, and found by a search
    "svg.hashsalt": "unseen",
    "pdf.fonttype": 42,
}
WIDTH = 4.3
ABOVE: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
MOST_DOTS = 400


@dataclass(frozen=True)
class Drawing:
    """A figure of a run: all that the page, the files and the exports need to show it."""

    title: str
    draw: Callable[[Summary], tuple[Figure | None, str]]  # its caption, or why there is none
    headings: tuple[str, ...] = ()  # of a table under it
    rows: Callable[[Summary], list[tuple[str, ...]]] = lambda summary: []


def in_our_style() -> AbstractContextManager[None]:
    return rc_context(STYLE)


def new_figure(height: float = 3.2) -> tuple[Figure, Axes]:
    """One pair of axes, as wide as a column of the page."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots()


def label(axes: Axes, text: str, at: tuple[float, float], offset: Offset, **style: Any) -> None:
    """A text beside a point; `offset` is in printer's points."""
    axes.annotate(text, at, xytext=offset, textcoords="offset points", color=INK, **style)


def scale_by_factors(axes: Axes) -> None:
    """A logarithmic scale upwards, with few marks and in plain numbers."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def share_colours(share: float) -> tuple[str, str]:
    """The colour of a share, and black or white, whichever can be read on it."""
    colour = colormaps["viridis"](share)
    light = 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]
    return to_hex(colour), "#000000" if light > 0.5 else "#ffffff"


def draw_shares(
    axes: Axes,
    shares: Mapping[tuple[int, int], float],
    rows: Sequence[str],
    columns: Sequence[str],
    fontsize: int = 9,
) -> None:
    """Shares by row, downwards, and column: each a coloured cell with its % in it."""
    for (row, column), share in shares.items():
        is_known = math.isfinite(share)
        colour, ink = share_colours(share) if is_known else (FAINT, INK)
        axes.add_patch(Rectangle((column - 0.47, row - 0.47), 0.94, 0.94, color=colour))
        text = f"{100 * share:.0f}" if is_known else "—"
        axes.text(column, row, text, color=ink, ha="center", va="center", fontsize=fontsize)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    axes.tick_params(length=0)


def thinned(items: Sequence[Item]) -> list[Item]:
    """At most some hundreds, evenly taken."""
    return list(items[:: math.ceil(len(items) / MOST_DOTS)])


def embedded_svg(name: str, title: str, figure: Figure) -> str:
    """A figure as part of a page: without a size, in the page's colours, with ids of its own."""
    text = saved(figure, "svg", transparent=True).decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r"\s*<defs>\s*<style.*?</style>\s*</defs>", "", text, count=1, flags=re.S)
    for size in ("height", "width"):
        text = re.sub(rf' {size}="[^"]*"', "", text, count=1)
    text = re.sub(r' id="(?!p|m|C)[^"]*"', "", text)
    text = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", text)
    for ours, colour in COLOURS.items():
        text = text.replace(colour, f"var(--{ours})")
    return text.replace("<svg", f'<svg role="img" aria-label="{html.escape(title)}"', 1)


def saved(figure: Figure, ending: str, **options: Any) -> bytes:
    """The file of a figure, svg or pdf, without its date: the same bytes each time."""
    file = io.BytesIO()
    date = {"svg": "Date", "pdf": "CreationDate"}[ending]
    figure.savefig(file, format=ending, metadata={date: None}, **options)
    return file.getvalue()

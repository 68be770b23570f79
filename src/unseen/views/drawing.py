"""How figures look: colours, axes, and SVG that follows the page's colours."""

import html
import io
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from unseen.insight.summary import Summary

Thing = TypeVar("Thing")

# told apart by colour-blind readers too (Okabe and Ito)
INK, FAINT, BLUE, ORANGE, GREEN, PINK = (
    *("#1b1b1b", "#8c8c8c"),
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7"),
)
SERIES = (BLUE, ORANGE, GREEN, PINK)
# the page has other colours at night
PAGE_COLOURS = {
    INK: "var(--ink)",
    FAINT: "var(--faint)",
    BLUE: "var(--blue)",
    ORANGE: "var(--orange)",
    GREEN: "var(--green)",
    PINK: "var(--pink)",
}
STYLE = {
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.fonttype": "none",  # text stays text: smaller, and found by a search
    "svg.hashsalt": "unseen",
    "pdf.fonttype": 42,
}
WIDTH = 4.3
ABOVE: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
MOST_DOTS = 400
NOT_RECORDED = (
    "Not recorded: this run was made by an earlier version, or its baseline takes too long. "
    "The same command with --restart records it."
)


@dataclass(frozen=True)
class Drawing:
    """A figure of a run: all that the page, the files and the exports need to show it."""

    title: str
    draw: Callable[[Summary], Figure | str]  # or why it cannot be drawn
    caption: Callable[[Summary], str]  # what to see in it, if it is drawn
    headings: tuple[str, ...] = ()  # of a table under it
    rows: Callable[[Summary], list[tuple[str, ...]]] = lambda summary: []


@contextmanager
def in_our_style() -> Iterator[None]:
    with rc_context(STYLE):  # type: ignore[arg-type]
        yield


def axes(height: float = 3.2) -> tuple[Figure, Axes]:
    """One pair of axes, without the top and right sides."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    place = figure.subplots()
    place.spines[["top", "right"]].set_visible(False)
    return figure, place


def scale_by_factors(place: Axes) -> None:
    """A logarithmic scale upwards, with few marks and in plain numbers."""
    place.set_yscale("log")
    place.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    place.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    place.yaxis.set_minor_locator(NullLocator())


def share_colours(share: float) -> tuple[str, str]:
    """The colour of a share, and black or white, whichever can be read on it."""
    from matplotlib.colors import to_hex

    colour = colormaps["viridis"](share)
    light = 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]
    return to_hex(colour), "#000000" if light > 0.5 else "#ffffff"


def thinned(things: Sequence[Thing]) -> list[Thing]:
    """At most some hundreds, evenly taken."""
    return list(things[:: math.ceil(len(things) / MOST_DOTS)])


def embedded_svg(name: str, title: str, figure: Figure) -> str:
    """A figure as part of a page: without a size, in the page's colours, with ids of its own."""
    text = as_svg(figure, transparent=True).decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r"\s*<defs>\s*<style.*?</style>\s*</defs>", "", text, count=1, flags=re.S)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r' id="(?!p|m|C)[^"]*"', "", text)
    text = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", text)
    for colour, ours in PAGE_COLOURS.items():
        text = text.replace(colour, ours)
    return text.replace("<svg", f'<svg role="img" aria-label="{html.escape(title)}"', 1)


def as_svg(figure: Figure, *, transparent: bool = False) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="svg", transparent=transparent, metadata={"Date": None})
    return file.getvalue()


def as_pdf(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="pdf", metadata={"CreationDate": None})
    return file.getvalue()

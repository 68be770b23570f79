"""Figures as files and as parts of a page: matplotlib's SVG, made to follow the page's colours."""

import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from unseen.files import make_folder, write_whole
from unseen.insight.summary import Summary
from unseen.views import captions, plots
from unseen.views.plots import BLUE, FAINT, GREEN, INK, ORANGE, PINK

# the page gives each another colour by night
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


@dataclass(frozen=True)
class Drawing:
    """A figure's title, how it is drawn, and a caption that says what to see."""

    title: str
    draw: Callable[[Summary], Figure | None]
    caption: Callable[[Summary], str]


@contextmanager
def in_our_style() -> Iterator[None]:
    with rc_context(STYLE):  # type: ignore[arg-type]
        yield


def page_svg(name: str, summary: Summary) -> str | None:
    """A figure as part of a page: no size of its own, the page's colours, ids that are its own."""
    with in_our_style():
        figure = FIGURES[name].draw(summary)
        return None if figure is None else _embedded(name, figure)


def _embedded(name: str, figure: Figure) -> str:
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
    return text.replace("<svg", f'<svg role="img" aria-label="{FIGURES[name].title}"', 1)


def as_svg(figure: Figure, *, transparent: bool = False) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="svg", transparent=transparent, metadata={"Date": None})
    return file.getvalue()


def as_pdf(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="pdf", metadata={"CreationDate": None})
    return file.getvalue()


def save_figures(summary: Summary, folder: Path) -> list[Path]:
    """Every figure that there is, as SVG and as PDF."""
    make_folder(folder)
    written = []
    with in_our_style():
        for name, drawing in FIGURES.items():
            if (figure := drawing.draw(summary)) is None:
                continue
            for ending, content in {"svg": as_svg(figure), "pdf": as_pdf(figure)}.items():
                written.append(folder / f"{name}.{ending}")
                write_whole(written[-1], content)
    return written


FIGURES: Mapping[str, Drawing] = {
    "ruler": Drawing("Between memory and composition", plots.ruler, captions.ruler),
    "grid": Drawing("Every combination, when it was unseen", plots.grid, captions.grid),
    "quadrants": Drawing(
        "New combinations, or new handwriting?", plots.quadrants, captions.quadrants
    ),
    "curves": Drawing("Learning, epoch by epoch", plots.curves, captions.curves),
    "predictions": Drawing("Predictions against answers", plots.predictions, captions.predictions),
    "number-line": Drawing("What is each digit worth?", plots.number_line, captions.number_line),
    "attribution": Drawing("Whose fault is an error?", plots.attribution, captions.attribution),
    "probes": Drawing("Where are the digits read?", plots.probes, captions.probes),
}

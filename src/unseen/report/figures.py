"""All figures of a run, by name and in the order of the page."""

from pathlib import Path

from unseen.analysis.summary import Summary
from unseen.files import make_folder, write_whole
from unseen.report.drawing import embedded_svg, in_our_style, saved
from unseen.report.network_figures import NETWORK_FIGURES
from unseen.report.result_figures import RESULT_FIGURES


def page_figure(name: str, summary: Summary) -> tuple[str, str]:
    """A figure's SVG and its caption; no SVG, and the reason, if it cannot be drawn."""
    with in_our_style():
        figure, text = FIGURES[name].draw(summary)
        svg = "" if figure is None else embedded_svg(name, FIGURES[name].title, figure)
        return svg, text


def save_figures(summary: Summary, folder: Path) -> list[Path]:
    """Write every figure that can be drawn, as SVG and as PDF."""
    make_folder(folder)
    written = []
    with in_our_style():
        for name, drawing in FIGURES.items():
            figure, _ = drawing.draw(summary)
            if figure is None:
                continue
            for ending in ("svg", "pdf"):
                written.append(folder / f"{name}.{ending}")
                write_whole(written[-1], saved(figure, ending))
    return written


FIGURES = RESULT_FIGURES | NETWORK_FIGURES

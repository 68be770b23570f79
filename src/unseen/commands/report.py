"""`unseen report`: a run as one page, or as tables for a paper."""

import webbrowser
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from unseen.analysis.layers import analyse_layers
from unseen.api import Run, load
from unseen.commands.output import RunsDir, emit, say, stderr_console
from unseen.commands.parameters import RunSettings, given
from unseen.commands.show import RunName, warn_of_damages
from unseen.files import write_whole
from unseen.networks.own_files import is_own
from unseen.report.exports import as_csv, as_latex, as_markdown

FORMATS = {"latex": as_latex, "markdown": as_markdown, "csv": as_csv}


def report(
    run: RunName,
    /,
    *,
    format: Annotated[
        Literal["html", "latex", "markdown", "csv"],
        Parameter(help="A page, or tables for a paper, which go to stdout."),
    ] = "html",
    output: Annotated[
        Path | None, Parameter(help="Where to write it; by default report.html in the run folder.")
    ] = None,
    figures: Annotated[
        Path | None, Parameter(help="A folder for every figure as SVG and PDF.")
    ] = None,
    deep: Annotated[
        bool,
        Parameter(
            negative="",
            help="Also read symbols from every layer, and split errors by 100 images a position: "
            "some minutes, kept in the run folder. A run with a network of its own needs it named "
            "again, as --model file.py:Class.",
        ),
    ] = False,
    settings: RunSettings = None,
    open: Annotated[bool, Parameter(negative="", help="Open the page in a browser.")] = False,
    runs_dir: RunsDir = Path("runs"),
) -> None:
    named = given(settings)
    model = named.pop("model") if deep and is_own(named.get("model", "")) else None
    reported = load(run, runs_dir, **named)
    warn_of_damages(reported)
    if deep:
        for fold in analyse_layers(reported.data, model):
            if stderr_console.is_terminal:
                say(f"analysing the layers of fold {fold}")
        reported = Run(reported.folder)
    if figures is not None:
        from unseen.report.figures import save_figures

        for path in save_figures(reported.summary, figures):
            say(f"wrote {path}")
    if format == "html":
        path = reported.report(output)
        emit(f"Report: {path}")
        if open:
            webbrowser.open(path.resolve().as_uri())
        return
    text = FORMATS[format](reported.summary)
    if output is None:
        emit(text.removesuffix("\n"))
    else:
        write_whole(output, text.encode())
        say(f"wrote {output}")

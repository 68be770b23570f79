"""`unseen report`: a run as one page, or as tables for a paper."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from unseen.commands.output import RunsDir, emit, say, stderr_console
from unseen.errors import UnseenError
from unseen.experiments.run_folder import RunFolder, find_run
from unseen.files import write_whole
from unseen.insight.evidence import Evidence, gather
from unseen.insight.probing import look_into
from unseen.insight.summary import Summary, sum_up
from unseen.learning.models import is_own
from unseen.views.exports import as_csv, as_latex, as_markdown
from unseen.views.report import render_report

FORMATS = {"latex": as_latex, "markdown": as_markdown, "csv": as_csv}


def report(
    run: Annotated[str, Parameter(help="A run folder: path, name or its beginning; or a preset.")],
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
            help="Also read digits from every layer, and split errors by 100 images a place: "
            "some minutes, kept in the run folder.",
        ),
    ] = False,
    model: Annotated[
        str | None,
        Parameter(help="The file.py:Class of a run with a network of its own, for --deep."),
    ] = None,
    open: Annotated[bool, Parameter(negative="", help="Open the page in a browser.")] = False,
    runs_dir: RunsDir = Path("runs"),
) -> None:
    """Write a run as one self-contained HTML page, or as LaTeX, Markdown or CSV."""
    if model is not None and not deep:
        raise UnseenError("--model names the network that --deep looks into; add --deep")
    folder = find_run(run, runs_dir)
    evidence = evidence_of(folder)
    if deep:
        evidence = looked_into(evidence, model)
    summary = sum_up(evidence)
    if figures is not None:
        from unseen.views.figures import save_figures

        for path in save_figures(summary, figures):
            say(f"wrote {path}")
    if format != "html":
        _hand_out(FORMATS[format](summary), output)
        return
    path = write_report(evidence, summary, output)
    emit(f"Report: {path}")
    if open:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())


def evidence_of(folder: RunFolder) -> Evidence:
    """What a run left; refuses one that has left nothing yet."""
    experiment = folder.experiment()
    results, damages = folder.results()
    for damage in damages:
        say(f"{damage}; its fold is left out, and 'unseen run' runs it again")
    if not results:
        raise UnseenError(f"no fold of {folder.path.name} is done; there is nothing to report")
    return gather(folder, experiment, results)


def looked_into(evidence: Evidence, model: str | None) -> Evidence:
    """The evidence with all that takes longer; what was found before is not done again."""
    if model is not None and not is_own(model):
        raise UnseenError(f"--model takes file.py:Class, not {model}")
    for fold in look_into(evidence, model):
        if stderr_console.is_terminal:
            say(f"looking into fold {fold}")
    return gather(evidence.folder, evidence.experiment, evidence.results)


def write_report(evidence: Evidence, summary: Summary, output: Path | None = None) -> Path:
    """Write the page of a run; returns where it is."""
    path = output or evidence.folder.report_file
    page = render_report(evidence, summary)
    write_whole(path, page.encode())
    return path


def _hand_out(text: str, output: Path | None) -> None:
    if output is None:
        emit(text.removesuffix("\n"))
    else:
        write_whole(output, text.encode())
        say(f"wrote {output}")

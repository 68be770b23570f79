"""`unseen runs` and `unseen show`: what was run."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.text import Text

from unseen.api import Run, load
from unseen.commands.output import AsJson, RunsDir, emit, say
from unseen.errors import UnseenError
from unseen.experiments.find_runs import list_runs
from unseen.insight.references import unread_baselines
from unseen.views.json_view import run_json
from unseen.views.tables import list_table, run_tables
from unseen.views.verdict_text import verdict_text

RunName = Annotated[str, Parameter(help="A run folder: path, name or its beginning; or a preset.")]


def runs(*, runs_dir: RunsDir = Path("runs")) -> None:
    emit(list_table(list_runs(runs_dir), runs_dir))


def show(run: RunName, /, *, runs_dir: RunsDir = Path("runs"), json: AsJson = False) -> None:
    shown = load(run, runs_dir)
    print_run(shown, json=json)
    if shown.folder.report_file.exists() and not json:
        emit(f"Report: {shown.folder.report_file}")


def print_run(run: Run, *, json: bool) -> None:
    """Tables and verdict, or all of it as JSON."""
    experiment, results = run.experiment, run.results
    tell_damages(run)
    try:
        summary = run.summary if results else None
    except UnseenError as error:
        say(f"nothing can be said of what it shows: {error}")
        summary = None
    if json:
        emit(run_json(run.folder.path, experiment, results, summary))
        return
    emit(run_tables(experiment, results))
    if summary is not None:
        emit(Text(verdict_text(summary).text))
    emit(f"Run folder: {run.folder.path}")


def tell_damages(run: Run) -> None:
    """Say which of its files, and which baselines beside it, are left out."""
    for damage in run.damages:
        say(f"{damage}; its fold is left out, and 'unseen run' runs it again")
    for name in unread_baselines(run.folder):
        say(f"the baseline {name} was made by another version, and is left out")

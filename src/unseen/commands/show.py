"""`unseen runs` and `unseen show`: what was run."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.text import Text

from unseen.commands.output import AsJson, RunsDir, emit, say
from unseen.errors import UnseenError
from unseen.experiments.run_folder import RunFolder, find_run, list_runs
from unseen.insight.summary import summarise_run
from unseen.views.json_view import run_json
from unseen.views.tables import list_table, run_tables
from unseen.views.verdict_text import verdict_text


def runs(*, runs_dir: RunsDir = Path("runs")) -> None:
    """List what was run."""
    emit(list_table(list_runs(runs_dir), runs_dir))


def show(
    run: Annotated[str, Parameter(help="A run folder: path, name or its beginning; or a preset.")],
    /,
    *,
    runs_dir: RunsDir = Path("runs"),
    json: AsJson = False,
) -> None:
    """Print the tables of a run again."""
    folder = find_run(run, runs_dir)
    print_run(folder, json=json)
    if folder.report_file.exists() and not json:
        emit(f"Report: {folder.report_file}")


def print_run(folder: RunFolder, folds: list[int] | None = None, *, json: bool) -> None:
    """Tables and verdict, or all of it as JSON."""
    experiment = folder.experiment()
    results, damages = folder.results()
    for damage in damages:
        say(f"{damage}; its fold is left out, and 'unseen run' runs it again")
    if folds is not None:
        results = [result for result in results if result.fold in folds]
    try:
        summary = summarise_run(folder, results)
    except UnseenError as error:
        say(f"nothing can be said of what it shows: {error}")
        summary = None
    if json:
        emit(run_json(folder.path, experiment, results, summary))
        return
    emit(run_tables(experiment, results))
    if summary is not None:
        emit(Text(verdict_text(summary).text))
    emit(f"Run folder: {folder.path}")

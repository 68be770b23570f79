"""`unseen show`: the tables of a run again."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unseen.api import Run, load
from unseen.commands.output import AsJson, RunsDir, emit, say
from unseen.commands.parameters import RunSettings, given
from unseen.errors import UnseenError, printable
from unseen.report.json_view import run_json
from unseen.report.repeat_command import command_of
from unseen.report.tables import run_tables
from unseen.report.terminal import commands_apart
from unseen.report.verdict_text import verdict_text
from unseen.runs.run_folder import fold_count

RunName = Annotated[
    str,
    Parameter(
        help="A run: its folder, its name or the beginning of it; or a preset, with the settings "
        "that it was run with, as: fast --split diagonal."
    ),
]


def show(
    run: RunName,
    /,
    *,
    settings: RunSettings = None,
    runs_dir: RunsDir = Path("runs"),
    json: AsJson = False,
) -> None:
    shown = load(run, runs_dir, **given(settings))
    print_run(shown, json=json)
    if shown.folder.report_file.is_file() and not json:
        emit(f"Report: {printable(str(shown.folder.report_file))}")


def print_run(run: Run, *, json: bool) -> None:
    """Tables and verdict, or all of it as JSON."""
    experiment, results = run.experiment, run.results
    warn_of_damages(run)
    try:
        summary = run.summary if results else None
    except UnseenError as error:
        say(f"nothing can be said of what it shows: {error}")
        summary = None
    if json:
        emit(run_json(run.folder.path, experiment, results, summary, others=run.other_folds))
        return
    emit(run_tables(experiment, results))
    if others := run.other_folds:
        which = f"Fold {others[0]} is" if len(others) == 1 else f"Folds {str(others)[1:-1]} are"
        hint = f"see `unseen show {run.name}`"
        emit(commands_apart(f"{which} done as well, and not counted here; {hint}"))
    if summary is not None:
        emit(commands_apart(verdict_text(summary).text))
    emit(f"Run folder: {printable(str(run.folder.path))}")


def warn_of_damages(run: Run) -> None:
    """Say on stderr which of its files are left out."""
    for damage in run.damages:
        fold = run.folder.fold_of(damage.path)
        there_is = fold and fold <= fold_count(run.experiment.problem)
        command = command_of(run.experiment, [fold], run.folder) if fold and there_is else None
        again = f", and `{command}` runs it again" if command else ""
        say(f"{damage}; its fold is left out{again}")

"""`unseen runs` and `unseen show`: what was run."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unseen.api import Run, load
from unseen.commands.output import AsJson, RunsDir, emit, say
from unseen.commands.settings import RunSettings, given
from unseen.errors import UnseenError, printable
from unseen.experiments.find_runs import list_runs
from unseen.experiments.fold_checks import fold_count
from unseen.insight.references import unread_baselines
from unseen.views.json_view import run_json
from unseen.views.repeat_command import command_of
from unseen.views.tables import list_table, run_tables
from unseen.views.terminal import commands_apart
from unseen.views.verdict_text import verdict_text

RunName = Annotated[
    str,
    Parameter(
        help="A run: its folder, its name or the beginning of it; or a preset, with the settings "
        "that it was run with, as: fast --split diagonal."
    ),
]


def runs(*, runs_dir: RunsDir = Path("runs")) -> None:
    emit(list_table(list_runs(runs_dir), runs_dir))


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
        emit(commands_apart(verdict_text(summary).text))
    emit(f"Run folder: {printable(str(run.folder.path))}")


def tell_damages(run: Run) -> None:
    """Say which of its files, and which baselines beside it, are left out."""
    for damage in run.damages:
        fold = run.folder.fold_of(damage.path)
        is_one = fold and fold <= fold_count(run.experiment.problem)
        command = command_of(run.experiment, [fold], run.folder) if fold and is_one else None
        again = f", and `{command}` runs it again" if command else ""
        say(f"{damage}; its fold is left out{again}")
    for name in unread_baselines(run.folder):
        say(f"the baseline {name} was made by another version, and is left out")

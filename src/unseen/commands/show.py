"""`unseen runs` and `unseen show`: what was run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from unseen.api import Run, load
from unseen.commands.output import AsJson, RunsDir, emit, say
from unseen.commands.parameters import RunSettings, given
from unseen.errors import UnseenError, printable, unknown
from unseen.report.json_view import run_json, runs_json
from unseen.report.repeat_command import command_of
from unseen.report.tables import list_table, run_tables, sort_runs
from unseen.report.terminal import commands_apart
from unseen.report.verdict_text import verdict_text
from unseen.report.words import format_count
from unseen.runs.find_runs import having, list_runs, preset_of
from unseen.runs.presets import PRESETS
from unseen.runs.records import OtherVersionError
from unseen.runs.run_folder import RunFolder, fold_count
from unseen.training.metrics import METRICS

RunName = Annotated[
    str,
    Parameter(
        help="A run: its folder, its name or the beginning of it; or a preset, with the settings "
        "that it was run with, as: fast --split diagonal."
    ),
]


def runs(
    action: Annotated[
        Literal["prune"] | None,
        Parameter(
            help="prune lists runs to remove, and removes them with --yes: those with the settings "
            "that are given, by default those of which no fold is done. A run that a process "
            "works on, or that another version made, is kept."
        ),
    ] = None,
    /,
    *,
    preset: Annotated[str | None, Parameter(help="Only runs of this preset")] = None,
    settings: RunSettings = None,
    sort: Annotated[
        str, Parameter(help=f"By time, name, folds or a metric: {', '.join(METRICS)} [time]")
    ] = "time",
    yes: Annotated[bool, Parameter(negative="", help="Remove what prune lists")] = False,
    runs_dir: RunsDir = Path("runs"),
    json: AsJson = False,
) -> None:
    """List runs, with any setting of `unseen run` only those that have it, or remove them."""
    found = list_runs(runs_dir)
    if preset is not None:
        found = [run for run in found if preset_of(run) == preset]
        if not found and preset not in PRESETS:
            raise unknown("preset", preset, PRESETS)
    if chosen := given(settings):
        found = having(chosen, found) if found else []
    if action == "prune" and preset is None and not chosen:
        found = [run for run in found if is_unfinished(run)]
    found = sort_runs(found, sort)
    if json:
        emit(runs_json(found))
    elif action is None or found:
        emit(list_table(found, runs_dir))
    if action == "prune":
        prune(found, yes=yes)


def is_unfinished(run: RunFolder) -> bool:
    """Whether no fold of a run is done; one that another version made may well have some."""
    try:
        return not run.results(thorough=False)[0]
    except UnseenError:
        return False


def prune(found: Sequence[RunFolder], *, yes: bool) -> None:
    """Remove runs that no process holds and no other version made; without `yes`, only say so."""
    if not found:
        say("nothing to remove")
    elif not yes:
        say(f"{format_count(len(found), 'run')} to remove; --yes removes what is listed")
    for run in found if yes else ():
        try:
            run.refuse_other_versions()
        except OtherVersionError as error:
            say(f"kept: {error}")
            continue
        if run.remove():
            say(f"removed {run.path}")
        else:
            say(f"kept {run.path}: a process works on it")


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
        emit(run_json(run.folder.path, experiment, results, summary, others=run.other_folds))
        return
    emit(run_tables(experiment, results))
    if run.other_folds:
        emit(commands_apart(other_folds_words(run)))
    if summary is not None:
        emit(commands_apart(verdict_text(summary).text))
    emit(f"Run folder: {printable(str(run.folder.path))}")


def other_folds_words(run: Run) -> str:
    """Which folds are done besides those that were asked for."""
    numbers = ", ".join(map(str, run.other_folds))
    which = f"Fold {numbers} is" if len(run.other_folds) == 1 else f"Folds {numbers} are"
    return f"{which} done as well, and not counted here; see `unseen show {run.name}`"


def tell_damages(run: Run) -> None:
    """Say which of its files are left out."""
    for damage in run.damages:
        fold = run.folder.fold_of(damage.path)
        is_one = fold and fold <= fold_count(run.experiment.problem)
        command = command_of(run.experiment, [fold], run.folder) if fold and is_one else None
        again = f", and `{command}` runs it again" if command else ""
        say(f"{damage}; its fold is left out{again}")

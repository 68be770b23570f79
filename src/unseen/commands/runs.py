"""`unseen runs`: list what was run, or remove runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from unseen.commands.output import AsJson, RunsDir, emit, say
from unseen.commands.parameters import RunSettings, given
from unseen.errors import UnseenError, unknown
from unseen.report.json_view import runs_json
from unseen.report.tables import list_table, sort_runs
from unseen.report.words import format_count
from unseen.runs.find_runs import having, list_runs, preset_of
from unseen.runs.presets import PRESETS
from unseen.runs.records import OtherVersionError
from unseen.runs.run_folder import RunFolder
from unseen.training.metrics import METRICS


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
        found = [run for run in found if _is_unfinished(run)]
    found = sort_runs(found, sort)
    if json:
        emit(runs_json(found))
    elif action is None or found:
        emit(list_table(found, runs_dir))
    if action == "prune":
        _prune(found, yes=yes)


def _is_unfinished(run: RunFolder) -> bool:
    """Whether no fold of a run is done; one that another version made may well have some."""
    try:
        return not run.results(thorough=False)[0]
    except UnseenError:
        return False


def _prune(found: Sequence[RunFolder], *, yes: bool) -> None:
    """Remove runs that no process holds and no other version made; without `yes`, only say so."""
    if not found:
        say("nothing to remove")
    elif not yes:
        say(f"{format_count(len(found), 'run')} to remove; --yes removes what is listed")
    for run in found if yes else ():
        try:
            run.refuse_other_versions()
            is_removed = run.remove()
            say(f"removed {run.path}" if is_removed else f"kept {run.path}: a process works on it")
        except OtherVersionError as error:
            say(f"kept: {error}")

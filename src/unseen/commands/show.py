"""`unseen runs` and `unseen show`: what was run."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unseen.commands.output import AsJson, RunsDir, emit, say
from unseen.experiments.run_folder import RunFolder, find_run, list_runs
from unseen.views.json_view import run_json
from unseen.views.tables import list_table, run_tables


def runs(*, runs_dir: RunsDir = Path("runs")) -> None:
    """List what was run."""
    emit(list_table(list_runs(runs_dir), runs_dir))


def show(
    run: Annotated[str, Parameter(help="A run folder: its path, its name, or its beginning.")],
    /,
    *,
    runs_dir: RunsDir = Path("runs"),
    json: AsJson = False,
) -> None:
    """Print the tables of a run again."""
    print_run(find_run(run, runs_dir), json=json)


def print_run(folder: RunFolder, folds: list[int] | None = None, *, json: bool) -> None:
    experiment = folder.experiment()
    results, damages = folder.results()
    for damage in damages:
        say(f"{damage}; its fold is left out, and 'unseen run' runs it again")
    if folds is not None:
        results = [result for result in results if result.fold in folds]
    if json:
        emit(run_json(folder.path, experiment, results))
    else:
        emit(run_tables(experiment, results))
        emit(f"Run folder: {folder.path}")

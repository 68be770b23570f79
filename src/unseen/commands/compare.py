"""`unseen compare`: runs of one problem side by side."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unseen.api import load
from unseen.commands.output import AsJson, RunsDir, emit
from unseen.commands.settings import RunSettings, given
from unseen.commands.show import tell_damages
from unseen.errors import UnseenError
from unseen.insight.comparison import compare_runs
from unseen.views.comparisons import (
    check_figure,
    comparison_json,
    comparison_table,
    save_comparison,
)


def compare(
    *runs: Annotated[
        str,
        Parameter(
            help="Runs: folders, names or presets; all are compared with the first. Settings, as "
            "--split diagonal, say which run of each is meant."
        ),
    ],
    settings: RunSettings = None,
    figure: Annotated[
        Path | None, Parameter(help="Draw the differences into an .svg or .pdf file.")
    ] = None,
    json: AsJson = False,
    runs_dir: RunsDir = Path("runs"),
) -> None:
    if len(runs) < 2:
        raise UnseenError("a comparison needs two runs or more; 'unseen runs' lists them")
    if figure is not None:
        check_figure(figure)
    loaded = [load(run, runs_dir, **given(settings)) for run in runs]
    for run in loaded:
        tell_damages(run)
    summaries = [run.summary for run in loaded]
    comparisons = compare_runs(summaries)
    emit((comparison_json if json else comparison_table)(summaries, comparisons))
    if figure is not None:
        save_comparison(comparisons, figure)

"""`unseen compare`: runs of one problem side by side."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unseen.commands.output import AsJson, RunsDir, emit
from unseen.commands.report import evidence_of
from unseen.errors import UnseenError
from unseen.experiments.run_folder import find_run
from unseen.insight.comparison import compare_runs
from unseen.insight.summary import sum_up
from unseen.views.comparisons import (
    check_figure,
    comparison_json,
    comparison_table,
    save_comparison,
)


def compare(
    *runs: Annotated[str, Parameter(help="Run folders; all are compared with the first.")],
    figure: Annotated[
        Path | None, Parameter(help="Draw the differences into an .svg or .pdf file.")
    ] = None,
    json: AsJson = False,
    runs_dir: RunsDir = Path("runs"),
) -> None:
    """Compare runs of one problem, paired over combinations."""
    if len(runs) < 2:
        raise UnseenError("a comparison needs two runs or more; 'unseen runs' lists them")
    if figure is not None:
        check_figure(figure)
    summaries = [sum_up(evidence_of(find_run(run, runs_dir))) for run in runs]
    comparisons = compare_runs(summaries)
    emit((comparison_json if json else comparison_table)(summaries, comparisons))
    if figure is not None:
        save_comparison(comparisons, figure)

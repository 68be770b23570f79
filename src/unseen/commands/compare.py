"""`unseen compare`: runs of one problem side by side."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from unseen.analysis.comparison import RunGroup, compare_groups
from unseen.analysis.summary import Summary
from unseen.api import Run, load
from unseen.commands.output import AsJson, RunsDir, emit, say
from unseen.commands.parameters import RunSettings, given
from unseen.commands.show import warn_of_damages
from unseen.errors import UnseenError, printable, without_paths
from unseen.report.comparisons import (
    check_figure,
    comparison_csv,
    comparison_json,
    comparison_latex,
    comparison_table,
    save_comparison,
)
from unseen.studies.study import find_study
from unseen.studies.sweep import plan_study

REPEATED = ("seed", "folds")  # what may differ among runs that are compared as one


def compare(
    *runs: Annotated[
        str,
        Parameter(
            help="Runs: folders, names or presets; all are compared with the first. Settings, as "
            "--split diagonal, say which run of each is meant."
        ),
    ],
    study: Annotated[
        str | None, Parameter(help="Compare the runs of a study, by the setting of --by")
    ] = None,
    by: Annotated[
        str | None,
        Parameter(help="Setting of the study to compare; seeds of the same value are pooled"),
    ] = None,
    settings: RunSettings = None,
    format: Annotated[
        Literal["table", "latex", "csv"], Parameter(help="How it is printed [table]")
    ] = "table",
    figure: Annotated[
        Path | None, Parameter(help="Draw the differences into an .svg or .pdf file.")
    ] = None,
    json: AsJson = False,
    runs_dir: RunsDir = Path("runs"),
) -> None:
    if figure is not None:
        check_figure(figure)
    if study is not None and not runs:
        groups = _groups_of_study(study, by, runs_dir)
    elif study is not None or by is not None:
        raise UnseenError("compare either runs, or a study with --study and --by")
    else:
        loaded = [load(run, runs_dir, **given(settings)) for run in runs]
        for each in loaded:
            warn_of_damages(each)
        groups = [RunGroup(each.summary.run, (each.summary,)) for each in loaded]
    if len(groups) < 2:
        raise UnseenError("a comparison needs two runs or more; 'unseen runs' lists them")
    rows = compare_groups(groups)
    if json:
        emit(comparison_json(rows))
    elif format == "table":
        emit(comparison_table(rows))
    else:
        write = comparison_latex if format == "latex" else comparison_csv
        emit(write(rows).removesuffix("\n"))
    if figure is not None:
        save_comparison(rows, figure)


def _groups_of_study(name: str, by: str | None, runs_dir: Path) -> list[RunGroup]:
    """The runs of a study, those with the same value of a setting together."""
    plan = plan_study(find_study(name), runs_dir)
    varied = [each for each in plan.study.varied if each not in REPEATED]
    if by is None and len(varied) == 1:
        (by,) = varied
    by = str(by).replace("-", "_")
    if by not in plan.study.varied:
        known = ", ".join(varied) or "nothing but seeds and folds"
        raise UnseenError(f"--by must name a setting that the study varies: {known}")
    others = [each for each in varied if each != by]
    if others:
        raise UnseenError(
            f"the study varies {', '.join(others)} as well as {by}: runs with another of these are "
            "another question; take them into a study of their own"
        )
    grouped: dict[str, list[Summary]] = {}
    for folder, run in plan.runs.items():
        if plan.done[folder]:
            value = printable(without_paths(str(run.varied[by])))
            summary = Run(folder, tuple(plan.done[folder])).summary
            grouped.setdefault(value, []).append(summary)
    if left := plan.fold_count - plan.done_count:
        say(f"{left} of {plan.fold_count} folds of the study are not done, and left out")
    return [RunGroup(f"{by} {value}", tuple(runs)) for value, runs in grouped.items()]

"""A run as tables on the console, the paper's figures beside ours."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unseen.errors import UnseenError
from unseen.experiments.experiment import Experiment
from unseen.experiments.fold import FoldResult
from unseen.experiments.run_folder import RunFolder
from unseen.insight.paper_results import (
    PAPER_BY_FOLD,
    PAPER_MEAN,
    has_the_papers_folds,
    is_the_papers_problem,
)
from unseen.insight.statistics import Spread, over_folds, spread
from unseen.learning.baselines import BASELINES
from unseen.learning.models import find_network
from unseen.views.words import format_count

ACCURACIES = {
    "rounded": "rounding",
    "floor_or_ceiling": "floor/ceiling",
    "within_one": "within one",
}
ERRORS = {"test_mse": "test MSE", "train_mse": "train MSE"}
PAPER = "paper"


def run_tables(experiment: Experiment, results: Sequence[FoldResult]) -> RenderableType:
    """What was run, its accuracy and its error by fold, and what the paper's columns are."""
    return Group(
        Text(describe(experiment, results), style="bold"),
        Text(),
        *(_on_console(table, len(results)) for table in fold_tables(experiment, results)),
        Text(footnote(experiment), style="dim"),
    )


def describe(experiment: Experiment, results: Sequence[FoldResult]) -> str:
    """The experiment in a line or two."""
    problem, training = experiment.problem, experiment.training
    parameters = f", {results[0].parameters:,} parameters" if results else ""
    folds = "development fold" if problem.development else "fold"
    return (
        f"{experiment.name}: {problem.operation}, {problem.length} × {problem.symbols}, "
        f"split {problem.split}; "
        f"model {training.model} ({sight(training.model)}{parameters}), "
        f"{format_count(training.epochs, 'epoch')}; {format_count(len(results), folds)}, "
        f"seed {experiment.seed}"
    )


def sight(model: str) -> str:
    """What a model was told about its pictures."""
    return "baseline" if model in BASELINES else find_network(model).sight


def footnote(experiment: Experiment) -> str:
    """What stands in the tables, and how far the paper's figures can be compared."""
    lines = ["Below the folds: mean and standard deviation over them."]
    if is_the_papers_problem(experiment.problem):
        lines.append("Paper: Bloice, Roth, Holzinger (2020), its mean over ten folds.")
    if has_the_papers_folds(experiment.problem):
        lines.append("That its rows are these folds in this order is likely, not proven.")
    if experiment.problem.development:
        lines.append("Development folds: the test handwriting is held-out training handwriting.")
    return " ".join(lines)


@dataclass(frozen=True)
class FoldTable:
    """A row a fold, then mean and deviation where there are folds: what every view prints."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def fold_tables(experiment: Experiment, results: Sequence[FoldResult]) -> list[FoldTable]:
    """The paper's two tables for a run, the paper's figures beside ours where it has any."""
    columns = {"Accuracy on unseen combinations": ACCURACIES, "Mean squared error": ERRORS}
    return [_fold_table(title, each, experiment, results) for title, each in columns.items()]


def _fold_table(
    title: str, columns: dict[str, str], experiment: Experiment, results: Sequence[FoldResult]
) -> FoldTable:
    rows_known = has_the_papers_folds(experiment.problem)
    rows: list[tuple[str, dict[str, float | None], dict[str, float | None]]] = [
        (
            str(result.fold),
            {name: getattr(result, name) for name in columns},
            {name: PAPER_BY_FOLD[name].get(result.fold) for name in columns if rows_known},
        )
        for result in results
    ]
    if results:
        ours = over_folds(results)
        paper = {name: papers_spread(name) for name in columns}
        rows += [
            (
                heading,
                {name: getattr(ours[name], figure) for name in columns},
                {name: getattr(paper[name], figure) for name in columns},
            )
            for heading, figure in (("mean", "mean"), ("±", "deviation"))
        ]
    with_paper = is_the_papers_problem(experiment.problem)
    headings = ["fold"]
    for heading in columns.values():
        headings += [heading, PAPER] if with_paper else [heading]
    return FoldTable(
        title, tuple(headings), tuple(_cells(*row, with_paper=with_paper) for row in rows)
    )


def _cells(
    heading: str,
    ours: dict[str, float | None],
    papers: dict[str, float | None],
    *,
    with_paper: bool,
) -> tuple[str, ...]:
    cells = [heading]
    for name, value in ours.items():
        cells.append(format_measure(name, value))
        if with_paper:
            cells.append(format_measure(name, papers.get(name)))
    return tuple(cells)


def _on_console(table: FoldTable, folds: int) -> Table:
    shown = Table(title=table.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for heading in table.headings:
        shown.add_column(heading, justify="right", style="dim" if heading == PAPER else "")
    for place, cells in enumerate(table.rows, start=1):
        shown.add_row(*cells, end_section=place == folds)
    return shown


def list_table(runs: Sequence[RunFolder], runs_dir: Path) -> RenderableType:
    """All runs of a folder, a row each."""
    if not runs:
        return Text(f"Nothing was run in {runs_dir} yet; 'unseen run' does.")
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("run", "model", "epochs", "folds", "rounding", "test MSE"):
        table.add_column(heading, justify="left" if heading in ("run", "model") else "right")
    for folder in runs:
        try:
            experiment = folder.experiment()
            results, _ = folder.results()
        except UnseenError as error:
            table.add_row(Text(folder.path.name), Text(str(error)))
            continue
        ours = over_folds(results)
        table.add_row(
            Text(folder.path.name),
            f"{experiment.training.model} ({sight(experiment.training.model)})",
            str(experiment.training.epochs),
            f"{len(results)} dev" if experiment.problem.development else str(len(results)),
            *(format_measure(name, ours[name].mean) for name in ("rounded", "test_mse") if ours),
        )
    return table


def papers_spread(name: str) -> Spread:
    """The mean as the paper prints it, with the deviation between its rows."""
    printed = PAPER_MEAN[name]
    assert printed is not None
    return Spread(printed, spread([*PAPER_BY_FOLD[name].values()]).deviation)


def format_measure(name: str, value: float | None) -> str:
    """A figure as it is read: 81.19 %, or 1.1072; nothing where there is none."""
    if value is None:
        return ""
    return f"{100 * value:.2f} %" if name in ACCURACIES else f"{value:.4f}"

"""A run as tables on the console, the paper's figures beside ours."""

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unseen.errors import UnseenError
from unseen.experiments.experiment import Experiment
from unseen.experiments.fold import FoldResult
from unseen.experiments.run_folder import RunFolder
from unseen.insight.published import (
    PAPER_BY_FOLD,
    PAPER_MEAN,
    has_the_papers_folds,
    is_the_papers_problem,
)
from unseen.insight.statistics import Spread, over_folds, spread
from unseen.learning.baselines import BASELINES
from unseen.learning.models import find_network

ACCURACIES = {
    "rounded": "rounding",
    "floor_or_ceiling": "floor/ceiling",
    "within_one": "within one",
}
ERRORS = {"test_mse": "test MSE", "train_mse": "train MSE"}


def run_tables(experiment: Experiment, results: Sequence[FoldResult]) -> RenderableType:
    """What was run, its accuracy and its error by fold, and what the paper's columns are."""
    return Group(
        Text(describe(experiment, results), style="bold"),
        fold_table("\nAccuracy on unseen combinations", ACCURACIES, experiment, results),
        fold_table("Mean squared error", ERRORS, experiment, results),
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
        f"{plural(training.epochs, 'epoch')}; {plural(len(results), folds)}, "
        f"seed {experiment.seed}"
    )


def sight(model: str) -> str:
    """What a model was told about its pictures."""
    return "baseline" if model in BASELINES else find_network(model).sight


def plural(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


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


def fold_table(
    title: str, columns: dict[str, str], experiment: Experiment, results: Sequence[FoldResult]
) -> Table:
    """A row a fold, then mean and deviation; the paper's beside each measure where it has one."""
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
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.add_column("fold", justify="right")
    for heading in columns.values():
        table.add_column(heading, justify="right")
        if with_paper:
            table.add_column("paper", justify="right", style="dim")
    for place, (heading, mine, theirs) in enumerate(rows, start=1):
        cells = [heading]
        for name in columns:
            cells.append(in_figures(name, mine[name]))
            if with_paper:
                cells.append(in_figures(name, theirs.get(name)))
        table.add_row(*cells, end_section=place == len(results))
    return table


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
            *(in_figures(name, ours[name].mean) for name in ("rounded", "test_mse") if ours),
        )
    return table


def papers_spread(name: str) -> Spread:
    """The mean as the paper prints it, with the deviation between its rows."""
    printed = PAPER_MEAN[name]
    assert printed is not None
    return Spread(printed, spread([*PAPER_BY_FOLD[name].values()]).deviation)


def in_figures(name: str, value: float | None) -> str:
    """A figure as it is read: 81.19 %, or 1.1072; nothing where there is none."""
    if value is None:
        return ""
    return f"{100 * value:.2f} %" if name in ACCURACIES else f"{value:.4f}"

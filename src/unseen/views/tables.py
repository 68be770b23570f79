"""A run as tables on the console, the paper's figures beside ours."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from unseen.errors import UnseenError, printable, unknown
from unseen.experiments.experiment import Experiment
from unseen.experiments.find_runs import read_experiments
from unseen.experiments.fold import FoldResult
from unseen.experiments.run_folder import RunFolder
from unseen.insight.statistics import measures_of, over_folds, spread
from unseen.learning.baselines import BASELINES
from unseen.learning.metrics import METRICS, Metric
from unseen.learning.models import find_network
from unseen.problem.symbol_words import symbol_words
from unseen.views.repeat_command import side_by_side, without_folders
from unseen.views.words import decimals, format_count, names_line

TITLES = {"share": "Accuracy on unseen combinations", "number": "Errors"}
PAPER = "paper"
LISTED = ("rounded", "test_mse")  # of each run in a list of runs


def run_tables(experiment: Experiment, results: Sequence[FoldResult]) -> RenderableType:
    """What was run, its accuracy and its error by fold, and what the paper's columns are."""
    parts: list[RenderableType] = [Text(describe(experiment, results), style="bold"), Text()]
    if not results:
        return Group(*parts, Text("No fold is done yet."))
    for table in fold_tables(experiment, results):
        shown = console_table(table.title)
        for heading, cells in zip(table.headings, zip(*table.rows, strict=True), strict=True):
            style = "dim" if heading == PAPER else ""
            widest = max(map(len, cells))
            shown.add_column(heading, justify="right", style=style, min_width=widest)
        for place, cells in enumerate(table.rows, start=1):
            shown.add_row(*cells, end_section=place == len(results))
        parts.append(shown)
    if names := names_line(experiment.problem):
        parts.append(Text(f"Symbols: {names}.", style="dim"))
    return Group(*parts, Text(footnote(experiment, results), style="dim"))


def describe(experiment: Experiment, results: Sequence[FoldResult]) -> str:
    """The experiment in a line or two."""
    experiment = without_folders(experiment)
    problem, training = experiment.problem, experiment.training
    parameters = f", {results[0].parameters:,} parameters" if results else ""
    folds = "development fold" if problem.development else "fold"
    return printable(
        f"{experiment.name}: {problem.operation}, {problem.length} × {problem.symbols}, split "
        f"{problem.split}; model {training.model} ({sight(training.model)}{parameters}), "
        f"{format_count(training.epochs, 'epoch')}; {format_count(len(results), folds)}, "
        f"seed {experiment.seed}"
    )


def sight(model: str) -> str:
    """What a model was told about its pictures."""
    return "baseline" if model in BASELINES else find_network(model).sight


def footnote(experiment: Experiment, results: Sequence[FoldResult]) -> str:
    """What stands in the tables, and how far the paper's figures can be compared."""
    lines = ["Below the folds: mean and standard deviation over them."]
    if experiment.problem.is_the_papers:
        lines.append("Paper: Bloice, Roth, Holzinger (2020), its mean over ten folds.")
    if experiment.problem.has_the_papers_folds:
        lines.append("That its rows are these folds in this order is likely, not proven.")
    if experiment.problem.development:
        images = symbol_words(experiment.problem.symbols).images
        lines.append(f"Development folds: tested on held-out training {images}.")
    again = [
        f"fold {each.fold} ({each.starts} trainings, {each.wrong_seen or 0} wrong in the best)"
        for each in results
        if each.starts > 1
    ]
    if again:
        said = "Trained again, because seen combinations came out wrong"
        lines.append(f"{said}: {', '.join(again)}.")
    return " ".join(lines)


@dataclass(frozen=True)
class FoldTable:
    """A row a fold, then mean and deviation where there are folds: what every view prints."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def fold_tables(experiment: Experiment, results: Sequence[FoldResult]) -> list[FoldTable]:
    """A table for shares and one for other metrics; beside ours the paper's figures, if any."""
    return [_fold_table(unit, experiment, results) for unit in TITLES]


def _fold_table(unit: str, experiment: Experiment, results: Sequence[FoldResult]) -> FoldTable:
    problem, ours = experiment.problem, over_folds(results)
    columns: list[tuple[str, ...]] = [("fold", *(str(each.fold) for each in results), "mean", "±")]
    for metric in METRICS.values():
        if metric.unit != unit:
            continue
        folds = [measures_of(result)[metric.name] for result in results]
        over = ours.get(metric.name)
        figures = [*folds, *((over.mean, over.deviation) if over else (None, None))]
        columns.append((metric.label, *(format_measure(metric, each) for each in figures)))
        if metric.paper is not None and problem.is_the_papers:
            rows = dict(enumerate(metric.paper.by_fold, start=1))
            known = rows if problem.has_the_papers_folds else {}
            # the mean as the paper prints it, with the deviation between its rows
            over_rows = (metric.paper.mean, spread(metric.paper.by_fold).deviation)
            figures = [*(known.get(result.fold) for result in results), *over_rows]
            columns.append((PAPER, *(format_measure(metric, each) for each in figures)))
    headings, *rows_shown = zip(*columns, strict=True)
    return FoldTable(TITLES[unit], headings, tuple(rows_shown if results else ()))


class FittingTable(Table):
    """A table whose columns move together where it would not fit even with every text wrapped."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.__rich_measure__(console, options).minimum > options.max_width:
            self.padding = (0, 0)
        yield from super().__rich_console__(console, options)


def console_table(title: str | None = None) -> Table:
    """An empty table as all of ours look."""
    return FittingTable(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)


def list_table(runs: Sequence[RunFolder], runs_dir: Path) -> RenderableType:
    """All runs of a folder, a row each, with the settings in which they differ."""
    if not runs:
        return Text(f"Nothing was run in {runs_dir} yet; 'unseen run' does.")
    table = console_table()
    for heading in ("run", "settings", "folds", *(METRICS[each].label for each in LISTED)):
        left = heading in ("run", "settings")
        # the name is what is typed next; settings can do with several lines
        table.add_column(
            heading, justify="left" if left else "right", overflow="fold",
            no_wrap=heading != "settings",
        )  # fmt: skip
    experiments = read_experiments(runs)
    words, shared = side_by_side([*experiments.values()])
    settings = dict(zip(experiments, words, strict=True))
    for run in runs:
        try:
            experiment = run.experiment()
            results, _ = run.results(thorough=False)
        except UnseenError as error:
            table.add_row(Text(printable(run.label)), Text(printable(str(error))))
            continue
        preset = f"{experiment.name} " if run.name() else ""
        ours = over_folds(results)
        table.add_row(
            Text(printable(run.label)),
            Text(printable(preset + settings.get(run, ""))),
            str(len(results)),
            *(format_measure(METRICS[name], ours[name].mean) for name in LISTED if ours),
        )
    return Group(table, *([Text(f"All of them: {shared}", style="dim")] if shared else []))


def sort_runs(runs: Sequence[RunFolder], by: str) -> list[RunFolder]:
    """Runs by time, by name, by how many folds are done, or by a metric, smallest first.

    Those that have no value come last.
    """
    known = ("time", "name", "folds", *METRICS)
    if by not in known:
        raise unknown("order", by, known)

    def rank(run: RunFolder) -> tuple[bool, float]:
        try:
            results, _ = run.results(thorough=False)
        except UnseenError:
            return True, 0.0
        value = len(results) if by == "folds" else over_folds(results)[by].mean if results else None
        return value is None or not math.isfinite(value), value or 0.0

    if by == "time":
        return [*runs]
    return sorted(runs, key=(lambda run: run.label) if by == "name" else rank)


def format_measure(metric: Metric, value: float | None) -> str:
    """A figure of a metric as it is read: 81.19 %, or 1.1072; — for NaN, nothing for None."""
    if value is None:
        return ""
    if not math.isfinite(value):
        return "—"
    return f"{100 * value:.2f} %" if metric.unit == "share" else format(value, decimals(value, 4))

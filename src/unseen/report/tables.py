"""A run as tables on the console, the paper's figures beside ours."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from unseen.analysis.published import ACCURACY_TABLE, ERROR_TABLE, published_beside
from unseen.analysis.statistics import Spread, measures_of, over_folds, spread
from unseen.errors import UnseenError, printable, unknown
from unseen.networks.models import find_network
from unseen.problem.problem import Problem
from unseen.report.repeat_command import side_by_side, without_folders
from unseen.report.symbol_words import symbol_words
from unseen.report.words import decimals, format_count, names_line
from unseen.runs.experiment import Experiment
from unseen.runs.find_runs import read_experiments
from unseen.runs.fold import FoldResult
from unseen.runs.run_folder import RunFolder
from unseen.training.baselines import BASELINES
from unseen.training.metrics import ERROR, HEADLINE, METRICS, SEEN, Metric

TITLES = {"share": "Accuracy on unseen combinations, and on seen ones", "number": "Errors"}
PAPER = "paper"
LISTED = (SEEN, HEADLINE, ERROR)  # of each run in a list of runs


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
        for group in table.groups:
            for cells in group:
                shown.add_row(*cells)
            shown.add_section()
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
        f"{problem.split}; model {training.model} ({layout(training.model)}{parameters}), "
        f"{format_count(training.epochs, 'epoch')}; {format_count(len(results), folds)}, "
        f"seed {experiment.seed}"
    )


def layout(model: str) -> str:
    """What a model was told about its pictures."""
    return "baseline" if model in BASELINES else find_network(model).layout


def footnote(experiment: Experiment, results: Sequence[FoldResult]) -> str:
    """What stands in the tables, and how far the paper's figures can be compared."""
    images = symbol_words(experiment.problem.symbols).images
    lines = [
        "Below the folds: mean and standard deviation over them.",
        f"Seen: seen combinations by rounding; all accuracies are in test {images}.",
    ]
    lines += paper_lines(experiment.problem)
    if experiment.problem.development:
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


def paper_lines(problem: Problem) -> list[str]:
    """Which networks of the paper stand in the tables, and which do not."""
    shown = published_beside(problem)
    if not shown:
        return []
    lines = ["Paper: Bloice, Roth, Holzinger (2020)."]
    if ERROR_TABLE not in shown:
        lines.append("Its networks of the accuracy table, trained on 2,000 samples a pair.")
    elif ACCURACY_TABLE not in shown:
        lines.append(
            "Its networks of the MSE table, likely trained on 1,000 samples a pair; its accuracies "
            "are of ten others, trained on 2,000."
        )
    else:
        lines.append(
            "Means of its two sets of networks, trained on 2,000 samples a pair (accuracies) and "
            f"likely on 1,000 (MSE); here it is {problem.samples_per_combination:,}."
        )
    return lines


@dataclass(frozen=True)
class FoldTable:
    """What every view prints: groups of rows, a rule between them.

    A row a fold; their mean and deviation; then those of the paper, unless they stand beside ours.
    """

    title: str
    headings: tuple[str, ...]
    groups: tuple[tuple[tuple[str, ...], ...], ...]

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        return tuple(row for group in self.groups for row in group)


def fold_tables(experiment: Experiment, results: Sequence[FoldResult]) -> list[FoldTable]:
    """A table for shares and one for other metrics; with ours the paper's figures, if any."""
    return [_fold_table(unit, experiment, results) for unit in TITLES]


def _fold_table(unit: str, experiment: Experiment, results: Sequence[FoldResult]) -> FoldTable:
    problem, ours = experiment.problem, over_folds(results)
    metrics = [metric for metric in METRICS.values() if metric.unit == unit]
    published = published_beside(problem)
    beside = [each for each in published if each.has_folds_of(problem)]
    columns: list[tuple[str, ...]] = [("fold", *(str(each.fold) for each in results), "mean", "±")]
    for metric in metrics:
        folds = [measures_of(result)[metric.name] for result in results]
        columns.append((metric.label, *_cells(metric, folds, ours.get(metric.name))))
        for each in beside:
            if values := each.by_fold.get(metric.name):
                rows = [values[result.fold - 1] for result in results]
                columns.append((PAPER, *_cells(metric, rows, spread(values))))
    headings, *rows_shown = zip(*columns, strict=True)
    groups = [rows_shown[:-2], rows_shown[-2:]]
    for each in published:
        over = each.over_folds()
        if each not in beside and any(metric.name in over for metric in metrics):
            cells = [_cells(metric, [], over.get(metric.name)) for metric in metrics]
            groups.append([*zip((each.label, "±"), *cells, strict=True)])
    return FoldTable(TITLES[unit], headings, tuple(map(tuple, groups)) if results else ())


def _cells(metric: Metric, folds: Sequence[float], over: Spread | None) -> list[str]:
    """A column of a metric: its value in each fold, then mean and deviation."""
    figures = [*folds, *((over.mean, over.deviation) if over else (None, None))]
    return [format_measure(metric, each) for each in figures]


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
    for heading in ("run", "settings", "folds", *(metric.label for metric in LISTED)):
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
        preset = f"{experiment.name} " if run.names() else ""
        ours = over_folds(results)
        table.add_row(
            Text(printable(run.label)),
            Text(printable(preset + settings.get(run, ""))),
            str(len(results)),
            *(format_measure(each, ours[each.name].mean) for each in LISTED if ours),
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

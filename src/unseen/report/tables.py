"""Runs as tables: their folds, the paper's figures beside ours, and lists of runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from unseen.analysis.published import published_beside
from unseen.analysis.statistics import Spread, measures_of, over_folds, spread
from unseen.errors import printable, unknown
from unseen.networks.models import find_network
from unseen.problem.problem import Problem
from unseen.report.json_view import run_rows
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
LONGEST_WHOLE = 32  # characters of a name that is not broken into lines


@dataclass(frozen=True)
class TextTable:
    """A table for the console, the page, LaTeX and Markdown: groups of rows, a rule between them.

    The first columns are texts, the first of them names; all others are figures.
    """

    title: str | None
    headings: tuple[str, ...]
    groups: tuple[tuple[tuple[str, ...], ...], ...]
    texts: int = 0

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        return tuple(row for group in self.groups for row in group)

    def for_console(self) -> Table:
        shown = console_table(self.title)
        columns = zip(*(self.rows or [self.headings]), strict=True)
        for at, (heading, cells) in enumerate(zip(self.headings, columns, strict=True)):
            longest = max(map(len, cells))
            whole = longest if at >= self.texts else min(longest, LONGEST_WHOLE) * (at == 0)
            shown.add_column(
                heading, justify="left" if at < self.texts else "right", overflow="fold",
                style="dim" if heading == PAPER else "", min_width=whole,
            )  # fmt: skip
        for group in self.groups:
            for row in group:
                shown.add_row(*map(Text, row))
            shown.add_section()
        return shown


class FittingTable(Table):
    """A table whose columns move together where it would not fit even with every text wrapped."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.__rich_measure__(console, options).minimum > options.max_width:
            self.padding = (0, 0)
        yield from super().__rich_console__(console, options)


def console_table(title: str | None = None) -> Table:
    """An empty table as all of ours look."""
    return FittingTable(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)


def run_tables(experiment: Experiment, results: Sequence[FoldResult]) -> RenderableType:
    """What was run, its metrics by fold, and what the paper's columns are."""
    described = Text(describe(experiment, results) + "\n", style="bold")
    if not results:
        return Group(described, Text("No fold is done yet."))
    names = names_line(experiment.problem)
    return Group(
        described,
        *(table.for_console() for table in fold_tables(experiment, results)),
        *([Text(f"Symbols: {names}.", style="dim")] if names else []),
        Text(footnote(experiment, results), style="dim"),
    )


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
    """What a model is told about its pictures."""
    return "baseline" if model in BASELINES else find_network(model).layout


def footnote(experiment: Experiment, results: Sequence[FoldResult]) -> str:
    """What stands in the tables, and how far the paper's figures can be compared."""
    images = symbol_words(experiment.problem.symbols).images
    lines = [
        "Below the folds: mean and standard deviation over them.",
        f"Seen: seen combinations by rounding; all accuracies are in test {images}.",
        paper_line(experiment.problem),
    ]
    if experiment.problem.development:
        lines.append(f"Development folds: tested on held-out training {images}.")
    again = [
        f"fold {each.fold} ({each.starts} trainings, {each.wrong_seen or 0} wrong in the best)"
        for each in results
        if each.starts > 1
    ]
    if again:
        wrong = "Trained again, because seen combinations came out wrong"
        lines.append(f"{wrong}: {', '.join(again)}.")
    return " ".join(filter(None, lines))


def paper_line(problem: Problem) -> str:
    """Which networks of the paper stand in the tables, if any."""
    shown = published_beside(problem)
    if not shown:
        return ""
    ours = problem.samples_per_combination
    here = f"; here it is {ours:,}" if all(each.samples != ours for each in shown) else ""
    notes = ", and ".join(each.note for each in shown)
    return f"Paper: Bloice, Roth, Holzinger (2020), {notes}{here}."


def fold_tables(experiment: Experiment, results: Sequence[FoldResult]) -> list[TextTable]:
    """A table for shares and one for other metrics; with ours the paper's figures, if any.

    A row a fold; their mean and deviation; then those of the paper, unless they stand beside ours.
    """
    return [_fold_table(unit, experiment, results) for unit in TITLES]


def _fold_table(unit: str, experiment: Experiment, results: Sequence[FoldResult]) -> TextTable:
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
    return TextTable(TITLES[unit], headings, tuple(map(tuple, groups)) if results else ())


def _cells(metric: Metric, folds: Sequence[float], over: Spread | None) -> list[str]:
    """A column of a metric: its value in each fold, then mean and deviation."""
    figures = [*folds, *((over.mean, over.deviation) if over else (None, None))]
    return [format_measure(metric, each) for each in figures]


def list_table(runs: Sequence[RunFolder], runs_dir: Path) -> RenderableType:
    """All runs of a folder, a row each, with the settings in which they differ."""
    if not runs:
        return Text(f"Nothing was run in {runs_dir} yet; 'unseen run' does.")
    headings = ("run", "settings", "folds", *(metric.label for metric in LISTED))
    experiments = read_experiments(runs)
    words, shared = side_by_side([*experiments.values()])
    settings = dict(zip(experiments, words, strict=True))
    rows = []
    for run, listed in zip(runs, run_rows(runs), strict=True):
        means = (format_measure(each, listed.get("mean", {}).get(each.name)) for each in LISTED)
        preset = f"{listed['preset']} " if "preset" in listed and run.names() else ""
        about = listed.get("error", printable(preset + settings.get(run, "")))
        folds = "" if "error" in listed else str(len(listed["folds"]))
        rows.append((listed["run"], about, folds, *means))
    table = TextTable(None, headings, (tuple(rows),), texts=2).for_console()
    return Group(table, *([Text(f"All of them: {shared}", style="dim")] if shared else []))


def sort_runs(runs: Sequence[RunFolder], by: str) -> list[RunFolder]:
    """Runs by time, by name, by how many folds are done, or by a metric, smallest first.

    Those that have no value come last.
    """
    known = ("time", "name", "folds", *METRICS)
    if by not in known:
        raise unknown("order", by, known)

    if by == "time":
        return [*runs]
    if by == "name":
        return sorted(runs, key=lambda run: run.label)
    values = {
        run: len(row.get("folds", ())) if by == "folds" else row.get("mean", {}).get(by, math.nan)
        for run, row in zip(runs, run_rows(runs), strict=True)
    }
    return sorted(runs, key=lambda run: (not math.isfinite(values[run]), values[run]))


def format_measure(metric: Metric, value: float | None) -> str:
    """A figure of a metric as it is read: 81.19 %, or 1.1072; — for NaN, nothing for None."""
    if value is None:
        return ""
    if not math.isfinite(value):
        return "—"
    return f"{100 * value:.2f} %" if metric.is_share else format(value, decimals(value, 4))

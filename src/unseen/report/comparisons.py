"""Compared runs as a table, as JSON, and as a figure."""

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unseen.analysis.comparison import RunComparison, RunGroup
from unseen.analysis.intervals import FEWEST_UNITS, Comparison
from unseen.errors import SettingError, printable
from unseen.files import write_whole
from unseen.report.exports import latex_document
from unseen.report.json_view import jsonable
from unseen.report.repeat_command import side_by_side
from unseen.report.tables import FoldTable, console_table, format_measure
from unseen.report.words import decimals, format_count
from unseen.runs.differences import differences
from unseen.runs.experiment import Experiment
from unseen.training.metrics import SEEN, Metric, unseen_metrics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TESTED = {
    "folds": "p: a paired t test over folds. It is about other folds with networks that are "
    "trained alike.",
    "networks": "p: a paired t test over seeds. It is about this fold alone, with other networks "
    "that are trained alike.",
}
INTERVAL = (
    "The 95 % interval holds that of the t test, and is wider where figures are spread unevenly, "
    "as accuracies near 100 % are: there it may hold 0 although p is below 0.05."
)
MEANS_OF_ALL = (
    "The means are over all that a run has answered, the differences only over what both have: "
    "where runs have other folds done, means do not differ by the difference."
)
HEADINGS = ("runs", "seen", "unseen", "over", "difference", "95 % interval", "p")


def comparison_table(
    groups: Sequence[RunGroup], comparisons: Sequence[RunComparison]
) -> RenderableType:
    """A table for each metric; each row has its figure and its difference from the first one."""
    return Group(
        *(Text(words) for words in _settings_lines(groups)),
        *(_console(metric, groups, comparisons) for metric in unseen_metrics().values()),
        *(Text(words, style="dim") for words in _footnotes(groups, comparisons)),
    )


def comparison_latex(groups: Sequence[RunGroup], comparisons: Sequence[RunComparison]) -> str:
    """The same for a paper, one table for each metric."""
    return latex_document(
        _settings_lines(groups),
        [
            FoldTable(_title(metric), HEADINGS, (tuple(_rows(metric, groups, comparisons)),))
            for metric in unseen_metrics().values()
        ],
        _footnotes(groups, comparisons),
        label=groups[0].name,
    )


def comparison_csv(groups: Sequence[RunGroup], comparisons: Sequence[RunComparison]) -> str:
    """Every figure in full: a row for each run, or for runs that differ in nothing but seeds."""
    rows = []
    for group, compared in zip(groups, (None, *comparisons), strict=True):
        row: dict[str, object] = {"runs": printable(group.name), "seeds": len(group.summaries)}
        row |= {"from": "", "folds": "", "combinations": "", "unit": "", "units": ""}
        if compared:
            row |= {"from": printable(compared.first), "folds": compared.folds}
            row |= {
                name: getattr(compared.headline, name) for name in ("combinations", "unit", "units")
            }
        row |= {SEEN.name: group.seen()}
        for name in unseen_metrics():
            row[name] = group.mean(name)
            for part in ("difference", "low", "high", "p_value"):
                row[f"{name}_{part}"] = getattr(compared.measures[name], part) if compared else ""
        rows.append(row)
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _settings_lines(groups: Sequence[RunGroup]) -> list[str]:
    """What each row is, and the settings that all of them have."""
    experiments = _experiments(groups)
    settings, shared = side_by_side(experiments)
    lines = []
    for group, experiment, words in zip(groups, experiments, settings, strict=True):
        seeds = f", {len(group.summaries)} seeds" if len(group.summaries) > 1 else ""
        lines.append(f"{group.name}: {experiment.name} {words}".strip() + seeds)
    return [*lines, *([f"All of them: {shared}"] if shared else [])]


def _experiments(groups: Sequence[RunGroup]) -> list[Experiment]:
    """What was compared, by the first run of each group.

    All have the same symbols, so these are in one place, the first one's.
    """
    first = groups[0].summaries[0].experiment
    problem = {"symbols": first.problem.symbols}
    experiments = []
    for group in groups:
        each = group.summaries[0].experiment
        seed = each.seed if len(group.summaries) == 1 else first.seed
        update = {"problem": each.problem.model_copy(update=problem), "seed": seed}
        experiments.append(each.model_copy(update=update))
    return experiments


def _title(metric: Metric) -> str:
    points = "; differences in points" if metric.unit == "share" else ""
    return f"{metric.label}, unseen combinations{points}"


def _console(
    metric: Metric, groups: Sequence[RunGroup], comparisons: Sequence[RunComparison]
) -> Table:
    table = console_table(_title(metric))
    table.add_column("runs", overflow="fold")
    for heading in HEADINGS[1:]:
        table.add_column(heading, justify="right", no_wrap=True)
    for name, *cells in _rows(metric, groups, comparisons):
        table.add_row(Text(name), *cells)
    return table


def _rows(
    metric: Metric, groups: Sequence[RunGroup], comparisons: Sequence[RunComparison]
) -> Iterator[tuple[str, ...]]:
    for group, compared in zip(groups, (None, *comparisons), strict=True):
        yield (
            group.name,
            format_measure(SEEN, group.seen()),
            format_measure(metric, group.mean(metric.name)),
            *(_compared(compared.measures[metric.name], metric) if compared else [""] * 4),
        )


def _compared(compared: Comparison, metric: Metric) -> tuple[str, ...]:
    """How many combinations, their difference, its interval, and its p-value."""
    scale, digits = (100, 2) if metric.unit == "share" else (1, 4)
    at, low, high = (
        format(scale * value, "+" + decimals(value, digits)) if math.isfinite(value) else ""
        for value in (compared.difference, compared.low, compared.high)
    )
    interval = f"{low} to {high}" if low and high else "—"
    p_value = "< 0.001" if compared.p_value < 0.001 else f"{compared.p_value:.3f}"
    p_shown = "—" if math.isnan(compared.p_value) else p_value
    return f"{compared.combinations:,}", at or "—", interval, p_shown


def _footnotes(groups: Sequence[RunGroup], comparisons: Sequence[RunComparison]) -> list[str]:
    paired = {
        f"{format_count(each.headline.combinations, 'combination')} in "
        f"{format_count(each.folds, 'fold')}, {format_count(each.seeds, 'seed')}"
        for each in comparisons
    }
    most = max(len({score.unit for run in group.summaries for score in run.scores})
               for group in groups)  # fmt: skip
    some_left_out = min(each.headline.combinations for each in comparisons) < most
    tested = {each.headline.unit for each in comparisons if each.headline.units >= FEWEST_UNITS}
    too_little = any(each.headline.units < FEWEST_UNITS for each in comparisons)
    return [
        f"Differences are from {comparisons[0].first}, paired over what both answered when it was "
        f"unseen ({'; '.join(sorted(paired))}). Seen: seen combinations by rounding.",
        *([MEANS_OF_ALL] if some_left_out else []),
        *(TESTED[unit] for unit in sorted(tested)),
        *([INTERVAL] if tested else []),
        *([_what_to_run(groups, comparisons)] if too_little else []),
    ]


def _what_to_run(groups: Sequence[RunGroup], comparisons: Sequence[RunComparison]) -> str:
    """What would give a test where there is none."""
    folds = groups[0].summaries[0].fold_count
    if folds >= FEWEST_UNITS:
        more = f"run {FEWEST_UNITS} or more of the {folds} folds of each (--folds 1-{FEWEST_UNITS})"
    else:
        more = (
            f"run each with {FEWEST_UNITS} seeds or more by a study that varies seed = [0, 1, 2] "
            "(unseen sweep FILE; unseen compare --study FILE --by SETTING)"
        )
    fewest = min(each.headline.units for each in comparisons)
    unit = "fold" if comparisons[0].headline.unit == "folds" else "seed"
    return (
        f"No test: there {'is' if fewest == 1 else 'are'} only {format_count(fewest, unit)} in "
        f"common, and a test needs {FEWEST_UNITS}. To get one, {more}."
    )


def comparison_json(groups: Sequence[RunGroup], comparisons: Sequence[RunComparison]) -> str:
    """The same as one JSON object."""
    apart, _ = differences(_experiments(groups))
    document = {
        "runs": [
            {
                "run": group.name,
                "settings": settings,
                "seeds": [each.experiment.seed for each in group.summaries],
                SEEN.name: group.seen(),
                "mean": {name: group.mean(name) for name in unseen_metrics()},
            }
            for group, settings in zip(groups, apart, strict=True)
        ],
        "differences": [
            {"run": each.run, "from": each.first, "folds": each.folds, "seeds": each.seeds}
            | each.measures
            for each in comparisons
        ],
    }
    return json.dumps(jsonable(document), indent=2)


def check_figure(path: Path) -> None:
    """Refuse a file of a kind that no figure is written as."""
    if path.suffix not in (".svg", ".pdf"):
        raise SettingError("figure", str(path), "must be a name that ends in .svg or .pdf")


def save_comparison(comparisons: Sequence[RunComparison], path: Path) -> None:
    """The differences as a figure: SVG or PDF by the name of the file."""
    from unseen.report.drawing import in_our_style, saved

    check_figure(path)
    with in_our_style():
        write_whole(path, saved(draw_comparison(comparisons), path.suffix[1:]))


def draw_comparison(comparisons: Sequence[RunComparison]) -> "Figure":
    """Each run's difference from the first, with its interval, around a line at none."""
    from matplotlib.figure import Figure

    from unseen.report.drawing import BLUE, FAINT

    metrics = unseen_metrics()
    size = (1 + 3 * len(metrics), 1.1 + 0.35 * len(comparisons))
    figure = Figure(figsize=size, layout="constrained")
    places = figure.subplots(1, len(metrics), sharey=True, squeeze=False)[0]
    for place, metric in zip(places, metrics.values(), strict=True):
        scale, points = (100, "points ") if metric.unit == "share" else (1, "")
        place.axvline(0, color=FAINT, linewidth=1)
        for at, run in enumerate(comparisons):
            compared = run.measures[metric.name]
            ends = [scale * compared.low, scale * compared.high]
            place.plot(ends, [at, at], color=BLUE, linewidth=2)
            place.plot(scale * compared.difference, at, "o", color=BLUE)
        place.set(xlabel=f"{metric.label}, {points}more", ylim=(-0.6, len(comparisons) - 0.4))
    places[0].set_yticks(range(len(comparisons)), [each.run for each in comparisons])
    places[0].invert_yaxis()
    figure.suptitle(f"Difference from {comparisons[0].first}, with 95 % intervals", fontsize=9)
    return figure

"""Compared runs as a table, as JSON, and as a figure."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unseen.errors import SettingError
from unseen.experiments.differences import differences
from unseen.experiments.experiment import Experiment
from unseen.files import write_whole
from unseen.insight.comparison import RunComparison
from unseen.insight.intervals import Comparison
from unseen.insight.summary import Summary, unseen_metrics
from unseen.learning.metrics import Metric
from unseen.views.json_view import jsonable
from unseen.views.repeat_command import side_by_side
from unseen.views.tables import console_table, format_measure
from unseen.views.words import decimals, format_count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FLIPPED = {
    "folds": "p: how often the difference is as large once whole folds have signs at random. The "
    "95 % interval holds all differences that this test would not reject: it leaves out 0 where p "
    "is at most 0.05.",
    "combinations": "p: how often the difference is as large once combinations have signs at "
    "random. The 95 % interval holds all differences that this test would not reject: it leaves "
    "out 0 where p is at most 0.05. With so few folds both are about these very networks, not "
    "about others trained alike.",
}
MEANS_OF_ALL = (
    "The means are over all that a run has answered, the differences only over what both have: "
    "where runs have other folds done, means do not differ by the difference."
)


def comparison_table(
    summaries: Sequence[Summary], comparisons: Sequence[RunComparison]
) -> RenderableType:
    """A table for each metric; each run has its figure and its difference from the first one."""
    settings, shared = side_by_side(_experiments(summaries))
    alike = [f"All of them: {shared}"] if shared else []
    runs = [
        f"{summary.run}: {summary.experiment.name} {words}".strip()
        for summary, words in zip(summaries, settings, strict=True)
    ]
    return Group(
        *(Text(words) for words in (*runs, *alike)),
        *(_table(metric, summaries, comparisons) for metric in unseen_metrics().values()),
        *(Text(words, style="dim") for words in _footnotes(summaries, comparisons)),
    )


def _experiments(summaries: Sequence[Summary]) -> list[Experiment]:
    """What was compared; all have the same symbols, so these are in one place, the first one's."""
    symbols = {"symbols": summaries[0].experiment.problem.symbols}
    return [
        summary.experiment.model_copy(
            update={"problem": summary.experiment.problem.model_copy(update=symbols)}
        )
        for summary in summaries
    ]


def _table(
    metric: Metric, summaries: Sequence[Summary], comparisons: Sequence[RunComparison]
) -> Table:
    points = "; differences in points" if metric.unit == "share" else ""
    table = console_table(f"{metric.label}, unseen combinations{points}")
    table.add_column("run", overflow="fold")
    for heading in ("mean", "over", "difference", "95 % interval", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    for summary, compared in zip(summaries, (None, *comparisons), strict=True):
        table.add_row(
            Text(summary.run),
            format_measure(metric, summary.intervals[metric.name].mean),
            *(_compared(compared.measures[metric.name], metric) if compared else ()),
        )
    return table


def _compared(compared: Comparison, metric: Metric) -> tuple[str, ...]:
    """How many combinations, their difference, its interval, and its p-value."""
    scale, digits = (100, 2) if metric.unit == "share" else (1, 4)
    at, low, high = (
        format(scale * value, "+" + decimals(value, digits)) if math.isfinite(value) else ""
        for value in (compared.difference, compared.low, compared.high)
    )
    interval = f"{low} to {high}" if low and high else "—"
    p_value = "< 0.001" if compared.p_value < 0.001 else f"{compared.p_value:.3f}"
    return f"{compared.combinations:,}", at or "—", interval, p_value if at else "—"


def _footnotes(summaries: Sequence[Summary], comparisons: Sequence[RunComparison]) -> list[str]:
    paired = {
        f"{format_count(each.rounded.combinations, 'combination')} "
        f"in {format_count(each.folds, 'fold')}"
        for each in comparisons
    }
    most = max(len(summary.scores) for summary in summaries)
    some_left_out = min(each.rounded.combinations for each in comparisons) < most
    return [
        f"Differences are from {comparisons[0].first}, paired over what both runs answered when it "
        f"was unseen ({'; '.join(sorted(paired))}), with 95 % intervals.",
        *([MEANS_OF_ALL] if some_left_out else []),
        *(FLIPPED[unit] for unit in sorted({each.rounded.flipped for each in comparisons})),
    ]


def comparison_json(summaries: Sequence[Summary], comparisons: Sequence[RunComparison]) -> str:
    """The same as one JSON object."""
    apart, _ = differences(_experiments(summaries))
    document = {
        "runs": [
            {"run": summary.run, "settings": settings, **summary.intervals}
            for summary, settings in zip(summaries, apart, strict=True)
        ],
        "differences": [
            {"run": each.run, "from": each.first, "folds": each.folds, **each.measures}
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
    from unseen.views.drawing import in_our_style, saved

    check_figure(path)
    with in_our_style():
        write_whole(path, saved(draw_comparison(comparisons), path.suffix[1:]))


def draw_comparison(comparisons: Sequence[RunComparison]) -> "Figure":
    """Each run's difference from the first, with its interval, around a line at none."""
    from matplotlib.figure import Figure

    from unseen.views.drawing import BLUE, FAINT

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

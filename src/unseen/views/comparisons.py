"""Compared runs as a table, as JSON, and as a figure."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unseen.errors import UnseenError
from unseen.files import write_whole
from unseen.insight.comparison import RunComparison
from unseen.insight.intervals import Comparison
from unseen.insight.summary import Summary, unseen_metrics
from unseen.learning.metrics import Metric
from unseen.views.json_view import interval_json, number
from unseen.views.tables import format_measure
from unseen.views.words import format_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FLIPPED = {
    "folds": "p: how often the difference is as large once whole folds have signs at random.",
    "combinations": "p: how often the difference is as large once combinations have signs at "
    "random; with so few folds it is about these very networks, not about others trained alike.",
}


MEANS_OF_ALL = (
    "The means are over all that a run has answered, the differences only over what both have: "
    "where runs have other folds done, means do not differ by the difference."
)


def comparison_table(
    summaries: Sequence[Summary], comparisons: Sequence[RunComparison]
) -> RenderableType:
    """For either measure a row a run: its figure, then its difference from the first one."""
    return Group(
        *(_table(metric, summaries, comparisons) for metric in unseen_metrics().values()),
        *(Text(words, style="dim") for words in _footnotes(summaries, comparisons)),
    )


def _table(
    metric: Metric, summaries: Sequence[Summary], comparisons: Sequence[RunComparison]
) -> Table:
    points = "; differences in points" if metric.unit == "share" else ""
    title = f"{metric.label}, unseen combinations{points}"
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.add_column("run")
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
    return f"{compared.combinations:,}", *difference(compared, metric)


def difference(compared: Comparison, metric: Metric) -> tuple[str, str, str]:
    """A difference, its interval, and its p-value."""
    scale, digits = (100, 2) if metric.unit == "share" else (1, 4)
    at, low, high = (
        f"{scale * value:+.{digits}f}" if math.isfinite(value) else "nan"
        for value in (compared.difference, compared.interval.low, compared.interval.high)
    )
    return at, f"{low} to {high}", format_p_value(compared.p_value)


def format_p_value(p_value: float) -> str:
    if math.isnan(p_value):
        return "nan"
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def _some_left_out(summaries: Sequence[Summary], comparisons: Sequence[RunComparison]) -> bool:
    """Whether a run has answered more than what a difference is over."""
    most = max(len(summary.scores) for summary in summaries)
    return min(each.rounded.combinations for each in comparisons) < most


def _footnotes(summaries: Sequence[Summary], comparisons: Sequence[RunComparison]) -> list[str]:
    first = comparisons[0].first
    paired = {
        f"{format_count(each.rounded.combinations, 'combination')} "
        f"in {format_count(each.folds, 'fold')}"
        for each in comparisons
    }
    return [
        f"Differences are from {first}, paired over what both runs answered when it was unseen "
        f"({'; '.join(sorted(paired))}), with 95 % intervals.",
        *([MEANS_OF_ALL] if _some_left_out(summaries, comparisons) else []),
        *(FLIPPED[unit] for unit in sorted({each.rounded.flipped for each in comparisons})),
    ]


def comparison_json(summaries: Sequence[Summary], comparisons: Sequence[RunComparison]) -> str:
    """The same as one JSON object."""
    runs = [
        {
            "run": summary.run,
            **{name: interval_json(each) for name, each in summary.intervals.items()},
        }
        for summary in summaries
    ]
    differences = [
        {
            "run": each.run,
            "from": each.first,
            "folds": each.folds,
            **{name: _comparison(compared) for name, compared in each.measures.items()},
        }
        for each in comparisons
    ]
    return json.dumps({"runs": runs, "differences": differences}, indent=2)


def _comparison(compared: Comparison) -> dict[str, Any]:
    return {
        "difference": number(compared.difference),
        "low": number(compared.interval.low),
        "high": number(compared.interval.high),
        "p_value": number(compared.p_value),
        "combinations": compared.combinations,
        "flipped": compared.flipped,
    }


def check_figure(path: Path) -> None:
    """Refuse a file of a kind that no figure is written as."""
    if path.suffix not in (".svg", ".pdf"):
        raise UnseenError(f"--figure takes a name that ends in .svg or .pdf, not {path}")


def save_comparison(comparisons: Sequence[RunComparison], path: Path) -> None:
    """The differences as a figure: SVG or PDF by the name of the file."""
    from unseen.views.drawing import as_pdf, as_svg, in_our_style

    check_figure(path)
    writers = {".svg": as_svg, ".pdf": as_pdf}
    with in_our_style():
        write_whole(path, writers[path.suffix](draw_comparison(comparisons)))


def draw_comparison(comparisons: Sequence[RunComparison]) -> "Figure":
    """Each run's difference from the first, with its interval, around a line at none."""
    from matplotlib.figure import Figure

    metrics = unseen_metrics()
    size = (1 + 3 * len(metrics), 1.1 + 0.35 * len(comparisons))
    figure = Figure(figsize=size, layout="constrained")
    places = figure.subplots(1, len(metrics), sharey=True, squeeze=False)[0]
    for place, metric in zip(places, metrics.values(), strict=True):
        share = metric.unit == "share"
        compared = [each.measures[metric.name] for each in comparisons]
        label = f"{metric.label}, {'points ' if share else ''}more"
        _draw_differences(place, compared, 100 if share else 1, label)
    places[0].set_yticks(range(len(comparisons)), [each.run for each in comparisons])
    places[0].invert_yaxis()
    figure.suptitle(f"Difference from {comparisons[0].first}, with 95 % intervals", fontsize=9)
    return figure


def _draw_differences(
    place: "Axes", compared: Sequence[Comparison], scale: float, label: str
) -> None:
    from unseen.views.drawing import BLUE, FAINT

    place.axvline(0, color=FAINT, linewidth=1)
    for at, each in enumerate(compared):
        ends = [scale * each.interval.low, scale * each.interval.high]
        place.plot(ends, [at, at], color=BLUE, linewidth=2)
        place.plot(scale * each.difference, at, "o", color=BLUE)
    place.spines[["top", "right"]].set_visible(False)
    place.set(xlabel=label, ylim=(-0.6, len(compared) - 0.4))

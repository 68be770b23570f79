"""Compared runs as tables, LaTeX, CSV, JSON and a figure, all from the same rows."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from unseen.analysis.comparison import ComparedRuns
from unseen.analysis.intervals import FEWEST_UNITS, Comparison
from unseen.errors import SettingError
from unseen.files import write_whole
from unseen.report.exports import csv_text, latex_document
from unseen.report.json_view import jsonable
from unseen.report.repeat_command import side_by_side
from unseen.report.tables import TextTable, format_measure
from unseen.report.words import decimals, format_count
from unseen.runs.differences import differences
from unseen.training.metrics import HEADLINE, SEEN, Metric, unseen_metrics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TESTED = {
    "folds": "a paired t test over folds, about other folds with networks trained alike.",
    "networks": "a paired t test over seeds, about this fold with other networks trained alike.",
}
HEADINGS = ("runs", "seen", "unseen", "over", "difference", "95 % interval", "p")

Rows = Sequence[ComparedRuns]


def comparison_table(rows: Rows) -> RenderableType:
    """A table for each metric; each row has its figure and its difference from the first one."""
    return Group(
        *map(Text, _settings_lines(rows)),
        *(table.for_console() for table in _tables(rows)),
        *(Text(words, style="dim") for words in _footnotes(rows)),
    )


def comparison_latex(rows: Rows) -> str:
    """The same for a paper, one table for each metric."""
    return latex_document(
        _settings_lines(rows), _tables(rows), _footnotes(rows), label=rows[0].name
    )


def comparison_csv(rows: Rows) -> str:
    """Every figure in full: a row for each run, or for runs that differ in nothing but seeds."""
    lines: list[dict[str, object]] = []
    for row in rows:
        compared = row.differences.get(HEADLINE.name)
        line: dict[str, object] = {"runs": row.name, "seeds": len(row.seeds)}
        line |= (
            {"from": rows[0].name, "folds": row.folds} if compared else {"from": "", "folds": ""}
        )
        line |= {name: getattr(compared, name, "") for name in ("combinations", "unit", "units")}
        line[SEEN.name] = row.seen
        for name, mean in row.means.items():
            line[name] = mean
            for part in ("difference", "low", "high", "p_value"):
                line[f"{name}_{part}"] = getattr(row.differences.get(name), part, "")
        lines.append(line)
    return csv_text([lines[0], *(line.values() for line in lines)])


def comparison_json(rows: Rows) -> str:
    """The same as one JSON object."""
    return json.dumps(jsonable(comparison_dict(rows)), indent=2)


def comparison_dict(rows: Rows) -> dict[str, Any]:
    apart, _ = differences([row.experiment for row in rows])
    return {
        "runs": [
            {"run": row.name, "settings": settings, "seeds": row.seeds}
            | {SEEN.name: row.seen, "mean": row.means}
            for row, settings in zip(rows, apart, strict=True)
        ],
        "differences": [
            {"run": row.name, "from": rows[0].name, "folds": row.folds, "seeds": row.common_seeds}
            | row.differences
            for row in rows[1:]
        ],
    }


def _settings_lines(rows: Rows) -> list[str]:
    """What each row is, and the settings that all of them have."""
    settings, shared = side_by_side([row.experiment for row in rows])
    lines = []
    for row, words in zip(rows, settings, strict=True):
        seeds = f", {len(row.seeds)} seeds" if len(row.seeds) > 1 else ""
        lines.append(f"{row.name}: {row.experiment.name} {words}".strip() + seeds)
    return [*lines, *([f"All of them: {shared}"] if shared else [])]


def _tables(rows: Rows) -> list[TextTable]:
    tables = []
    for metric in unseen_metrics().values():
        points = "; differences in points" if metric.is_share else ""
        title = f"{metric.label}, unseen combinations; {metric.better} is better{points}"
        cells = tuple(
            (
                row.name,
                format_measure(SEEN, row.seen),
                format_measure(metric, row.means[metric.name]),
                *(_compared(row.differences[metric.name], metric) if row.differences else [""] * 4),
            )
            for row in rows
        )
        tables.append(TextTable(title, HEADINGS, (cells,), texts=1))
    return tables


def _compared(compared: Comparison, metric: Metric) -> tuple[str, ...]:
    """How many combinations, their difference, its interval, and its p-value."""
    digits = 2 if metric.is_share else 4
    at, low, high = (
        format(metric.scale * value, "+" + decimals(value, digits)) if math.isfinite(value) else ""
        for value in (compared.difference, compared.low, compared.high)
    )
    interval = f"{low} to {high}" if low and high else "—"
    p_value = "< 0.001" if compared.p_value < 0.001 else f"{compared.p_value:.3f}"
    p_shown = "—" if math.isnan(compared.p_value) else p_value
    return f"{compared.combinations:,}", at or "—", interval, p_shown


def _footnotes(rows: Rows) -> list[str]:
    others = rows[1:]
    paired = {
        f"{format_count(row.headline.combinations, 'combination')} in "
        f"{format_count(row.folds, 'fold')}, {format_count(row.common_seeds, 'seed')}"
        for row in others
    }
    tested = {row.headline.unit for row in others if row.headline.units >= FEWEST_UNITS}
    fewest = min((row.headline for row in others), key=lambda each: each.units)
    units = format_count(fewest.units, "fold" if fewest.unit == "folds" else "seed")
    no_test = (
        f"No test: {units} in common, and it needs {FEWEST_UNITS}. To get one, run more folds of "
        "each (--folds), or compare several seeds (unseen compare --study FILE --by SETTING)."
    )
    return [
        f"Differences are from {rows[0].name}, paired over what both answered when it was unseen "
        f"({'; '.join(sorted(paired))}). Seen: seen combinations by rounding.",
        *(f"p: {TESTED[unit]}" for unit in sorted(tested)),
        *([no_test] if fewest.units < FEWEST_UNITS else []),
    ]


def check_figure(path: Path) -> None:
    """Refuse a file of a kind that no figure is written as."""
    if path.suffix not in (".svg", ".pdf"):
        raise SettingError("figure", str(path), "must be a name that ends in .svg or .pdf")


def save_comparison(rows: Rows, path: Path) -> None:
    """The differences as a figure: SVG or PDF by the name of the file."""
    from unseen.report.drawing import in_our_style, saved

    with in_our_style():
        write_whole(path, saved(draw_comparison(rows), path.suffix[1:]))


def draw_comparison(rows: Rows) -> "Figure":
    """Each run's difference from the first, with its interval, around a line at none."""
    from matplotlib.figure import Figure

    from unseen.report.drawing import BLUE, FAINT

    metrics, others = unseen_metrics(), rows[1:]
    size = (1 + 3 * len(metrics), 1.1 + 0.35 * len(others))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, len(metrics), sharey=True, squeeze=False)[0]
    for panel, metric in zip(panels, metrics.values(), strict=True):
        panel.axvline(0, color=FAINT, linewidth=1)
        for at, row in enumerate(others):
            compared = row.differences[metric.name]
            ends = [metric.scale * compared.low, metric.scale * compared.high]
            panel.plot(ends, [at, at], color=BLUE, linewidth=2)
            panel.plot(metric.scale * compared.difference, at, "o", color=BLUE)
        points = "points " if metric.is_share else ""
        panel.set(xlabel=f"{metric.label}, {points}more", ylim=(-0.6, len(others) - 0.4))
    panels[0].set_yticks(range(len(others)), [row.name for row in others])
    panels[0].invert_yaxis()
    figure.suptitle(f"Difference from {rows[0].name}, with 95 % intervals", fontsize=9)
    return figure

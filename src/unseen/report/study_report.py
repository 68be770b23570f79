"""A study as one page: its curve or its matrix, and every point with the runs behind it."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from matplotlib.figure import Figure

from unseen.errors import printable, shortened, without_paths
from unseen.files import write_whole
from unseen.problem.task import make_task
from unseen.report.drawing import (
    FAINT,
    SERIES,
    WIDTH,
    draw_shares,
    embedded_svg,
    in_our_style,
    new_figure,
)
from unseen.report.report import page_environment
from unseen.report.tables import format_measure
from unseen.report.words import format_count, format_ends, format_percent
from unseen.studies.points import Point, compared_settings, study_points
from unseen.studies.sweep import Plan
from unseen.training.metrics import HEADLINE, METRICS

OTHERS = [metric for metric in METRICS.values() if metric is not HEADLINE]
RIGHT = "unseen, right by rounding, %"
FIGURE = "study"
SETTLED = (
    "that follow from the seen answers, for a reader who knows that an answer is a sum (or a "
    "product) of one number for each symbol in each place"
)
MARKERS = "osD^vPX*"


def write_study_report(plan: Plan, path: Path, failed: list[str]) -> Path:
    """Write the page of a study; `failed` are lines about folds that failed."""
    write_whole(path, printable(render_study(plan, path.parent, failed), but="\n").encode())
    return path


def render_study(plan: Plan, folder: Path, failed: list[str]) -> str:
    """The page of a study, with links to reports as seen from a folder."""
    points, settings = study_points(plan), map(_words, compared_settings(plan.study))
    others = [metric.label for metric in OTHERS]
    with in_our_style():
        figure, caption = draw_study(plan, points)
        svg = embedded_svg(FIGURE, plan.study.name, figure) if figure is not None else ""
    return (
        page_environment("unseen.report")
        .get_template("study.html.jinja")
        .render(
            name=plan.study.name,
            about=plan.study.about,
            counts=f"{format_count(len(plan.runs), 'run')}, {plan.done_count} of "
            f"{format_count(plan.fold_count, 'fold')} done",
            svg=svg,
            caption=caption,
            headings=[*settings, "right", "95 % interval", "settled", *others, "networks", "runs"],
            rows=[(_cells(point), _links(plan, point, folder)) for point in points],
            failed=[*map(without_paths, failed)],
            settled=SETTLED,
            anchor=f"{FIGURE}-point-",
        )
    )


def _cells(point: Point) -> list[str]:
    right = point.intervals[HEADLINE.name]
    return [
        *(_shown(value, 60) for value in point.settings.values()),
        format_percent(right.mean),
        format_ends(right),
        "—" if point.determined is None else format_percent(point.determined),
        *(format_measure(each, point.intervals[each.name].mean) for each in OTHERS),
        str(point.networks),
    ]


def _links(plan: Plan, point: Point, folder: Path) -> list[tuple[str, str]]:
    """A link to the report of each run of a point, by what tells the runs apart."""
    links = []
    for run in point.runs:
        varied = plan.runs[run].varied
        repeats = [f"{_words(n)} {_shown(v)}" for n, v in varied.items() if n not in point.settings]
        target = quote(os.path.relpath(run.report_file, folder).replace(os.sep, "/"))
        links.append((", ".join(repeats) or "report", target))
    return links


def _shown(value: Any, most: int = 1_000) -> str:
    """The value of a setting in words; of the user's own files, without their folder."""
    return "default" if value is None else shortened(without_paths(str(value)), most)


def _words(setting: str) -> str:
    return setting.replace("_", " ")


def draw_study(plan: Plan, points: list[Point]) -> tuple[Figure | None, str]:
    """A curve where a number is varied, else a matrix or a row of dots; and what to see in it."""
    names = compared_settings(plan.study)
    if not points or not names:
        return None, "No fold is done yet." if not points else "Nothing is varied."
    values = {name: dict.fromkeys(point.settings[name] for point in points) for name in names}
    numbers = [
        name for name in names if len(values[name]) > 2 and all(map(_is_number, values[name]))
    ]
    if len(names) > 1 and not numbers:
        return _matrix(points, names), (
            "Accuracy on unseen combinations, in %, in the mean over folds and seeds; "
            "the table has the intervals."
        )
    caption = "Accuracy on unseen combinations. Bars are 95 % intervals over folds and seeds."
    if not numbers:
        return _dots(points, names[0]), caption
    across = max(numbers, key=lambda name: len(values[name]))
    dashed = f" Dashed: the share of answers {SETTLED}." if across == "unseen" else ""
    return _curve(points, across), caption + dashed


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _curve(points: list[Point], across: str) -> Figure:
    """A line for each choice of the other settings."""
    figure, axes = new_figure(3.6)
    series: dict[tuple[Any, ...], list[tuple[float, int, Point]]] = {}
    for number, point in enumerate(points):
        others = tuple(value for name, value in point.settings.items() if name != across)
        at = float(point.settings[across])
        if across == "unseen":
            at = len(make_task(point.experiment.problem).combinations.digits) - at
        series.setdefault(others, []).append((at, number, point))
    for order, (others, line) in enumerate(series.items()):
        colour, marker = SERIES[order % len(SERIES)], MARKERS[order // len(SERIES) % len(MARKERS)]
        line.sort(key=lambda each: each[0])
        along = [at for at, _, _ in line]
        right = [point.intervals[HEADLINE.name] for _, _, point in line]
        means = [100 * each.mean for each in right]
        label = ", ".join(map(_shown, others))
        axes.plot(along, means, color=colour, linewidth=1.2, label=label)
        lows, highs = ([100 * each.low for each in right], [100 * each.high for each in right])
        axes.vlines(along, lows, highs, color=colour, linewidth=3, alpha=0.35)
        dots = axes.scatter(along, means, s=22, color=colour, marker=marker, zorder=3)
        dots.set_urls([f"#point-{number}" for _, number, _ in line])
        settled = [100 * each.determined for _, _, each in line if each.determined is not None]
        if across == "unseen" and len(settled) == len(line):
            axes.plot(along, settled, "--", color=FAINT, linewidth=1, zorder=1)
    if len(series) > 1:
        figure.legend(loc="outside upper center", ncols=3)
    heading = "seen combinations" if across == "unseen" else _words(across)
    axes.set(xlabel=heading, ylabel=RIGHT, ylim=(-3, 103))
    axes.margins(x=0.02)  # else the outer dots are cut by the frame
    return figure


def _dots(points: list[Point], name: str) -> Figure:
    """A row for each value of the one setting that is compared."""
    figure, axes = new_figure(0.6 + 0.3 * len(points))
    right, rows = [point.intervals[HEADLINE.name] for point in points], range(len(points))
    lows, highs = ([100 * each.low for each in right], [100 * each.high for each in right])
    axes.hlines(rows, lows, highs, color=SERIES[0], linewidth=5, alpha=0.35)
    means = [100 * each.mean for each in right]
    dots = axes.scatter(means, rows, s=30, color=SERIES[0], zorder=3)
    dots.set_urls([f"#point-{number}" for number in rows])
    axes.set_yticks(rows, [_shown(point.settings[name], 30) for point in points])
    axes.set(xlabel=RIGHT, xlim=(-3, 103), ylabel=_words(name))
    axes.set_ylim(len(points) - 0.5, -0.5)
    return figure


def _matrix(points: list[Point], names: tuple[str, ...]) -> Figure:
    """The last setting across, all others down."""
    rows = [tuple(point.settings[name] for name in names[:-1]) for point in points]
    columns = [point.settings[names[-1]] for point in points]
    down, across = list(dict.fromkeys(rows)), list(dict.fromkeys(columns))
    figure, axes = new_figure(0.9 + 0.32 * len(down))
    figure.set_figwidth(max(WIDTH, 2 + 0.55 * len(across)))
    shares = {
        (down.index(row), across.index(column)): point.intervals[HEADLINE.name].mean
        for point, row, column in zip(points, rows, columns, strict=True)
    }
    labels = [shortened(", ".join(map(_shown, row)), 34) for row in down]
    draw_shares(axes, shares, labels, [_shown(value, 14) for value in across])
    for number, cell in enumerate(axes.patches):
        cell.set_url(f"#point-{number}")
    for heading in axes.get_xticklabels():
        heading.set(rotation=30, horizontalalignment="right")
    axes.set_xlabel(_words(names[-1]))
    return figure

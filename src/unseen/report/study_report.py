"""A study as one page: its curve or its matrix, and every point with the runs behind it."""

import math
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unseen.analysis.intervals import Interval
from unseen.errors import printable, without_paths
from unseen.files import write_whole
from unseen.problem.task import make_task
from unseen.report.drawing import (
    FAINT,
    INK,
    SERIES,
    WIDTH,
    axes,
    embedded_svg,
    in_our_style,
    share_colours,
)
from unseen.report.report import page_environment
from unseen.report.tables import format_measure
from unseen.report.words import format_count, format_ends, format_percent
from unseen.runs.experiment import SETTINGS
from unseen.studies.points import Point, compared_settings, study_points
from unseen.studies.sweep import Plan
from unseen.training.metrics import HEADLINE, METRICS, Metric

RIGHT = "unseen, right by rounding, %"
FIGURE = "study"
SETTLED = (
    "which somebody could work out who is told the seen answers, and that an answer is a sum (or a "
    "product) of one number for each symbol in each place"
)
MARKERS = "osD^vPX*"


def write_study_report(plan: Plan, path: Path, failed: list[str]) -> Path:
    """Write the page of a study; `failed` are lines about folds that failed."""
    write_whole(path, printable(render_study(plan, path.parent, failed), but="\n").encode())
    return path


def render_study(plan: Plan, folder: Path, failed: list[str]) -> str:
    """The page of a study, with links to reports as seen from a folder."""
    points = study_points(plan)
    with in_our_style():
        figure, caption = draw_study(plan, points)
        svg = embedded_svg(FIGURE, plan.study.name, figure) if figure is not None else ""
    headings = [*map(_words, compared_settings(plan.study)), "right", "95 % interval", "settled"]
    headings += [metric.label for metric in _others()]
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
            headings=[*headings, "networks", "runs"],
            rows=[(_cells(point), _links(plan, point, folder)) for point in points],
            failed=[*map(without_paths, failed)],
            settled=SETTLED,
            anchor=f"{FIGURE}-point-",
        )
    )


def _cells(point: Point) -> list[str]:
    right = point.intervals[HEADLINE.name]
    others = (format_measure(each, point.intervals[each.name].mean) for each in _others())
    values = map(_shown, point.settings.values())
    return [
        *(value if len(value) < 60 else f"{value[:57]}…" for value in values),
        format_percent(right.mean),
        format_ends(right),
        "—" if point.determined is None else format_percent(point.determined),
        *others,
        str(point.networks),
    ]


def _others() -> list[Metric]:
    """The metrics that have a column beside the headline's."""
    return [metric for metric in METRICS.values() if metric is not HEADLINE]


def _links(plan: Plan, point: Point, folder: Path) -> list[tuple[str, str]]:
    """A link to the report of each run of a point, by what tells the runs apart."""
    links = []
    for run in point.runs:
        varied = plan.runs[run].varied
        repeats = [f"{_words(n)} {_shown(v)}" for n, v in varied.items() if n not in point.settings]
        target = quote(os.path.relpath(run.report_file, folder).replace(os.sep, "/"))
        links.append((", ".join(repeats) or "report", target))
    return links


def _shown(value: Any) -> str:
    """The value of a setting in words; of one's own network or pictures, without their folder."""
    if value is None:
        return "default"
    return without_paths(str(value))


def _words(setting: str) -> str:
    return setting.replace("_", " ")


def draw_study(plan: Plan, points: list[Point]) -> tuple[Figure | None, str]:
    """A curve where a number is varied, else a matrix; and what to see in it."""
    names = compared_settings(plan.study)
    if not points or not names:
        return None, "No fold is done yet." if not points else "Nothing is varied."
    numbers = {
        name: {point.settings[name] for point in points}
        for name in names
        if name in SETTINGS and all(_is_number(point.settings[name]) for point in points)
    }
    numbers = {name: values for name, values in numbers.items() if len(values) > 2}
    bars = "Bars are 95 % intervals over folds and seeds."
    if numbers:
        across = max(numbers, key=lambda name: len(numbers[name]))
        settled = f" Dashed: answers that are settled, {SETTLED}." if across == "unseen" else ""
        return _curve(points, across), f"Accuracy on unseen combinations. {bars}{settled}"
    if len(names) > 1:
        return _matrix(points, names), (
            "Accuracy on unseen combinations, in %, in the mean over folds and seeds; "
            "the table has the intervals."
        )
    return _dots(points, names[0]), f"Accuracy on unseen combinations. {bars}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _curve(points: list[Point], across: str) -> Figure:
    """A line for each choice of the other settings."""
    figure, place = axes(3.6)
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
        means = [100 * point.intervals[HEADLINE.name].mean for _, _, point in line]
        label = ", ".join(map(_shown, others))
        place.plot([at for at, _, _ in line], means, color=colour, linewidth=1.2, label=label)
        for at, _, point in line:
            _interval_bar(place, at, point.intervals[HEADLINE.name], colour)
        dots = place.scatter(
            [at for at, _, _ in line], means, s=22, color=colour, marker=marker, zorder=3
        )
        dots.set_urls([f"#point-{number}" for _, number, _ in line])
        if across == "unseen" and all(point.determined is not None for _, _, point in line):
            settled = {at: 100 * (point.determined or 0) for at, _, point in line}
            place.plot([*settled], [*settled.values()], "--", color=FAINT, linewidth=1, zorder=1)
    if len(series) > 1:
        figure.legend(loc="outside upper center", ncols=3)
    heading = "seen combinations" if across == "unseen" else _words(across)
    place.set(xlabel=heading, ylabel=RIGHT, ylim=(-3, 103))
    place.margins(x=0.02)  # else the first and the last dot are cut by the frame
    return figure


def _interval_bar(place: Axes, at: float, interval: Interval, colour: str) -> None:
    if math.isfinite(interval.low):
        ends = [100 * interval.low, 100 * interval.high]
        place.plot([at, at], ends, color=colour, linewidth=3, alpha=0.35)


def _dots(points: list[Point], name: str) -> Figure:
    """A row for each value of the one setting that is compared."""
    figure, place = axes(0.6 + 0.3 * len(points))
    for number, point in enumerate(points):
        right = point.intervals[HEADLINE.name]
        if math.isfinite(right.low):
            ends = [100 * right.low, 100 * right.high]
            place.plot(ends, [number, number], color=SERIES[0], linewidth=5, alpha=0.35)
        place.scatter([100 * right.mean], [number], s=30, color=SERIES[0], zorder=3).set_urls(
            [f"#point-{number}"]
        )
    place.set_yticks(range(len(points)), [_shown(point.settings[name])[:30] for point in points])
    place.set(xlabel=RIGHT, xlim=(-3, 103), ylabel=_words(name))
    place.set_ylim(len(points) - 0.5, -0.5)
    return figure


def _matrix(points: list[Point], names: tuple[str, ...]) -> Figure:
    """The last setting across, all others down."""
    down = list(dict.fromkeys(_row(point, names) for point in points))
    across = list(dict.fromkeys(point.settings[names[-1]] for point in points))
    figure, place = axes(0.9 + 0.32 * len(down))
    figure.set_figwidth(max(WIDTH, 2 + 0.55 * len(across)))
    for number, point in enumerate(points):
        mean = point.intervals[HEADLINE.name].mean
        at = across.index(point.settings[names[-1]]), down.index(_row(point, names))
        colour, ink = share_colours(mean) if math.isfinite(mean) else (FAINT, INK)
        place.bar(at[0], 0.94, 0.94, at[1] - 0.47, color=colour, url=f"#point-{number}")
        text = f"{100 * mean:.0f}" if math.isfinite(mean) else "—"
        place.text(*at, text, color=ink, ha="center", va="center")
    headings = [_shown(each)[:14] for each in across]
    place.set_xticks(range(len(across)), headings, rotation=30, ha="right")
    place.set_yticks(range(len(down)), [", ".join(map(_shown, each))[:34] for each in down])
    place.set(xlabel=_words(names[-1]), xlim=(-0.5, len(across) - 0.5))
    place.set_ylim(len(down) - 0.5, -0.5)
    place.tick_params(length=0)
    return figure


def _row(point: Point, names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(point.settings[name] for name in names[:-1])

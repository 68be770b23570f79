"""The figures of a run, each drawn from its summary; None where there is nothing to draw."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from unseen.insight.paper_results import PAPER_MEAN, is_the_papers_problem
from unseen.insight.summary import QUADRANTS, Summary
from unseen.views.grid import Slice, grid_of
from unseen.views.words import format_percent, named_parts, place_names

Thing = TypeVar("Thing")

# told apart by colour-blind readers too (Okabe and Ito)
INK, FAINT, BLUE, ORANGE, GREEN, PINK = (
    *("#1b1b1b", "#8c8c8c"),
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7"),
)
SERIES = (BLUE, ORANGE, GREEN, PINK)
WIDTH = 4.3
QUADRANT_NAMES = {
    "seen_train": "seen,\ntrain",
    "seen_test": "seen,\ntest",
    "unseen_train": "unseen,\ntrain",
    "unseen_test": "unseen,\ntest",
}
ABOVE: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
MOST_DOTS = 400
MOST_DIGITS_ON_A_LINE = 20
ROOM_FOR_A_DIGIT = 0.025  # of a number line's width


def axes(height: float = 3.2) -> tuple[Figure, Axes]:
    """One pair of axes, without the two sides that say nothing."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    place = figure.subplots()
    place.spines[["top", "right"]].set_visible(False)
    return figure, place


def ruler(summary: Summary) -> Figure:
    """The run on one scale with the baselines and the paper."""
    marks = {name: (reference.rounded.mean, FAINT) for name, reference in summary.baselines.items()}
    if is_the_papers_problem(summary.experiment.problem):
        assert PAPER_MEAN["rounded"] is not None
        marks["the paper"] = (PAPER_MEAN["rounded"], ORANGE)
    marks["one answer"] = (summary.guess, FAINT)
    marks["this run"] = (summary.rounded.mean, BLUE)
    ordered = sorted(marks.items(), key=lambda mark: mark[1][0])
    figure, place = axes(0.55 + 0.3 * len(marks))
    for at, (name, (value, colour)) in enumerate(ordered):
        place.plot([0, 100 * value], [at, at], color=colour, linewidth=1.2, alpha=0.6)
        place.plot(100 * value, at, "o", color=colour, markersize=6)
        end = 100 * value
        if name == "this run" and math.isfinite(summary.rounded.low):
            low, end = 100 * summary.rounded.low, 100 * summary.rounded.high
            place.plot([low, end], [at, at], color=BLUE, linewidth=5, alpha=0.45)
        place.annotate(
            format_percent(value), (end, at), xytext=(9, 0), textcoords="offset points",
            va="center", color=INK,
        )  # fmt: skip
    place.set_yticks(range(len(ordered)), [name for name, _ in ordered])
    place.set(xlim=(0, 118), xticks=range(0, 101, 20), xlabel="unseen, right by rounding, %")
    place.set_ylim(-0.6, len(ordered) - 0.4)
    return figure


def grid(summary: Summary) -> Figure:
    """Every combination as it did when unseen."""
    laid_out = grid_of(summary)
    count = len(laid_out.slices)
    across = 1 if count == 1 else min(count, 2)
    down = math.ceil(count / across)
    shape = len(laid_out.slices[0].row_names), len(laid_out.slices[0].column_names)
    side = WIDTH / across
    height = down * (side * shape[0] / shape[1] + (0.35 if shape[0] > 1 else 0.6))
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    places = figure.subplots(down, across, squeeze=False).ravel()
    for place, part in zip(places, laid_out.slices, strict=False):
        draw_slice(place, part, small=across > 1)
        place.set(xlabel=laid_out.column_place, ylabel=laid_out.row_place)
    for place in places[count:]:
        place.set_visible(False)
    return figure


def draw_slice(place: Axes, part: Slice, *, small: bool) -> None:
    """One grid, colour and number."""
    shares = np.asarray(
        [[np.nan if cell.rounded is None else cell.rounded for cell in row] for row in part.cells]
    )
    colours = viridis()
    place.pcolormesh(
        shares, cmap=colours, vmin=0, vmax=1, edgecolors="white", linewidth=0.3 if small else 0.8
    )
    place.invert_yaxis()
    place.set_aspect("equal")
    place.spines[:].set_visible(False)
    place.tick_params(length=0)
    place.set_xticks(np.arange(len(part.column_names)) + 0.5, part.column_names)
    place.set_yticks(np.arange(len(part.row_names)) + 0.5, part.row_names)
    place.set_title(part.title, fontsize=9)
    for (row, column), share in np.ndenumerate(shares):
        if np.isfinite(share):
            place.text(
                column + 0.5, row + 0.5, f"{100 * share:.0f}", ha="center", va="center",
                fontsize=5 if small else 8, color=readable_on(share),
            )  # fmt: skip


def viridis() -> Colormap:
    from matplotlib import colormaps

    return colormaps["viridis"]


def readable_on(share: float) -> str:
    """Black or white, whichever is read on the colour of a share."""
    red, green, blue, _ = viridis()(share)
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "#ffffff"


def quadrants(summary: Summary) -> Figure | None:
    """Seen and unseen combinations, in train and test handwriting."""
    if not summary.quadrants:
        return None
    figure, place = axes(2.6)
    for at, name in enumerate(QUADRANTS):
        right = summary.quadrants[name]["rounded"]
        colour = BLUE if name.startswith("seen") else ORANGE
        place.bar(at, 100 * right.mean, color=colour, width=0.62)
        if right.deviation is not None:
            place.errorbar(at, 100 * right.mean, 100 * right.deviation, color=INK, capsize=3)
        place.annotate(
            format_percent(right.mean), (at, 100 * right.mean), xytext=(13, 3),
            textcoords="offset points", color=INK, fontsize=8,
        )  # fmt: skip
    place.set_xticks(range(4), [QUADRANT_NAMES[name] for name in QUADRANTS])
    place.set(ylabel="right by rounding, %", ylim=(0, 112), yticks=range(0, 101, 20))
    return figure


def curves(summary: Summary) -> Figure | None:
    """Error after each epoch, a thin line a fold and their mean."""
    if summary.experiment.training.epochs < 2:
        return None
    watched = all(result.curve for result in summary.results)
    lines = {
        "seen": [[point.seen_mse for point in result.curve] for result in summary.results],
        "unseen": [[point.unseen_mse for point in result.curve] for result in summary.results],
    }
    if not watched:
        lines = {"training loss": [result.epoch_losses for result in summary.results]}
    figure, place = axes()
    for (name, folds), colour in zip(lines.items(), SERIES, strict=False):
        epochs = np.arange(1, len(folds[0]) + 1)
        for fold in folds:
            place.plot(epochs, fold, color=colour, linewidth=0.6, alpha=0.35)
        with np.errstate(all="ignore"):
            place.plot(epochs, np.mean(folds, axis=0), color=colour, linewidth=2, label=name)
    place.set(xlabel="epoch", ylabel="mean squared error")
    place.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    if all(value > 0 for folds in lines.values() for fold in folds for value in fold):
        scale_by_factors(place)
    place.legend(frameon=False, labelcolor=INK, ncols=2, **ABOVE)
    return figure


def scale_by_factors(place: Axes) -> None:
    """A logarithmic scale upwards, with few marks and in plain numbers."""
    place.set_yscale("log")
    place.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    place.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    place.yaxis.set_minor_locator(NullLocator())


def predictions(summary: Summary) -> Figure | None:
    """Predictions for each answer against the answer."""
    bands = [band for band in summary.bands if math.isfinite(band.low) and math.isfinite(band.high)]
    if not bands:
        return None
    bands = thinned(bands)
    figure, place = axes()
    ends = [min(band.answer for band in bands), max(band.answer for band in bands)]
    place.plot(ends, ends, color=FAINT, linewidth=1, linestyle="--", label="exact")
    for band in bands:
        place.plot([band.answer] * 2, [band.low, band.high], color=BLUE, linewidth=3, alpha=0.35)
    means = thinned([(score.answer, score.mean) for score in summary.scores])
    place.plot(
        *zip(*means, strict=True), "o", color=ORANGE, markersize=2.5, label="mean of a combination"
    )
    place.plot([], [], color=BLUE, linewidth=3, alpha=0.35, label="9 of 10 predictions")
    for axis in (place.xaxis, place.yaxis):
        axis.set_major_locator(MaxNLocator(6, integer=True))
    place.set(xlabel="answer", ylabel="prediction")
    place.legend(frameon=False, labelcolor=INK, fontsize=8, ncols=3, **ABOVE)
    return figure


def thinned(things: Sequence[Thing]) -> list[Thing]:
    """At most some hundreds, evenly taken."""
    return list(things[:: math.ceil(len(things) / MOST_DOTS)])


def number_line(summary: Summary) -> Figure | None:
    """What each digit is worth in each place, below what it should be worth."""
    structure = summary.structure
    if structure is None or not math.isfinite(structure.score.mean):
        return None
    names = place_names(summary.experiment.problem)
    places = [at for at, name in enumerate(names) if name != "sign"]
    if any(len(summary.places[at]) > MOST_DIGITS_ON_A_LINE for at in places):
        return None
    figure, place = axes(0.9 + 0.62 * 2 * len(places))
    for line, at in enumerate(places):
        top, bottom = -2 * line, -2 * line - 1
        place.axhline(top, color=FAINT, linewidth=0.8)
        place.axhline(bottom, color=SERIES[line % 4], linewidth=0.8)
        for digit in summary.places[at]:
            true, given = structure.true_values[at, digit], structure.values.get((at, digit))
            place.plot(true, top, "o", color=FAINT, markersize=3)
            if given is None or not math.isfinite(given.mean):
                continue
            colour = SERIES[line % 4]
            place.plot([true, given.mean], [top, bottom], color=FAINT, linewidth=0.7)
            place.errorbar(
                given.mean, bottom, xerr=given.deviation or 0.0, fmt="o", color=colour, markersize=4
            )
    left, right = place.get_xlim()
    for line, at in enumerate(places):
        worths = {digit: structure.true_values[at, digit] for digit in summary.places[at]}
        for where, name in digit_labels(worths, (right - left) * ROOM_FOR_A_DIGIT):
            place.text(where, -2 * line + 0.12, name, ha="center", va="bottom", color=INK)
    labels = {-2 * line: "true" for line in range(len(places))}
    labels |= {-2 * line - 1: names[at] for line, at in enumerate(places)}
    place.set_yticks([*labels], [*labels.values()])
    place.set(xlabel="worth", ylim=(-2 * len(places) + 0.5, 0.6))
    place.spines["left"].set_visible(False)
    place.tick_params(axis="y", length=0)
    return figure


def digit_labels(worths: Mapping[int, float], room: float) -> list[tuple[float, str]]:
    """Where each digit's name goes; those that would stand in one another's room share a label."""
    groups: list[list[int]] = []
    for digit in sorted(worths, key=lambda each: (worths[each], each)):
        if groups and worths[digit] - worths[groups[-1][-1]] < room * len(groups[-1]):
            groups[-1].append(digit)
        else:
            groups.append([digit])
    return [
        (fmean(worths[digit] for digit in group), format_digits(sorted(group))) for group in groups
    ]


def format_digits(digits: Sequence[int]) -> str:
    """Digits in a row: 2,5 or, from three in unbroken order on, 0–9."""
    if len(digits) > 2 and digits[-1] - digits[0] == len(digits) - 1:
        return f"{digits[0]}–{digits[-1]}"
    return ",".join(map(str, digits))


def attribution(summary: Summary) -> Figure | None:
    """The mean squared error and what it is made of."""
    known = summary.error_parts
    if known is None or not math.isfinite(known.mse) or known.mse == 0:
        return None
    shares = known.shares()
    parts = named_parts(summary.experiment, shares)
    figure, place = axes(0.6 + 0.36 * len(parts))
    for at, share in enumerate(reversed(parts.values())):
        place.barh(at, 100 * share, color=BLUE if share == max(parts.values()) else FAINT)
        place.annotate(
            format_percent(share, 0), (100 * max(share, 0), at), xytext=(4, 0), va="center",
            textcoords="offset points", color=INK,
        )  # fmt: skip
    place.axvline(0, color=INK, linewidth=0.8)
    place.set_yticks(range(len(parts)), [wrapped(name) for name in reversed(parts)])
    low, high = 100 * min(0.0, *parts.values()), 100 * max(parts.values())
    place.set(xlabel="share of the mean squared error, %", xlim=(1.1 * low, max(high * 1.15, 10)))
    return figure


def wrapped(name: str) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(name, 22))


def probes(summary: Summary) -> Figure | None:
    """How well a linear reader of each layer tells each digit."""
    if not summary.probes:
        return None
    figure, place = axes()
    layers = [probe.layer for probe in summary.probes]
    for at, name in enumerate(place_names(summary.experiment.problem)):
        values = [100 * probe.places[at].mean for probe in summary.probes]
        colour = SERIES[at % 4]
        place.plot(range(len(layers)), values, "o-", color=colour, markersize=4, label=name)
    place.set_xticks(range(len(layers)), layers, rotation=40, ha="right")
    place.set(ylabel="digit read right, %", ylim=(0, 104))
    place.legend(frameon=False, labelcolor=INK)
    return figure

"""Figures of how well unseen combinations were answered, each with its caption."""

import math
import textwrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unseen.analysis.error_parts import parts_by_place
from unseen.analysis.published import published_beside
from unseen.analysis.summary import Summary
from unseen.problem.task import QUADRANTS
from unseen.report.drawing import (
    BLUE,
    FAINT,
    INK,
    ORANGE,
    WIDTH,
    Drawing,
    draw_shares,
    label,
    new_figure,
)
from unseen.report.grid import Grid, Slice, grid_of
from unseen.report.symbol_words import symbol_words
from unseen.report.verdict_text import REFERENCES, unsplit_words
from unseen.report.words import (
    combinations_word,
    format_combination,
    format_decimal,
    format_percent,
    named_parts,
    names_line,
)
from unseen.training.metrics import HEADLINE


def ruler(summary: Summary) -> tuple[Figure, str]:
    """The run on one scale with the baselines and the paper."""
    marks = {
        name: (reference.headline.mean, FAINT) for name, reference in summary.baselines.items()
    }
    for published in published_beside(summary.experiment.problem):
        if rounded := published.over_folds().get(HEADLINE.name):
            marks[f"{published.label} a pair"] = (rounded.mean, ORANGE)
    marks["one answer"] = (summary.constant, FAINT)
    if math.isfinite(seen := summary.seen):
        marks["this run, seen"] = (seen, BLUE)
    marks["this run"] = (summary.headline.mean, BLUE)
    ordered = sorted(marks.items(), key=lambda mark: mark[1][0])
    figure, axes = new_figure(0.55 + 0.3 * len(marks))
    for at, (name, (value, colour)) in enumerate(ordered):
        axes.plot([0, 100 * value], [at, at], color=colour, linewidth=1.2, alpha=0.6)
        axes.plot(100 * value, at, "o", color=colour, markersize=6)
        end = 100 * value
        if name == "this run" and math.isfinite(summary.headline.low):
            low, end = 100 * summary.headline.low, 100 * summary.headline.high
            axes.plot([low, end], [at, at], color=BLUE, linewidth=5, alpha=0.45)
        label(axes, format_percent(value), (end, at), (9, 0), va="center")
    axes.set_yticks(range(len(ordered)), [name for name, _ in ordered])
    axes.set(xlim=(0, 118), xticks=range(0, 101, 20), xlabel="right by rounding, %")
    axes.set_ylim(-0.6, len(ordered) - 0.4)
    things = combinations_word(summary.experiment.problem)
    words = [f"How often pictures of unseen {things} round to the right answer."]
    words += [f"{name}: {REFERENCES[name]}." for name in summary.baselines if name in REFERENCES]
    words.append("One answer: the most that the same answer to every picture could get.")
    words.append(f"This run, seen: the same network on {things} that it was trained on.")
    if math.isfinite(summary.headline.low):
        words.append("The broad bar is the 95 % interval of this run.")
    return figure, " ".join(words)


def grid(summary: Summary) -> tuple[Figure, str]:
    """Every combination, as it was answered when unseen."""
    laid_out = grid_of(summary)
    count = len(laid_out.slices)
    across = min(count, 2)
    down = math.ceil(count / across)
    shape = len(laid_out.slices[0].row_names), len(laid_out.slices[0].column_names)
    side = WIDTH / across
    height = down * (side * shape[0] / shape[1] + (0.35 if shape[0] > 1 else 0.6))
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    plots = figure.subplots(down, across, squeeze=False).ravel()
    for axes, part in zip(plots, laid_out.slices, strict=False):
        draw_slice(axes, part, small=across > 1)
        axes.set(xlabel=laid_out.column_label, ylabel=laid_out.row_label)
    for axes in plots[count:]:
        axes.set_visible(False)
    return figure, grid_caption(summary, laid_out)


def draw_slice(axes: Axes, part: Slice, *, small: bool) -> None:
    """One grid, colour and number."""
    shares = {
        (row, column): cell.rounded
        for row, cells in enumerate(part.cells)
        for column, cell in enumerate(cells)
        if cell.rounded is not None
    }
    draw_shares(axes, shares, part.row_names, part.column_names, fontsize=5 if small else 8)
    axes.set_aspect("equal")
    axes.spines[:].set_visible(False)
    axes.set_title(part.title, fontsize=9)


def grid_caption(summary: Summary, laid_out: Grid) -> str:
    ordered = sorted(summary.scores, key=lambda score: (score.measures[HEADLINE.name], score.row))
    problem = summary.experiment.problem
    words = symbol_words(problem.symbols)
    worst = ", ".join(format_combination(score.combination, words) for score in ordered[:3])
    names = f"Symbols: {named}." if (named := names_line(problem)) else ""
    how = (
        "Each cell is answered by the network that had never seen that combination; the number "
        f"is the share of its pictures, in %, that round to the right answer. Hardest: {worst}."
    )
    return " ".join(filter(None, (how, laid_out.note, names)))


def attribution(summary: Summary) -> tuple[Figure | None, str]:
    """The mean squared error and what it is made of."""
    parts = summary.error_parts
    if (why := unsplit_words(summary)) or parts is None:
        return None, why
    shares = named_parts(summary.experiment, parts.shares())
    figure, axes = new_figure(0.6 + 0.36 * len(shares))
    for at, share in enumerate(reversed(shares.values())):
        axes.barh(at, 100 * share, color=BLUE if share == max(shares.values()) else FAINT)
        label(axes, format_percent(share, 0), (100 * max(share, 0), at), (4, 0), va="center")
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_yticks(range(len(shares)), [textwrap.fill(name, 22) for name in reversed(shares)])
    low, high = 100 * min(0.0, *shares.values()), 100 * max(shares.values())
    axes.set(xlabel="share of the mean squared error, %", xlim=(1.1 * low, max(high * 1.15, 10)))
    asked = sum(score.error_parts is not None for score in summary.scores)
    some = f"{asked:,} of {len(summary.scores):,} " if 0 < asked < len(summary.scores) else ""
    many = symbol_words(summary.experiment.problem.symbols).many
    return figure, (
        f"The mean squared error on {some}unseen combinations, split exactly by showing "
        f"{summary.images_per_place} images in each place beside all others: other pictures than "
        "those of the tables. Misread: what depends on the image in one place. Wrong: what all "
        "images have in common, less what seen combinations have as well: "
        f"{many} worth too much or too little to the network (misvalued), and a shift of all "
        "answers. Interplay: the rest. A part near 0 may come out below it."
    )


def attribution_rows(summary: Summary) -> list[tuple[str, ...]]:
    """The error and its parts, place by place."""
    parts = summary.error_parts
    if parts is None or unsplit_words(summary):
        return []
    named = {"MSE": parts.mse} | parts_by_place(summary.experiment.problem, parts)
    return [(name, format_decimal(part, 3)) for name, part in named.items()]


def quadrants(summary: Summary) -> tuple[Figure, str]:
    """Seen and unseen combinations, in train and test images."""
    figure, axes = new_figure(2.6)
    for at, name in enumerate(QUADRANTS):
        right = summary.quadrants[name][HEADLINE.name]
        colour = BLUE if name.startswith("seen") else ORANGE
        axes.bar(at, 100 * right.mean, color=colour, width=0.62)
        if right.deviation is not None:
            axes.errorbar(at, 100 * right.mean, 100 * right.deviation, color=INK, capsize=3)
        label(axes, format_percent(right.mean), (at, 100 * right.mean), (13, 3), fontsize=8)
    axes.set_xticks(range(4), [name.replace("_", ",\n") for name in QUADRANTS])
    axes.set(ylabel="right by rounding, %", ylim=(0, 112), yticks=range(0, 101, 20))
    shares = {name: 100 * each[HEADLINE.name].mean for name, each in summary.quadrants.items()}
    pairs, others = (
        f"{format_decimal(shares[better] - shares[worse], 1)} points"
        for better, worse in (("seen_test", "unseen_test"), ("seen_train", "seen_test"))
    )
    problem = summary.experiment.problem
    things, images = combinations_word(problem), symbol_words(problem.symbols).images
    return figure, (
        f"Blue: {things} it was trained on; orange: {things} it never saw; each in training and "
        f"in test {images}, on new samples. New {things} cost {pairs}, new {images} "
        f"{others}. Thin lines: the standard deviation between folds."
    )


def quadrant_rows(summary: Summary) -> list[tuple[str, ...]]:
    images = symbol_words(summary.experiment.problem.symbols).images
    return [
        (
            name.replace("_", ", ").replace("train", "training") + f" {images}",
            format_percent(measures[HEADLINE.name].mean, 2),
            format_decimal(measures["mse"].mean, 4),
            format_decimal(measures["mean_error"].mean, 3),
        )
        for name, measures in summary.quadrants.items()
    ]


RESULT_FIGURES = {
    "ruler": Drawing("Between memory and composition", ruler),
    "grid": Drawing("Every combination, when it was unseen", grid),
    "attribution": Drawing("Whose fault is an error?", attribution, rows=attribution_rows),
    "quadrants": Drawing(
        "New combinations, or new images?",
        quadrants,
        ("combinations", "rounding", "MSE", "mean error"),
        quadrant_rows,
    ),
}

"""Figures of what the networks learnt, each with its caption."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from unseen.analysis.error_parts import place_names
from unseen.analysis.summary import Summary
from unseen.report.drawing import (
    ABOVE,
    BLUE,
    FAINT,
    INK,
    ORANGE,
    SERIES,
    WIDTH,
    Drawing,
    new_figure,
    scale_by_factors,
    thinned,
)
from unseen.report.repeat_command import deep_command
from unseen.report.symbol_words import symbol_words
from unseen.report.words import combinations_word, format_decimal, format_percent, format_spread
from unseen.runs.measuring import Measurement
from unseen.training.baselines import BASELINES
from unseen.training.metrics import ERROR, HEADLINE

MOST_DIGITS_ON_A_LINE = 20
ROOM_FOR_A_DIGIT = 0.025  # of a number line's width


def number_line(summary: Summary) -> tuple[Figure | None, str]:
    """What each symbol is worth in each place, below what it should be worth."""
    structure = summary.structure
    if structure is None:
        return None, "Not fitted: this baseline takes too long, or there are too many combinations."
    if not math.isfinite(structure.additivity.mean):
        one = symbol_words(summary.experiment.problem.symbols).one
        return (
            None,
            f"Seen combinations do not determine what each {one} is worth, or it is not finite.",
        )
    names = place_names(summary.experiment.problem)
    places = [at for at, name in enumerate(names) if name != "sign"]
    if any(len(summary.places[at]) > MOST_DIGITS_ON_A_LINE for at in places):
        return None, f"There are more than {MOST_DIGITS_ON_A_LINE} symbols, too many for a line."
    figure, axes = new_figure(0.9 + 0.62 * 2 * len(places))
    for line, at in enumerate(places):
        top, bottom, colour = -2 * line, -2 * line - 1, SERIES[line % 4]
        axes.axhline(top, color=FAINT, linewidth=0.8)
        axes.axhline(bottom, color=colour, linewidth=0.8)
        for digit in summary.places[at]:
            true, given = structure.true_values[at, digit], structure.values.get((at, digit))
            axes.plot(true, top, "o", color=FAINT, markersize=3)
            if given is None or not math.isfinite(given.mean):
                continue
            axes.plot([true, given.mean], [top, bottom], color=FAINT, linewidth=0.7)
            axes.errorbar(
                given.mean, bottom, xerr=given.deviation or 0.0, fmt="o", color=colour, markersize=4
            )
    left, right = axes.get_xlim()
    for line, at in enumerate(places):
        worths = {digit: structure.true_values[at, digit] for digit in summary.places[at]}
        for where, name in digit_labels(worths, (right - left) * ROOM_FOR_A_DIGIT):
            axes.text(where, -2 * line + 0.12, name, ha="center", va="bottom", color=INK)
    labels = {-2 * line: "true" for line in range(len(places))}
    labels |= {-2 * line - 1: names[at] for line, at in enumerate(places)}
    axes.set_yticks([*labels], [*labels.values()])
    axes.set(xlabel="worth", ylim=(-2 * len(places) + 0.5, 0.6))
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return figure, number_line_text(summary)


def digit_labels(worths: Mapping[int, float], room: float) -> list[tuple[float, str]]:
    """Where the name of each digit goes; near ones share a label, such as 2,5 or 0–9."""
    groups: list[list[int]] = []
    for digit in sorted(worths, key=lambda each: (worths[each], each)):
        if groups and worths[digit] - worths[groups[-1][-1]] < room * len(groups[-1]):
            groups[-1].append(digit)
        else:
            groups.append([digit])
    labels = []
    for group in map(sorted, groups):
        in_a_row = len(group) > 2 and group[-1] - group[0] == len(group) - 1
        name = f"{group[0]}–{group[-1]}" if in_a_row else ",".join(map(str, group))
        labels.append((fmean(worths[digit] for digit in group), name))
    return labels


def number_line_text(summary: Summary) -> str:
    words = symbol_words(summary.experiment.problem.symbols)
    return (
        f"The value that the networks give each {words.one} in each place, fitted on the seen "
        f"combinations of each fold; a vertical line means that a {words.one} is worth what it "
        "should be. Additivity says how well sums of these values match the networks' answers on "
        "unseen combinations (1: every answer is such a sum, 0: none is)."
    )


def structure_rows(summary: Summary) -> list[tuple[str, ...]]:
    """What the mean answers show; and the results without the shift of all answers."""
    structure, unshifted = summary.structure, summary.unshifted
    if structure is None:
        return []
    both = "(a, b) and (b, a)" if len(summary.places) == 2 else "a combination and its reversal"
    labels = {
        "additivity": "additivity",
        "additivity_gap": "gap between answers and sums of worths",
        "seen_mean_error": "mean error on seen combinations",
        "unseen_mean_error": "mean error on unseen combinations",
        "mirror_gap": f"gap between {both}",
    }
    rows = [(labels[name], format_spread(each)) for name, each in structure.figures.items()]
    rows.append(("additivity of the true answers", format_decimal(structure.true_additivity, 3)))
    if unshifted:
        right = format_percent(unshifted[HEADLINE.name].mean, 2)
        rows.append((f"{HEADLINE.label} without the shift", right))
        error = format_spread(unshifted[ERROR.name])
        rows.append((f"{ERROR.label} without the shift", error))
    return [*rows]


def predictions(summary: Summary) -> tuple[Figure | None, str]:
    """Predictions for each answer against the answer."""
    bands = [band for band in summary.bands if math.isfinite(band.low) and math.isfinite(band.high)]
    if not bands:
        return None, "The predictions are not finite."
    bands = thinned(bands)
    figure, axes = new_figure()
    ends = [min(band.answer for band in bands), max(band.answer for band in bands)]
    axes.plot(ends, ends, color=FAINT, linewidth=1, linestyle="--", label="exact")
    for band in bands:
        axes.plot([band.answer] * 2, [band.low, band.high], color=BLUE, linewidth=3, alpha=0.35)
    means = thinned([(score.answer, score.mean) for score in summary.scores])
    axes.plot(
        *zip(*means, strict=True), "o", color=ORANGE, markersize=2.5, label="mean of a combination"
    )
    axes.plot([], [], color=BLUE, linewidth=3, alpha=0.35, label="9 of 10 predictions")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set(xlabel="answer", ylabel="prediction")
    axes.legend(fontsize=8, ncols=3, **ABOVE)
    many = symbol_words(summary.experiment.problem.symbols).many
    return figure, (
        "A blue bar holds nine of ten predictions for an answer; an orange dot is the mean of one "
        "combination. On the dashed line a prediction is exact. Long bars with dots on the line "
        f"are misread {many}; a dot off the line is a combination answered wrongly on average."
    )


def curves(summary: Summary) -> tuple[Figure | None, str]:
    """Accuracy and error while the folds learn: a thin line a fold, and their mean."""
    folds = [fold for fold in summary.measurements if fold]
    if not folds:
        return (
            None,
            "Not measured: a baseline does not learn, and --watched-samples 0 measures nothing.",
        )
    figure = Figure(figsize=(WIDTH, 4.2), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    for axes, name in ((upper, HEADLINE.name), (lower, "mse")):
        for which, colour in (("seen", BLUE), ("unseen", ORANGE)):
            draw_curves(axes, folds, name, which, colour)
    upper.set(ylabel="right by rounding, %", ylim=(0, 102))
    lower.set(xlabel="epoch", ylabel="mean squared error")
    if all((point.unseen.get("mse") or 0) > 0 for fold in folds for point in fold):
        scale_by_factors(lower)
    upper.legend(ncols=2, **ABOVE)
    things = combinations_word(summary.experiment.problem)
    return figure, (
        "Measured while the networks learn, with dropout off, always on the same test samples of "
        f"seen and unseen {things}: thin lines are folds, thick ones their mean. Nothing is chosen "
        "by it. Where the two part, the network remembers more than it composes; jumps of both "
        f"together come from the learning rate, not from the {things}."
    )


def draw_curves(
    axes: Axes, folds: Sequence[Sequence[Measurement]], name: str, which: str, colour: str
) -> None:
    """A measure of seen or of unseen combinations, epoch by epoch; shares in %."""
    scale = HEADLINE.scale if name == HEADLINE.name else 1
    lines = []
    for fold in folds:
        known = {point.epochs: getattr(point, which).get(name) for point in fold}
        lines.append({at: scale * value for at, value in known.items() if value is not None})
        axes.plot([*lines[-1]], [*lines[-1].values()], color=colour, linewidth=0.6, alpha=0.35)
    common = sorted(set.intersection(*map(set, lines)))
    means = [fmean(line[at] for line in lines) for at in common]
    axes.plot(common, means, color=colour, linewidth=2, label=which)


def probes(summary: Summary) -> tuple[Figure | None, str]:
    """How well a linear reader of each layer tells each symbol."""
    if not summary.probes:
        return None, _why_no_probes(summary)
    figure, axes = new_figure()
    words = symbol_words(summary.experiment.problem.symbols)
    layers = [*summary.probes]
    in_last = []
    for at, name in enumerate(place_names(summary.experiment.problem)):
        shares = [places[at].mean for places in summary.probes.values()]
        colour = SERIES[at % 4]
        percent = [100 * share for share in shares]
        axes.plot(range(len(layers)), percent, "o-", color=colour, markersize=4, label=name)
        in_last.append(f"{name} {format_percent(shares[-1])}")
    axes.set_xticks(range(len(layers)), layers, rotation=40, ha="right")
    axes.set(ylabel=f"{words.one} read right, %", ylim=(0, 104))
    axes.legend()
    return figure, (
        "A linear reader for each layer, trained on seen combinations in training "
        f"{words.images} and asked for the {words.many} of unseen ones in test {words.images}. "
        "Where it reads them best, the network has recognised them; where it no longer can, only "
        f"the answer is left (in the last layer: {', '.join(in_last)})."
    )


def _why_no_probes(summary: Summary) -> str:
    if summary.experiment.training.model in BASELINES:
        return "A baseline has no layers to look into."
    return f"Not computed; `{deep_command(summary)}` does."


NETWORK_FIGURES = {
    "number-line": Drawing("What is each symbol worth?", number_line, rows=structure_rows),
    "predictions": Drawing("Predictions against answers", predictions),
    "curves": Drawing("Learning, epoch by epoch", curves),
    "probes": Drawing("Where are the symbols read?", probes),
}

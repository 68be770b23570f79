"""What to see in each figure: a sentence or two under it, with the figures that it shows."""

import math

from unseen.insight.statistics import Spread
from unseen.insight.summary import Summary
from unseen.views.grid import grid_of
from unseen.views.words import (
    combinations_word,
    format_combination,
    format_decimal,
    format_percent,
    place_names,
)


def ruler(summary: Summary) -> str:
    things = combinations_word(summary.experiment.problem)
    words = [f"How often unseen {things} round to the right answer."]
    known = {
        "nearest": "nearest answers as the most similar training picture: what a memory can do.",
        "oracle": "oracle is told every label, then computes: what composition could reach.",
    }
    words += [about for name, about in known.items() if name in summary.baselines]
    words.append("One answer: the best that one and the same answer to everything could get.")
    if math.isfinite(summary.rounded.low):
        words.append("The broad bar is the 95 % interval of this run.")
    return " ".join(words)


def grid(summary: Summary) -> str:
    ordered = sorted(summary.scores, key=lambda score: (score.rounded, score.row))
    worst = ", ".join(format_combination(score.combination) for score in ordered[:3])
    words = (
        "Each cell is answered by the network that had never seen that combination; the number "
        f"is the share of its pictures, in %, that round to the right answer. Hardest: {worst}."
    )
    return " ".join(part for part in (words, grid_of(summary).note) if part)


def quadrants(summary: Summary) -> str:
    if not summary.quadrants:
        return ""
    right = {name: each["rounded"].mean for name, each in summary.quadrants.items()}
    pairs = right["seen_test"] - right["unseen_test"]
    hands = right["seen_train"] - right["seen_test"]
    things = combinations_word(summary.experiment.problem)
    return (
        f"Blue: {things} it was trained on; orange: {things} it never saw; each in training and "
        f"in test handwriting, on fresh draws. New {things} cost {points(pairs)}, new handwriting "
        f"{points(hands)}. Thin lines: the deviation between folds."
    )


def points(difference: float) -> str:
    return f"{100 * difference:.1f} points".replace("-", "−")


def curves(summary: Summary) -> str:
    if all(result.curve for result in summary.results):
        return (
            "Measured after each epoch with dropout off, on the same samples: thin lines are "
            "folds, thick ones their mean. Where orange stays above blue, it remembers more than "
            "it composes; jumps of both together are the step size, not the pairs."
        )
    return (
        "The training loss of each fold, dropout on, and the mean of all in bold. "
        "With --watched-samples 2000 unseen combinations are followed as well."
    )


def predictions(summary: Summary) -> str:
    return (
        "Blue bars hold nine of ten predictions for an answer, orange dots are the means of single "
        "combinations. On the dashed line a prediction is exact; long bars with dots on the line "
        "are misread digits; a dot off the line is a combination answered wrongly on average."
    )


def number_line(summary: Summary) -> str:
    structure = summary.structure
    if structure is None:
        return ""
    words = [
        "The value that the networks give each digit in each place, fitted on seen combinations "
        "of each fold: vertical lines mean that a digit is worth what it should be."
    ]
    if math.isfinite(structure.score.mean):
        words.append(
            f"On unseen combinations these values add up to the networks' answers with a score of "
            f"{format_spread(structure.score)} (1: all is a sum of values, 0: nothing is; "
            f"the true answers have {structure.true_score:.3f})."
        )
    if structure.mirror is not None:
        turning = "Swapping" if len(summary.places) == 2 else "Reversing"
        words.append(f"{turning} the digits moves an answer by {format_spread(structure.mirror)}.")
    return " ".join(words)


def format_spread(figure: Spread) -> str:
    """A mean with its deviation between folds."""
    deviation = "" if figure.deviation is None else f" ± {format_decimal(figure.deviation, 3)}"
    return format_decimal(figure.mean, 3) + deviation


def attribution(summary: Summary) -> str:
    parts = summary.error_parts
    if parts is None:
        return ""
    names = place_names(summary.experiment.problem)
    misread = ", ".join(
        f"{name} {format_decimal(part, 3)}" for name, part in zip(names, parts.misread, strict=True)
    )
    mse, wrong, misvalued, shift, interplay = (
        format_decimal(part, 3)
        for part in (parts.mse, parts.wrong, parts.misvalued, parts.shift, parts.interplay)
    )
    return (
        f"A mean squared error of {mse} on {_asked(summary)}, split exactly by showing "
        f"{summary.images_per_place} images in each place beside all others: other pictures than "
        "those of the tables. Misread: what depends on the image in one place "
        f"({misread}). Wrong: what all images have in common ({wrong}), less what seen "
        "combinations have as well: digits worth too much or too little to the network "
        f"({misvalued}) and a shift of all answers ({shift}). Interplay: the rest ({interplay}). "
        "A part near 0 may come out below it."
    )


def _asked(summary: Summary) -> str:
    """Whose errors were split: longer combinations are too many for all of them."""
    asked, known = len(summary.error_parts_by_unit), len(summary.scores)
    return (
        f"{asked:,} of {known:,} unseen combinations"
        if 0 < asked < known
        else "unseen combinations"
    )


def probes(summary: Summary) -> str:
    if not summary.probes:
        return ""
    last = ", ".join(
        f"{name} {format_percent(place.mean)}"
        for name, place in zip(
            place_names(summary.experiment.problem), summary.probes[-1].places, strict=True
        )
    )
    return (
        "A linear reader for each layer, trained on seen combinations in training handwriting and "
        "asked for the digits of unseen ones in test handwriting. Where it reads them best, the "
        "network has recognised them; where it no longer can, only the answer is left "
        f"(in the last layer: {last})."
    )

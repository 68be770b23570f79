"""The answer to the question, in words, from figures alone."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from unseen.experiments.experiment import Experiment
from unseen.experiments.repeat_command import baseline_command, command_of
from unseen.insight.error_parts import ErrorParts
from unseen.insight.intervals import Interval
from unseen.insight.references import Reference
from unseen.insight.words import (
    answers_word,
    combinations_word,
    format_count,
    format_percent,
    place_names,
    symbols_word,
)
from unseen.learning.baselines import BASELINES
from unseen.learning.models import BLIND, PANEL_AWARE, find_network

NEARLY_ALL, MOST = 0.9, 0.5  # of what perfect composition gets right


@dataclass(frozen=True)
class Verdict:
    """A word or two, and sentences that say on what grounds."""

    headline: str
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join((f"{self.headline}.", *self.sentences))


def judge(
    experiment: Experiment,
    rounded: Interval,
    *,
    folds: int,
    combinations: int,
    guess: float,
    baselines: Mapping[str, Reference],
    parts: ErrorParts | None,
) -> Verdict:
    """Place a run between what a memory gets right and what perfect composition could."""
    others = {
        name: reference.rounded.mean
        for name, reference in baselines.items()
        if name != experiment.training.model
    }
    fewer = {
        name: f", on {reference.folds} of these {folds} folds"
        for name, reference in baselines.items()
        if reference.folds < folds
    }
    return Verdict(
        headline(rounded, guess, others, parts),
        (
            _figure(experiment, rounded, folds, combinations),
            _place(experiment, rounded, guess, others, fewer),
            _sight(experiment),
            _errors(experiment, parts),
        ),
    )


def headline(
    rounded: Interval, guess: float, baselines: Mapping[str, float], parts: ErrorParts | None
) -> str:
    """Yes, no, or something between.

    No where the interval reaches down to what a memory or a guess gets right. Otherwise it counts
    how much it gets of what perfect composition would: nearly all is nine tenths, most is half.
    """
    floor = max(guess, baselines.get("nearest", 0.0))
    if parts is not None and not np.isfinite(parts.mse):
        return "No: training went astray"
    if (rounded.mean if np.isnan(rounded.low) else rounded.low) <= floor:
        if parts is not None and parts.shift > parts.mse / 2:
            return "Not as it stands: all its answers are shifted"
        return "No"
    share = rounded.mean / (baselines.get("oracle") or 1.0)
    return "Yes" if share >= NEARLY_ALL else "Mostly" if share >= MOST else "In part"


def _figure(experiment: Experiment, rounded: Interval, folds: int, combinations: int) -> str:
    things = combinations_word(experiment.problem)
    who = "the baseline" if experiment.training.model in BASELINES else "the network"
    handwriting = (
        "handwriting held out for development"
        if experiment.problem.development
        else "handwriting it had never seen"
    )
    sure = (
        "no interval from a single combination"
        if np.isnan(rounded.low)
        else f"95 % interval {_between(rounded)}"
        + (", for this one network alone" if folds == 1 and who == "the network" else "")
    )
    return (
        f"Shown {things} it had never seen, in {handwriting}, {who} rounds to the right answer in "
        f"{format_percent(rounded.mean)} of pictures ({sure}; "
        f"{format_count(combinations, things.removesuffix('s'))}, {format_count(folds, 'fold')})."
    )


def _between(interval: Interval) -> str:
    return f"{100 * interval.low:.1f} to {format_percent(interval.high)}"


def _place(
    experiment: Experiment,
    rounded: Interval,
    guess: float,
    baselines: Mapping[str, float],
    fewer: Mapping[str, str],
) -> str:
    """Where the figure lies between memory and composition, or how to find out."""
    said = [
        f"{about} ({name}{fewer.get(name, '')}) gets {format_percent(baselines[name])}"
        for name, about in (
            ("nearest", "A memory of training pictures"),
            ("oracle", "a reader that is told every label and then computes exactly"),
        )
        if name in baselines
    ]
    known = "; ".join(said)
    known = known[:1].upper() + known[1:]
    if len(said) == 2 and baselines["oracle"] > baselines["nearest"]:
        way = (rounded.mean - baselines["nearest"]) / (baselines["oracle"] - baselines["nearest"])
        return f"{known}: it has come {format_percent(way, 0)} of the way between them."
    if len(said) == 2:
        return f"{known}."
    missing = [name for name in ("nearest", "oracle") if name not in baselines]
    missing = [name for name in missing if name != experiment.training.model]
    commands = " and ".join(f"'{baseline_command(name, experiment.problem)}'" for name in missing)
    guessed = f"One and the same answer to everything would get {format_percent(guess)} at best"
    run = f"{commands} would place it between memory and perfect composition" if commands else ""
    parts = [part for part in (known, guessed, run) if part]
    return "; ".join([parts[0], *(part[0].lower() + part[1:] for part in parts[1:])]) + "."


def _sight(experiment: Experiment) -> str:
    model, count = experiment.training.model, experiment.problem.length
    digits = format_count(count, "digit")
    if model in BASELINES:
        return f"This is a baseline, {model}: {BASELINES[model].about}."
    sight = find_network(model).sight
    if sight == BLIND:
        return f"The network is blind: nothing in it says that a picture holds {digits}."
    if sight == PANEL_AWARE:
        return (
            "The network is panel-aware: it is built to know that a picture holds "
            f"{digits} side by side, and where each one is."
        )
    return "The network is your own: what it is told about its pictures is not known here."


def _errors(experiment: Experiment, parts: ErrorParts | None) -> str:
    """What the errors are mostly made of."""
    if parts is None:
        return _not_recorded(experiment)
    if not np.isfinite(parts.mse):
        return "Its errors are no numbers, so nothing can be said of them."
    if parts.mse < 1e-9:
        return "It makes no errors to speak of."
    shares = parts.shares()
    named = named_parts(experiment, shares)
    ordered = sorted(named.items(), key=lambda part: -part[1])
    rest = ", ".join(f"{name} {format_percent(share, 0)}" for name, share in ordered[1:])
    first, share = ordered[0]
    made = "mostly" if share > 0.5 else "more than anything else"
    guessed = ""
    if experiment.problem.is_the_papers and experiment.training.model not in BASELINES:
        right = first == "misread digits"
        guessed = ", as the paper guessed" if right else "; the paper guessed misread digits"
    return (
        f"Its errors are {made} {first}: {format_percent(share, 0)} of the mean squared error "
        f"({rest})" + (f"{guessed}.")
    )


def named_parts(experiment: Experiment, parts: ErrorParts) -> dict[str, float]:
    """The parts of an error under the names that people give them."""
    things, answers = combinations_word(experiment.problem), answers_word(experiment.problem)
    named = {
        f"misread {symbols_word(experiment.problem)}": sum(parts.misread),
        f"wrong {answers} of unseen {things}": parts.wrong,
        f"{symbols_word(experiment.problem)} misvalued in seen {things} too": parts.misvalued,
        f"a shift that seen {things} share": parts.shift,
    }
    if len(place_names(experiment.problem)) > 1:
        named["interplay of the images"] = parts.interplay
    return named


def named_parts_by_place(experiment: Experiment, parts: ErrorParts) -> dict[str, float]:
    """The parts of an error place by place, in short words."""
    names = place_names(experiment.problem)
    named = {f"misread {name}": part for name, part in zip(names, parts.misread, strict=True)} | {
        "wrong": parts.wrong,
        "misvalued": parts.misvalued,
        "shift": parts.shift,
    }
    return named | ({"interplay": parts.interplay} if len(names) > 1 else {})


def _not_recorded(experiment: Experiment) -> str:
    if experiment.training.model == "nearest":
        return "What its errors are made of takes too long to find out for this baseline."
    again = command_of(experiment) or "running it"
    return (
        "What its errors are made of was not recorded when this was run; "
        f"'{again} --fresh' records it."
    )

"""The answer to the question, in words, from figures alone."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from unseen.experiments.experiment import Experiment
from unseen.experiments.repeating import baseline_command, command_of
from unseen.insight.attribution import Blame
from unseen.insight.intervals import Interval
from unseen.insight.published import is_the_papers_problem
from unseen.insight.references import Reference
from unseen.insight.words import (
    answers_word,
    combinations_word,
    percent,
    place_names,
    plural,
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
    blame: Blame | None,
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
        headline(rounded, guess, others, blame),
        (
            _figure(experiment, rounded, folds, combinations),
            _place(experiment, rounded, guess, others, fewer),
            _sight(experiment),
            _errors(experiment, blame),
        ),
    )


def headline(
    rounded: Interval, guess: float, baselines: Mapping[str, float], blame: Blame | None
) -> str:
    """Yes, no, or something between.

    No where the interval reaches down to what a memory or a guess gets right. Otherwise it counts
    how much it gets of what perfect composition would: nearly all is nine tenths, most is half.
    """
    floor = max(guess, baselines.get("nearest", 0.0))
    if blame is not None and not np.isfinite(blame.mse):
        return "No: training went astray"
    if (rounded.mean if np.isnan(rounded.low) else rounded.low) <= floor:
        if blame is not None and blame.shift > blame.mse / 2:
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
        f"{percent(rounded.mean)} of pictures ({sure}; "
        f"{plural(combinations, things.removesuffix('s'))}, {plural(folds, 'fold')})."
    )


def _between(interval: Interval) -> str:
    return f"{100 * interval.low:.1f} to {percent(interval.high)}"


def _place(
    experiment: Experiment,
    rounded: Interval,
    guess: float,
    baselines: Mapping[str, float],
    fewer: Mapping[str, str],
) -> str:
    """Where the figure lies between memory and composition, or how to find out."""
    said = [
        f"{about} ({name}{fewer.get(name, '')}) gets {percent(baselines[name])}"
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
        return f"{known}: it has come {percent(way, 0)} of the way between them."
    if len(said) == 2:
        return f"{known}."
    missing = [name for name in ("nearest", "oracle") if name not in baselines]
    missing = [name for name in missing if name != experiment.training.model]
    commands = " and ".join(f"'{baseline_command(name, experiment.problem)}'" for name in missing)
    guessed = f"One and the same answer to everything would get {percent(guess)} at best"
    run = f"{commands} would place it between memory and perfect composition" if commands else ""
    parts = [part for part in (known, guessed, run) if part]
    return "; ".join([parts[0], *(part[0].lower() + part[1:] for part in parts[1:])]) + "."


def _sight(experiment: Experiment) -> str:
    model, count = experiment.training.model, experiment.problem.length
    digits = plural(count, "digit")
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


def _errors(experiment: Experiment, blame: Blame | None) -> str:
    """What the errors are mostly made of."""
    if blame is None:
        return _not_recorded(experiment)
    if not np.isfinite(blame.mse):
        return "Its errors are no numbers, so nothing can be said of them."
    if blame.mse < 1e-9:
        return "It makes no errors to speak of."
    shares = blame.shares()
    parts = error_parts(experiment, shares)
    ordered = sorted(parts.items(), key=lambda part: -part[1])
    rest = ", ".join(f"{name} {percent(share, 0)}" for name, share in ordered[1:])
    first, share = ordered[0]
    made = "mostly" if share > 0.5 else "more than anything else"
    guessed = ""
    if is_the_papers_problem(experiment.problem) and experiment.training.model not in BASELINES:
        right = first == "misread digits"
        guessed = ", as the paper guessed" if right else "; the paper guessed misread digits"
    return (
        f"Its errors are {made} {first}: {percent(share, 0)} of the mean squared error ({rest})"
        + (f"{guessed}.")
    )


def error_parts(experiment: Experiment, blame: Blame) -> dict[str, float]:
    """The parts of an error under the names that people give them."""
    things, answers = combinations_word(experiment.problem), answers_word(experiment.problem)
    parts = {
        f"misread {symbols_word(experiment.problem)}": sum(blame.misread),
        f"wrong {answers} of unseen {things}": blame.wrong,
        f"{symbols_word(experiment.problem)} misvalued in seen {things} too": blame.misvalued,
        f"a shift that seen {things} share": blame.shift,
    }
    if len(place_names(experiment.problem)) > 1:
        parts["interplay of the images"] = blame.interplay
    return parts


def error_figures(experiment: Experiment, blame: Blame) -> dict[str, float]:
    """The parts of an error place by place, in short words."""
    names = place_names(experiment.problem)
    parts = {f"misread {name}": part for name, part in zip(names, blame.misread, strict=True)} | {
        "wrong": blame.wrong,
        "misvalued": blame.misvalued,
        "shift": blame.shift,
    }
    return parts | ({"interplay": blame.interplay} if len(names) > 1 else {})


def _not_recorded(experiment: Experiment) -> str:
    if experiment.training.model == "nearest":
        return "What its errors are made of takes too long to find out for this baseline."
    again = command_of(experiment) or "running it"
    return (
        "What its errors are made of was not recorded when this was run; "
        f"'{again} --fresh' records it."
    )

"""The verdict on a run, in sentences."""

from dataclasses import dataclass

import numpy as np

from unseen.analysis.summary import Summary
from unseen.analysis.verdict import Judgement, carried_over, judge, memory_share, unsplit
from unseen.networks.models import BLIND, PANEL_AWARE, PLACE_BLIND, find_network
from unseen.report.repeat_command import baseline_command, repeat_command
from unseen.report.symbol_words import symbol_words
from unseen.report.words import (
    combinations_word,
    format_count,
    format_decimal,
    format_percent,
    named_parts,
    no_interval_words,
)
from unseen.training.baselines import BASELINES
from unseen.training.metrics import ERROR

HEADLINES: dict[Judgement, str] = {
    "yes": "Yes",
    "mostly": "Mostly",
    "in part": "In part",
    "barely": "Barely",
    "no": "No",
    "too few folds": "Too few folds to tell",
    "folds differ": "Folds differ too much to tell",
    "one answer": "One answer fits most of the unseen: that tells nothing",
    "too little learnt": "Too little learnt to tell",
    "shifted": "Not as it stands: all its answers are shifted",
    "diverged": "No: training diverged",
}
PLACES = {
    "nearest": "a memory of training pictures",
    "oracle": "a reader that is told every label and then computes exactly",
}


@dataclass(frozen=True)
class Verdict:
    """A word or two, and sentences that give the grounds."""

    headline: str
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join((f"{self.headline}.", *self.sentences))


def verdict_text(summary: Summary) -> Verdict:
    """What a run shows, in words."""
    judgement = judge(summary)
    sentences = (
        _figure(summary),
        _carried(summary, judgement),
        _place(summary),
        _sight(summary),
        _errors(summary),
    )
    return Verdict(HEADLINES[judgement], tuple(filter(None, sentences)))


def _figure(summary: Summary) -> str:
    experiment, rounded, folds = summary.experiment, summary.headline, len(summary.results)
    things = combinations_word(experiment.problem)
    combinations = len({score.row for score in summary.scores})
    who = "the baseline" if experiment.training.model in BASELINES else "the network"
    images = symbol_words(experiment.problem.symbols).images
    new = "held out for development" if experiment.problem.development else "it had never seen"
    sure = f"95 % interval {100 * rounded.low:.1f} to {format_percent(rounded.high)}"
    if np.isnan(rounded.low):
        sure = no_interval_words(rounded)
    return (
        f"Shown {things} it had never seen, in {images} {new}, {who} rounds to the right answer in "
        f"{format_percent(rounded.mean)} of pictures ({sure}; "
        f"{format_count(combinations, things.removesuffix('s'))}, {format_count(folds, 'fold')})."
    )


def _carried(summary: Summary, judgement: Judgement) -> str:
    """What it gets on seen combinations, and how much of that carries over to unseen ones."""
    seen = summary.seen
    if not np.isfinite(seen) or judgement == "diverged":
        return ""
    things = combinations_word(summary.experiment.problem)
    images = symbol_words(summary.experiment.problem.symbols).images
    words = f"In the same {images}, it gets {format_percent(seen)} of seen {things} right"
    if judgement == "one answer":
        return (
            f"{words}, but one and the same answer would get {format_percent(summary.one_answer)} "
            f"of the unseen {things}: other unseen {things} would tell."
        )
    if judgement == "too little learnt":
        constant = format_percent(summary.seen_constant)
        return f"{words}, hardly more than the best constant answer ({constant})."
    carried = carried_over(summary)
    if seen <= memory_share(summary) or not carried > 0:
        return f"{words}."
    share, ends = format_percent(min(1.0, carried), 0), ""
    if np.isfinite(summary.headline.low):
        low, high = (
            format_percent(min(1.0, max(0.0, carried_over(summary, end))), 0)
            for end in (summary.headline.low, summary.headline.high)
        )
        ends = f" ({low.removesuffix(' %')} to {high})"
    return (
        f"{words}: {share}{ends} of what it can do with seen {things} carries over to unseen ones."
    )


def _place(summary: Summary) -> str:
    """What a memory and a perfect composition would get, or how to find out."""
    experiment, folds = summary.experiment, len(summary.results)
    known = {name: summary.baselines[name] for name in PLACES if name in summary.baselines}
    clauses = []
    for name, reference in known.items():
        fewer = f", on {reference.folds} of these {folds} folds" if reference.folds < folds else ""
        right = format_percent(reference.headline.mean)
        clauses.append(f"{PLACES[name]} ({name}{fewer}) gets {right}")
    if len(known) < len(PLACES) or known["nearest"].headline.mean < summary.constant:
        clauses.append(f"the best constant answer would get {format_percent(summary.constant)}")
    missing = sorted(PLACES.keys() - known.keys() - {experiment.training.model})
    commands = [baseline_command(summary, name) for name in missing]
    if commands := [f"`{command}`" for command in commands if command]:
        place = "would place it between memory and perfect composition"
        clauses.append(f"{' and '.join(commands)} {place}")
    words = "; ".join(clauses)
    return f"{words[0].upper()}{words[1:]}."


def _sight(summary: Summary) -> str:
    model = summary.experiment.training.model
    problem = summary.experiment.problem
    symbols = format_count(problem.length, symbol_words(problem.symbols).one)
    if model in BASELINES:
        return f"This is a baseline, {model}: {BASELINES[model].about}."
    layout = find_network(model).layout
    if layout == BLIND:
        return f"The network is blind: nothing in it says that a picture holds {symbols}."
    if layout == PLACE_BLIND:
        return (
            "The network is place-blind: it is built to know that a picture holds "
            f"{symbols} in a row, but not where they stand."
        )
    if layout == PANEL_AWARE:
        return (
            "The network is panel-aware: it is built to know that a picture holds "
            f"{symbols} side by side, and where each one is."
        )
    return "The network is your own: what it is told about its pictures is not known here."


def _errors(summary: Summary) -> str:
    """What the errors are mostly made of."""
    experiment, parts = summary.experiment, summary.error_parts
    if why := unsplit_words(summary):
        return why
    assert parts is not None
    named = named_parts(experiment, parts.shares())
    (first, share), *others = sorted(named.items(), key=lambda part: -part[1])
    rest = ", ".join(f"{name} {format_percent(part, 0)}" for name, part in others)
    made = "mostly" if share > 0.5 else "more than anything else"
    guessed = ""
    if experiment.problem.is_the_papers and experiment.training.model not in BASELINES:
        right = first == "misread digits"
        guessed = ", as the paper guessed" if right else "; the paper guessed misread digits"
    return (
        f"Its errors are {made} {first}: {format_percent(share, 0)} of the mean squared error "
        f"({rest}; {images_words(summary)}){guessed}."
    )


def images_words(summary: Summary) -> str:
    """What the errors were split on."""
    split = sum(score.error_parts is not None for score in summary.scores)
    things = combinations_word(summary.experiment.problem).removesuffix("s")
    images = format_count(summary.images_per_place, "image")
    return f"split on {images} in each place of {format_count(split, things)}"


def unsplit_words(summary: Summary) -> str:
    """Why nothing is said of what the errors are made of; nothing if it can be said."""
    experiment, parts = summary.experiment, summary.error_parts
    match unsplit(summary):
        case None:
            return ""
        case "diverged":
            finite = {s.fold: np.isfinite(s.measures[ERROR.name]) for s in summary.scores}
            folds = f"{[*finite.values()].count(False)} of {format_count(len(finite), 'fold')}"
            return f"Its answers are not finite in {folds}, so its errors cannot be split."
        case "no errors":
            pictures = sum(score.samples for score in summary.scores)
            return f"It made no error on {format_count(pictures, 'test picture')}."
        case "not recorded":
            if experiment.training.model == "nearest":
                why = "takes too long to find out for this baseline"
            else:
                command = repeat_command(summary, "--restart")
                again = f"; `{command}` records it" if command else ""
                why = f"was not recorded when this was run{again}"
            return f"What its errors are made of {why}."
        case "too few images":
            return (
                "What its errors are made of cannot be told from so few images "
                f"({images_words(summary)}); more test samples have more images."
            )
    assert parts is not None
    return (
        f"What its errors are made of cannot be told: {images_words(summary)}, its mean squared "
        f"error is {format_decimal(parts.mse, 3)}, but {format_decimal(summary.error.mean, 3)} in "
        "the test; more test samples, or a report with --deep, would tell."
    )

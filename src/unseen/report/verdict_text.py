"""The verdict on a run, in sentences."""

import math
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from unseen.analysis.summary import Summary
from unseen.analysis.verdict import Judgement, carried_over, memory_share
from unseen.networks.models import BLIND, OWN, PANEL_AWARE, PLACE_BLIND, find_network
from unseen.report.repeat_command import Writer, as_command, repeat_command
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
REFERENCES = {
    "nearest": "a memory of training pictures",
    "oracle": "a reader that is told every label and then computes exactly",
}
LAYOUTS = {
    BLIND: "The network is blind: nothing in it says that a picture holds {symbols}.",
    PLACE_BLIND: "The network is place-blind: it is built to know that a picture holds {symbols} "
    "in a row, but not where they stand.",
    PANEL_AWARE: "The network is panel-aware: it is built to know that a picture holds {symbols} "
    "side by side, and where each one is.",
    OWN: "The network is your own: what it is told about its pictures is not known here.",
}
FEWEST_IMAGES = 100  # over all places and combinations, to split an error by
LIKE_THE_TEST = 2.0  # the factor by which the split error may differ from the test's


@dataclass(frozen=True)
class Verdict:
    """A word or two, and sentences that give the grounds."""

    headline: str
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join((f"{self.headline}.", *self.sentences))


def verdict_text(summary: Summary, write: Writer = as_command) -> Verdict:
    """What a run shows, in words; what to run next as commands, or as calls."""
    sentences = (
        _accuracy(summary),
        _carried(summary),
        _references(summary, write),
        _layout(summary),
        _errors(summary),
    )
    return Verdict(HEADLINES[summary.judgement], tuple(filter(None, sentences)))


def _accuracy(summary: Summary) -> str:
    problem, unseen = summary.experiment.problem, summary.headline
    things = combinations_word(problem)
    combinations = len({score.row for score in summary.scores})
    who = "baseline" if summary.experiment.training.model in BASELINES else "network"
    new = "held out for development" if problem.development else "it had never seen"
    sure = f"95 % interval {100 * unseen.low:.1f} to {format_percent(unseen.high)}"
    if math.isnan(unseen.low):
        sure = no_interval_words(unseen)
    return (
        f"Shown {things} it had never seen, in {symbol_words(problem.symbols).images} {new}, the "
        f"{who} rounds to the right answer in {format_percent(unseen.mean)} of pictures ({sure}; "
        f"{format_count(combinations, things.removesuffix('s'))}, "
        f"{format_count(len(summary.results), 'fold')})."
    )


def _carried(summary: Summary) -> str:
    """What it gets on seen combinations, and how much of that carries over to unseen ones."""
    problem, unseen = summary.experiment.problem, summary.headline
    things = combinations_word(problem)
    words = (
        f"In the same {symbol_words(problem.symbols).images}, it gets "
        f"{format_percent(summary.seen)} of seen {things} right"
    )
    if summary.judgement == "diverged":
        return ""
    if summary.judgement == "one answer":
        return (
            f"{words}, but one and the same answer would get {format_percent(summary.one_answer)} "
            f"of the unseen {things}: other unseen {things} would tell."
        )
    if summary.judgement == "too little learnt":
        constant = format_percent(summary.seen_constant)
        return f"{words}, hardly more than the best constant answer ({constant})."
    if summary.seen <= memory_share(summary) or not carried_over(summary, unseen.mean) > 0:
        return f"{words}."
    share, low, high = (
        format_percent(min(1.0, max(0.0, carried_over(summary, each))), 0)
        for each in (unseen.mean, unseen.low, unseen.high)
    )
    ends = "" if math.isnan(unseen.low) else f" ({low.removesuffix(' %')} to {high})"
    return (
        f"{words}: {share}{ends} of what it can do with seen {things} carries over to unseen ones."
    )


def _references(summary: Summary, write: Writer) -> str:
    """What a memory and a perfect composition would get, or how to find out."""
    folds, baselines = len(summary.results), summary.baselines
    clauses = []
    for name in (each for each in REFERENCES if each in baselines):
        known = baselines[name]
        fewer = f", on {known.folds} of these {folds} folds" if known.folds < folds else ""
        right = format_percent(known.headline.mean)
        clauses.append(f"{REFERENCES[name]} ({name}{fewer}) gets {right}")
    if not clauses[1:] or baselines["nearest"].headline.mean < summary.constant:
        clauses.append(f"the best constant answer would get {format_percent(summary.constant)}")
    missing = REFERENCES.keys() - baselines.keys() - {summary.experiment.training.model}
    commands = [repeat_command(summary, name, write=write) for name in sorted(missing)]
    if runs := [f"`{command}`" for command in commands if command]:
        between = "would place it between memory and perfect composition"
        clauses.append(f"{' and '.join(runs)} {between}")
    words = "; ".join(clauses)
    return f"{words[0].upper()}{words[1:]}."


def _layout(summary: Summary) -> str:
    model, problem = summary.experiment.training.model, summary.experiment.problem
    if model in BASELINES:
        return f"This is a baseline, {model}: {BASELINES[model].about}."
    symbols = format_count(problem.length, symbol_words(problem.symbols).one)
    return LAYOUTS[find_network(model).layout].format(symbols=symbols)


def _errors(summary: Summary) -> str:
    """What the errors are mostly made of."""
    experiment, parts = summary.experiment, summary.error_parts
    if (why := unsplit_words(summary)) or parts is None:
        return why
    named = named_parts(experiment, parts.shares())
    (first, share), *others = sorted(named.items(), key=lambda part: -part[1])
    rest = ", ".join(f"{name} {format_percent(part, 0)}" for name, part in others)
    made = "mostly" if share > 0.5 else "more than anything else"
    supposed = ""
    if experiment.problem.is_the_papers and experiment.training.model not in BASELINES:
        right = first == "misread digits"
        supposed = ", as the paper guessed" if right else "; the paper guessed misread digits"
    return (
        f"Its errors are {made} {first}: {format_percent(share, 0)} of the mean squared error "
        f"({rest}; {_split_on(summary)}){supposed}."
    )


def unsplit_words(summary: Summary) -> str:
    """Why it cannot be said what the errors of the test are made of; nothing if it can.

    Errors are split on other pictures than the test's. Where those are few, or have an error of
    another size, their parts are not those of the test's error.
    """
    parts, test_error = summary.error_parts, summary.error.mean
    if not np.isfinite(test_error):
        finite = {s.fold: np.isfinite(s.measures[ERROR.name]) for s in summary.scores}
        folds = f"{[*finite.values()].count(False)} of {format_count(len(finite), 'fold')}"
        return f"Its answers are not finite in {folds}, so its errors cannot be split."
    if test_error == 0:
        pictures = sum(score.samples for score in summary.scores)
        return f"It made no error on {format_count(pictures, 'test picture')}."
    if parts is None:
        return "What its errors are made of takes too long to find out for this baseline."
    split = [score for score in summary.scores if score.error_parts is not None]
    if summary.images_per_place * len(parts.misread) * len(split) < FEWEST_IMAGES:
        return (
            "What its errors are made of cannot be told from so few images "
            f"({_split_on(summary)}); more test samples have more images."
        )
    tested = fmean(score.measures[ERROR.name] for score in split)
    if tested / LIKE_THE_TEST <= parts.mse <= tested * LIKE_THE_TEST:
        return ""
    split_error, whole_error = (format_decimal(mse, 3) for mse in (parts.mse, test_error))
    return (
        f"What its errors are made of cannot be told: {_split_on(summary)}, its mean squared error "
        f"is {split_error}, but {whole_error} in the test; more test samples, or a report with "
        "--deep, would tell."
    )


def _split_on(summary: Summary) -> str:
    """What the errors were split on."""
    split = sum(score.error_parts is not None for score in summary.scores)
    things = combinations_word(summary.experiment.problem).removesuffix("s")
    images = format_count(summary.images_per_place, "image")
    return f"split on {images} in each place of {format_count(split, things)}"

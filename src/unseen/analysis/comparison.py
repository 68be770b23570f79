"""Runs of one problem, compared combination by combination."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unseen.analysis.intervals import Comparison, Unseen, paired_comparison
from unseen.analysis.references import different_settings
from unseen.analysis.scores import Score
from unseen.analysis.summary import Summary
from unseen.errors import UnseenError, shortened
from unseen.runs.experiment import Experiment, setting_value
from unseen.training.metrics import HEADLINE, unseen_metrics

Matched = tuple[int, Score, Score]  # a seed, and what two runs made of one combination


@dataclass(frozen=True)
class RunGroup:
    """Runs that differ in nothing but their seeds; often a single one."""

    name: str
    summaries: tuple[Summary, ...]


@dataclass(frozen=True)
class ComparedRuns:
    """The metrics of a group of runs, and their differences from those of the first group."""

    name: str
    experiment: Experiment  # of the first run
    seeds: tuple[int, ...]
    seen: float  # the headline metric of seen combinations
    means: dict[str, float]  # of unseen ones, by metric
    # over the combinations that were unseen in the same folds; none of the first group
    differences: dict[str, Comparison]
    folds: int
    common_seeds: int

    @property
    def headline(self) -> Comparison:
        return self.differences[HEADLINE.name]


def compare_groups(groups: Sequence[RunGroup]) -> list[ComparedRuns]:
    """A row for every group, with its differences from the first.

    Refuses runs that were asked something else, and names all of them.
    """
    first, faults, rows = groups[0], dict[str, None](), []
    for group in groups:
        matched = [] if group is first else _matched(first, group)
        asked_else = [
            fault
            for summary in group.summaries
            if summary is not first.summaries[0]
            and (fault := _incomparable(first.summaries[0], summary))
        ]
        faults |= dict.fromkeys(asked_else)
        if not (matched or asked_else or group is first):
            both = f"{first.name} and {group.name}"
            faults[f"{both} cannot be compared: they have no finished fold in common"] = None
        rows.append((group, matched))
    if faults:
        raise UnseenError(". ".join(faults))
    return [_row(first, *row) for row in rows]


def _matched(first: RunGroup, other: RunGroup) -> list[Matched]:
    """What both groups made of the same combinations, unseen in the same folds.

    A run is paired with the first group's run of its seed; or in order, if none is the same.
    """
    by_seed = {each.experiment.seed: each for each in first.summaries}
    pairs = [
        (each, by_seed[each.experiment.seed])
        for each in other.summaries
        if each.experiment.seed in by_seed
    ] or [*zip(other.summaries, first.summaries, strict=False)]
    matched = []
    for ours, theirs in pairs:
        before = {score.unit: score for score in theirs.scores}
        for score in ours.scores:
            if score.unit in before:
                matched.append((ours.experiment.seed, score, before[score.unit]))
    return matched


def _row(first: RunGroup, group: RunGroup, matched: Sequence[Matched]) -> ComparedRuns:
    summary, summaries = group.summaries[0], group.summaries
    scores = [score for each in summaries for score in each.scores]
    differences: dict[str, Comparison] = {}
    for name, metric in unseen_metrics().items() if matched else ():
        values: dict[Unseen, dict[int, tuple[float, float]]] = {}
        for seed, ours, theirs in matched:
            both = ours.measures[name], theirs.measures[name]
            values.setdefault(ours.unit, {})[seed] = both
        differences[name] = paired_comparison(values, share=metric.is_share)
    return ComparedRuns(
        name=group.name,
        experiment=_as_compared(summary.experiment, first, seed_counts=len(summaries) == 1),
        seeds=tuple(each.experiment.seed for each in summaries),
        seen=float(np.mean([each.seen for each in summaries])),
        means={
            name: float(np.mean([score.measures[name] for score in scores]))
            for name in unseen_metrics()
        },
        differences=differences,
        folds=len({score.fold for _, score, _ in matched}),
        common_seeds=len({seed for seed, _, _ in matched}),
    )


def _as_compared(experiment: Experiment, first: RunGroup, *, seed_counts: bool) -> Experiment:
    """An experiment with the first one's folder of symbols: all have the same symbols."""
    known = first.summaries[0].experiment
    problem = experiment.problem.model_copy(update={"symbols": known.problem.symbols})
    seed = experiment.seed if seed_counts else known.seed
    return experiment.model_copy(update={"problem": problem, "seed": seed})


def _incomparable(first: Summary, other: Summary) -> str | None:
    """Why two runs cannot be compared; None if they can."""
    runs = f"{first.run} and {other.run} cannot be compared"
    if different := different_settings(first.question, other.question):
        names = dict.fromkeys("split" if each == "unseen_list" else each for each in different)
        apart = [
            f"{name.replace('_', ' ')} {_value(first, name)} and {_value(other, name)}"
            for name in names
        ]
        return f"{runs}, they answer different questions: {'; '.join(apart)}"
    return f"{first.run} cannot be compared with itself" if first.run == other.run else None


def _value(summary: Summary, setting: str) -> str:
    """The value of a setting; of symbols in a folder, only its name."""
    value = str(setting_value(summary.experiment, setting))
    return shortened(Path(value).name if setting == "symbols" else value)

"""Runs of one problem, compared combination by combination."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unseen.analysis.intervals import Comparison, Unseen, paired_comparison
from unseen.analysis.references import different_settings
from unseen.analysis.summary import Summary
from unseen.errors import UnseenError
from unseen.problem.problem import DEVELOPMENT_SPLIT_SEED, PAPER_SPLIT_SEED, Problem
from unseen.problem.splits import typed_folds
from unseen.training.metrics import HEADLINE, unseen_metrics


@dataclass(frozen=True)
class RunGroup:
    """Runs that differ in nothing but their seeds; often a single one."""

    name: str
    summaries: tuple[Summary, ...]

    def mean(self, metric: str) -> float:
        """The mean over all combinations and seeds that its runs have."""
        return float(np.mean([each.measures[metric] for run in self.summaries
                              for each in run.scores]))  # fmt: skip

    def seen(self) -> float:
        """The headline metric of seen combinations, in test images."""
        return float(np.mean([run.seen for run in self.summaries]))


@dataclass(frozen=True)
class RunComparison:
    """Runs less the first ones, over the combinations that were unseen in the same folds."""

    first: str
    run: str
    measures: dict[str, Comparison]  # by the name of the metric
    folds: int
    seeds: int

    @property
    def headline(self) -> Comparison:
        return self.measures[HEADLINE.name]


def compare_groups(groups: Sequence[RunGroup]) -> list[RunComparison]:
    """Every group against the first; refuses runs that were asked something else, all at once."""
    first, *others = groups
    faults = [*_faults(first.summaries[0], first.summaries[1:])]
    for group in others:
        of_group = _faults(first.summaries[0], group.summaries)
        faults += of_group or _nothing_in_common(first, group)
    if faults:
        raise UnseenError(". ".join(dict.fromkeys(faults)))
    return [_compare(first, other) for other in others]


def _faults(first: Summary, others: Sequence[Summary]) -> list[str]:
    return [fault for other in others if (fault := _incomparable(first, other))]


def _nothing_in_common(first: RunGroup, other: RunGroup) -> list[str]:
    """Says so if no run of one group has a fold of the run that it is paired with."""
    for ours, theirs in _seed_pairs(first, other):
        if {each.unit for each in ours.scores} & {each.unit for each in theirs.scores}:
            return []
    return [
        f"{first.name} and {other.name} cannot be compared: they have no finished fold in common"
    ]


def _incomparable(first: Summary, other: Summary) -> str | None:
    """Why two runs cannot be compared; None if they can."""
    runs = f"{first.run} and {other.run} cannot be compared"
    if different := different_settings(first.question, other.question):
        apart = _apart(first.experiment.problem, other.experiment.problem, different)
        return f"{runs}, they answer different questions: {'; '.join(apart)}"
    if first.run == other.run:
        return f"{first.run} cannot be compared with itself"
    return None


def _apart(ours: Problem, theirs: Problem, different: Collection[str]) -> list[str]:
    """Each setting that makes two questions different, in words."""
    words = {
        name: [_shown(getattr(problem, name)) for problem in (ours, theirs)] for name in different
    }
    if "unseen_list" in words:
        del words["unseen_list"]
        words["split"] = [_split(problem) for problem in (ours, theirs)]
    if "symbols" in words:
        names = [Path(problem.symbols).name for problem in (ours, theirs)]
        words["symbols"] = names if names[0] != names[1] else [names[0], "others of that name"]
    if "development" in words:
        folds = {True: "development folds", False: "test folds"}
        words["development"] = [folds[ours.development], folds[theirs.development]]
        if {ours.split_seed, theirs.split_seed} == {PAPER_SPLIT_SEED, DEVELOPMENT_SPLIT_SEED}:
            words.pop("split_seed", None)
    return [
        ("" if name == "development" else name.replace("_", " ") + " ") + " and ".join(both)
        for name, both in words.items()
    ]


def _split(problem: Problem) -> str:
    if not problem.unseen_list:
        return problem.split
    return f"listed ({_shown(typed_folds(problem.unseen_list))})"


def _shown(value: object) -> str:
    words = "a tenth" if value is None else str(value)
    return words if len(words) <= 60 else words[:57] + "…"


def _compare(first: RunGroup, other: RunGroup) -> RunComparison:
    measures, folds, seeds = {}, set[int](), set[int]()
    pairs = _seed_pairs(first, other)
    for name, metric in unseen_metrics().items():
        values: dict[Unseen, dict[int, tuple[float, float]]] = {}
        for ours, theirs in pairs:
            before = {score.unit: score.measures[name] for score in theirs.scores}
            for score in ours.scores:
                if score.unit in before:
                    pair = score.measures[name], before[score.unit]
                    values.setdefault(score.unit, {})[ours.experiment.seed] = pair
        measures[name] = paired_comparison(values, share=metric.is_share)
        folds |= {fold for fold, _ in values}
        seeds |= {seed for by_seed in values.values() for seed in by_seed}
    return RunComparison(first.name, other.name, measures, len(folds), len(seeds))


def _seed_pairs(first: RunGroup, other: RunGroup) -> list[tuple[Summary, Summary]]:
    """Other runs, each with the first group's run of its seed; or in order, if none is the same."""
    by_seed = {each.experiment.seed: each for each in first.summaries}
    same = [(each, by_seed[each.experiment.seed]) for each in other.summaries
            if each.experiment.seed in by_seed]  # fmt: skip
    return same or [*zip(other.summaries, first.summaries, strict=False)]

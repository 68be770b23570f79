"""Runs of one problem, compared combination by combination."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from unseen.errors import UnseenError
from unseen.insight.intervals import Comparison, paired_comparison
from unseen.insight.references import different_settings
from unseen.insight.summary import Summary, bootstrap_rounds, unseen_metrics
from unseen.problem.operations import spelled
from unseen.problem.settings import DEVELOPMENT_SPLIT_SEED, PAPER_SPLIT_SEED, Problem


@dataclass(frozen=True)
class RunComparison:
    """A run less the first one, over the combinations that were unseen in the same folds."""

    first: str
    run: str
    measures: dict[str, Comparison]  # by the name of the metric
    folds: int

    @property
    def rounded(self) -> Comparison:
        return self.measures["rounded"]


def compare_runs(summaries: Sequence[Summary]) -> list[RunComparison]:
    """Every run against the first; refuses runs that were asked something else, all at once."""
    first, *others = summaries
    faults = [fault for other in others if (fault := _incomparable(first, other))]
    if faults:
        raise UnseenError(". ".join(faults))
    return [_compare(first, other) for other in others]


def _incomparable(first: Summary, other: Summary) -> str | None:
    """Why two runs cannot be compared; None if they can."""
    runs = f"{first.run} and {other.run} cannot be compared"
    if different := different_settings(first.question, other.question):
        apart = _apart(first.experiment.problem, other.experiment.problem, different)
        return f"{runs}, they answer different questions: {'; '.join(apart)}"
    if first.run == other.run:
        return f"{first.run} cannot be compared with itself"
    if not {score.unit for score in first.scores} & {score.unit for score in other.scores}:
        return f"{runs}: they have no finished fold in common"
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
    listed = ", ".join(" ".join(map(str, spelled(each))) for each in problem.unseen_list)
    return f"listed ({_shown(listed)})"


def _shown(value: object) -> str:
    words = "a tenth" if value is None else str(value)
    return words if len(words) <= 60 else words[:57] + "…"


def _compare(first: Summary, other: Summary) -> RunComparison:
    folds = {score.unit: score.fold for score in other.scores}
    rounds = bootstrap_rounds(len(folds))
    measures = {}
    for name in unseen_metrics():
        ours, theirs = (
            {score.unit: score.measures[name] for score in run.scores} for run in (other, first)
        )
        measures[name] = paired_comparison(ours, theirs, folds, rounds=rounds)
    common = {score.fold for score in first.scores} & set(folds.values())
    return RunComparison(first.run, other.run, measures, len(common))

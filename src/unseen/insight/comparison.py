"""Runs of one problem, compared combination by combination."""

from collections.abc import Sequence
from dataclasses import dataclass

from unseen.errors import UnseenError
from unseen.insight.intervals import Comparison, paired_comparison
from unseen.insight.references import different_settings
from unseen.insight.summary import Summary, bootstrap_rounds, unseen_metrics


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
    """Every run against the first; refuses runs that were asked something else."""
    first, *others = summaries
    for other in others:
        _refuse_incomparable(first, other)
    return [_compare(first, other) for other in others]


def _refuse_incomparable(first: Summary, other: Summary) -> None:
    ours, theirs = first.experiment.problem, other.experiment.problem
    if different := different_settings(ours, theirs):
        name = different[0]
        raise UnseenError(
            f"{first.run} and {other.run} cannot be compared, they answer different questions: "
            f"{name.replace('_', ' ')} {_shown(getattr(ours, name))} "
            f"and {_shown(getattr(theirs, name))}"
        )
    if first.run == other.run:
        raise UnseenError(f"{first.run} cannot be compared with itself")
    if not {score.unit for score in first.scores} & {score.unit for score in other.scores}:
        raise UnseenError(
            f"{first.run} and {other.run} cannot be compared: they have no finished fold in common"
        )


def _shown(value: object) -> str:
    words = str(value)
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

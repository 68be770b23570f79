"""Baselines that were asked the same question: what a memory can do, what composition could.

Those of the default problem come with the package, so that a first run has something to be
measured by; runs of baselines in the same folder count before them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from unseen.analysis.statistics import Spread, spread
from unseen.errors import UnseenError
from unseen.problem.problem import Problem
from unseen.problem.symbols import MNIST_BANK_SHA256, symbols_sha256
from unseen.runs.find_runs import list_runs
from unseen.runs.run_folder import RunFolder
from unseen.training.baselines import BASELINES
from unseen.training.metrics import HEADLINE, METRICS

QUESTION = (
    *("operation", "length", "symbols", "split", "split_seed"),
    *("unseen", "unseen_list", "development"),
)
SHIPPED = "baselines.json"  # made by scripts/ship_baselines.py

Question = dict[str, object]  # by the names of QUESTION
ByFold = dict[int, Mapping[str, float]]  # measures


@dataclass(frozen=True)
class Reference:
    """A baseline on folds that a run has as well."""

    spreads: dict[str, Spread]  # by metric
    folds: int

    @property
    def headline(self) -> Spread:
        return self.spreads[HEADLINE.name]


def different_settings(ours: Question, theirs: Question) -> list[str]:
    """What makes two questions different; samples may be as many as they like."""
    return [name for name in QUESTION if ours[name] != theirs[name]]


def question(problem: Problem, symbols_sha256: str) -> Question:
    """What a problem asks; its symbols count by what they hold, not by where they are."""
    return {name: getattr(problem, name) for name in QUESTION} | {"symbols": symbols_sha256}


def references(folder: RunFolder, asked: Question, folds: Sequence[int]) -> dict[str, Reference]:
    """Baselines of the same question; of several of a kind, the one with most of these folds."""
    known = [*shipped().items()] if asked == question(Problem(), MNIST_BANK_SHA256) else []
    for run in list_runs(folder.path.parent):
        try:
            known += _baseline(run, asked)
        except UnseenError:  # another question's run that cannot be read is no concern of this one
            continue
    found: dict[str, Reference] = {}
    for name, by_fold in known:
        common = [measures for fold, measures in by_fold.items() if fold in folds]
        if common and (name not in found or len(common) >= found[name].folds):
            metrics = [metric for metric in METRICS if all(metric in each for each in common)]
            spreads = {metric: spread([each[metric] for each in common]) for metric in metrics}
            found[name] = Reference(spreads, len(common))
    return {name: found[name] for name in BASELINES if name in found}


def shipped() -> dict[str, ByFold]:
    """The measures of the baselines on the paper's ten folds, as the package carries them."""
    recorded = json.loads(files("unseen.analysis").joinpath(SHIPPED).read_bytes())
    return {
        name: {int(fold): measures for fold, measures in each["folds"].items()}
        for name, each in recorded.items()
    }


def _baseline(run: RunFolder, asked: Question) -> list[tuple[str, ByFold]]:
    """The name and the measures of a baseline that was asked the same; nothing of other runs."""
    other = run.experiment()
    if other.training.model not in BASELINES:
        return []
    symbols = run.recorded_sums().get("symbols") or symbols_sha256(other.problem.symbols)
    if question(other.problem, symbols) != asked:
        return []
    results, _ = run.results(thorough=False)
    return [(other.training.model, {each.fold: each.measures for each in results})]

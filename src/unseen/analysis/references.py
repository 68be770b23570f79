"""Baselines that were asked the same question: what a memory can do, what composition could.

Those of the default problem come with the package, so that a first run has something to be
measured by; runs of one's own beside it count before them.
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
from unseen.runs.records import OtherVersionError
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
    papers = question(Problem(), MNIST_BANK_SHA256)
    known = [] if different_settings(asked, papers) else [*shipped().items()]
    known += [_baseline(run, asked) for run in list_runs(folder.path.parent)]
    found: dict[str, ByFold] = {}
    for name, measures in known:
        common = {fold: each for fold, each in measures.items() if fold in folds}
        if common and len(common) >= len(found.get(name, {})):
            found[name] = common
    return {name: _reference(found[name]) for name in BASELINES if name in found}


def unread_baselines(folder: RunFolder) -> list[str]:
    """Runs of baselines beside a run that another version made: they cannot be counted."""
    unread = []
    for run in list_runs(folder.path.parent):
        if run.path.name.rpartition("-")[0] in BASELINES and run.path.name != folder.path.name:
            try:
                run.refuse_other_versions()
            except OtherVersionError:
                unread.append(run.path.name)
    return unread


def shipped() -> dict[str, ByFold]:
    """The measures of the baselines on the paper's ten folds, as the package carries them."""
    recorded = json.loads(files("unseen.analysis").joinpath(SHIPPED).read_bytes())
    return {
        name: {int(fold): measures for fold, measures in each["folds"].items()}
        for name, each in recorded.items()
    }


def _baseline(run: RunFolder, asked: Question) -> tuple[str, ByFold]:
    """Which baseline a run is of, and its measures; nothing of other runs."""
    try:
        other = run.experiment()
        name = other.training.model
        if name not in BASELINES:
            return "", {}
        symbols = run.recorded_symbols() or symbols_sha256(other.problem.symbols)
        if different_settings(asked, question(other.problem, symbols)):
            return "", {}
        return name, {each.fold: each.measures for each in run.results(thorough=False)[0]}
    except UnseenError:
        return "", {}


def _reference(measures: ByFold) -> Reference:
    known = [name for name in METRICS if all(name in each for each in measures.values())]
    spreads = {name: spread([each[name] for each in measures.values()]) for name in known}
    return Reference(spreads, len(measures))

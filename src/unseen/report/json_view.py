"""A run, or a list of runs, as one JSON object."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from unseen.analysis.published import published_beside
from unseen.analysis.statistics import measures_of, over_folds
from unseen.analysis.summary import Summary
from unseen.errors import UnseenError, printable
from unseen.report.verdict_text import verdict_text
from unseen.runs.experiment import SETTINGS, Experiment, setting_value
from unseen.runs.fold import FoldResult
from unseen.runs.run_folder import RunFolder

WHILE_LEARNING = ("epochs", "seconds", "seen", "unseen")  # of a measurement


def run_json(
    path: Path,
    experiment: Experiment,
    results: Sequence[FoldResult],
    summary: Summary | None = None,
    *,
    others: Sequence[int] = (),
) -> str:
    """All that the tables say, how each fold learnt and what was unseen, and what it shows."""
    curves = [()] * len(results) if summary is None else summary.measurements
    folds = [
        {"fold": result.fold, "unseen": result.unseen, **measures_of(result)}
        | {"starts": result.starts, "wrong_seen": result.wrong_seen}
        | {"epoch_losses": result.epoch_losses, "quadrants": result.quadrants}
        | {"curve": [{name: getattr(at, name) for name in WHILE_LEARNING} for at in curve]}
        for result, curve in zip(results, curves, strict=True)
    ]
    document = {
        "run": printable(str(path)),
        "experiment": experiment,
        "folds": folds,
        "other_folds": others,  # done, and not asked for
        "mean": {name: spread.mean for name, spread in over_folds(results).items()},
        "paper": paper_json(experiment),
        "insight": None if summary is None else insight_json(summary),
    }
    return json.dumps(jsonable(document), indent=2)


def paper_json(experiment: Experiment) -> list[dict[str, Any]]:
    """The paper's networks that stand beside a run, by fold where the folds are the same."""
    problem = experiment.problem
    return [
        {
            "name": published.label,
            "samples": published.samples,
            "mean": {name: over.mean for name, over in published.over_folds().items()},
            "folds": published.by_fold if published.has_folds_of(problem) else None,
        }
        for published in published_beside(problem)
    ]


def insight_json(summary: Summary) -> dict[str, Any]:
    """What the run shows: the verdict and the figures behind it."""
    verdict = verdict_text(summary)
    plain: dict[str, Any] = jsonable(
        {"verdict": verdict.text, "headline": verdict.headline} | summary.to_dict()
    )
    return plain


def runs_json(runs: Sequence[RunFolder]) -> str:
    """A list of runs."""
    return json.dumps(jsonable({"runs": run_rows(runs)}), indent=2)


def run_rows(runs: Sequence[RunFolder]) -> list[dict[str, Any]]:
    """Each run with its settings by name, the folds that are done, and their means."""
    listed: list[dict[str, Any]] = []
    for run in runs:
        row: dict[str, Any] = {"run": printable(run.label), "path": printable(str(run.path))}
        try:
            experiment, (results, _) = run.experiment(), run.results(thorough=False)
            row["preset"] = experiment.name
            row["settings"] = {name: setting_value(experiment, name) for name in SETTINGS}
            row["folds"] = [result.fold for result in results]
            row["mean"] = {name: spread.mean for name, spread in over_folds(results).items()}
        except UnseenError as error:
            row["error"] = printable(str(error))
        listed.append(row)
    return listed


def jsonable(document: Any) -> Any:
    """Plain dicts and lists; NaN and infinity, which JSON lacks, become None."""
    return to_jsonable_python(document, inf_nan_mode="null")

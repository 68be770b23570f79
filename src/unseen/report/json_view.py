"""A run as one JSON object."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from unseen.analysis.published import published_beside
from unseen.analysis.statistics import measures_of, over_folds
from unseen.analysis.summary import Summary
from unseen.errors import UnseenError, printable
from unseen.problem.operations import spelled
from unseen.report.verdict_text import verdict_text
from unseen.report.words import named_parts_by_place, place_names
from unseen.runs.experiment import SETTINGS, Experiment, setting_value
from unseen.runs.fold import FoldResult
from unseen.runs.run_folder import RunFolder

ON_THE_WAY = ("epochs", "seconds", "seen", "unseen")  # of a measurement; not single combinations


def run_json(
    path: Path,
    experiment: Experiment,
    results: Sequence[FoldResult],
    summary: Summary | None = None,
    *,
    others: Sequence[int] = (),
) -> str:
    """All that the tables say, how each fold learnt and what was unseen, and what it shows."""
    problem = experiment.problem
    curves = [()] * len(results) if summary is None else summary.measurements
    document = {
        "run": printable(str(path)),
        "experiment": experiment,
        "folds": [
            {"fold": result.fold, "unseen": result.unseen, **measures_of(result)}
            | {"starts": result.starts, "wrong_seen": result.wrong_seen}
            | {"epoch_losses": result.epoch_losses, "quadrants": result.quadrants}
            | {"curve": [{name: getattr(point, name) for name in ON_THE_WAY} for point in curve]}
            for result, curve in zip(results, curves, strict=True)
        ],
        "other_folds": others,  # done, and not asked for
        "mean": {name: spread.mean for name, spread in over_folds(results).items()},
        "paper": [
            {
                "samples": published.samples,
                "mean": {name: over.mean for name, over in published.over_folds().items()},
                "folds": published.by_fold if published.has_folds_of(problem) else None,
            }
            for published in published_beside(problem)
        ],
        "insight": None if summary is None else insight_json(summary),
    }
    return json.dumps(jsonable(document), indent=2)


def runs_json(runs: Sequence[RunFolder]) -> str:
    """A list of runs: each with its settings by name, the folds that are done, and their means."""
    listed: list[dict[str, Any]] = []
    for run in runs:
        named: dict[str, Any] = {"run": printable(run.label), "path": printable(str(run.path))}
        try:
            experiment, (results, _) = run.experiment(), run.results(thorough=False)
        except UnseenError as error:
            listed.append(named | {"error": printable(str(error))})
            continue
        settings = {name: setting_value(experiment, name) for name in SETTINGS}
        means = {name: spread.mean for name, spread in over_folds(results).items()}
        folds = [result.fold for result in results]
        listed.append(
            named | {"preset": experiment.name, "settings": settings, "folds": folds, "mean": means}
        )
    return json.dumps(jsonable({"runs": listed}), indent=2)


def insight_json(summary: Summary) -> dict[str, Any]:
    """What the run shows: the verdict and the figures behind it."""
    verdict, structure = verdict_text(summary), summary.structure
    document = {
        "verdict": verdict.text,
        "headline": verdict.headline,
        "intervals": summary.intervals,
        "combinations": [
            score.figures | {"combination": spelled(score.combination)} for score in summary.scores
        ],
        "best_constant": summary.constant,
        "baselines": {
            name: {metric: each.mean for metric, each in reference.spreads.items()}
            | {"folds": reference.folds}
            for name, reference in summary.baselines.items()
        },
        "quadrants": summary.quadrants,
        "without_shift": summary.unshifted,
        "attribution": attribution_json(summary),
        "structure": structure
        and {
            **structure.figures,
            "true_additivity": structure.true_additivity,
            "values": [
                {"place": place, "digit": digit, "worth": worth.mean}
                for (place, digit), worth in structure.values.items()
            ],
        },
        "probes": [
            {"layer": probe.layer, "places": [place.mean for place in probe.places]}
            for probe in summary.probes
        ],
    }
    plain: dict[str, Any] = jsonable(document)
    return plain


def attribution_json(summary: Summary) -> dict[str, Any] | None:
    """The mean squared error of unseen combinations and its parts."""
    parts = summary.error_parts
    if parts is None:
        return None
    names = place_names(summary.experiment.problem)
    return {
        "images": summary.images_per_place,
        **vars(parts),
        "misread": dict(zip(names, parts.misread, strict=True)),
        "combinations": [
            {"fold": score.fold, "combination": spelled(score.combination)}
            | {"mse": score.error_parts.mse}
            | named_parts_by_place(summary.experiment, score.error_parts)
            for score in summary.scores
            if score.error_parts is not None
        ],
    }


def jsonable(document: Any) -> Any:
    """Plain dicts and lists; NaN and infinity, which JSON lacks, become None."""
    return json.loads(to_json(document, inf_nan_mode="null"))

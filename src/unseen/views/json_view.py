"""A run as one JSON object."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unseen.experiments.experiment import Experiment
from unseen.experiments.fold import FoldResult
from unseen.experiments.measuring import Measurement
from unseen.insight.intervals import Interval
from unseen.insight.statistics import Spread, measures_of, over_folds
from unseen.insight.structure import Structure
from unseen.insight.summary import Score, Summary
from unseen.learning.metrics import METRICS
from unseen.problem.operations import spelled
from unseen.views.verdict_text import verdict_text
from unseen.views.words import named_parts_by_place, place_names


def run_json(
    path: Path,
    experiment: Experiment,
    results: Sequence[FoldResult],
    summary: Summary | None = None,
) -> str:
    """All that the tables say, how each fold learnt and what was unseen, and what it shows."""
    means = over_folds(results)
    curves = [()] * len(results) if summary is None else summary.measurements
    paper = {
        name: metric.paper.mean if metric.paper and experiment.problem.is_the_papers else None
        for name, metric in METRICS.items()
    }
    document = {
        "run": str(path),
        "experiment": experiment.model_dump(mode="json"),
        "folds": [
            {"fold": result.fold, "unseen": result.unseen}
            | {name: number(value) for name, value in measures_of(result).items()}
            | json.loads(result.model_dump_json(include={"quadrants", "epoch_losses"}))
            | {"curve": [point_json(point) for point in curve]}
            for result, curve in zip(results, curves, strict=True)
        ],
        "mean": {name: number(spread.mean) for name, spread in means.items()},
        "paper": paper,
        "insight": None if summary is None else insight_json(summary),
    }
    return json.dumps(document, indent=2)


def point_json(point: Measurement) -> dict[str, Any]:
    """A measurement on the way, without its single combinations."""
    names = ("epochs", "seconds", "seen", "unseen")
    return {name: getattr(point, name) for name in names}


def insight_json(summary: Summary) -> dict[str, Any]:
    """What the run shows: the verdict and the figures behind it."""
    verdict = verdict_text(summary)
    return {
        "verdict": verdict.text,
        "headline": verdict.headline,
        "intervals": {name: interval_json(each) for name, each in summary.intervals.items()},
        "combinations": [
            {
                "fold": score.fold,
                "combination": spelled(score.combination),
                "answer": score.answer,
                "samples": score.samples,
                "mean_answer": number(score.mean),
            }
            | {name: number(value) for name, value in score.measures.items()}
            for score in summary.scores
        ],
        "best_constant": summary.guess,
        "baselines": {
            name: {
                "rounded": reference.rounded.mean,
                "test_mse": number(reference.test_mse.mean),
                "folds": reference.folds,
            }
            for name, reference in summary.baselines.items()
        },
        "quadrants": {name: spreads_json(measures) for name, measures in summary.quadrants.items()},
        "without_shift": spreads_json(summary.unshifted),
        "attribution": attribution_json(summary),
        "structure": None if summary.structure is None else structure_json(summary.structure),
        "probes": [
            {"layer": probe.layer, "places": [number(place.mean) for place in probe.places]}
            for probe in summary.probes
        ],
    }


def attribution_json(summary: Summary) -> dict[str, Any] | None:
    """The mean squared error of unseen combinations and its parts."""
    parts = summary.error_parts
    if parts is None:
        return None
    names = place_names(summary.experiment.problem)
    return {
        "images": summary.images_per_place,
        "mse": number(parts.mse),
        "misread": {name: number(part) for name, part in zip(names, parts.misread, strict=True)},
        "wrong": number(parts.wrong),
        "misvalued": number(parts.misvalued),
        "shift": number(parts.shift),
        "interplay": number(parts.interplay),
        "combinations": [
            {"fold": score.fold, "combination": spelled(score.combination)}
            | {name: number(part) for name, part in named.items()}
            for score in summary.scores
            if (named := _parts_of(score, summary))
        ],
    }


def _parts_of(score: Score, summary: Summary) -> dict[str, float]:
    """The mean squared error of a combination and its parts; empty where it was not split."""
    parts = summary.error_parts_by_unit.get((score.fold, score.row))
    return (
        {}
        if parts is None
        else {"mse": parts.mse} | named_parts_by_place(summary.experiment, parts)
    )


def structure_json(structure: Structure) -> dict[str, Any]:
    """What mean answers show of how digits make an answer."""
    return spreads_json(structure_figures(structure)) | {
        "true_additivity": number(structure.true_score),
        "values": [
            {"place": place, "digit": digit, "worth": number(worth.mean)}
            for (place, digit), worth in structure.values.items()
        ],
    }


def structure_figures(structure: Structure) -> dict[str, Spread]:
    """The figures of a structure by name; the mirror gap where it means something."""
    figures = {
        "additivity": structure.score,
        "additivity_gap": structure.gap,
        "seen_mean_error": structure.seen_bias,
        "unseen_mean_error": structure.unseen_bias,
    }
    return figures | ({} if structure.mirror is None else {"mirror_gap": structure.mirror})


def spreads_json(figures: Mapping[str, Spread]) -> dict[str, Any]:
    return {
        name: {
            "mean": number(figure.mean),
            "deviation": None if figure.deviation is None else number(figure.deviation),
        }
        for name, figure in figures.items()
    }


def interval_json(interval: Interval) -> dict[str, Any]:
    return {
        "mean": number(interval.mean),
        "low": number(interval.low),
        "high": number(interval.high),
    }


def number(value: float) -> Any:
    """JSON has no NaN and no infinity: null."""
    return value if math.isfinite(value) else None

"""A run as one JSON object."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unseen.experiments.experiment import Experiment
from unseen.experiments.fold import FoldResult
from unseen.insight.published import PAPER_MEAN, is_the_papers_problem
from unseen.insight.statistics import MEASURES, over_folds


def run_json(path: Path, experiment: Experiment, results: Sequence[FoldResult]) -> str:
    """Everything that the tables say, and which combinations were unseen in each fold."""
    means = over_folds(results)
    comparable = is_the_papers_problem(experiment.problem)
    document = {
        "run": str(path),
        "experiment": experiment.model_dump(mode="json"),
        "folds": [
            {"fold": result.fold, "unseen": result.unseen}
            | {name: number(getattr(result, name)) for name in MEASURES}
            | {"quadrants": json.loads(result.model_dump_json(include={"quadrants"}))["quadrants"]}
            for result in results
        ],
        "mean": {name: number(means[name].mean) if means else None for name in MEASURES},
        "paper": PAPER_MEAN if comparable else dict.fromkeys(MEASURES),
    }
    return json.dumps(document, indent=2)


def number(value: float) -> Any:
    """JSON has no NaN and no infinity: null."""
    return value if math.isfinite(value) else None

"""A network is shown some combinations of digits and only their results.

Does it get the combinations it has never seen?

    from unseen import PRESETS, run_fold

    experiment = PRESETS["fast"]().vary(training={"epochs": 2})
    print(run_fold(experiment, 1).result.rounded)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unseen.errors import UnseenError as UnseenError
    from unseen.experiments.cross_validation import complete_fold as complete_fold
    from unseen.experiments.experiment import Experiment as Experiment
    from unseen.experiments.experiment import Problem as Problem
    from unseen.experiments.experiment import Training as Training
    from unseen.experiments.fold import FoldResult as FoldResult
    from unseen.experiments.fold import run_fold as run_fold
    from unseen.experiments.posing import pose as pose
    from unseen.experiments.presets import PRESETS as PRESETS
    from unseen.experiments.run_folder import RunFolder as RunFolder
    from unseen.insight.summary import Summary as Summary
    from unseen.insight.summary import summarise_run as summarise_run
    from unseen.problem.samples import draw_samples as draw_samples
    from unseen.problem.samples import render_pictures as render_pictures
    from unseen.problem.symbols import load_symbols as load_symbols

# Each name is looked up when it is first asked for, so that the command starts without them.
_HOME = {
    "UnseenError": "unseen.errors",
    "complete_fold": "unseen.experiments.cross_validation",
    "Experiment": "unseen.experiments.experiment",
    "Problem": "unseen.experiments.experiment",
    "Training": "unseen.experiments.experiment",
    "FoldResult": "unseen.experiments.fold",
    "run_fold": "unseen.experiments.fold",
    "pose": "unseen.experiments.posing",
    "PRESETS": "unseen.experiments.presets",
    "RunFolder": "unseen.experiments.run_folder",
    "Summary": "unseen.insight.summary",
    "summarise_run": "unseen.insight.summary",
    "draw_samples": "unseen.problem.samples",
    "render_pictures": "unseen.problem.samples",
    "load_symbols": "unseen.problem.symbols",
}
__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'unseen' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)

"""A network is shown some combinations of digits and only their results.

Does it get the combinations it has never seen?

    import unseen

    run = unseen.run("fast", operation="subtract", samples=100, folds=[1, 2])
    print(run)
"""

TYPE_CHECKING = False  # nothing is imported here: an early Ctrl-C is answered in __main__.py
if TYPE_CHECKING:
    from typing import Any

    from unseen.api import Run as Run
    from unseen.api import follow as follow
    from unseen.api import load as load
    from unseen.api import run as run
    from unseen.errors import UnseenError as UnseenError
    from unseen.experiments.datasets import CombinationSplit as CombinationSplit
    from unseen.experiments.datasets import FoldDataset as FoldDataset
    from unseen.experiments.experiment import Experiment as Experiment
    from unseen.experiments.fold import run_fold as run_fold
    from unseen.experiments.posing import pose as pose
    from unseen.experiments.presets import PRESETS as PRESETS
    from unseen.experiments.registering import register_model as register_model
    from unseen.experiments.registering import register_operation as register_operation
    from unseen.experiments.registering import register_split as register_split
    from unseen.experiments.registering import register_symbols as register_symbols
    from unseen.experiments.session import session as session
    from unseen.learning.settings import Training as Training
    from unseen.problem.samples import draw_samples as draw_samples
    from unseen.problem.samples import render_pictures as render_pictures
    from unseen.problem.settings import Problem as Problem
    from unseen.problem.splits import folds_of as folds_of
    from unseen.problem.symbols import load_symbols as load_symbols

# Each name is looked up when it is first asked for, so that the command starts without them.
_HOME = {
    "CombinationSplit": "unseen.experiments.datasets",
    "Experiment": "unseen.experiments.experiment",
    "FoldDataset": "unseen.experiments.datasets",
    "PRESETS": "unseen.experiments.presets",
    "Problem": "unseen.problem.settings",
    "Run": "unseen.api",
    "Training": "unseen.learning.settings",
    "UnseenError": "unseen.errors",
    "draw_samples": "unseen.problem.samples",
    "folds_of": "unseen.problem.splits",
    "follow": "unseen.api",
    "load": "unseen.api",
    "load_symbols": "unseen.problem.symbols",
    "pose": "unseen.experiments.posing",
    "register_model": "unseen.experiments.registering",
    "register_operation": "unseen.experiments.registering",
    "register_split": "unseen.experiments.registering",
    "register_symbols": "unseen.experiments.registering",
    "render_pictures": "unseen.problem.samples",
    "run": "unseen.api",
    "run_fold": "unseen.experiments.fold",
    "session": "unseen.experiments.session",
}
__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module 'unseen' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:  # what a notebook completes
    return __all__

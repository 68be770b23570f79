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
    from unseen.problem.problem import Problem as Problem
    from unseen.problem.samples import draw_samples as draw_samples
    from unseen.problem.samples import render_pictures as render_pictures
    from unseen.problem.splits import folds_of as folds_of
    from unseen.problem.symbols import load_symbols as load_symbols
    from unseen.problem.task import make_task as make_task
    from unseen.runs.datasets import CombinationSplit as CombinationSplit
    from unseen.runs.datasets import FoldDataset as FoldDataset
    from unseen.runs.experiment import Experiment as Experiment
    from unseen.runs.fold import run_fold as run_fold
    from unseen.runs.presets import PRESETS as PRESETS
    from unseen.runs.registering import register_model as register_model
    from unseen.runs.registering import register_operation as register_operation
    from unseen.runs.registering import register_split as register_split
    from unseen.runs.registering import register_symbols as register_symbols
    from unseen.runs.session import session as session
    from unseen.training.recipe import Training as Training

# Each name is looked up when it is first asked for, so that the command starts without them.
_HOME = {
    "CombinationSplit": "unseen.runs.datasets",
    "Experiment": "unseen.runs.experiment",
    "FoldDataset": "unseen.runs.datasets",
    "PRESETS": "unseen.runs.presets",
    "Problem": "unseen.problem.problem",
    "Run": "unseen.api",
    "Training": "unseen.training.recipe",
    "UnseenError": "unseen.errors",
    "draw_samples": "unseen.problem.samples",
    "folds_of": "unseen.problem.splits",
    "follow": "unseen.api",
    "load": "unseen.api",
    "load_symbols": "unseen.problem.symbols",
    "make_task": "unseen.problem.task",
    "register_model": "unseen.runs.registering",
    "register_operation": "unseen.runs.registering",
    "register_split": "unseen.runs.registering",
    "register_symbols": "unseen.runs.registering",
    "render_pictures": "unseen.problem.samples",
    "run": "unseen.api",
    "run_fold": "unseen.runs.fold",
    "session": "unseen.runs.session",
}
__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module 'unseen' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:  # what a notebook completes
    return __all__

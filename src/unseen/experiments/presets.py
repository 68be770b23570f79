"""Presets: whole recipes under a name. The first line of each says what it is.

Made when they are asked for: help lists their names and first lines, and needs no more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unseen.experiments.experiment import Experiment


def paper() -> Experiment:
    """The authors' notebook to the letter: 100 epochs, hours a fold."""
    from unseen.experiments.experiment import Experiment, Problem, Training

    return Experiment(
        name="paper",
        problem=Problem(),
        training=Training(
            model="paper",
            epochs=100,
            batch_size=128,
            optimizer="adadelta",
            learning_rate=1.0,
            schedule="constant",
            scale_answers=False,
            watched_samples=2_000,
        ),
    )


def paper_text() -> Experiment:
    """What the paper's text alone says: LeNet-5 and ADADELTA; 20 epochs, minutes a fold."""
    return paper().vary(name="paper-text", training={"model": "lenet5", "epochs": 20})


def fast() -> Experiment:
    """A small LeNet-5 and one pass, which beat the paper's means: seconds a fold."""
    return paper().vary(
        name="fast",
        problem={"samples_per_combination": 800},
        training={
            "model": "lenet5-strided",
            "epochs": 1,
            "batch_size": 96,
            "optimizer": "muon",
            "learning_rate": 0.035,
            "schedule": "one-cycle",
            "scale_answers": True,
            "watched_samples": 0,
        },
    )


def best() -> Experiment:
    """The most unseen combinations right: towers, fresh draws, distortion; minutes a fold."""
    return fast().vary(
        name="best",
        problem={"samples_per_combination": 1_000},
        training={
            "model": "towers",
            "epochs": 24,
            "batch_size": 64,
            "learning_rate": 0.008,
            "loss": "huber",
            "fresh_draws": True,
            "distortion": 0.8,
        },
    )


def best_blind() -> Experiment:
    """The same with a network that is not told how many digits there are."""
    return best().vary(
        name="best-blind",
        training={"model": "lenet5-wide", "epochs": 18, "learning_rate": 0.01},
    )


def mean() -> Experiment:
    """A baseline: always the mean answer."""
    return _baseline("mean")


def nearest() -> Experiment:
    """A baseline: the answer of the nearest training picture, what a memory of pictures can do."""
    return _baseline("nearest")


def oracle() -> Experiment:
    """A baseline: told every digit's label, then exact; what perfect composition could reach."""
    return _baseline("oracle")


def _baseline(name: str) -> Experiment:
    return paper().vary(name=name, training={"model": name, "epochs": 1, "watched_samples": 0})


PRESETS: dict[str, Callable[[], Experiment]] = {
    "fast": fast,
    "paper": paper,
    "paper-text": paper_text,
    "best": best,
    "best-blind": best_blind,
    "mean": mean,
    "nearest": nearest,
    "oracle": oracle,
}

"""Presets: whole recipes under a name, each to be read from top to bottom.

They are made when they are asked for: some settings are checked against registries.

>>> import unseen
>>> unseen.PRESETS["good"]().training.model
'latent'
"""

from collections.abc import Callable
from dataclasses import dataclass

from unseen.problem.problem import Problem
from unseen.runs.experiment import Experiment
from unseen.training.recipe import Training


@dataclass(frozen=True)
class Preset:
    """A recipe, what it is for, and roughly how long a fold of it takes on one core."""

    make: Callable[[], Experiment]
    about: str
    seconds_per_fold: float

    def __call__(self) -> Experiment:
        return self.make()


def paper() -> Experiment:
    """The authors' notebook, with as many samples as the paper's text says: its MSE table."""
    return Experiment(
        name="paper",
        problem=Problem(samples_per_combination=1_000, test_samples_per_combination=1_000),
        training=Training(
            model="paper",
            epochs=100,
            batch_size=128,
            loss="mse",
            optimizer="adadelta",
            learning_rate=1.0,
            schedule="constant",
            scale_answers=False,
        ),
    )


def paper_2000() -> Experiment:
    """The authors' notebook, with the samples of the networks of the paper's accuracy table."""
    return paper().vary(name="paper-2000", samples=2_000)


def paper_text() -> Experiment:
    """What the paper's text alone says."""
    return paper().vary(name="paper-text", model="lenet5", epochs=20, test_samples=2_000)


def fast() -> Experiment:
    """One pass that beats the paper's means."""
    return Experiment(
        name="fast",
        problem=Problem(samples_per_combination=800, test_samples_per_combination=2_000),
        training=Training(
            model="lenet5-curved",
            epochs=1,
            batch_size=96,
            loss="huber",
            optimizer="muon",
            learning_rate=0.035,
            schedule="one-cycle",
            scale_answers=True,
        ),
    )


def good() -> Experiment:
    """Most of what there is to get in a minute a fold, for any operation.

    Where seen combinations come out wrong after training, it looks for another rule, or trains
    again from other weights.
    """
    return Experiment(
        name="good",
        problem=Problem(samples_per_combination=700, test_samples_per_combination=2_000),
        training=Training(
            model="latent",
            epochs=3,
            batch_size=64,
            loss="huber",
            optimizer="muon",
            learning_rate=0.012,
            schedule="one-cycle",
            scale_answers=True,
            fresh_draws=True,
            distortion=0.8,
            starts=3,
        ),
    )


def best() -> Experiment:
    """As `good`, with more samples, and an encoder that reads better and takes twice as long."""
    return good().vary(name="best", model="latent-deep", samples=1_000)


def best_blind() -> Experiment:
    """The same with a network that is not told where the symbols stand."""
    return best().vary(name="best-blind", model="latent-deep-blind")


def baseline(name: str) -> Experiment:
    """A baseline on the paper's problem; the settings of training have no part in it."""
    return paper_text().vary(name=name, model=name, epochs=1, watched_samples=0)


PRESETS: dict[str, Preset] = {
    "fast": Preset(fast, "a small LeNet-5, one pass: beats the paper's means", 9),
    "paper": Preset(paper, "the authors' notebook, 100 epochs: the paper's MSE table", 16_500),
    "paper-2000": Preset(
        paper_2000, "the same on 2,000 samples a pair: the paper's accuracy table", 33_000
    ),
    "paper-text": Preset(
        paper_text, "what the paper's text alone says: LeNet-5, ADADELTA, 20 epochs", 570
    ),
    "good": Preset(good, "any operation: symbols of its own, and the rule that they follow", 70),
    "best": Preset(best, "the same with a third convolution, which reads better", 150),
    "best-blind": Preset(best_blind, "the same, not told where the symbols stand", 220),
    "mean": Preset(lambda: baseline("mean"), "baseline: always the mean answer", 1),
    "nearest": Preset(
        lambda: baseline("nearest"), "baseline: what a memory of training pictures can do", 25
    ),
    "oracle": Preset(
        lambda: baseline("oracle"),
        "baseline: what perfect composition could reach (8 min once a run)",
        50,  # in the mean over ten folds
    ),
}

"""How long a training will take on this machine, roughly."""

import time
from dataclasses import dataclass

import numpy as np

from unseen.networks.models import MODELS
from unseen.runs.experiment import Experiment
from unseen.runs.fold import torch_threads
from unseen.runs.presets import PRESETS, fast

REFERENCE_STEP_SECONDS = 0.009  # of `fast`, on the machine that PRESETS' seconds are from


@dataclass
class Speed:
    """How much slower this machine is than the one of the presets' figures."""

    factor: float | None = None

    def measure(self) -> None:
        """Time steps of the smallest network; what else runs may delay some of them."""
        import torch

        from unseen.problem.randomness import Streams
        from unseen.problem.task import seen_samples
        from unseen.training.loop import PARTS_PER_EPOCH, start_training, train

        tiny = fast().vary(samples=22, epochs=3)
        streams, device = Streams(0, 1), torch.device("cpu")
        seen = seen_samples(tiny.problem, streams)
        with torch_threads(1):
            state = start_training(tiny.training, seen, streams, device)
            steps = train(state, lambda _: seen, tiny.training, streams, device)
            seconds = np.diff([time.perf_counter() for _ in steps])
        steps_each = len(seen) / tiny.training.batch_size / PARTS_PER_EPOCH
        quick = float(np.quantile(seconds, 0.4))
        self.factor = quick / max(1.0, steps_each) / REFERENCE_STEP_SECONDS

    def seconds(self, experiment: Experiment) -> float | None:
        """The estimate for a fold; None where nothing is known."""
        if experiment.name not in PRESETS or self.factor is None:
            return None
        preset = PRESETS[experiment.name]
        return preset.seconds_per_fold * _work(experiment) / _work(preset()) * self.factor

    def learn(self, experiment: Experiment, seconds: float) -> None:
        """Correct the factor by what a fold has taken."""
        before = self.seconds(experiment)
        if before and self.factor and seconds > 2:
            self.factor *= min(4.0, max(0.25, seconds / before)) ** 0.5


def _work(experiment: Experiment) -> float:
    """What training costs, in pictures of the smallest network."""
    training, problem = experiment.training, experiment.problem
    cost = MODELS[training.model].cost if training.model in MODELS else 2.0
    learnt = problem.samples_per_combination * training.epochs * 3
    tested = problem.test_samples_per_combination * 0.3
    return cost * (learnt + tested) * problem.length / 2

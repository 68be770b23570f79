"""The training loop: one for every preset."""

import io
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import safetensors.torch
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from unseen.errors import CheckpointError
from unseen.networks.models import find_network
from unseen.networks.modules import (
    EndsEpochs,
    HasRules,
    OwnLoss,
    RescaledOutput,
    laid_out_for_speed,
    saved_weights,
)
from unseen.problem.randomness import Streams
from unseen.problem.samples import Samples, render_pictures, side_by_side
from unseen.training.distortion import distort
from unseen.training.evaluation import to_input, wrong_combinations
from unseen.training.losses import LOSSES
from unseen.training.optimizers import Optimizer, make_optimizer, set_learning_rate
from unseen.training.schedules import SCHEDULES

if TYPE_CHECKING:
    from unseen.training.recipe import Training

# Parts of an epoch, each with a report and its own dropout: another number, other results.
PARTS_PER_EPOCH = 20
# Measure after so many parts: ten times an epoch in a short training, four times in a long one.
PARTS_PER_MEASUREMENT, PARTS_PER_MEASUREMENT_IF_LONG, LONG_EPOCHS = 2, 5, 5

# How often a rule is refitted where seen combinations come out wrong or the rule is doubtful: 5 to
# 20 s each, where another start takes half a minute to minutes.
MOST_REFITS = 6


@dataclass
class TrainingState:
    """A network in training: all that has to be saved to go on later with the same bits.

    It needs no random state: every epoch draws from its own stream.
    """

    model: RescaledOutput
    optimizer: Optimizer
    losses: list[float] = field(default_factory=list)  # of each finished epoch of this start
    seconds: float = 0.0  # spent so far
    weights_sum: dict[str, Tensor] = field(default_factory=dict)  # over the epochs to average
    start: int = 1  # the number of this training, each from other first weights
    # of the best start that is finished
    kept_weights: dict[str, Tensor] = field(default_factory=dict)
    kept_losses: list[float] = field(default_factory=list)
    wrong: int | None = None  # seen combinations that it gets wrong; None before it is finished

    def to_bytes(self) -> bytes:
        parts = vars(self) | {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        torch.save(parts, buffer := io.BytesIO())
        return buffer.getvalue()

    def weights(self) -> bytes:
        """The network's weights as they are now, as safetensors."""
        return safetensors.torch.save(saved_weights(self.model))

    def restore(self, saved: bytes) -> None:
        """Go on from what was saved; a CheckpointError leaves the state half restored."""
        try:
            parts = torch.load(io.BytesIO(saved), weights_only=True)
            self.model.load_state_dict(parts.pop("model"))
            self.optimizer.load_state_dict(parts.pop("optimizer"))
            vars(self).update(vars(replace(self, **parts)))
        except Exception as error:
            raise CheckpointError("the checkpoint does not fit its network") from error

    def average_weights(self, epochs: int, *, last: bool) -> None:
        """Add the weights to their sum; after the last of some epochs, use their mean."""
        for name, weights in self.model.named_parameters():
            before = self.weights_sum.setdefault(name, torch.zeros_like(weights.detach()))
            before += weights.detach()
            if last:
                weights.detach().copy_(before / epochs)

    def finish_start(self, wrong: int) -> None:
        """Keep this start if it gets fewer seen combinations wrong than those before it."""
        if self.wrong is None or wrong < self.wrong:
            self.kept_weights, self.kept_losses = saved_weights(self.model), self.losses
            self.wrong = wrong

    def take_best_start(self) -> None:
        """Use the weights of the start with the fewest wrong combinations."""
        if self.wrong is not None:
            self.model.load_state_dict(self.kept_weights)
            self.losses = self.kept_losses

    def is_finished(self, training: "Training") -> bool:
        """Whether this start has had its epochs, and no other is to follow."""
        is_last = self.start >= training.starts or not self.wrong
        return len(self.losses) >= training.epochs and is_last

    def begin_again(self, other: "TrainingState") -> None:
        """Continue with the model and the optimiser of another start."""
        self.model, self.optimizer = other.model, other.optimizer
        self.start, self.losses, self.weights_sum = self.start + 1, [], {}


@dataclass(frozen=True)
class TrainingProgress:
    """The state of training within an epoch or at its end."""

    epochs_done: int
    epoch_share: float  # of the epoch under way
    loss: float  # mean squared error in training, of the epoch under way or just ended
    state: TrainingState
    is_measured: bool  # whether this is one of the moments to measure on the way

    @property
    def start(self) -> int:
        return self.state.start

    @property
    def epoch_ended(self) -> bool:
        return self.epoch_share == 0.0

    @property
    def epochs(self) -> float:
        """The epochs so far, with the share of the one under way."""
        return self.epochs_done + self.epoch_share


def start_training(
    training: "Training", samples: Samples, streams: Streams, device: torch.device, start: int = 1
) -> TrainingState:
    """A network with its first weights, others for each start, and its optimiser."""
    length = samples.images.shape[1]
    height, symbol_width = samples.symbols.images.shape[1:]
    number = [start] if start > 1 else []
    with seeded(streams.integer("weights", *number), device):
        network = find_network(training.model).build(length, height, length * symbol_width)
    mean, spread = 0.0, 1.0
    if training.scale_answers:
        mean, spread = float(samples.answers.mean()), float(samples.answers.std()) or 1.0
    model = laid_out_for_speed(RescaledOutput(network, mean, spread).to(device))
    optimizer = make_optimizer(training.optimizer, model.parameters(), training.learning_rate)
    return TrainingState(model, optimizer)


def train(
    state: TrainingState,
    samples_of: Callable[[int], Samples],
    training: "Training",
    streams: Streams,
    device: torch.device,
) -> Iterator[TrainingProgress]:
    """Train on each epoch's samples, from the epoch that the state is at.

    Yields some times within each epoch, and at its end. If seen combinations come out wrong in the
    end, it begins again from other weights as often as the settings allow; the state becomes that
    of the start with the fewest wrong. What it yields counts the epochs of each start from 1, and
    `samples_of` those of all starts.
    """
    long = training.epochs >= LONG_EPOCHS
    measured_parts = PARTS_PER_MEASUREMENT_IF_LONG if long else PARTS_PER_MEASUREMENT
    while not state.is_finished(training):
        if len(state.losses) == training.epochs:
            start = state.start + 1
            state.begin_again(start_training(training, samples_of(1), streams, device, start))
        epoch = len(state.losses) + 1
        number = (state.start - 1) * training.epochs + epoch  # over all starts: each draws anew
        samples = samples_of(number)
        answers = torch.from_numpy(samples.answers).float().to(device)  # (n,)
        steps = math.ceil(len(samples) / training.batch_size)  # the last partial batch is kept
        order = streams.numpy("order", number).permutation(np.arange(len(samples), dtype=np.int32))
        squared_error, step, measured = 0.0, 0, 0
        for part in range(PARTS_PER_EPOCH):
            last_step = steps * (part + 1) // PARTS_PER_EPOCH
            part_error = torch.zeros((), device=device)
            state.model.train()
            with seeded(streams.integer("dropout", number, part), device):
                while step < last_step:
                    progress = (epoch - 1 + step / steps) / training.epochs
                    rate = training.learning_rate * SCHEDULES[training.schedule](progress)
                    set_learning_rate(state.optimizer, rate)
                    rows = order[step * training.batch_size : (step + 1) * training.batch_size]
                    pictures = training_pictures(samples, rows, training.distortion, device)
                    error = step_down(state, pictures, answers[torch.from_numpy(rows)], training)
                    part_error += error * len(rows)
                    step += 1
            squared_error += float(part_error)
            if 0 < step < steps:
                so_far = squared_error / (step * training.batch_size)
                # of a few steps, some parts have none
                is_measured = (part + 1) % measured_parts == 0 and step > measured
                measured = step if is_measured else measured
                yield TrainingProgress(epoch - 1, step / steps, so_far, state, is_measured)
        state.losses.append(squared_error / len(samples))
        if epoch > training.epochs - training.averaged_epochs:
            state.average_weights(training.averaged_epochs, last=epoch == training.epochs)
        if isinstance(state.model.network, EndsEpochs):
            state.model.network.end_epoch(is_last=epoch == training.epochs)
        if epoch == training.epochs and training.starts > 1:
            state.finish_start(fewest_wrong(state.model, samples, device))
        yield TrainingProgress(epoch, 0.0, state.losses[-1], state, is_measured=True)
    state.take_best_start()


def fewest_wrong(model: RescaledOutput, samples: Samples, device: torch.device) -> int:
    """How many combinations come out wrong, after other rules were tried if the network has some.

    The network is left with the rule that gets the fewest wrong; of equals, one that is not
    doubtful, and the simplest rule before others.
    """
    network = model.network
    if not isinstance(network, HasRules):
        return wrong_combinations(model, samples, device)

    def judge() -> tuple[int, bool]:
        return wrong_combinations(model, samples, device), network.is_doubtful

    fewest, best = judge(), saved_weights(model)
    if network.take_simplest_rule() and (now := judge()) <= fewest:
        fewest, best = now, saved_weights(model)
    for trial in range(1, MOST_REFITS + 1):
        if fewest == (0, False):
            break
        network.refit_rule(trial)
        if (now := judge()) < fewest:
            fewest, best = now, saved_weights(model)
    model.load_state_dict(best)
    return fewest[0]


def training_pictures(
    samples: Samples, rows: NDArray[np.int32], distortion: float, device: torch.device
) -> Tensor:
    """A batch as a network takes it, each symbol distorted by itself where that is asked for."""
    if distortion == 0:
        return to_input(render_pictures(samples, rows), device)
    symbols = samples.symbols.images[samples.images[rows]]  # (n, length, height, width)
    count, length, height, width = symbols.shape
    flat = to_input(symbols.reshape(-1, height, width), device)
    distorted = distort(flat, distortion).view(count, length, height, width)
    pictures: Tensor = side_by_side(distorted)
    return pictures.unsqueeze(1)


def step_down(
    state: TrainingState, pictures: Tensor, answers: Tensor, training: "Training"
) -> Tensor:
    """One step down the loss of a batch; returns its mean squared error, whatever the loss is."""
    bf16 = training.precision == "bf16"  # the network's own arithmetic; weights and errors are fp32
    with torch.autocast(pictures.device.type, torch.bfloat16, enabled=bf16):
        loss, predictions = training_loss(state.model, pictures, answers, training.loss)
    loss.backward()  # type: ignore[no-untyped-call]
    state.optimizer.step()
    # at once, not before the next step: gradients that stay would split up the free memory
    state.optimizer.zero_grad(set_to_none=True)
    return functional.mse_loss(predictions.detach(), answers)


def training_loss(
    model: RescaledOutput, pictures: Tensor, answers: Tensor, loss: str
) -> tuple[Tensor, Tensor]:
    """The loss of a batch and the predictions for it: by the network's own loss if it has one."""
    if not isinstance(model.network, OwnLoss):
        predictions = model(pictures)
        return LOSSES[loss](predictions, answers, model.spread), predictions
    scaled = (answers - model.mean) / model.spread
    own, outputs = model.network.own_loss(pictures, scaled, squared=loss == "mse")
    return own, model.mean + model.spread * outputs


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Torch's own generators set to a seed within, and as they were after."""
    is_cpu = device.type == "cpu"
    with torch.random.fork_rng([] if is_cpu else [device], device_type=device.type):
        # where there is no GPU, torch.manual_seed keeps a traceback at each call: 0.3 to 1 ms
        (torch.default_generator.manual_seed if is_cpu else torch.manual_seed)(seed)
        yield

"""The training loop: one for every preset."""

import io
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from unseen.errors import UnseenError
from unseen.learning.distortion import distort
from unseen.learning.evaluation import to_input
from unseen.learning.losses import LOSSES
from unseen.learning.models import find_network
from unseen.learning.modules import RescaledOutput, laid_out_for_speed
from unseen.learning.optimizers import OPTIMIZERS, SCHEDULES, Optimizer
from unseen.problem.randomness import Streams
from unseen.problem.samples import Samples, render_pictures, side_by_side

# An epoch is told of, and draws its dropout, in so many parts: another number, other results.
PARTS_PER_EPOCH = 20


class TrainingSettings(Protocol):
    """What the loop needs to know; `experiments.Training` has it."""

    @property
    def model(self) -> str: ...
    @property
    def epochs(self) -> int: ...
    @property
    def batch_size(self) -> int: ...
    @property
    def optimizer(self) -> str: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def schedule(self) -> str: ...
    @property
    def scale_answers(self) -> bool: ...
    @property
    def precision(self) -> str: ...
    @property
    def averaged_epochs(self) -> int: ...
    @property
    def distortion(self) -> float: ...
    @property
    def loss(self) -> str: ...


@dataclass
class TrainingState:
    """A network on its way: all that has to be kept to go on later with the same bits.

    No random state is among it: every epoch draws from a stream of its own.
    """

    model: RescaledOutput
    optimizer: Optimizer
    losses: list[float] = field(default_factory=list)  # of each finished epoch
    seconds: float = 0.0  # spent so far
    curve: list[dict[str, float]] = field(default_factory=list)  # what was measured on the way
    weights_sum: dict[str, Tensor] = field(default_factory=dict)  # over the epochs to average

    def to_bytes(self) -> bytes:
        buffer = io.BytesIO()
        parts = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "losses": self.losses,
            "seconds": self.seconds,
            "curve": self.curve,
            "weights_sum": self.weights_sum,
        }
        torch.save(parts, buffer)
        return buffer.getvalue()

    def restore(self, saved: bytes) -> None:
        try:
            parts = torch.load(io.BytesIO(saved), weights_only=True)
            self.model.load_state_dict(parts["model"])
            self.optimizer.load_state_dict(parts["optimizer"])
            self.losses, self.seconds = parts["losses"], parts["seconds"]
            self.curve, self.weights_sum = parts["curve"], parts["weights_sum"]
        except Exception as error:
            raise UnseenError(
                f"a checkpoint does not fit its network ({error}); start the fold anew"
            ) from error

    def average_weights(self, epochs: int, *, last: bool) -> None:
        """Add the weights to their sum; after the last of some epochs, take on their mean."""
        for name, weights in self.model.named_parameters():
            before = self.weights_sum.setdefault(name, torch.zeros_like(weights.detach()))
            before += weights.detach()
            if last:
                weights.detach().copy_(before / epochs)


@dataclass(frozen=True)
class Progress:
    """How far training has come: within an epoch, or at its end."""

    epochs_done: int
    epoch_share: float  # of the epoch under way
    loss: float  # mean squared error in training, of the epoch under way or just ended
    state: TrainingState

    @property
    def epoch_ended(self) -> bool:
        return self.epoch_share == 0.0


def start_training(
    training: TrainingSettings, samples: Samples, streams: Streams, device: torch.device
) -> TrainingState:
    """A network with its first weights, and its optimiser."""
    length = samples.images.shape[1]
    height, symbol_width = samples.symbols.images.shape[1:]
    with seeded(streams.integer("weights"), device):
        network = find_network(training.model).build(length, height, length * symbol_width)
    mean, spread = 0.0, 1.0
    if training.scale_answers:
        mean = float(samples.answers.mean())
        spread = float(samples.answers.std()) or 1.0
    model = laid_out_for_speed(RescaledOutput(network, mean, spread).to(device))
    optimizer = OPTIMIZERS[training.optimizer](model.parameters(), training.learning_rate)
    return TrainingState(model, optimizer)


def train(
    state: TrainingState,
    samples_of: Callable[[int], Samples],
    training: TrainingSettings,
    streams: Streams,
    device: torch.device,
) -> Iterator[Progress]:
    """Train from wherever the state is on each epoch's samples, the first epoch being 1.

    Yields some times within each epoch, and at its end.
    """
    while (epoch := len(state.losses) + 1) <= training.epochs:
        samples = samples_of(epoch)
        answers = torch.from_numpy(samples.answers).float().to(device)  # (n,)
        steps = math.ceil(len(samples) / training.batch_size)  # the last partial batch is kept
        order = streams.numpy("order", epoch).permutation(np.arange(len(samples), dtype=np.int32))
        squared_error, step = 0.0, 0
        for part in range(PARTS_PER_EPOCH):
            last_step = steps * (part + 1) // PARTS_PER_EPOCH
            part_error = torch.zeros((), device=device)
            state.model.train()
            with seeded(streams.integer("dropout", epoch, part), device):
                while step < last_step:
                    rate = SCHEDULES[training.schedule](
                        (epoch - 1 + step / steps) / training.epochs
                    )
                    set_learning_rate(state.optimizer, training.learning_rate * rate)
                    rows = order[step * training.batch_size : (step + 1) * training.batch_size]
                    pictures = training_pictures(samples, rows, training.distortion, device)
                    with autocast(training.precision, device):
                        predictions = state.model(pictures)
                    error = step_down(
                        state, predictions, answers[torch.from_numpy(rows)], training.loss
                    )
                    part_error += error * len(rows)
                    step += 1
            squared_error += float(part_error)
            if 0 < step < steps:
                so_far = squared_error / (step * training.batch_size)
                yield Progress(epoch - 1, step / steps, so_far, state)
        state.losses.append(squared_error / len(samples))
        if epoch > training.epochs - training.averaged_epochs:
            state.average_weights(training.averaged_epochs, last=epoch == training.epochs)
        yield Progress(epoch, 0.0, state.losses[-1], state)


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


def autocast(precision: str, device: torch.device) -> torch.autocast:
    """The precision of the network's own arithmetic; weights and errors stay fp32."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")


def step_down(state: TrainingState, predictions: Tensor, answers: Tensor, loss: str) -> Tensor:
    """One step down the loss of a batch; returns its mean squared error, whatever the loss is."""
    LOSSES[loss](predictions, answers, state.model.spread).backward()  # type: ignore[no-untyped-call]
    state.optimizer.step()
    # at once, and not before the next: kept gradients would lie between other things
    state.optimizer.zero_grad(set_to_none=True)
    return functional.mse_loss(predictions.detach(), answers)


def set_learning_rate(optimizer: Optimizer, learning_rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = learning_rate


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Torch's own generators set to a seed within, and as they were after."""
    with torch.random.fork_rng([] if device.type == "cpu" else [device], device_type=device.type):
        torch.manual_seed(seed)
        yield

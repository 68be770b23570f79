"""Optimisers that step one parameter at a time; Muon is of K. Jordan and others, 2024."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

State = dict[str, Any]
Step = Callable[[Tensor, Tensor, State, float], None]

RHO, EPSILON = 0.95, 1e-8  # ADADELTA's, of the authors' notebook
# ADADELTA steps so many weights at a time: they stay in the cache from the first of eight passes to
# the last. That takes two thirds of the time of torch's own, and no copies as large as the network.
STEPPED_AT_ONCE = 2**18

MOMENTUM = 0.9
DECAY = 0.01  # AdamW's, of the weights, times the learning rate
# of the quintic that Jordan found to pull all singular values to about 1 in a few rounds
QUINTIC = (3.4445, -4.7750, 2.0315)
ROUNDS = 5
ADAM_SHARE = 0.1  # of Muon's learning rate


class Stepwise:
    """An optimiser made of one function: a parameter, its gradient, its state and a step size.

    Not a torch.optim.Optimizer: making the first of those loads torch's compiler, and that takes
    two seconds, a fifth of a whole fold.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float, step: Step) -> None:
        self.parameters = [*parameters]
        self.states: list[State] = [{} for _ in self.parameters]
        self.param_groups: list[State] = [{"lr": lr}]
        self._step = step

    @torch.no_grad()
    def step(self) -> None:
        """One step of every parameter."""
        rate = self.param_groups[0]["lr"]
        for parameter, state in zip(self.parameters, self.states, strict=True):
            if parameter.grad is not None:
                self._step(parameter, parameter.grad, state, rate)

    def zero_grad(self, set_to_none: bool = True) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    def state_dict(self) -> State:
        return {"states": self.states, "lr": self.param_groups[0]["lr"]}

    def load_state_dict(self, saved: State) -> None:
        for parameter, state in zip(self.parameters, saved["states"], strict=True):
            for name, value in state.items():
                if isinstance(value, Tensor) and value.shape != parameter.shape:
                    raise ValueError(f"{name} is of shape {[*value.shape]}")
        self.states, self.param_groups[0]["lr"] = saved["states"], saved["lr"]


def adadelta_step(parameter: Tensor, gradient: Tensor, state: State, rate: float) -> None:
    """ADADELTA (M. Zeiler, 2012); the two running means of squares are kept with epsilon added."""
    if not state:
        state["gradients"] = torch.full_like(parameter, EPSILON)
        state["steps"] = torch.full_like(parameter, EPSILON)
    epsilon = torch.tensor(EPSILON, dtype=parameter.dtype, device=parameter.device)
    tensors = (parameter, gradient, state["gradients"], state["steps"])
    for weights, slopes, squares, steps in zip(*map(_pieces, tensors), strict=True):
        squares.lerp_(torch.addcmul(epsilon, slopes, slopes), 1 - RHO)
        step = torch.div(steps, squares).sqrt_().mul_(slopes)
        steps.lerp_(torch.addcmul(epsilon, step, step), 1 - RHO)
        weights.sub_(step, alpha=rate)


def _pieces(tensor: Tensor) -> tuple[Tensor, ...]:
    """Views of a tensor, row by row, each small enough for the processor's cache."""
    if tensor.numel() <= STEPPED_AT_ONCE:
        return (tensor,)
    return torch.split(tensor, max(1, STEPPED_AT_ONCE * len(tensor) // tensor.numel()))


def muon_or_adam_step(parameter: Tensor, gradient: Tensor, state: State, rate: float) -> None:
    """Muon for weights that are matrices, kernels flattened; Adam for biases and the read-out."""
    if parameter.ndim >= 2 and len(parameter) > 1:
        muon_step(parameter, gradient, state, rate)
    else:
        adam_step(parameter, gradient, state, rate * ADAM_SHARE)


def muon_step(parameter: Tensor, gradient: Tensor, state: State, rate: float) -> None:
    """Nesterov's momentum, made orthogonal; scaled so that tall matrices move as wide ones do."""
    matrix = nesterov(gradient, state).flatten(1)
    rows, columns = matrix.shape
    rate *= max(1, rows / columns) ** 0.5
    parameter.sub_(orthogonal(matrix).view(parameter.shape), alpha=rate)


def orthogonal(matrix: Tensor) -> Tensor:
    """Roughly the nearest matrix with singular values of 1, by Newton and Schulz's iteration."""
    a, b, c = QUINTIC
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(ROUNDS):
        square = x @ x.T
        x = torch.addmm(x, torch.addmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x.T.contiguous() if tall else x


def sgd_step(parameter: Tensor, gradient: Tensor, state: State, rate: float) -> None:
    """Gradient descent with Nesterov's momentum."""
    parameter.sub_(nesterov(gradient, state), alpha=rate)


def nesterov(gradient: Tensor, state: State) -> Tensor:
    """The gradient with Nesterov's momentum, which the state keeps."""
    if not state:
        state["momentum"] = torch.zeros_like(gradient)
    momentum = state["momentum"].mul_(MOMENTUM).add_(gradient)
    return gradient.add(momentum, alpha=MOMENTUM)


def adamw_step(parameter: Tensor, gradient: Tensor, state: State, rate: float) -> None:
    """Adam with decoupled weight decay."""
    parameter.mul_(1 - rate * DECAY)
    adam_step(parameter, gradient, state, rate, memory=0.999)


def adam_step(
    parameter: Tensor, gradient: Tensor, state: State, rate: float, memory: float = 0.99
) -> None:
    """Adam; its memory of squares is short, because training is over in a thousand steps."""
    if not state:
        mean, square = torch.zeros_like(parameter), torch.zeros_like(parameter)
        state.update(mean=mean, square=square, steps=0)
    state["steps"] += 1
    mean = state["mean"].lerp_(gradient, 0.1)
    square = state["square"].lerp_(gradient.square(), 1 - memory)
    spread = square.div(1 - memory ** state["steps"]).sqrt_().add_(1e-8)
    parameter.addcdiv_(mean, spread, value=-rate / (1 - 0.9 ** state["steps"]))

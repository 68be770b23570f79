"""Optimisers, each made of a function that steps one parameter; Muon is of K. Jordan, 2024."""

from collections.abc import Callable, Iterable
from inspect import unwrap
from typing import Any

import torch
from torch import Tensor, nn

from unseen.networks.adam import adam_step

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


class Optimizer(torch.optim.Optimizer):
    """A torch optimiser from a function of a parameter, its gradient, its state and a rate."""

    # torch guards these methods from its compiler, and the first call of a guarded one imports that
    # compiler: 2.5 s, a quarter of a fold of `fast`. They are taken over without their guard.
    add_param_group = unwrap(torch.optim.Optimizer.add_param_group)
    load_state_dict = unwrap(torch.optim.Optimizer.load_state_dict)
    state_dict = unwrap(torch.optim.Optimizer.state_dict)
    zero_grad = unwrap(torch.optim.Optimizer.zero_grad)

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float, step: Step) -> None:
        super().__init__(parameters, {"lr": lr})
        self._step_parameter = step

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Step every parameter that has a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    state = self.state[parameter]
                    self._step_parameter(parameter, parameter.grad, state, group["lr"])


def make_optimizer(name: str, parameters: Iterable[nn.Parameter], lr: float) -> Optimizer:
    return Optimizer(parameters, lr, STEPS[name])


def set_learning_rate(optimizer: torch.optim.Optimizer, learning_rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = learning_rate


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


def adamw_step(parameter: Tensor, gradient: Tensor, state: State, rate: float) -> None:
    """Adam with decoupled weight decay."""
    parameter.mul_(1 - rate * DECAY)
    adam_step(parameter, gradient, state, rate, memory=0.999)


def muon_step(parameter: Tensor, gradient: Tensor, state: State, rate: float) -> None:
    """Nesterov's momentum, made orthogonal, for kernels and matrices; Adam for everything else.

    Biases and the read-out are everything else. Tall matrices are scaled to move as wide ones do.
    """
    if parameter.ndim < 2 or len(parameter) == 1:
        return adam_step(parameter, gradient, state, rate * ADAM_SHARE)
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


STEPS: dict[str, Step] = {
    "adadelta": adadelta_step,
    "adamw": adamw_step,
    "muon": muon_step,
    "sgd": sgd_step,
}

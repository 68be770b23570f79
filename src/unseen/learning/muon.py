"""Muon: steps along momentum that is made orthogonal (K. Jordan and others, 2024)."""

from typing import Any

import torch
from torch import Tensor

# of the quintic that Jordan found to pull all singular values to about 1 in a few rounds
QUINTIC = (3.4445, -4.7750, 2.0315)
ROUNDS = 5
ADAM_SHARE = 0.1  # of the learning rate


def muon_or_adam_step(
    parameter: Tensor, gradient: Tensor, state: dict[str, Any], rate: float
) -> None:
    """Muon for weights that are matrices, kernels flattened; Adam for biases and the read-out."""
    if parameter.ndim >= 2 and len(parameter) > 1:
        muon_step(parameter, gradient, state, rate)
    else:
        adam_step(parameter, gradient, state, rate * ADAM_SHARE)


def muon_step(parameter: Tensor, gradient: Tensor, state: dict[str, Any], rate: float) -> None:
    """Nesterov's momentum, made orthogonal; scaled so that tall matrices move as wide ones do."""
    if not state:
        state["momentum"] = torch.zeros_like(parameter)
    momentum = state["momentum"].mul_(0.9).add_(gradient)
    matrix = gradient.add(momentum, alpha=0.9).flatten(1)
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


def adam_step(parameter: Tensor, gradient: Tensor, state: dict[str, Any], rate: float) -> None:
    """Adam with a short memory of squares: training is over in a thousand steps."""
    if not state:
        state |= {
            "mean": torch.zeros_like(parameter),
            "square": torch.zeros_like(parameter),
            "steps": 0,
        }
    state["steps"] += 1
    mean = state["mean"].lerp_(gradient, 0.1)
    square = state["square"].lerp_(gradient.square(), 0.01)
    spread = square.div(1 - 0.99 ** state["steps"]).sqrt_().add_(1e-8)
    parameter.addcdiv_(mean, spread, value=-rate / (1 - 0.9 ** state["steps"]))

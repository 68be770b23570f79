"""Adam's step of one tensor: rules are fitted with it, and optimisers in `training` build on it."""

from typing import Any

import torch
from torch import Tensor

EPSILON = 1e-8


def adam_step(
    parameter: Tensor, gradient: Tensor, state: dict[str, Any], rate: float, memory: float = 0.99
) -> None:
    """Adam; its memory of squares is short, because training is over in a thousand steps."""
    if not state:
        mean, square = torch.zeros_like(parameter), torch.zeros_like(parameter)
        state.update(mean=mean, square=square, steps=0)
    state["steps"] += 1
    mean = state["mean"].lerp_(gradient, 0.1)
    square = state["square"].lerp_(gradient.square(), 1 - memory)
    spread = square.div(1 - memory ** state["steps"]).sqrt_().add_(EPSILON)
    parameter.addcdiv_(mean, spread, value=-rate / (1 - 0.9 ** state["steps"]))

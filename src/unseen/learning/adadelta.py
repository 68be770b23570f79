"""ADADELTA (M. Zeiler, 2012): steps as long as the last ones were, for the gradients there were."""

from typing import Any

import torch
from torch import Tensor

# of the authors' notebook
RHO, EPSILON = 0.95, 1e-8

# So many weights at a time stay in the cache from the first of eight passes to the last; two
# thirds of the time of torch's own, and no copies as large as the network.
STEPPED_AT_ONCE = 2**18


def adadelta_step(parameter: Tensor, gradient: Tensor, state: dict[str, Any], rate: float) -> None:
    """One step; the two running means of squares are kept with epsilon added."""
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
    """Views of a tensor, row by row, each as small as the cache likes."""
    if tensor.numel() <= STEPPED_AT_ONCE:
        return (tensor,)
    return torch.split(tensor, max(1, STEPPED_AT_ONCE * len(tensor) // tensor.numel()))

"""Losses: what training goes down, in spreads of the answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def mse(predictions: Tensor, answers: Tensor, spread: Tensor) -> Tensor:
    """Mean squared error, as in the paper: a doubtful symbol is answered by a mean."""
    from torch.nn import functional

    return functional.mse_loss(predictions, answers) / spread**2


def huber(predictions: Tensor, answers: Tensor, spread: Tensor) -> Tensor:
    """Squared up to an error of one, then absolute: a doubtful symbol is answered by a median."""
    from torch.nn import functional

    return functional.smooth_l1_loss(predictions, answers) / spread


LOSSES: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {"mse": mse, "huber": huber}

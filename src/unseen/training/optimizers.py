"""Optimisers and the course of their learning rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

    from unseen.networks.stepwise import Stepwise


def adadelta(parameters: Iterable[nn.Parameter], learning_rate: float) -> Stepwise:
    """Zeiler's ADADELTA with the rho and epsilon of the authors' notebook."""
    from unseen.networks.stepwise import Stepwise, adadelta_step

    return Stepwise(parameters, learning_rate, adadelta_step)


def adamw(parameters: Iterable[nn.Parameter], learning_rate: float) -> Stepwise:
    """Adam with decoupled weight decay."""
    from unseen.networks.stepwise import Stepwise, adamw_step

    return Stepwise(parameters, learning_rate, adamw_step)


def muon(parameters: Iterable[nn.Parameter], learning_rate: float) -> Stepwise:
    """Momentum made orthogonal: learns most from each sample, for a little more time a step."""
    from unseen.networks.stepwise import Stepwise, muon_or_adam_step

    return Stepwise(parameters, learning_rate, muon_or_adam_step)


def sgd(parameters: Iterable[nn.Parameter], learning_rate: float) -> Stepwise:
    """Stochastic gradient descent with Nesterov's momentum."""
    from unseen.networks.stepwise import Stepwise, sgd_step

    return Stepwise(parameters, learning_rate, sgd_step)


def constant(progress: float) -> float:
    """The same step size from start to end, as in the paper."""
    return 1.0


def one_cycle(progress: float) -> float:
    """Up over the first 30 % of the steps, then down to nothing, both along a cosine."""
    rise = 0.3
    if progress < rise:
        return 0.04 + 0.96 * _cosine_rise(progress / rise)
    return 1.0 - _cosine_rise((progress - rise) / (1.0 - rise))


def _cosine_rise(share: float) -> float:
    return 0.5 - 0.5 * math.cos(math.pi * share)


OPTIMIZERS: dict[str, Callable[[Iterable[nn.Parameter], float], Stepwise]] = {
    optimizer.__name__: optimizer for optimizer in (adadelta, adamw, muon, sgd)
}
SCHEDULES: dict[str, Callable[[float], float]] = {"constant": constant, "one-cycle": one_cycle}

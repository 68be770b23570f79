"""Schedules: the share of the peak learning rate, by the share of training that is done."""

import math
from collections.abc import Callable


def constant(progress: float) -> float:
    """The same learning rate from start to end, as in the paper."""
    return 1.0


def one_cycle(progress: float) -> float:
    """Up over the first 30 % of the steps, then down to zero, both along a cosine."""
    rise = 0.3
    if progress < rise:
        return 0.04 + 0.96 * _cosine_rise(progress / rise)
    return 1.0 - _cosine_rise((progress - rise) / (1.0 - rise))


def _cosine_rise(share: float) -> float:
    return 0.5 - 0.5 * math.cos(math.pi * share)


SCHEDULES: dict[str, Callable[[float], float]] = {"constant": constant, "one-cycle": one_cycle}

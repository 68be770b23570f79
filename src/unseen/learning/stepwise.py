"""Optimisers that step one parameter at a time."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

Step = Callable[[Tensor, Tensor, dict[str, Any], float], None]


class Stepwise:
    """An optimiser made of one function: a parameter, its gradient, its state and a step size.

    Not a torch.optim.Optimizer: making the first of those loads torch's compiler, and that takes
    two seconds, a fifth of a whole fold.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float, step: Step) -> None:
        self.parameters = [*parameters]
        self.states: list[dict[str, Any]] = [{} for _ in self.parameters]
        self.param_groups: list[dict[str, Any]] = [{"lr": lr}]
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

    def state_dict(self) -> dict[str, Any]:
        return {"states": self.states, "lr": self.param_groups[0]["lr"]}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        for parameter, state in zip(self.parameters, saved["states"], strict=True):
            for name, value in state.items():
                if isinstance(value, Tensor) and value.shape != parameter.shape:
                    raise ValueError(f"{name} is of shape {[*value.shape]}")
        self.states, self.param_groups[0]["lr"] = saved["states"], saved["lr"]

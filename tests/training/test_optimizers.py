from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from unseen.training.optimizers import OPTIMIZERS, SCHEDULES, adadelta, constant, one_cycle


def test_adadelta_takes_zeilers_steps():
    """Zeiler 2012, algorithm 1, with rho 0.95, epsilon 1e-8 and Keras's learning rate of 1."""
    rho, epsilon = 0.95, 1e-8
    value, squares, deltas = np.float64(3.0), 0.0, 0.0
    parameter = torch.nn.Parameter(torch.tensor(3.0, dtype=torch.float64))
    optimizer = adadelta([parameter], 1.0)
    for _ in range(20):
        gradient = 2 * value - 1
        squares = rho * squares + (1 - rho) * gradient**2
        delta = -np.sqrt(deltas + epsilon) / np.sqrt(squares + epsilon) * gradient
        deltas = rho * deltas + (1 - rho) * delta**2
        value += delta
        optimizer.zero_grad()
        (parameter**2 - parameter).backward()
        optimizer.step()
        assert parameter.item() == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_goes_down(name):
    parameter = torch.nn.Parameter(torch.tensor(1.0))
    optimizer = OPTIMIZERS[name]([parameter], 0.1)
    for _ in range(10):
        optimizer.zero_grad()
        (parameter**2).backward()
        optimizer.step()
    assert parameter.item() ** 2 < 1


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule_stays_between_nothing_and_all(name):
    rates = [SCHEDULES[name](step / 1000) for step in range(1001)]
    assert all(0 <= rate <= 1 for rate in rates)
    assert max(rates) == pytest.approx(1)


def test_the_papers_rate_never_decays():
    assert {constant(step / 10) for step in range(11)} == {1.0}


def test_one_cycle_rises_and_then_falls_to_nothing():
    rates = [one_cycle(step / 100) for step in range(101)]
    peak = rates.index(max(rates))
    assert rates[: peak + 1] == sorted(rates[: peak + 1])
    assert rates[peak:] == sorted(rates[peak:], reverse=True)
    assert rates[-1] == pytest.approx(0)


@pytest.mark.parametrize(
    ("name", "torchs"),
    [
        ("sgd", partial(torch.optim.SGD, momentum=0.9, nesterov=True)),
        ("adamw", torch.optim.AdamW),
    ],
)
def test_steps_are_those_of_torch(name, torchs):
    """Written anew only because making one of torch's loads its compiler, which takes seconds."""
    generator = torch.Generator().manual_seed(3)
    ours, theirs = (nn.Parameter(torch.arange(12.0).view(3, 4)) for _ in range(2))
    optimizers = OPTIMIZERS[name]([ours], 0.01), torchs([theirs], lr=0.01)
    for _ in range(30):
        ours.grad = torch.randn(3, 4, generator=generator)
        theirs.grad = ours.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)

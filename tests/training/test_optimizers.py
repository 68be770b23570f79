import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from unseen.training.optimizers import STEPS, make_optimizer, orthogonal
from unseen.training.recipe import OPTIMIZERS
from unseen.training.schedules import SCHEDULES, constant, one_cycle


def test_adadelta_takes_zeilers_steps():
    """Zeiler 2012, algorithm 1, with rho 0.95, epsilon 1e-8 and Keras's learning rate of 1."""
    rho, epsilon = 0.95, 1e-8
    value, squares, deltas = np.float64(3.0), 0.0, 0.0
    parameter = nn.Parameter(torch.tensor(3.0, dtype=torch.float64))
    optimizer = make_optimizer("adadelta", [parameter], 1.0)
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


def test_settings_name_every_optimizer():
    assert {*OPTIMIZERS} == {*STEPS}


def test_torchs_schedulers_and_parameter_groups_fit():
    slow, fast = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(2))
    optimizer = make_optimizer("sgd", [{"params": [slow], "lr": 0.1}, {"params": [fast]}], 1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    for parameter in (slow, fast):
        parameter.grad = torch.ones(2)
    optimizer.step()
    scheduler.step()
    assert torch.allclose(10 * slow, fast)
    assert [group["lr"] for group in optimizer.param_groups] == [0.05, 0.5]


def test_an_optimizer_does_not_import_torchs_compiler():
    used = (
        "import sys, torch\n"
        "from unseen.training.optimizers import make_optimizer\n"
        "optimizer = make_optimizer('muon', [torch.nn.Parameter(torch.ones(2))], 0.1)\n"
        "optimizer.step(), optimizer.zero_grad(), optimizer.load_state_dict(optimizer.state_dict())"
        "\nassert 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", used], check=True)


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule_stays_between_nothing_and_all(name):
    rates = [SCHEDULES[name](step / 1000) for step in range(1001)]
    assert all(0 <= rate <= 1 for rate in rates)
    assert max(rates) == pytest.approx(1)


def test_one_cycle_rises_and_then_falls_to_zero_and_the_papers_rate_stays():
    rates = [one_cycle(step / 100) for step in range(101)]
    peak = rates.index(max(rates))
    assert rates[: peak + 1] == sorted(rates[: peak + 1])
    assert rates[peak:] == sorted(rates[peak:], reverse=True)
    assert rates[-1] == pytest.approx(0)
    assert {constant(step / 10) for step in range(11)} == {1.0}


@pytest.mark.parametrize(
    ("name", "torchs"),
    [
        ("sgd", partial(torch.optim.SGD, momentum=0.9, nesterov=True)),
        ("adamw", torch.optim.AdamW),
    ],
)
def test_steps_are_those_of_torch(name, torchs):
    generator = torch.Generator().manual_seed(3)
    ours, theirs = (nn.Parameter(torch.arange(12.0).view(3, 4)) for _ in range(2))
    optimizers = make_optimizer(name, [ours], 0.01), torchs([theirs], lr=0.01)
    for _ in range(30):
        ours.grad = torch.randn(3, 4, generator=generator)
        theirs.grad = ours.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(8, 25), (64, 32), (16, 16)])
def test_muon_pulls_singular_values_to_about_one(shape):
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    near = orthogonal(matrix)
    values = torch.linalg.svdvals(near)
    assert 0.3 < values.min() <= values.max() < 1.3
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    assert torch.linalg.svdvals(near - left @ right).max() < 0.75


def test_in_muon_matrices_take_orthogonal_steps_and_the_rest_take_adams():
    kernel = nn.Parameter(torch.zeros(4, 2, 3, 3))
    bias, read_out = nn.Parameter(torch.zeros(4)), nn.Parameter(torch.zeros(1, 4))
    optimizer = make_optimizer("muon", [kernel, bias, read_out], 0.5)
    for parameter in (kernel, bias, read_out):
        parameter.grad = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
    optimizer.step()
    assert torch.linalg.svdvals(kernel.detach().flatten(1) / 0.5).min() > 0.3
    for parameter in (bias, read_out):  # Adam's first step is as long as its rate, everywhere
        assert torch.allclose(parameter, -0.05 * parameter.grad.sign(), atol=1e-4)

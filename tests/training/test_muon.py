import pytest
import torch

from unseen.networks.stepwise import orthogonal
from unseen.training.optimizers import muon


@pytest.mark.parametrize("shape", [(8, 25), (64, 32), (16, 16)])
def test_singular_values_are_pulled_to_about_one(shape):
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    near = orthogonal(matrix)
    assert near.shape == matrix.shape
    values = torch.linalg.svdvals(near)
    assert values.min() > 0.3
    assert values.max() < 1.3
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    assert torch.linalg.svdvals(near - left @ right).max() < 0.75


def test_matrices_take_orthogonal_steps_and_the_rest_take_adams():
    kernel = torch.nn.Parameter(torch.zeros(4, 2, 3, 3))
    bias = torch.nn.Parameter(torch.zeros(4))
    read_out = torch.nn.Parameter(torch.zeros(1, 4))
    optimizer = muon([kernel, bias, read_out], 0.5)
    for parameter in (kernel, bias, read_out):
        parameter.grad = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
    optimizer.step()
    assert torch.linalg.svdvals(kernel.detach().flatten(1) / 0.5).min() > 0.3
    for parameter in (bias, read_out):  # Adam's first step is as long as its rate, everywhere
        assert torch.allclose(parameter, -0.05 * parameter.grad.sign(), atol=1e-4)
    optimizer.zero_grad()
    assert kernel.grad is None


def test_a_state_of_other_shapes_is_refused():
    one = muon([torch.nn.Parameter(torch.zeros(2, 3))], 0.1)
    one.parameters[0].grad = torch.ones(2, 3)
    one.step()
    other = muon([torch.nn.Parameter(torch.zeros(3, 3))], 0.1)
    with pytest.raises(ValueError, match="momentum is of shape"):
        other.load_state_dict(one.state_dict())

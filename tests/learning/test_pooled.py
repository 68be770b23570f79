import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from unseen.errors import UnseenError
from unseen.experiments.fold import run_fold
from unseen.experiments.presets import paper
from unseen.learning.pooled import PooledConvolution
from unseen.learning.sparse_pooling import CONVOLVED_AT_ONCE, NONE, SAMPLES_A_PART, pool


def torchs_own(layer, maps):
    convolved = functional.conv2d(maps.relu(), layer.weight, layer.bias)
    return functional.max_pool2d(convolved, 2).relu()


def learnt(compute, layer, maps, slopes):
    """What comes out, and the gradients of the maps, the kernels and the biases."""
    maps = maps.detach().clone(memory_format=torch.preserve_format).requires_grad_()
    layer.zero_grad()
    values = compute(maps)
    values.backward(slopes)
    return [values.detach(), maps.grad, layer.weight.grad.clone(), layer.bias.grad.clone()]


def close(ours, theirs):
    return all(
        torch.allclose(one, other, rtol=1e-4, atol=1e-5 * float(other.abs().max()) + 1e-7)
        for one, other in zip(ours, theirs, strict=True)
    )


@settings(max_examples=60)
@given(
    samples=st.integers(1, 2 * SAMPLES_A_PART + 1),
    channels=st.integers(1, 5),
    kernels=st.integers(1, 9),
    size=st.sampled_from([1, 2, 3, 5]),
    more_rows=st.integers(0, 5),
    more_columns=st.integers(0, 6),
    share=st.floats(0, 1),
    last=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_it_computes_and_learns_as_torchs_own(
    *, samples, channels, kernels, size, more_rows, more_columns, share, last, seed
):
    """Whatever the sizes, odd ones too, and however many gradients come back, none among them."""
    torch.manual_seed(seed)
    layer = PooledConvolution(channels, kernels, size)
    maps = torch.randn(samples, channels, size + 1 + more_rows, size + 1 + more_columns)
    if last:
        maps = maps.contiguous(memory_format=torch.channels_last)
        layer = layer.to(memory_format=torch.channels_last)
    shape = torchs_own(layer, maps).shape
    slopes = torch.randn(shape) * (torch.rand(shape) < share)
    theirs = learnt(lambda maps: torchs_own(layer, maps), layer, maps, slopes)
    assert close(learnt(layer, layer, maps, slopes), theirs)


def test_more_samples_than_are_convolved_at_once_learn_alike():
    torch.manual_seed(0)
    layer, maps = PooledConvolution(2, 3, 3), torch.randn(2 * CONVOLVED_AT_ONCE + 5, 2, 8, 9)
    slopes = torch.randn(torchs_own(layer, maps).shape)
    theirs = learnt(lambda maps: torchs_own(layer, maps), layer, maps, slopes)
    assert close(learnt(layer, layer, maps, slopes), theirs)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_no_bit(threads):
    torch.manual_seed(0)
    layer = PooledConvolution(4, 8, 3)
    maps, slopes = torch.randn(21, 4, 10, 12), torch.randn(21, 8, 4, 5)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = learnt(layer, layer, maps, slopes)
        torch.set_num_threads(threads)
        assert all(map(torch.equal, learnt(layer, layer, maps, slopes), alone))
    finally:
        torch.set_num_threads(before)


def test_without_a_gradient_it_answers_the_same():
    torch.manual_seed(0)
    layer, maps = PooledConvolution(3, 4, 3), torch.randn(5, 3, 9, 8)
    with torch.inference_mode():
        values = layer(maps)
        assert torch.allclose(values, torchs_own(layer, maps), atol=1e-6)
    assert torch.equal(layer(maps), values)


def test_in_another_precision_it_is_torchs_own():
    torch.manual_seed(0)
    layer, maps = PooledConvolution(3, 4, 3), torch.randn(5, 3, 9, 8)
    with torch.autocast("cpu", torch.bfloat16):
        values = layer(maps)
        assert values.dtype == torch.bfloat16
        assert torch.equal(values, torchs_own(layer, maps))
    values.float().sum().backward()
    assert layer.weight.grad.abs().sum() > 0


def test_the_first_of_equals_wins_and_nobody_where_nothing_is_positive():
    window = np.zeros((1, 2, 4, 3), np.float32)
    window[0, :, :2, 0] = [[1, 2], [2, 0]]
    window[0, :, :2, 1] = [[-3, -1], [-2, -4]]
    pooled, winners = np.empty((1, 1, 2, 3), np.float32), np.empty((1, 1, 2, 3), np.uint8)
    pool(window, pooled, winners)
    assert pooled.reshape(2, 3).tolist() == [[2, 0, 0], [0, 0, 0]]
    assert winners.reshape(2, 3).tolist() == [[1, NONE, NONE], [NONE, NONE, NONE]]


def test_what_is_no_number_is_not_hidden():
    """A run that has diverged has to show it."""
    layer = PooledConvolution(2, 3, 3)
    with torch.no_grad():
        layer.weight[1] = torch.nan
    maps = torch.rand(2, 2, 8, 8).requires_grad_()
    values = layer(maps)
    assert values[:, 1].isnan().all()
    assert values[:, [0, 2]].isfinite().all()
    values.sum().backward()
    assert layer.weight.grad.isfinite().all()
    assert maps.grad.isnan().any()


@pytest.mark.parametrize("place", range(4))
def test_one_value_that_is_no_number_is_not_hidden_by_its_neighbours(place):
    dense = np.ones((1, 2, 2, 1), np.float32)
    dense[0, place // 2, place % 2, 0] = np.nan
    pooled, winners = np.empty((1, 1, 1, 1), np.float32), np.empty((1, 1, 1, 1), np.uint8)
    pool(dense, pooled, winners)
    assert np.isnan(pooled).all()
    assert winners.item() == place


def test_a_gradient_of_its_gradient_is_refused():
    layer = PooledConvolution(2, 3, 3)
    maps = torch.rand(2, 2, 8, 8).requires_grad_()
    (slopes,) = torch.autograd.grad(layer(maps).square().sum(), maps, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slopes.sum().backward()


def test_without_numba_it_computes_and_learns_the_same_by_torch_alone(without_numba, monkeypatch):
    torch.manual_seed(0)
    by_torch = PooledConvolution(3, 4, 3)
    monkeypatch.undo()
    compiled = PooledConvolution(3, 4, 3)
    compiled.load_state_dict(by_torch.state_dict())
    assert by_torch.sparsely is None
    assert compiled.sparsely is not None
    maps, slopes = torch.randn(9, 3, 10, 11), torch.randn(9, 4, 4, 4)
    assert close(learnt(compiled, compiled, maps, slopes), learnt(by_torch, by_torch, maps, slopes))


def test_the_authors_network_trains_without_numba_as_with_it(without_numba, monkeypatch):
    few = {"samples": 2, "test_samples": 2}
    experiment = paper().vary(**few, epochs=2, watched_samples=0)
    alone = run_fold(experiment, 1).result.epoch_losses
    assert "unseen.learning.sparse_pooling" not in sys.modules
    monkeypatch.undo()
    assert alone == pytest.approx(run_fold(experiment, 1).result.epoch_losses, rel=0.01)


def test_a_numba_that_cannot_be_imported_is_told_in_one_line(monkeypatch):
    """As one that is older than numpy: the run would be recorded as one with numba."""
    monkeypatch.setitem(sys.modules, "unseen.learning.sparse_pooling", None)
    with pytest.raises(UnseenError, match="numba is installed but cannot be imported"):
        PooledConvolution(3, 4, 3)

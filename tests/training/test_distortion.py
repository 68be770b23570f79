import numpy as np
import pytest
import torch
from tables_of_combinations import table

from unseen.problem.samples import draw_samples, render_pictures
from unseen.problem.symbols import load_symbols
from unseen.training.distortion import distort
from unseen.training.evaluation import to_input
from unseen.training.loop import training_pictures

CPU = torch.device("cpu")


def digits(count=64):
    return to_input(load_symbols("mnist").test.images[:count].copy(), CPU)


def test_no_strength_is_no_distortion():
    assert torch.allclose(distort(digits(), 0.0), digits(), atol=1e-5)


def test_distortion_is_small_and_grows_with_its_strength():
    torch.manual_seed(0)
    before = digits()
    changes = [(distort(before, strength) - before).abs().mean() for strength in (0.1, 0.5, 1.0)]
    assert changes == sorted(changes)
    after = distort(before, 1.0)
    assert after.shape == before.shape
    assert 0 <= after.min() <= after.max() <= 1 + 1e-6
    assert after.sum().item() == pytest.approx(before.sum().item(), rel=0.1)
    for image, other in zip(before.flatten(1), after.flatten(1), strict=True):
        assert torch.corrcoef(torch.stack([image, other]))[0, 1] > 0.1


def test_every_symbol_of_a_picture_is_distorted_by_itself():
    bank = load_symbols("mnist")
    samples = draw_samples(table(), np.arange(9), bank.train, 1, np.random.default_rng(0))
    samples.images[:, 1] = samples.images[:, 0]
    rows = np.arange(9, dtype=np.int32)
    plain = training_pictures(samples, rows, 0.0, CPU)
    assert torch.equal(plain, to_input(render_pictures(samples, rows), CPU))
    torch.manual_seed(0)
    pictures = training_pictures(samples, rows, 1.0, CPU)
    assert pictures.shape == plain.shape == (9, 1, 28, 56)
    assert torch.equal(plain[..., :28], plain[..., 28:])
    for left, right in zip(pictures[..., :28], pictures[..., 28:], strict=True):
        assert not torch.equal(left, right)
    torch.manual_seed(0)
    assert torch.equal(pictures, training_pictures(samples, rows, 1.0, CPU))

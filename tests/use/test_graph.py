"""Networks as steps: what a page can do, and what it cannot."""

import base64
import re
from importlib.resources import files

import numpy as np
import pytest
import torch
from torch import nn

from unseen.errors import UnseenError
from unseen.use.graph import COPIES, STEPS, _constant, record


def test_the_page_knows_every_step_that_is_written_down():
    source = files("unseen.lab").joinpath("static/network.js").read_text()
    table = source[source.index("const STEPS") :]
    known = {*re.findall(r"\b(\w+)(?::|, |,\n)", table)}
    renamed = {"convolution", "max_pool2d_with_indices", "addmm", "mm", "pow", *COPIES}
    assert {*STEPS} - renamed | {"convolve", "pool", "affine", "same", "view"} <= known


class OfOnesOwn(nn.Module):
    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def forward(self, pictures):
        return self.answer(pictures.flatten(1))


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (lambda values: values.cumsum(1)[:, -1:], "an operation that a page cannot do: cumsum"),
        (lambda values: values.sum(1, keepdim=True).add_(1), "a page cannot do: add_"),
        (lambda values: torch.from_numpy(values.numpy().sum(1)), "computes outside torch"),
        (lambda values: torch.zeros(1, 1), "computes outside torch"),
        (lambda values: values.int().sum(), "makes whole numbers"),
        (lambda values: torch.add(values[:, :1], values[:, 1:2], alpha=2), "adds multiples"),
        (
            lambda values: nn.functional.conv2d(
                values.view(1, 4, 14, 28), torch.ones(4, 1, 3, 3), groups=4
            ).sum(),
            "a convolution of a special kind",
        ),
        (
            lambda values: nn.functional.max_pool2d(values.view(1, 1, 28, 56), 2, padding=1).sum(),
            "pools with padding",
        ),
    ],
)
def test_what_a_page_cannot_do_is_named(answer, fault):
    with pytest.raises(UnseenError, match=fault):
        record(OfOnesOwn(answer), 28, 56)


def test_constants_lose_little_and_those_that_16_bits_cannot_hold_lose_nothing():
    def kept(values: np.ndarray) -> np.ndarray:
        constant = _constant(torch.tensor(values))
        kind = "float16" if "float16" in constant else "float32"
        found = np.frombuffer(base64.b64decode(constant[kind]), kind)
        return found.astype(np.float32).reshape(constant["shape"])

    weights = np.random.default_rng(4).normal(size=(5, 3, 2)).astype(np.float32)
    assert kept(weights) == pytest.approx(weights, rel=2**-11)
    exact = [np.float32(3.21), weights[0, 0], 1e6 * weights, np.zeros((2, 2), np.float32)]
    for values in exact:
        assert (kept(values) == values).all()

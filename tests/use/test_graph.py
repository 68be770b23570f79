"""Networks as steps: every registered one, and those that a page cannot do."""

import re
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from unseen.errors import UnseenError
from unseen.networks.models import MODELS, Network
from unseen.use.graph import record
from unseen.use.packing import WHOLE_PRECISION, pack

RNG = np.random.default_rng(4)
ON_PAGES = {name: each for name, each in MODELS.items() if not name.startswith("paper")}


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("network", ON_PAGES.values(), ids=ON_PAGES)
def test_steps_answer_as_torch_does(network: Network, length: int):
    model = network.build(length, 28, 28 * length).eval()
    graph = record(model, 28, 28 * length)
    for picture in RNG.random((3, 28, 28 * length), np.float32):
        with torch.no_grad():
            expected = float(model(torch.as_tensor(picture)[None, None]))
        assert graph.answer(picture, graph.constants) == pytest.approx(expected, abs=1e-4)


def test_the_page_knows_every_step_that_is_written_down():
    source = files("unseen.lab").joinpath("static/network.js").read_text()
    table = source[source.index("const STEPS") :]
    known = {*re.findall(r"^  (\w+): ", table, re.M), "convolve", "pool", "affine", "join"}
    written = {
        step["do"]
        for network in ON_PAGES.values()
        for step in record(network.build(2, 28, 56), 28, 56).steps
    }
    assert written <= known


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
        (lambda values: torch.add(values[:, :1], values[:, 1:2], alpha=2), "adds multiples"),
        (
            lambda values: nn.functional.conv2d(
                values.view(1, 4, 14, 28), torch.ones(4, 1, 3, 3), groups=4
            ).sum(),
            "a convolution that a page cannot do",
        ),
        (
            lambda values: nn.functional.max_pool2d(values.view(1, 1, 28, 56), 2, padding=1).sum(),
            "pools in a way that a page cannot",
        ),
    ],
)
def test_what_a_page_cannot_do_is_named(answer, fault):
    with pytest.raises(UnseenError, match=fault):
        record(OfOnesOwn(answer), 28, 56)


def test_packing_keeps_small_constants_and_comes_nearer_with_every_bit():
    constants = [np.float32(3.25).reshape(()), RNG.normal(size=7).astype(np.float32)]
    constants += [RNG.normal(size=(5, 3, 2)).astype(np.float32), np.zeros((2, 2), np.float32)]
    packs = [pack(constants, bits) for bits in (10, 12, 14, 16, WHOLE_PRECISION)]
    for packed in packs:
        assert [each.shape for each in packed.unpacked] == [each.shape for each in constants]
        for at in (0, 1, 3):
            assert (packed.unpacked[at] == constants[at]).all()
    errors = [float(np.abs(packed.unpacked[2] - constants[2]).max()) for packed in packs]
    assert all(finer < coarser / 2 for coarser, finer in pairwise(errors))
    assert errors[-1] == 0
    assert all(len(one) < len(packs[-1]) for one in packs[:1])

import re

import pytest
import torch
from torch import nn
from torch.nn import functional

from unseen.errors import UnseenError
from unseen.networks.models import BLIND, MODELS, lenet5, paper, parameter_count
from unseen.networks.modules import CurvedReadOut, Dropout, Fp32Linear, Towers


def shapes(model):
    """The weights of its layers, from first to last."""
    return [[*weights.shape] for name, weights in model.named_parameters() if "weight" in name]


def test_the_papers_network_is_the_notebooks():
    model = paper(2, 28, 56)
    assert parameter_count(model) == 5_156_681
    assert shapes(model) == [
        *([32, 1, 3, 3], [64, 32, 3, 3]),
        *([256, 12 * 26 * 64], [100, 256], [1, 100]),
    ]
    assert [layer.share for layer in model if isinstance(layer, Dropout)] == [0.25, 0.5]
    assert [type(layer).__name__ for layer in model] == [
        *("Conv2d", "ReLU", "Conv2d", "MaxPool2d", "ReLU", "FlattenLast", "Dropout"),
        *("Linear", "ReLU", "Dropout", "Fp32Linear", "ReLU", "Fp32Linear"),
    ]


def test_the_papers_network_computes_what_the_notebooks_does():
    """Rectified before pooled, channels flattened last: Keras's own order, written out."""
    model = paper(2, 28, 56).to(memory_format=torch.channels_last).eval()
    first, second = (layer for layer in model if isinstance(layer, nn.Conv2d))
    dense = [layer for layer in model if isinstance(layer, nn.Linear)]
    pictures = torch.rand(3, 1, 28, 56)
    convolved = functional.conv2d(first(pictures).relu(), second.weight, second.bias)
    values = functional.max_pool2d(convolved.relu(), 2)
    values = values.permute(0, 2, 3, 1).reshape(3, -1)
    values = dense[2](dense[1](dense[0](values).relu()).relu())
    assert torch.allclose(model(pictures), values, atol=1e-5)


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_dropout_drops_its_share_of_the_elements_and_keeps_the_mean(share):
    torch.manual_seed(0)
    values = torch.ones(40, 50, 101, requires_grad=True)
    kept = Dropout(share)(values)
    zeros = (kept == 0).float()
    assert zeros.mean().item() == pytest.approx(share, abs=0.005)
    assert kept.mean().item() == pytest.approx(1, abs=0.01)
    assert kept.unique().tolist() == pytest.approx([0, 1 / (1 - share)])
    for place in range(8):  # of every byte in a word
        assert zeros.flatten()[place::8].mean().item() == pytest.approx(share, abs=0.02)
    kept.sum().backward()
    assert torch.equal(values.grad, kept)
    assert Dropout(share).eval()(values) is values


@pytest.mark.parametrize("name", MODELS)
def test_networks_start_as_keras_starts_them(name):
    """Glorot: uniform within ± sqrt(6 / (fan in + fan out)); biases are zero."""
    network = MODELS[name].build(2, 28, 56)
    curved = [part for part in network.modules() if isinstance(part, CurvedReadOut)]
    for layer in set(network.modules()) - {part for each in curved for part in each.modules()}:
        if isinstance(layer, nn.Conv2d | nn.Linear):
            field = layer.weight[0, 0].numel()
            fan_in, fan_out = layer.weight.shape[1] * field, layer.weight.shape[0] * field
            limit = (6 / (fan_in + fan_out)) ** 0.5
            assert layer.weight.abs().max() <= limit
            assert layer.bias is None or torch.all(layer.bias == 0)
            if layer.weight.numel() > 300:
                assert layer.weight.std().item() == pytest.approx(limit / 3**0.5, rel=0.15)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("length", "height", "width"), [(1, 28, 28), (2, 28, 56), (3, 20, 75)])
def test_every_network_takes_any_width_and_gives_one_number(name, length, height, width):
    model = MODELS[name].build(length, height, width).eval()
    assert model(torch.rand(5, 1, height, width)).shape == (5, 1)


@pytest.mark.parametrize("name", MODELS)
def test_pictures_that_are_too_small_are_refused(name):
    refusal = ""
    try:
        assert MODELS[name].build(2, 5, 10).eval()(torch.rand(3, 1, 5, 10)).shape == (3, 1)
    except UnseenError as error:
        refusal = str(error)
    if refusal or name in ("lenet5", "paper", "towers"):
        assert re.search(r"network needs pictures of at least .*5 × (10|5)$", refusal)


@pytest.mark.parametrize("name", MODELS)
def test_in_bf16_the_last_layers_compute_in_fp32(name):
    """Eight bits of bf16 tell 17.9375 and 18 apart and nothing between: too few to round by."""
    torch.manual_seed(3)
    model = MODELS[name].build(2, 28, 56).eval()
    last = [layer for layer in model.modules() if isinstance(layer, Fp32Linear)]
    first = next(layer for layer in model.modules() if isinstance(layer, nn.Conv2d))
    kinds = []
    for layer in (first, *last):
        layer.register_forward_hook(lambda _, inputs, made: kinds.append(made.dtype))
    pictures = torch.rand(4, 1, 28, 56)
    with torch.autocast("cpu", torch.bfloat16):
        answers = model(pictures)
    assert kinds[0] == torch.bfloat16
    assert {*kinds[1:]} == ({torch.float32} if last else set())
    assert last or name in ("latent-blind", "latent-deep-blind")  # theirs are convolutions
    if not name.startswith("latent"):  # which answers by the likeliest symbols
        assert answers.dtype == torch.float32
        assert torch.allclose(answers, model(pictures), atol=0.02)


def test_lenet5_looks_at_a_strip_of_views_and_dense_flattens_it():
    pooled = [[6, 1, 5, 5], [16, 6, 5, 5]]
    views = [[120, 16, 4, 4], [84, 120, 1, 1], [1, 84 * 8]]
    assert shapes(lenet5(2, 28, 56)) == pooled + views
    dense = [[120, 16 * 4 * 11], [84, 120], [1, 84]]
    assert shapes(lenet5(2, 28, 56, dense=True)) == pooled + dense


@pytest.mark.parametrize("name", [name for name in MODELS if MODELS[name].layout == BLIND])
def test_a_blind_network_does_not_depend_on_the_number_of_symbols(name):
    one, two, seven = (shapes(MODELS[name].build(length, 28, 56)) for length in (1, 2, 7))
    assert one == two == seven


def test_towers_begin_as_sums_of_what_they_see_in_each_place():
    torch.manual_seed(1)
    network = MODELS["towers"].build(2, 28, 56)
    left, other_left, right, other_right = torch.rand(4, 1, 1, 28, 28)

    def answer(*symbols):
        return network(torch.cat(symbols, dim=3))

    crossed = answer(left, other_right) + answer(other_left, right)
    torch.testing.assert_close(answer(left, right) + answer(other_left, other_right), crossed)
    assert not torch.allclose(answer(left, right), answer(other_left, right))


def test_towers_leave_little_open_where_pairs_are_unseen():
    """One value a panel: a table of answers is 1, u, v and u · v, so it has a rank of two."""
    torch.manual_seed(1)
    network = MODELS["towers"].build(2, 28, 56).double()
    nn.init.normal_(network.products.weight)
    symbols = torch.rand(6, 1, 28, 28, dtype=torch.float64)
    pairs = [torch.cat([left, right], dim=2) for left in symbols for right in symbols]
    table = network(torch.stack(pairs)).view(6, 6)
    assert torch.linalg.matrix_rank(table, rtol=1e-9) == 2


@pytest.mark.parametrize(("linear", "product"), [(1.0, 0.0), (0.0, 1.0)])
def test_sums_and_products_are_within_reach_of_towers(linear, product):
    """With an encoder that reads a panel's brightness, so that tanh gives it back."""
    encoder = nn.Sequential(nn.AvgPool2d(4), nn.Flatten())
    encoder.register_forward_hook(lambda _, panels, brightness: brightness.atanh())
    network = Towers(2, encoder, codes=1, values=1, products=1)
    for layer in (network.values, network.linear, *network.factors):
        nn.init.ones_(layer.weight)
        nn.init.zeros_(layer.bias)
    nn.init.constant_(network.linear.weight, linear)
    nn.init.constant_(network.products.weight, product)
    pair = torch.cat([torch.full((1, 1, 4, 4), 0.3), torch.full((1, 1, 4, 4), 0.4)], dim=3)
    assert network(pair).item() == pytest.approx(0.3 * 0.4 if product else 0.7, abs=1e-6)


@pytest.mark.parametrize(
    "operation",
    [
        lambda a, b: a + b,
        lambda a, b: a - b,
        lambda a, b: a * b,
        max,
        lambda a, b: abs(a - b),
        lambda a, b: 10 * a + b,
    ],
)
def test_a_curved_read_out_begins_as_a_sum_and_expresses_every_operation(operation):
    """Solved for its last weights alone, with directions a + b, a - b: no error on the table."""
    values = torch.cartesian_prod(torch.arange(10.0), torch.arange(10.0))
    answers = torch.tensor([float(operation(*pair)) for pair in values.tolist()])
    read_out = CurvedReadOut(2, directions=2)
    read_out.start()
    first, second, bias = *read_out.answer.weight[0, :2], read_out.answer.bias
    assert torch.allclose(
        read_out(values)[:, 0], first * values[:, 0] + second * values[:, 1] + bias
    )
    with torch.no_grad():
        read_out.directions.weight.copy_(torch.tensor([[1.0, 1.0], [1.0, -1.0]]))
        read_out.directions.bias.zero_()
        u = read_out.directions(values)
        features = torch.cat([values, u.square(), u.abs(), torch.ones(100, 1)], dim=1)
        solved = torch.linalg.lstsq(features, answers[:, None], driver="gelsd").solution[:, 0]
        read_out.answer.weight[0], read_out.answer.bias[0] = solved[:-1], solved[-1]
        assert torch.allclose(read_out(values)[:, 0], answers, atol=1e-3)

"""Networks by name: how each is built, from a picture to one number, and what is known of it.

A builder takes the number of symbols side by side and the height and width of the whole picture.
It imports torch only when it is called, so that help, validation and tables do without.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from unseen.errors import UnseenError, unknown
from unseen.networks.own_files import is_own
from unseen.parts import Registry

if TYPE_CHECKING:
    from torch import nn

    from unseen.networks.modules import Layers

# convolutions: channels, side of the kernel, stride
STRIDED_LAYERS: Layers = ((16, 5, 2), (32, 5, 2))
DEEP_LAYERS: Layers = ((16, 5, 2), (32, 3, 1), (64, 3, 2))

# Symbols of a latent network: more than there are digits, because some start as doubles of others.
# Where few combinations are seen, some digits are rare, and with too few symbols two of those share
# one. The larger alphabet avoids that. For three positions its table would be too large;
# place-blind networks have not learnt well with it.
ALPHABET, LARGER_ALPHABET = 16, 24
MOST_LATENT_SYMBOLS = 3  # its table has an entry for every combination of symbols

# what a network is told of its pictures
BLIND, PLACE_BLIND, PANEL_AWARE, OWN = "blind", "place-blind", "panel-aware", "your own"
EXPRESSIBLE = "sums of values, products of two, the larger of two, distances and steps"
NOT_EXPRESSIBLE = "not a product of three, and not a table without a rule"


@dataclass(frozen=True)
class Network:
    """A way to build a network, and whether it is told that a picture holds several symbols."""

    build: Callable[[int, int, int], nn.Module]
    layout: str
    about: str
    cost: float = 1.0  # time of a training step, in steps of lenet5-strided; roughly
    most_symbols: float = math.inf  # in a picture
    alphabet: Callable[[int], int] | None = None  # symbols of its own, by how many a picture has
    expresses: str = ""  # what its read-out can make of the values of symbols, where that is known


def paper(length: int, height: int, width: int, *, dropout: bool = True) -> nn.Module:
    """The network of the authors' notebook, to the letter.

    Pooling comes before rectifying and flattening before dropout: the same function, the same
    gradients, less work.
    """
    from unseen.networks import modules as m

    m.refuse_small_pictures(height, width, least=6)
    rows, columns = (height - 4) // 2, (width - 4) // 2
    drop = m.Dropout if dropout else m.nn.Identity
    return m.keras_start(
        *(m.nn.Conv2d(1, 32, 3), m.nn.ReLU()),
        *(m.nn.Conv2d(32, 64, 3), m.nn.MaxPool2d(2), m.nn.ReLU()),
        *(m.FlattenLast(), drop(0.25)),
        *(m.nn.Linear(64 * rows * columns, 256), m.nn.ReLU(), drop(0.5)),
        *(m.Fp32Linear(256, 100), m.nn.ReLU()),
        m.Fp32Linear(100, 1),
    )


def lenet5(length: int, height: int, width: int, *, dense: bool = False) -> nn.Module:
    """LeNet-5 as LeCun drew it: C5 is a convolution, so a wide picture becomes a strip of views.

    Dense, it is what most reimplementations are: the strip flattened into dense layers.
    """
    from unseen.networks.modules import Fp32Linear, keras_start, nn, refuse_small_pictures

    refuse_small_pictures(height, width, least=16)
    rows, columns = ((height - 4) // 2 - 4) // 2, ((width - 4) // 2 - 4) // 2
    views = abs(rows - columns) + 1  # C5 takes the largest square, at every step along the strip
    # the largest of the rectified is the rectified largest, and there are fewer of those to rectify
    pooled = (
        *(nn.Conv2d(1, 6, 5), nn.MaxPool2d(2), nn.ReLU()),
        *(nn.Conv2d(6, 16, 5), nn.MaxPool2d(2), nn.ReLU()),
    )
    if dense:
        return keras_start(
            *(*pooled, nn.Flatten()),
            *(nn.Linear(16 * rows * columns, 120), nn.ReLU()),
            *(Fp32Linear(120, 84), nn.ReLU()),
            Fp32Linear(84, 1),
        )
    return keras_start(
        *(*pooled, nn.Conv2d(16, 120, min(rows, columns)), nn.ReLU()),
        *(nn.Conv2d(120, 84, 1), nn.ReLU()),
        *(nn.Flatten(), Fp32Linear(84 * views, 1)),
    )


def lenet5_strided(
    length: int,
    height: int,
    width: int,
    *,
    widths: tuple[int, int, int, int] = (8, 16, 64, 32),
    values: int = 1,
) -> nn.Module:
    """LeNet-5 with convolutions that stride where it pools, narrower, its views squashed by tanh.

    A squashed view says the same of all ways to write a digit, which is what rounding needs. The
    last layer gives the answer, or a few values that a curved read-out makes the answer of.
    """
    from unseen.networks import modules as m

    first, second, third, fourth = widths
    layers = ((first, 5, 2), (second, 5, 2))
    rows, columns = m.size_after(layers, height, width)
    views = abs(rows - columns) + 1
    read_out = [m.CurvedReadOut(values)] if values > 1 else []
    network = m.keras_start(
        *m.convolutions(layers),
        *(m.nn.Conv2d(second, third, min(rows, columns)), m.nn.ReLU()),
        *(m.nn.Conv2d(third, fourth, 1), m.nn.Tanh()),
        *(m.nn.Flatten(), m.Fp32Linear(fourth * views, values)),
        *read_out,
    )
    for each in read_out:
        each.start()
    return network


def towers(length: int, height: int, width: int) -> nn.Module:
    """One encoder that looks at each symbol by itself; sums and products of what it says."""
    from unseen.networks.modules import Towers, keras_start, nn, symbol_encoder

    encoder = symbol_encoder(height, width // length, codes=128, layers=STRIDED_LAYERS)
    # One value a panel is what a + b and a · b need. With two, a network can tell some digits apart
    # from the rest in each position, and answer them together as it likes where that is never seen:
    # on the corner split, sums of 7, 8 and 9 came out too low by 4 and more, and with one value
    # 96.5 % of them right. A sign between two digits needs two values to say what to do with both.
    network = Towers(length, encoder, codes=128, values=max(1, length - 1), products=2)
    keras_start(network)
    # Products begin as nothing: what sums can do is left to sums.
    nn.init.zeros_(network.products.weight)
    return network


def latent(
    length: int, height: int, width: int, *, blind: bool, layers: Layers = STRIDED_LAYERS
) -> nn.Module:
    """Symbols of its own, a table of what they make, and the rule that the table follows."""
    from unseen.networks.latent import LatentSymbols
    from unseen.networks.modules import convolutions, keras_start, nn, size_after, symbol_encoder

    if length > MOST_LATENT_SYMBOLS:
        raise UnseenError(
            f"this network has a table of all combinations of up to {MOST_LATENT_SYMBOLS} symbols, "
            f"and these are {length}; 'towers' takes any number"
        )
    alphabet = latent_alphabet(length, blind=blind)
    if not blind:
        encoder = symbol_encoder(height, width // length, codes=alphabet, layers=layers)
        return LatentSymbols(length, encoder, views=None, alphabet=alphabet)
    panel = size_after(layers, height, width // length)
    encoder = keras_start(
        *convolutions(layers),
        *(nn.Conv2d(layers[-1][0], 128, panel), nn.ReLU()),
        nn.Conv2d(128, alphabet, 1),
    )
    views = size_after(layers, height, width)[1] - panel[1] + 1
    return LatentSymbols(length, encoder, views, alphabet=alphabet)


def latent_alphabet(length: int, *, blind: bool) -> int:
    """How many symbols of its own a latent network has for pictures of so many symbols."""
    return ALPHABET if blind or length > 2 else LARGER_ALPHABET


def parameter_count(model: nn.Module) -> int:
    """How many numbers training may change."""
    return sum(parameter.numel() for parameter in model.parameters())


def find_network(model: str) -> Network:
    """The network of a registered name, or of `file.py:Class`; a file is read only to build it."""
    if model in MODELS:
        return MODELS[model]
    if is_own(model):
        from unseen.networks.own_models import build_own

        return Network(partial(build_own, model), OWN, about="your own")
    raise unknown("model", model, [*MODELS, "file.py:Class"])


def _latent_network(
    about: str, cost: float, *, blind: bool = False, layers: Layers = STRIDED_LAYERS
) -> Network:
    return Network(
        partial(latent, blind=blind, layers=layers),
        PLACE_BLIND if blind else PANEL_AWARE,
        about,
        cost,
        alphabet=partial(latent_alphabet, blind=blind),
        expresses=f"{EXPRESSIBLE}; of three symbols, one that says how to weight the others; "
        f"{NOT_EXPRESSIBLE}",
        most_symbols=MOST_LATENT_SYMBOLS,
    )


PAPERS = "the authors' network"
NOT_TOLD = "the same, not told where the symbols stand"

MODELS: Registry[Network] = Registry(
    {
        "paper": Network(paper, BLIND, f"{PAPERS}, 5.2 million parameters", 22),
        "paper-undropped": Network(
            partial(paper, dropout=False), BLIND, f"{PAPERS} without dropout", 22
        ),
        "lenet5": Network(lenet5, BLIND, "LeNet-5, C5 a convolution as LeCun drew it", 2.5),
        "lenet5-strided": Network(
            lenet5_strided, BLIND, "LeNet-5 that strides instead of pooling, and narrower"
        ),
        "lenet5-curved": Network(
            partial(lenet5_strided, values=2),
            BLIND,
            "the same, its answer made of two values, their squares and absolute values",
            expresses=f"{EXPRESSIBLE}; {NOT_EXPRESSIBLE}",
        ),
        "lenet5-wide": Network(
            partial(lenet5_strided, widths=(16, 32, 128, 64)),
            BLIND,
            "lenet5-strided, twice as wide",
            2,
        ),
        "lenet5-dense": Network(
            partial(lenet5, dense=True), BLIND, "LeNet-5, flattened before C5", 2.5
        ),
        "towers": Network(
            towers,
            PANEL_AWARE,
            "one encoder for every symbol, then sums and products",
            2,
            expresses="sums of values and products of two; not the larger of two, nor a distance",
        ),
        "latent": _latent_network(
            "symbols of its own, a table of what they make, and the rule behind it", 2
        ),
        "latent-blind": _latent_network(NOT_TOLD, 3, blind=True),
        "latent-deep": _latent_network(
            "latent with a third convolution, which reads better", 4, layers=DEEP_LAYERS
        ),
        "latent-deep-blind": _latent_network(NOT_TOLD, 5, blind=True, layers=DEEP_LAYERS),
    }
)

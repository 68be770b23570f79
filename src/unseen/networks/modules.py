"""Pieces that networks are made of, and what a network may offer beside its answers."""

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from unseen.errors import UnseenError

nn = torch.nn  # builders, which import torch when they are called, take it from here
Layers = tuple[tuple[int, int, int], ...]  # convolutions: channels, side of the kernel, stride


@runtime_checkable
class OwnLoss(Protocol):
    """A network that is trained by a loss of its own instead of a registered one."""

    def own_loss(
        self, pictures: Tensor, answers: Tensor, *, squared: bool
    ) -> tuple[Tensor, Tensor]:
        """The loss of a batch, and the network's answers (n,), both of scaled answers (n,).

        `squared` says that the setting `loss` is mse.
        """


@runtime_checkable
class EndsEpochs(Protocol):
    """A network that does something of its own after each epoch."""

    def end_epoch(self, *, is_last: bool) -> None: ...


@runtime_checkable
class HasRules(Protocol):
    """A network that answers by a rule, and can look for other rules after training."""

    is_doubtful: bool  # whether the rule may be wrong about combinations that were not seen

    def take_simplest_rule(self) -> bool:
        """Answer by the simplest rule if that fits; returns whether it does."""

    def refit_rule(self, number: int) -> None:
        """Answer by a rule that is found from other random numbers, by the number of the trial."""


class RescaledOutput(nn.Module):
    """A network whose output is read in the answers' own scale.

    Training sees the answers' mean and spread taken off, and everything after it sees answers.
    """

    mean: Tensor
    spread: Tensor

    def __init__(self, network: nn.Module, mean: float = 0.0, spread: float = 1.0) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("mean", torch.tensor(mean, dtype=torch.float32))
        self.register_buffer("spread", torch.tensor(spread, dtype=torch.float32))

    def forward(self, pictures: Tensor) -> Tensor:
        outputs: Tensor = self.network(pictures)  # (n, 1, height, width) -> (n, 1)
        count = pictures.shape[0]  # len() would fix it for good where a network is exported
        if outputs.numel() != count:  # one number would pass for the answer to all
            raise ValueError(f"{count} pictures got {outputs.numel()} answers")
        return self.mean + self.spread * outputs.flatten().float()


def laid_out_for_speed(model: RescaledOutput) -> RescaledOutput:
    """The model with channels last: convolutions and pooling on a CPU take half the time."""
    # kernels of volumes, in a user's network, have no such layout
    if all(weights.ndim != 5 for weights in (*model.parameters(), *model.buffers())):
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return model


def saved_weights(model: nn.Module) -> dict[str, Tensor]:
    """All weights of a model, each copied: safetensors files cannot share memory between two."""
    return {
        name: tensor.detach().clone(memory_format=torch.contiguous_format)
        for name, tensor in model.state_dict().items()
    }


def keras_start(*layers: nn.Module) -> nn.Sequential:
    """The layers with Keras's defaults, Glorot-uniform weights and zero biases; not torch's."""
    model = nn.Sequential(*layers)
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return model


def convolutions(layers: Layers) -> list[nn.Module]:
    """Rectified convolutions, the first of one channel."""
    channels = [1, *(layer[0] for layer in layers)]
    return [
        part
        for before, (after, kernel, stride) in zip(channels, layers, strict=False)
        for part in (nn.Conv2d(before, after, kernel, stride), nn.ReLU())
    ]


def size_after(layers: Layers, height: int, width: int) -> tuple[int, int]:
    """Rows and columns that are left of a picture after some convolutions."""
    least = 1
    for _, kernel, stride in reversed(layers):
        least = (least - 1) * stride + kernel
    refuse_small_pictures(height, width, least)
    for _, kernel, stride in layers:
        height, width = (height - kernel) // stride + 1, (width - kernel) // stride + 1
    return height, width


def refuse_small_pictures(height: int, width: int, least: int) -> None:
    if min(height, width) < least:
        raise UnseenError(
            f"this network needs pictures of at least {least} × {least} pixels; "
            f"these are {height} × {width}"
        )


def symbol_encoder(height: int, width: int, codes: int, layers: Layers) -> nn.Sequential:
    """From the picture of one symbol to some numbers that say which it is."""
    rows, columns = size_after(layers, height, width)
    return keras_start(
        *convolutions(layers),
        *(nn.Flatten(), nn.Linear(layers[-1][0] * rows * columns, 128), nn.ReLU()),
        Fp32Linear(128, codes),
    )


class Fp32Linear(nn.Linear):
    """A dense layer that computes in fp32 even where the network around it does so in bf16.

    For the last layers: bf16 has eight bits, too few to tell answers of half a unit apart.
    """

    def forward(self, values: Tensor) -> Tensor:
        kind = values.device.type
        if not torch.is_autocast_enabled(kind):
            return super().forward(values)
        with torch.autocast(kind, enabled=False):
            return super().forward(values.float())


class FlattenLast(nn.Module):
    """Flatten maps channels last, as Keras does: no copy where they are laid out so."""

    def forward(self, maps: Tensor) -> Tensor:
        return maps.permute(0, 2, 3, 1).flatten(1)  # (n, c, h, w) -> (n, h · w · c)


class Dropout(nn.Module):
    """Elementwise dropout from random bytes: a quarter of the time of torch's own."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share
        self.threshold = round(256 * share)  # shares are multiples of 1/256

    def forward(self, values: Tensor) -> Tensor:
        if not self.training:
            return values
        count = values.numel()
        words = torch.empty((count + 7) // 8, dtype=torch.int64, device=values.device)
        random_bytes = words.random_(-(2**63), None).view(torch.uint8)[:count]
        kept = (random_bytes >= self.threshold).to(values.dtype).div_(1 - self.share)
        return values * kept.view(values.shape)


def panels(pictures: Tensor, length: int) -> Tensor:
    """Each symbol of the pictures by itself: (n, 1, height, width) -> (n · length, 1, …)."""
    count, _, height, width = pictures.shape
    side = width // length
    symbols = pictures.view(count, height, length, side).transpose(1, 2)
    return symbols.reshape(-1, 1, height, side)


class Towers(nn.Module):
    """Panels of equal width through one encoder, which gives each a few values.

    The answer is a sum of linear terms in all values, and of products: each takes one linear
    reading of every panel, so that both a + b and a · b are within reach. The fewer values, the
    less is left open where combinations are unseen.
    """

    def __init__(
        self, length: int, encoder: nn.Module, codes: int, values: int, products: int
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.length = length
        self.values = Fp32Linear(codes, values)
        self.linear = Fp32Linear(length * values, 1)
        self.factors = nn.ModuleList(Fp32Linear(values, products) for _ in range(length))
        self.products = Fp32Linear(products, 1, bias=False)

    def forward(self, pictures: Tensor) -> Tensor:
        codes = self.encoder(panels(pictures, self.length)).tanh()
        values = self.values(codes).view(pictures.shape[0], self.length, -1)  # (n, length, values)
        product = torch.ones((), device=pictures.device)
        for position, factor in enumerate(self.factors):
            product = product * factor(values[:, position])
        added: Tensor = self.linear(values.flatten(1)) + self.products(product)
        return added  # (n, 1)


class CurvedReadOut(nn.Module):
    """One number from a few values v: linear in v, in u² and in |u|; u are directions through v.

    Squares make products, as a · b = ((a + b)² - (a - b)²) / 4, and absolute values make the larger
    of two and their distance. Both begin as nothing: what sums can do is left to sums.
    """

    def __init__(self, values: int, directions: int = 4) -> None:
        super().__init__()
        self.directions = Fp32Linear(values, directions)
        self.answer = Fp32Linear(values + 2 * directions, 1)

    def start(self) -> None:
        """Set the first weights."""
        nn.init.normal_(self.directions.weight)
        nn.init.normal_(self.directions.bias, std=0.5)
        nn.init.zeros_(self.answer.weight[:, self.directions.in_features :])

    def forward(self, v: Tensor) -> Tensor:
        u = self.directions(v)
        answer: Tensor = self.answer(torch.cat([v, u.square(), u.abs()], dim=1))
        return answer  # (n, 1)

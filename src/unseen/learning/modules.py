"""Pieces of networks that need torch to be defined."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


class Answering(nn.Module):
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
        return self.mean + self.spread * outputs.flatten().float()


def laid_out_for_speed(model: Answering) -> Answering:
    """The model with channels last: convolutions and pooling on a CPU take half the time."""
    if any(weights.ndim == 5 for weights in (*model.parameters(), *model.buffers())):
        return model  # kernels of volumes, in a network of one's own, cannot lie so
    laid_out: Answering = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return laid_out


def saved_weights(model: nn.Module) -> dict[str, Tensor]:
    """All that a model has learnt, each tensor by itself: a file cannot say that two are one."""
    return {
        name: tensor.detach().clone(memory_format=torch.contiguous_format)
        for name, tensor in model.state_dict().items()
    }


class FlattenLast(nn.Module):
    """Flatten a map place by place, channels last, as Keras does: no copy where they lie so."""

    def forward(self, maps: Tensor) -> Tensor:
        return maps.permute(0, 2, 3, 1).flatten(1)  # (n, c, h, w) -> (n, h · w · c)


class Dropout(nn.Module):
    """Elementwise dropout from random bytes: a quarter of the time of torch's own."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share
        self.threshold = round(256 * share)
        if self.threshold != 256 * share:
            raise ValueError(f"a byte cannot tell {share} apart; take a multiple of 1/256")

    def forward(self, values: Tensor) -> Tensor:
        if not self.training:
            return values
        count = values.numel()
        words = torch.empty((count + 7) // 8, dtype=torch.int64, device=values.device)
        random_bytes = words.random_(-(2**63), None).view(torch.uint8)[:count]
        kept = (random_bytes >= self.threshold).to(values.dtype).div_(1 - self.share)
        return values * kept.view(values.shape)

    def extra_repr(self) -> str:
        return f"{self.share}"


class Convolution(nn.Conv2d):
    """A convolution whose weights learn faster, on a CPU: see `PatchConvolution`.

    Without stride or padding; elsewhere, and in other layouts, it is torch's own.
    """

    def __init__(self, channels: int, kernels: int, size: int) -> None:
        super().__init__(channels, kernels, size)

    def forward(self, maps: Tensor) -> Tensor:
        lies_channels_last = maps.is_contiguous(memory_format=torch.channels_last)
        if maps.device.type != "cpu" or maps.dtype != torch.float32 or not lies_channels_last:
            return super().forward(maps)
        if torch.is_autocast_enabled("cpu") or not torch.is_grad_enabled():
            return super().forward(maps)
        apply: Callable[..., Tensor] = PatchConvolution.apply
        return apply(maps, self.weight, self.bias)


class PatchConvolution(torch.autograd.Function):
    """A convolution of maps that lie channels last, its weights' gradient a product of matrices.

    oneDNN's own way to that gradient takes half as long again in this layout. Here all patches
    under the kernel are laid out for a few samples at a time, which the cache holds.
    """

    @staticmethod
    def forward(context: Any, maps: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        context.save_for_backward(maps, weight)
        return torch.conv2d(maps, weight, bias)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        maps, weight = context.saved_tensors
        gradient = gradients[0].contiguous(memory_format=torch.channels_last)
        maps_gradient = None
        if context.needs_input_grad[0]:
            maps_gradient = torch.conv_transpose2d(gradient, weight)
        return maps_gradient, *patch_gradients(maps, gradient, weight)


def patch_gradients(maps: Tensor, gradient: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """What the weight and the bias of a convolution take from the gradient of its output."""
    kernels, channels, rows, columns = weight.shape
    samples, _, height, width = gradient.shape
    by_place = gradient.permute(0, 2, 3, 1).reshape(samples, height * width, kernels)
    stride, _, down, right = maps.stride()
    at_once = 4
    patch_size = rows * columns * channels
    weights = weight.new_zeros(at_once, patch_size, kernels)
    biases = weight.new_zeros(kernels)
    for first in range(0, samples, at_once):
        slopes = by_place[first : first + at_once]  # (few, places, kernels)
        count = len(slopes)
        patches = maps.as_strided(
            (count, height, width, rows, columns * channels),
            (stride, down, right, down, 1),
            maps.storage_offset() + first * stride,
        ).reshape(count, height * width, patch_size)
        weights[:count].baddbmm_(patches.transpose(1, 2), slopes)
        biases += slopes.sum((0, 1))
    weight_gradient = weights.sum(0).T.reshape(kernels, rows, columns, channels)
    return weight_gradient.permute(0, 3, 1, 2), biases


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
        self.values = nn.Linear(codes, values)
        self.linear = nn.Linear(length * values, 1)
        self.factors = nn.ModuleList(nn.Linear(values, products) for _ in range(length))
        self.products = nn.Linear(products, 1, bias=False)

    def forward(self, pictures: Tensor) -> Tensor:
        count, _, height, width = pictures.shape
        side = width // self.length
        panels = pictures.view(count, height, self.length, side).transpose(1, 2)
        codes = self.encoder(panels.reshape(-1, 1, height, side)).tanh()
        values = self.values(codes).view(count, self.length, -1)  # (n, length, values)
        product = torch.ones((), device=pictures.device)
        for place, factor in enumerate(self.factors):
            product = product * factor(values[:, place])
        added: Tensor = self.linear(values.flatten(1)) + self.products(product)
        return added  # (n, 1)

"""Pieces of networks that need torch to be defined."""

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
        return self.mean + self.spread * outputs.squeeze(1).float()


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

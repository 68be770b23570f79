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

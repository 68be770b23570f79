"""The authors' network with a quarter of its channels and units: to compare precisions in minutes.

    for seed in 0 1 2; do for precision in fp32 bf16; do
      unseen run paper --model benchmarks/narrow.py:Narrow --development --folds 1-2 --samples 600 \
        --epochs 15 --schedule one-cycle --precision $precision --seed $seed
    done; done
"""

from torch import nn

from unseen.networks.modules import FlattenLast, Fp32Linear


class Narrow(nn.Sequential):
    """Without dropout, whose shift would hide a small difference."""

    def __init__(self, length: int, height: int, width: int) -> None:
        rows, columns = (height - 4) // 2, (width - 4) // 2
        super().__init__(
            *(nn.Conv2d(1, 8, 3), nn.ReLU()),
            *(nn.Conv2d(8, 16, 3), nn.MaxPool2d(2), nn.ReLU(), FlattenLast()),
            *(nn.Linear(16 * rows * columns, 64), nn.ReLU()),
            *(Fp32Linear(64, 25), nn.ReLU()),
            Fp32Linear(25, 1),
        )
        for layer in self:
            if isinstance(layer, nn.Conv2d | nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)

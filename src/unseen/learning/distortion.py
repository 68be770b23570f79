"""Small random distortions of single symbols, as if somebody else had written them."""

import math

import torch
from torch import Tensor
from torch.nn import functional

# At strength 1, each a standard deviation, of symbols 2 wide and 2 high.
TURN, STRETCH, SLANT, SHIFT, BEND = math.radians(7), 0.07, 0.1, 0.06, 0.05
BENDS = 5  # points a side between which bending runs smoothly


def distort(symbols: Tensor, strength: float) -> Tensor:
    """Turn, stretch, slant, shift and bend each image a little, by torch's own generator."""
    count, _, height, width = symbols.shape  # (n, 1, height, width)
    turn, slant = (strength * scale * torch.randn(count) for scale in (TURN, SLANT))
    stretch = 1 + strength * STRETCH * torch.randn(2, count)
    shift = strength * SHIFT * torch.randn(2, count)
    cos, sin = turn.cos(), turn.sin()
    maps = torch.stack(
        [
            torch.stack([stretch[0] * cos, stretch[0] * (slant * cos - sin), shift[0]], dim=1),
            torch.stack([stretch[1] * sin, stretch[1] * (slant * sin + cos), shift[1]], dim=1),
        ],
        dim=1,
    )  # (n, 2, 3)
    grid = functional.affine_grid(maps, [count, 1, height, width], align_corners=False)
    bend = strength * BEND * torch.randn(count, 2, BENDS, BENDS)
    bend = functional.interpolate(bend, (height, width), mode="bilinear", align_corners=True)
    grid = grid + bend.permute(0, 2, 3, 1)
    return functional.grid_sample(symbols, grid.to(symbols.device), align_corners=False)

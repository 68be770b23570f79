"""Small random distortions of single symbols, as if another hand had written them."""

import math
from functools import cache

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
    across = [stretch[0] * cos, stretch[0] * (slant * cos - sin), shift[0]]
    down = [stretch[1] * sin, stretch[1] * (slant * sin + cos), shift[1]]
    maps = torch.stack([*across, *down], dim=1).view(count, 2, 3)
    bends = strength * BEND * torch.randn(count, 2, BENDS * BENDS)
    positions = torch.cat([maps, bends], dim=2) @ _grids(height, width)  # (n, 2, height · width)
    grid = positions.view(count, 2, height, width).permute(0, 2, 3, 1)
    return functional.grid_sample(symbols, grid.to(symbols.device), align_corners=False)


@cache
def _grids(height: int, width: int) -> Tensor:
    """What every pixel's position is made of: across, down, 1, and its share in each bend."""
    coordinates = ((torch.arange(side) + 0.5) * 2 / side - 1 for side in (height, width))
    down, across = torch.meshgrid(*coordinates, indexing="ij")
    affine = torch.stack([across, down, torch.ones(height, width)])
    bends = torch.eye(BENDS * BENDS).view(-1, 1, BENDS, BENDS)
    shares = functional.interpolate(bends, (height, width), mode="bilinear", align_corners=True)
    return torch.cat([affine.flatten(1), shares.flatten(1)])  # (3 + bends, height · width)

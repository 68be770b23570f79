"""The pooled convolution of the authors' network: in compiled loops with numba, else by torch."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from unseen.errors import UnseenError
from unseen.learning.models import has_numba


class PooledConvolution(nn.Conv2d):
    """The rectifier, a convolution, the largest of each 2 × 2 places, and the rectifier again.

    No stride, no padding. With numba, on a CPU, its gradient goes back sparsely; else by torch.
    """

    def __init__(self, channels: int, kernels: int, size: int) -> None:
        super().__init__(channels, kernels, size)
        self.sparsely = find_sparse_pooling()

    def forward(self, maps: Tensor) -> Tensor:
        fp32_on_cpu = maps.device.type == "cpu" and maps.dtype == torch.float32
        if self.sparsely is None or not fp32_on_cpu or torch.is_autocast_enabled("cpu"):
            return functional.max_pool2d(super().forward(maps.relu()), 2).relu_()
        return self.sparsely(maps, self.weight, self.bias)


def find_sparse_pooling() -> Callable[..., Tensor] | None:
    """The same step with a sparse backward pass in compiled loops; None without numba."""
    if not has_numba():
        return None
    try:
        from unseen.learning.sparse_pooling import SparselyBack
    except ImportError as error:  # as numba raises for a numpy that is too new for it
        # not by torch instead: the run is recorded as one with numba
        raise UnseenError(
            f"numba is installed but cannot be imported ({error}); update it, or uninstall it to "
            "train this network by torch alone"
        ) from error
    apply: Callable[..., Tensor] = SparselyBack.apply
    return apply

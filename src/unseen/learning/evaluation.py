"""What a trained network answers."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from unseen.problem.samples import Samples, batches, render_pictures

# Large enough to keep a core busy, and no larger than a batch of the paper's training.
EVALUATION_BATCH = 125


def to_input(pictures: NDArray[np.uint8], device: torch.device) -> Tensor:
    """Grey values as a network takes them: (n, height, width) bytes -> (n, 1, height, width)."""
    return torch.from_numpy(pictures).to(device).unsqueeze(1).float().div_(255.0)


@torch.inference_mode()
def predict(model: nn.Module, samples: Samples, device: torch.device) -> NDArray[np.float32]:
    """The model's answer to each sample, with dropout off."""
    model.eval()
    answers = np.empty(len(samples), np.float32)  # at once: bits between batches scatter the heap
    for batch in batches(len(samples), EVALUATION_BATCH):
        answers[batch] = model(to_input(render_pictures(samples, batch), device)).float().cpu()
    return answers

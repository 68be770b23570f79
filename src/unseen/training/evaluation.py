"""What a trained network answers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from unseen.problem.samples import Samples, batches, render_pictures
from unseen.training.metrics import rounds_to_answer

# Large enough to keep a core busy, and no larger than a batch of the paper's training.
EVALUATION_BATCH = 125
MEDIAN_OF = 15  # pictures of a combination: some are misread, but seldom half of them


def to_input(pictures: NDArray[Any], device: torch.device) -> Tensor:
    """Grey values as a network takes them: (n, height, width) bytes -> (n, 1, height, width)."""
    given = torch.from_numpy(pictures).to(device).unsqueeze(1)
    return given.to(torch.float32, copy=True).div_(255.0)  # a copy: floats would be changed


def predict(model: nn.Module, samples: Samples, device: torch.device) -> NDArray[np.float32]:
    """The model's answer to each sample, with dropout off."""
    return _answers(model, len(samples), lambda batch: render_pictures(samples, batch), device)


def predict_pictures(
    model: nn.Module, pictures: NDArray[Any], device: torch.device
) -> NDArray[np.float32]:
    """The model's answer to each picture: (n, height, width) grey values -> (n,)."""
    return _answers(model, len(pictures), lambda batch: pictures[batch], device)


def wrong_combinations(model: nn.Module, samples: Samples, device: torch.device) -> int:
    """How many combinations come out wrong: by the median answer to some of their samples."""
    _, row, counts = np.unique(samples.combinations, return_inverse=True, return_counts=True)
    by_combination = np.split(np.argsort(row, kind="stable"), np.cumsum(counts)[:-1])
    some = [rows[:MEDIAN_OF] for rows in by_combination]
    predictions = predict(model, samples.some(np.concatenate(some)), device)
    each = np.split(predictions, np.cumsum([len(rows) for rows in some])[:-1])
    with np.errstate(all="ignore"):  # of a network that diverged
        medians = np.asarray([np.median(answers) for answers in each], np.float32)
    answers = samples.answers[[rows[0] for rows in some]]
    return int(np.sum(~rounds_to_answer(medians, answers)))


@torch.inference_mode()
def _answers(
    model: nn.Module, count: int, render: Callable[[slice], NDArray[Any]], device: torch.device
) -> NDArray[np.float32]:
    model.eval()
    answers = np.empty(count, np.float32)  # at once: bits between batches scatter the heap
    for batch in batches(count, EVALUATION_BATCH):
        answers[batch] = model(to_input(render(batch), device)).float().cpu()
    return answers

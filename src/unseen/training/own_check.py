"""Users' networks, tried before anything is trained."""

from collections.abc import Collection
from typing import Any

import safetensors.torch
import torch
from torch import nn

from unseen.errors import UnseenError
from unseen.networks.modules import RescaledOutput, laid_out_for_speed, saved_weights
from unseen.networks.own_files import faults_told
from unseen.networks.own_models import build_own, on_pictures
from unseen.training.loop import TrainingState, step_down
from unseen.training.optimizers import make_optimizer
from unseen.training.recipe import Training

MOST_TRIED = 64  # pictures at once, where a run will show more


def check_own(
    training: Training, batch_sizes: Collection[int], length: int, height: int, width: int
) -> None:
    """Refuse a network that a run with batches of these sizes could not train, test or save."""
    model = training.model
    with faults_told(f"{model} cannot be trained"):
        network = build_own(model, length, height, width)
        with faults_told(on_pictures(model, 3, height, width)):
            answers = network(torch.rand(3, 1, height, width))
        _check_answers(model, network, answers)
        answering = laid_out_for_speed(RescaledOutput(network))  # as in a run
        rate = training.learning_rate
        optimizer = make_optimizer(training.optimizer, answering.parameters(), rate)
        state = TrainingState(answering, optimizer)
        for count in sorted({min(size, MOST_TRIED) for size in batch_sizes}, reverse=True):
            what = f"{count} pictures" if count > 1 else "one picture by itself"
            if count == 1 < training.batch_size:
                what += ", the last of an epoch; another batch size leaves none over"
            with faults_told(f"{model} cannot be trained on {what}"):
                step_down(state, torch.rand(count, 1, height, width), torch.zeros(count), training)
        answering.eval()
        with faults_told(f"once trained, {on_pictures(model, 1, height, width)}"):
            answering(torch.rand(1, 1, height, width))
        with faults_told(f"the weights of {model} cannot be saved"):
            safetensors.torch.save(saved_weights(answering))


def _check_answers(model: str, network: nn.Module, answers: Any) -> None:
    """Refuse answers to three pictures that are not one number each, which training can change."""
    if not isinstance(answers, torch.Tensor) or answers.shape not in ((3,), (3, 1)):
        found = [*answers.shape] if isinstance(answers, torch.Tensor) else type(answers).__name__
        raise UnseenError(
            f"{model} must answer 3 pictures with 3 numbers, as (3, 1) or (3,); it gave {found}"
        )
    if not torch.isfinite(answers).all():
        raise UnseenError(f"{model} answers with numbers that are not finite")
    if not answers.requires_grad or not any(p.requires_grad for p in network.parameters()):
        raise UnseenError(f"{model} has nothing to train: its answers depend on no parameter")

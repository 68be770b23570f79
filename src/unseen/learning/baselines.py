"""Baselines: answers that need no composition, or that are told what a network has to find out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unseen.problem.randomness import Streams
from unseen.problem.samples import Combinations, Samples, batches, render_pictures
from unseen.problem.symbols import SymbolImages

if TYPE_CHECKING:
    from torch import Tensor, nn

Predictor = Callable[[Samples], NDArray[np.float32]]

# More would need hours: a million remembered pictures against ten thousand new ones.
MOST_REMEMBERED = 90_000
REMEMBERED_AT_ONCE, COMPARED_AT_ONCE = 10_000, 1_000

ORACLE_EPOCHS, ORACLE_BATCH, ORACLE_RATE, ORACLE_DISTORTION = 6, 128, 0.05, 1.0


@dataclass(frozen=True)
class Baseline:
    """From a fold's training samples, and the table of all combinations, to a way to answer."""

    fit: Callable[[Samples, Combinations, Streams], Predictor]
    about: str


def mean(seen: Samples, table: Combinations, streams: Streams) -> Predictor:
    """Always the mean of the training answers."""
    answer = np.float32(seen.answers.mean())
    return lambda samples: np.full(len(samples), answer, np.float32)


def nearest(seen: Samples, table: Combinations, streams: Streams) -> Predictor:
    """The answer of the training picture that is nearest, pixel by pixel."""
    import torch

    rows = streams.numpy("remembered").permutation(len(seen))[:MOST_REMEMBERED]
    known = seen.some(np.sort(rows))

    def predict(samples: Samples) -> NDArray[np.float32]:
        least = torch.full((len(samples),), torch.inf)
        answers = torch.zeros(len(samples))
        for block in batches(len(known), REMEMBERED_AT_ONCE):
            old = _flat_pictures(known, block)
            old_answers = torch.from_numpy(known.answers[block]).float()
            squares = old.square().sum(1)
            for here in batches(len(samples), COMPARED_AT_ONCE):
                # less the square of the new picture, which is the same for all old ones
                distances = torch.addmm(squares, _flat_pictures(samples, here), old.T, alpha=-2)
                nearest_distances, at = distances.min(dim=1)
                nearer = nearest_distances < least[here]
                least[here] = torch.where(nearer, nearest_distances, least[here])
                answers[here] = torch.where(nearer, old_answers[at], answers[here])
        return answers.numpy()

    return predict


def _flat_pictures(samples: Samples, rows: slice) -> Tensor:
    import torch

    return torch.from_numpy(render_pictures(samples, rows)).flatten(1).float().div_(255)


def oracle(seen: Samples, table: Combinations, streams: Streams) -> Predictor:
    """A classifier that is given every symbol's label, and then exact arithmetic."""
    import torch

    from unseen.learning.evaluation import EVALUATION_BATCH, to_input

    labels = np.unique(seen.symbols.labels)
    cpu = torch.device("cpu")
    classifier = _trained_classifier(seen.symbols, labels, streams)
    places = [np.unique(column) for column in table.digits.T]

    @torch.inference_mode()
    def predict(samples: Samples) -> NDArray[np.float32]:
        images = samples.symbols.images
        used, where = np.unique(samples.images, return_inverse=True)
        scores = np.concatenate(
            [
                classifier(to_input(images[used[batch]], cpu)).numpy()
                for batch in batches(len(used), EVALUATION_BATCH)
            ]
        )  # (used images, labels)
        where = where.reshape(samples.images.shape)
        # only what can stand in a place is looked for there
        read = [
            scores[where[:, place]][:, np.searchsorted(labels, possible)].argmax(axis=1)
            for place, possible in enumerate(places)
        ]
        rows = np.ravel_multi_index(read, [len(possible) for possible in places])
        answers: NDArray[np.float32] = table.answers[rows].astype(np.float32)
        return answers

    return predict


def _trained_classifier(
    handwriting: SymbolImages, labels: NDArray[np.uint8], streams: Streams
) -> nn.Module:
    """The encoder of `towers`, trained to name single symbols."""
    import torch
    from torch.nn import functional

    from unseen.learning.distortion import distort
    from unseen.learning.evaluation import to_input
    from unseen.learning.models import symbol_encoder
    from unseen.learning.optimizers import muon, one_cycle
    from unseen.learning.training import seeded, set_learning_rate

    cpu = torch.device("cpu")
    targets = torch.from_numpy(np.searchsorted(labels, handwriting.labels))
    count = len(handwriting.labels)
    with seeded(streams.integer("oracle"), cpu):
        height, width = handwriting.images.shape[1:]
        classifier = symbol_encoder(height, width, codes=len(labels))
        optimizer = muon(classifier.parameters(), ORACLE_RATE)
        for epoch in range(ORACLE_EPOCHS):
            order = streams.numpy("oracle order", epoch).permutation(count)
            for batch in batches(count, ORACLE_BATCH):
                rows = order[batch]
                symbols = distort(to_input(handwriting.images[rows], cpu), ORACLE_DISTORTION)
                loss = functional.cross_entropy(classifier(symbols), targets[rows])
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                progress = (epoch + batch.start / count) / ORACLE_EPOCHS
                set_learning_rate(optimizer, ORACLE_RATE * one_cycle(progress))
                optimizer.step()
    return classifier.eval()


BASELINES: dict[str, Baseline] = {
    "mean": Baseline(mean, about="always the mean answer"),
    "nearest": Baseline(nearest, about="the answer of the nearest training picture, by pixels"),
    "oracle": Baseline(oracle, about="told every digit's label, then exact arithmetic"),
}

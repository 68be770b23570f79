"""The oracle: a classifier that is told every symbol's label, and then exact arithmetic.

It is the most that perfect composition could reach, so it gets the encoder of `latent-deep` and
sees more than twice as many symbols as the preset `best`. A run trains it once: no fold changes it.
"""

import io
from collections.abc import Generator
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from unseen.files import DamagedFileError, read_checked, write_checked
from unseen.locks import FOREVER, locked
from unseen.networks.models import DEEP_LAYERS
from unseen.networks.modules import symbol_encoder
from unseen.problem.randomness import Streams
from unseen.problem.samples import Combinations, Samples, batches
from unseen.problem.symbol_bank import SymbolImages
from unseen.training.distortion import distort
from unseen.training.evaluation import EVALUATION_BATCH, to_input
from unseen.training.loop import seeded
from unseen.training.optimizers import Optimizer, make_optimizer, set_learning_rate
from unseen.training.schedules import one_cycle

# The 3 epochs of 90,000 pairs that `best` sees are 9 of 60,000 symbols.
EPOCHS, BATCH, RATE, DISTORTION = 24, 128, 0.008, 1.0
CPU = torch.device("cpu")


class Oracle:
    """Reads the symbol in each position, then looks up the answer."""

    def __init__(
        self, classifier: nn.Module, labels: NDArray[np.unsignedinteger], table: Combinations
    ) -> None:
        self.classifier, self.labels, self.table = classifier, labels, table
        self.possible = [np.unique(column) for column in table.digits.T]  # by position

    @torch.inference_mode()
    def __call__(self, samples: Samples) -> NDArray[np.float32]:
        used, where = np.unique(samples.images, return_inverse=True)
        images = samples.symbols.images[used]
        scores = np.concatenate(
            [
                self.classifier(to_input(images[batch], CPU)).numpy()
                for batch in batches(len(images), EVALUATION_BATCH)
            ]
        )  # (used images, labels)
        where = where.reshape(samples.images.shape)
        # only what can stand in a position is looked for there
        read = [
            scores[where[:, position]][:, np.searchsorted(self.labels, possible)].argmax(axis=1)
            for position, possible in enumerate(self.possible)
        ]
        rows = np.ravel_multi_index(read, [len(possible) for possible in self.possible])
        answers: NDArray[np.float32] = self.table.answers[rows].astype(np.float32)
        return answers


def fit_oracle(
    symbols: SymbolImages, table: Combinations, seed: int, shared: Path | None
) -> Generator[float, None, Oracle]:
    """Train the classifier, or read the one that another fold of the run has trained.

    Yields the share of the training that is done. `shared` is the file that the folds of a run
    have in common: the holder of its lock trains, saving after each epoch, and the others wait.
    """
    labels = np.unique(symbols.labels)
    targets = torch.from_numpy(np.searchsorted(labels, symbols.labels))
    streams = Streams(seed, fold=0)
    with seeded(streams.integer("oracle"), CPU):
        height, width = symbols.images.shape[1:]
        classifier = symbol_encoder(height, width, len(labels), DEEP_LAYERS)
    optimizer = make_optimizer("muon", classifier.parameters(), RATE)
    lock = shared and shared.with_name(f"{shared.name}.lock")
    with locked(lock, wait=FOREVER) if lock else nullcontext():
        for epoch in range(_restore(classifier, optimizer, shared), EPOCHS):
            yield epoch / EPOCHS
            order = streams.numpy("oracle order", epoch).permutation(len(targets))
            with seeded(streams.integer("oracle distortion", epoch), CPU):
                for batch in batches(len(order), BATCH):
                    rows = order[batch]
                    pictures = distort(to_input(symbols.images[rows], CPU), DISTORTION)
                    loss = functional.cross_entropy(classifier(pictures), targets[rows])
                    optimizer.zero_grad()
                    loss.backward()  # type: ignore[no-untyped-call]
                    progress = (epoch + batch.start / len(order)) / EPOCHS
                    set_learning_rate(optimizer, RATE * one_cycle(progress))
                    optimizer.step()
            _save(classifier, optimizer, epoch + 1, shared)
    return Oracle(classifier.eval(), labels, table)


def _save(classifier: nn.Module, optimizer: Optimizer, epochs: int, shared: Path | None) -> None:
    if shared is not None:
        states = classifier.state_dict(), optimizer.state_dict(), epochs
        torch.save(states, buffer := io.BytesIO())
        write_checked(shared, buffer.getvalue())


def _restore(classifier: nn.Module, optimizer: Optimizer, shared: Path | None) -> int:
    """Go on from what was saved; returns the finished epochs."""
    try:
        saved = read_checked(shared) if shared is not None else None
    except DamagedFileError:  # it is trained anew
        return 0
    if saved is None:
        return 0
    weights, moments, epochs = torch.load(io.BytesIO(saved), weights_only=True)
    classifier.load_state_dict(weights)
    optimizer.load_state_dict(moments)
    return int(epochs)

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

from unseen.files import read_checked, remove, write_checked
from unseen.locks import FOREVER, locked
from unseen.networks.models import DEEP_LAYERS, symbol_encoder
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
    """Reads the symbol in each place, then looks up the answer."""

    def __init__(
        self, classifier: nn.Module, labels: NDArray[np.unsignedinteger], table: Combinations
    ) -> None:
        self.classifier, self.labels, self.table = classifier, labels, table
        self.places = [np.unique(column) for column in table.digits.T]

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
        # only what can stand in a place is looked for there
        read = [
            scores[where[:, place]][:, np.searchsorted(self.labels, possible)].argmax(axis=1)
            for place, possible in enumerate(self.places)
        ]
        rows = np.ravel_multi_index(read, [len(possible) for possible in self.places])
        answers: NDArray[np.float32] = self.table.answers[rows].astype(np.float32)
        return answers


def fit_oracle(
    symbols: SymbolImages, table: Combinations, seed: int, shared: Path | None
) -> Generator[float, None, Oracle]:
    """Train the classifier, or read the one that another fold of the run has trained.

    Yields the share of the training that is done. `shared` is the file that the folds of a run
    have in common: whoever holds its lock trains, saving after each epoch, and the others wait.
    """
    labels = np.unique(symbols.labels)
    lock = shared and shared.with_name(f"{shared.name}.lock")
    with nullcontext() if lock is None else locked(lock, wait=FOREVER):
        height, width = symbols.images.shape[1:]
        streams = Streams(seed, fold=0)

        def start() -> tuple[nn.Module, Optimizer]:
            with seeded(streams.integer("oracle"), CPU):
                classifier = symbol_encoder(height, width, len(labels), DEEP_LAYERS)
            return classifier, make_optimizer("muon", classifier.parameters(), RATE)

        classifier, optimizer = start()
        done = 0
        try:
            if shared is not None and (saved := read_checked(shared)) is not None:
                state = torch.load(io.BytesIO(saved), weights_only=True)
                classifier.load_state_dict(state["classifier"])
                optimizer.load_state_dict(state["optimizer"])
                done = range(EPOCHS + 1)[state["epochs"]]
        except Exception:  # damaged, or of something else: it is trained anew
            classifier, optimizer = start()
            remove(shared) if shared is not None else None
        for epoch in range(done, EPOCHS):
            yield epoch / EPOCHS
            with seeded(streams.integer("oracle distortion", epoch), CPU):
                for rows, progress in _batches(len(symbols.labels), epoch, streams):
                    targets = torch.from_numpy(np.searchsorted(labels, symbols.labels[rows]))
                    pictures = distort(to_input(symbols.images[rows], CPU), DISTORTION)
                    loss = functional.cross_entropy(classifier(pictures), targets)
                    optimizer.zero_grad()
                    loss.backward()  # type: ignore[no-untyped-call]
                    set_learning_rate(optimizer, RATE * one_cycle(progress))
                    optimizer.step()
            if shared is not None:
                state = {"classifier": classifier.state_dict(), "epochs": epoch + 1}
                buffer = io.BytesIO()
                torch.save(state | {"optimizer": optimizer.state_dict()}, buffer)
                write_checked(shared, buffer.getvalue())
    return Oracle(classifier.eval(), labels, table)


def _batches(
    count: int, epoch: int, streams: Streams
) -> Generator[tuple[NDArray[np.intp], float], None, None]:
    """The rows of each batch of an epoch, and the share of all training that is done before."""
    order = streams.numpy("oracle order", epoch).permutation(count)
    for batch in batches(count, BATCH):
        yield order[batch], (epoch + batch.start / count) / EPOCHS

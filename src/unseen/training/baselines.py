"""Baselines: answers that need no composition, or that are told what a network has to find out.

Each is fitted by a generator that yields the share of its work that is done, and returns a way to
answer. It takes a fold's training samples, the table of all combinations, the fold's streams, and
a file that all folds of a run have in common, if there is one.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.problem.randomness import Streams
from unseen.problem.samples import Combinations, Samples

Fitting = Generator[float, None, Callable[[Samples], NDArray[np.float32]]]

MOST_REMEMBERED = 90_000  # more would need hours


@dataclass(frozen=True)
class Baseline:
    """A way to answer that is not trained as networks are."""

    fit: Callable[[Samples, Combinations, Streams, Path | None], Fitting]
    about: str
    is_slow: bool = False  # to answer: beyond the test it is asked less


def mean(seen: Samples, table: Combinations, streams: Streams, shared: Path | None) -> Fitting:
    """Always the mean of the training answers."""
    yield from ()
    answer = np.float32(seen.answers.mean())
    return lambda samples: np.full(len(samples), answer, np.float32)


def nearest(seen: Samples, table: Combinations, streams: Streams, shared: Path | None) -> Fitting:
    """The answer of the training picture that is nearest, pixel by pixel."""
    from unseen.training.nearest import NearestSample

    yield from ()
    rows = streams.numpy("remembered").permutation(len(seen))[:MOST_REMEMBERED]
    known = seen.some(np.sort(rows))
    find = NearestSample(known)
    return lambda samples: known.answers[find(samples)].astype(np.float32)


def oracle(seen: Samples, table: Combinations, streams: Streams, shared: Path | None) -> Fitting:
    """A classifier that is told every symbol's label, and then exact arithmetic."""
    from unseen.training.oracle import fit_oracle

    return (yield from fit_oracle(seen.symbols, table, streams.seed, shared))


BASELINES: dict[str, Baseline] = {
    "mean": Baseline(mean, "always the mean answer"),
    "nearest": Baseline(
        nearest, "the answer of the nearest training picture, by pixels", is_slow=True
    ),
    "oracle": Baseline(oracle, "told every symbol's label, then exact arithmetic"),
}

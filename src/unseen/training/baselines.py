"""Baselines: answers that need no composition, or that are told what a network has to find out."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.problem.randomness import Streams
from unseen.problem.samples import Combinations, Samples

Predictor = Callable[[Samples], NDArray[np.float32]]
# yields the share of its work that is done
Fitting = Generator[float, None, Predictor]

MOST_REMEMBERED = 90_000  # more would need hours


@dataclass(frozen=True)
class Baseline:
    """From a fold's training samples, and the table of all combinations, to a way to answer.

    The last argument of `fit` is a file that all folds of a run have in common, if there is one.
    """

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
    "mean": Baseline(mean, about="always the mean answer"),
    "nearest": Baseline(
        nearest,
        about="the answer of the nearest training picture, by pixels",
        is_slow=True,
    ),
    "oracle": Baseline(oracle, about="told every symbol's label, then exact arithmetic"),
}

"""What is asked of a finished fold beyond its test: the material of all insight."""

from collections.abc import Callable
from itertools import product

import numpy as np
from numpy.typing import NDArray

from unseen.experiments.posing import PosedProblem
from unseen.problem.randomness import Streams
from unseen.problem.samples import Samples, draw_samples
from unseen.problem.symbols import SymbolImages

Answer = Callable[[Samples], NDArray[np.float32]]

MOST_TABLES = 10  # of a fold's unseen combinations
MOST_IMAGES = 100  # in each place of a table


def combination_means(
    answer: Answer, posed: PosedProblem, streams: Streams, samples: int
) -> NDArray[np.float64]:
    """The mean answer to every combination, seen or not, in test handwriting.

    So many samples are shared out among them, one for each at the least.
    """
    table = posed.combinations
    every = np.arange(len(table.digits))
    each = max(1, samples // len(every))
    rng = streams.numpy("combination means")
    predictions = answer(draw_samples(table, every, posed.bank.test, each, rng))
    means: NDArray[np.float64] = predictions.reshape(-1, each).mean(axis=1, dtype=np.float64)
    return means


def prediction_tables(
    answer: Answer, posed: PosedProblem, streams: Streams, predictions: int
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """For some unseen combinations, the answers to every choice of some test images in each place.

    Returns their rows and the answers, for pairs (rows, left images, right images): so many
    predictions a table at the most, 50 × 50 or 13 × 13 × 13 for 2,500.
    """
    unseen = posed.folds[streams.fold - 1].unseen
    rng = streams.numpy("prediction tables")
    rows = np.sort(rng.permutation(unseen)[:MOST_TABLES])
    places = posed.combinations.digits.shape[1]
    images = max(2, min(MOST_IMAGES, int(predictions ** (1 / places) + 1e-9)))
    tables = [answer(all_of(posed, row, images, rng)).reshape((images,) * places) for row in rows]
    return rows, np.stack(tables)


def all_of(posed: PosedProblem, row: int, images: int, rng: np.random.Generator) -> Samples:
    """Every choice of one of some test images in each place of a combination."""
    pools = [_some(posed.bank.test, digit, images, rng) for digit in posed.combinations.digits[row]]
    chosen = np.asarray([*product(*pools)], np.int32)
    return Samples(
        posed.bank.test,
        chosen,
        np.full(len(chosen), row, np.int32),
        np.full(len(chosen), posed.combinations.answers[row], np.int32),
    )


def _some(
    handwriting: SymbolImages, digit: int, count: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Images of a digit, without repetition where there are enough."""
    pool = handwriting.pools[int(digit)]
    return rng.choice(pool, count, replace=len(pool) < count)

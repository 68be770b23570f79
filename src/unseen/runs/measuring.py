"""What is asked of a network beyond its test: on the way, and once its fold is finished."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from unseen.problem.operations import spelled
from unseen.problem.randomness import Streams
from unseen.problem.samples import Combinations, Samples, draw_samples
from unseen.problem.task import Task
from unseen.training.metrics import HEADLINE, error, rounds_to_answer, squared_error

Answer = Callable[[Samples], NDArray[np.float32]]

DIGITS_KEPT = 5  # after the point, in a measurement
GROUP_MEASURES: dict[str, Callable[..., NDArray[Any]]] = {
    "mse": squared_error,
    HEADLINE.name: HEADLINE.of_samples,
    "mean_error": error,
}
MOST_TABLES = 10  # of a fold's unseen combinations
MOST_IMAGES = 100  # at each position of a table
MOST_SHOWN = 6  # samples whose answers are kept one by one


@dataclass(frozen=True)
class Measurement:
    """What a network knows while it learns: plain data, one line of JSON.

    The lists have an entry for each measured combination, in test handwriting. A measurement only
    reads the network: it changes nothing, and nothing is ever chosen by it.
    """

    __pydantic_config__ = ConfigDict(allow_inf_nan=False)  # for lines that are read

    epochs: Annotated[float, Field(ge=0, le=1_000_000)]  # so far, with the share of the present one
    seconds: float | None  # of training, so far
    seen: dict[str, float | None]  # by the names of GROUP_MEASURES; None for NaN
    unseen: dict[str, float | None]
    # as [3, 8], or [3, "+", 8] where signs are shown
    combinations: list[list[int | str]] = field(repr=False)
    right: list[int] = field(repr=False)  # how many of its samples round to the answer
    samples: list[int] = field(repr=False)  # how many samples it has
    mean: list[float | None] = field(repr=False)  # its mean answer
    # answers to the samples of `shown_samples`, one by one
    shown: list[float | None] = field(default_factory=list, repr=False)


@dataclass(frozen=True)
class WatchedSamples:
    """The same samples for each measurement, and which of them are of unseen combinations."""

    table: Combinations
    samples: Samples
    is_unseen: NDArray[np.bool_]  # (n,)


def watched_samples(task: Task, count: int, streams: Streams) -> WatchedSamples | None:
    """About so many samples of seen and of unseen combinations each; None for no samples.

    All are in test handwriting, so that only the combinations are new to the network or not.
    """
    if count == 0:
        return None
    rng = streams.numpy("watched on the way")
    unseen = task.unseen(streams.fold)
    drawn = []
    for rows in (task.folds[streams.fold - 1].seen, unseen):
        some = np.sort(rng.permutation(rows)[:count])
        drawn.append(
            draw_samples(task.combinations, some, task.bank.test, max(1, count // len(some)), rng)
        )
    samples = Samples(
        task.bank.test,
        *(
            np.concatenate([getattr(each, name) for each in drawn])
            for name in ("images", "combinations", "answers")
        ),
    )
    return WatchedSamples(task.combinations, samples, np.isin(samples.combinations, unseen))


def shown_samples(watched: WatchedSamples) -> NDArray[np.intp]:
    """Some watched samples of unseen combinations, of as many different ones as there are."""
    unseen = np.flatnonzero(watched.is_unseen)
    return unseen[np.linspace(0, len(unseen) - 1, min(MOST_SHOWN, len(unseen))).astype(np.intp)]


def measure_on_the_way(
    answer: Answer, watched: WatchedSamples, epochs: float, seconds: float
) -> Measurement:
    """Measure a network as it is now."""
    samples = watched.samples
    predictions = answer(samples)
    right = rounds_to_answer(predictions, samples.answers)
    rows, at = np.unique(samples.combinations, return_inverse=True)
    counts = np.bincount(at)
    with np.errstate(all="ignore"):  # of a network that diverged
        means = np.bincount(at, predictions.astype(np.float64)) / counts
    groups = (~watched.is_unseen, watched.is_unseen)
    measured = [measure_group(predictions[group], samples.answers[group]) for group in groups]
    seen, unseen = ({name: _kept(each[name]) for name in each} for each in measured)
    return Measurement(
        epochs=round(epochs, DIGITS_KEPT),
        seconds=round(seconds, 3),
        seen=seen,
        unseen=unseen,
        combinations=[spelled(digits) for digits in watched.table.digits[rows].tolist()],
        right=np.bincount(at, right).astype(int).tolist(),
        samples=counts.tolist(),
        mean=[_kept(value) for value in means],
        shown=[_kept(value) for value in predictions[shown_samples(watched)]],
    )


def measure_group(predictions: NDArray[np.float32], answers: NDArray[np.int32]) -> dict[str, float]:
    """What is measured of seen and of unseen combinations side by side."""
    return {
        name: float(np.mean(of_samples(predictions, answers)))
        for name, of_samples in GROUP_MEASURES.items()
    }


def _kept(value: float) -> float | None:
    """A figure as JSON can hold it, without digits that mean nothing."""
    return round(float(value), DIGITS_KEPT) if np.isfinite(value) else None


def combination_means(
    answer: Answer, task: Task, streams: Streams, samples: int
) -> NDArray[np.float64]:
    """The mean answer to every combination, seen or not, in test handwriting.

    So many samples are shared out among them, one for each at the least.
    """
    table = task.combinations
    every = np.arange(len(table.digits))
    each = max(1, samples // len(every))
    rng = streams.numpy("combination means")
    predictions = answer(draw_samples(table, every, task.bank.test, each, rng))
    means: NDArray[np.float64] = predictions.reshape(-1, each).mean(axis=1, dtype=np.float64)
    return means


def prediction_tables(
    answer: Answer, task: Task, streams: Streams, predictions: int
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """For some unseen combinations, the answers to all choices of test images at each position.

    Returns their rows and the answers, for pairs (rows, left images, right images): so many
    predictions a table at the most, 50 × 50 or 13 × 13 × 13 for 2,500.
    """
    rng = streams.numpy("prediction tables")
    rows = np.sort(rng.permutation(task.unseen(streams.fold))[:MOST_TABLES])
    positions = task.combinations.digits.shape[1]
    images = images_per_position(predictions, positions)
    tables = [answer(all_of(task, row, images, rng)).reshape((images,) * positions) for row in rows]
    return rows, np.stack(tables)


def images_per_position(predictions: int, positions: int) -> int:
    """How many images stand at each position of a table of at most so many predictions."""
    return max(2, min(MOST_IMAGES, int(predictions ** (1 / positions) + 1e-9)))


def all_of(task: Task, row: int, images: int, rng: np.random.Generator) -> Samples:
    """Every choice of one of some test images at each position of a combination."""
    pools = [task.bank.test.pools[int(digit)] for digit in task.combinations.digits[row]]
    # without repetition where there are enough
    some = [rng.choice(pool, images, replace=len(pool) < images) for pool in pools]
    chosen = np.asarray([*product(*some)], np.int32)
    rows = np.full(len(chosen), row, np.int32)
    return Samples(task.bank.test, chosen, rows, task.combinations.answers[rows])

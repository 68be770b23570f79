"""Whose fault is an error: a wrong answer, a misread digit, or the interplay of the images?

An unseen combination is shown with k images in each of its places, every one beside every other:
a table of predictions with an axis for each place. Its mean squared error splits exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from unseen.insight.digit_values import bias, shared_errors
from unseen.problem.samples import Combinations

Table = NDArray[np.floating]  # (k, ..., k): an axis for each place
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Attribution:
    """The mean squared error of one combination, and its parts: they sum to it."""

    mse: float
    mean_error: float
    wrong: float  # all images answered alike, and wrongly
    misread: tuple[float, ...]  # by place: what depends on the image there, whatever is beside it
    interplay: float  # what only certain images together do


@dataclass(frozen=True)
class ErrorParts:
    """The mean squared error of a fold's unseen combinations, and its parts: they sum to it.

    The shift is what the error would lose if all answers moved by the mean error that seen
    combinations have as well; misvalued, what it would then lose if each digit's share moved by
    what it is worth too much or too little in seen combinations. Either is below 0 where unseen
    ones do not share that error, so that moving them would only make them worse.
    """

    mse: float
    shift: float
    misvalued: float
    wrong: float
    misread: tuple[float, ...]
    interplay: float

    def shares(self) -> "ErrorParts":
        """Each part as a share of the error; no numbers where there is no error."""
        scale = 1 / self.mse if self.mse else np.nan
        return ErrorParts(
            self.mse * scale,
            self.shift * scale,
            self.misvalued * scale,
            self.wrong * scale,
            tuple(part * scale for part in self.misread),
            self.interplay * scale,
        )


def attribute(predictions: Table, answer: float) -> Attribution:
    """The parts of the error on these very images.

    With few images a place looks misread by chance, by its share of the interplay (interplay / k
    for pairs); `estimate` is free of that, and the same for many images.
    """
    with np.errstate(all="ignore"):  # a network that went astray has parts that are no numbers
        errors = predictions.astype(np.float64) - answer
        mean = errors.mean()
        effects = [_mean_beside(errors, place) - mean for place in range(errors.ndim)]
        rest = errors - mean - sum(effects)
        return Attribution(
            mse=float(np.mean(errors**2)),
            mean_error=float(mean),
            wrong=float(mean**2),
            misread=tuple(float(np.mean(effect**2)) for effect in effects),
            interplay=float(np.mean(rest**2)) if errors.ndim > 1 else 0.0,
        )


def estimate(predictions: Table, answer: float) -> Attribution:
    """The parts of the error on any images, judged without bias from these.

    Two pictures that share no image err alike by the wrong answer alone, two that share the image
    of one place by that and by its misreading. So each part is a mean of products of errors. They
    sum to the mean squared error as well; a part near 0 may come out below it.
    """
    if min(predictions.shape) < 2:
        raise ValueError(f"an estimate needs two images in each place, not {predictions.shape}")
    with np.errstate(all="ignore"):
        errors = predictions.astype(np.float64) - answer
        wrong = _alike(errors, ())
        misread = tuple(_alike(errors, (place,)) - wrong for place in range(errors.ndim))
        mse = float(np.mean(errors**2))
        return Attribution(
            mse=mse,
            mean_error=float(errors.mean()),
            wrong=wrong,
            misread=misread,
            interplay=mse - wrong - sum(misread) if errors.ndim > 1 else 0.0,
        )


def split_mean_error(attribution: Attribution, shift: float, shared: float) -> ErrorParts:
    """Whose fault the error of an unseen combination is.

    `shift` is the network's mean error on its seen combinations in test handwriting, `shared` the
    mean error that those with the same digits let one expect. What an expected error e makes of a
    mean error m is m² - (m - e)²: that of the shift is named apart, then what the digits add to it,
    and (m - shared)² is the wrong answer.
    """
    error = attribution.mean_error
    with np.errstate(all="ignore"):
        shifted, expected = (2 * each * error - each**2 for each in (shift, shared))
        return ErrorParts(
            mse=attribution.mse,
            shift=shifted,
            misvalued=expected - shifted,
            wrong=attribution.wrong - expected,
            misread=attribution.misread,
            interplay=attribution.interplay,
        )


def error_parts_by_row(
    combinations: Combinations,
    seen: NDArray[np.bool_],
    means: NDArray[np.floating],
    rows: NDArray[np.integer],
    tables: NDArray[np.floating],
) -> dict[int, ErrorParts]:
    """Whose fault the errors of a fold's unseen combinations are: of these rows, by their tables.

    `means` are the mean answers to all combinations, and tell what seen ones share.
    """
    digits, answers = combinations.digits, combinations.answers
    shift = bias(means, answers, seen)[0]
    shared = shared_errors(digits, means, answers, seen)
    return {
        int(row): split_mean_error(estimate(table, float(answers[row])), shift, float(shared[row]))
        for row, table in zip(rows, tables, strict=True)
    }


def mean_error_parts(parts_by_row: Sequence[ErrorParts]) -> ErrorParts:
    """The mean over combinations, or over folds, each weighing the same."""
    with np.errstate(all="ignore"):
        return ErrorParts(
            mse=float(np.mean([each.mse for each in parts_by_row])),
            shift=float(np.mean([each.shift for each in parts_by_row])),
            misvalued=float(np.mean([each.misvalued for each in parts_by_row])),
            wrong=float(np.mean([each.wrong for each in parts_by_row])),
            misread=_mean_by_place([each.misread for each in parts_by_row]),
            interplay=float(np.mean([each.interplay for each in parts_by_row])),
        )


def _mean_by_place(parts: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(np.mean(parts, axis=0).tolist())


def _mean_beside(errors: Floats, place: int) -> Floats:
    """The mean error of each image of a place over all that stood beside it, axes kept."""
    others = tuple(axis for axis in range(errors.ndim) if axis != place)
    mean: Floats = errors.mean(axis=others, keepdims=True)
    return mean


def _alike(errors: Floats, shared: tuple[int, ...]) -> float:
    """The mean product of the errors of two pictures that share the images of just these places.

    Squared sums have all pairs that share these images or more; those that share more are taken
    out again, by inclusion and exclusion.
    """
    others = [axis for axis in range(errors.ndim) if axis not in shared]
    subsets = chain.from_iterable(combinations(others, size) for size in range(len(others) + 1))
    total = 0.0
    for more in subsets:
        free = tuple(axis for axis in others if axis not in more)
        total += (-1) ** len(more) * float(np.sum(errors.sum(axis=free) ** 2))
    pairs = prod(errors.shape) * prod(errors.shape[axis] - 1 for axis in others)
    return float(total / pairs)

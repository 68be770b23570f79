"""What an error is made of: a wrong answer, misread digits, or the interplay of the images.

An unseen combination is shown with k images in each place, in every arrangement: a table of
predictions with an axis for each place. Its mean squared error splits exactly into the parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from unseen.analysis.digit_values import mean_errors, shared_errors
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

    `shift` is how much smaller the error would be if all answers were corrected by the mean error
    on seen combinations. `misvalued` is how much smaller it would then be if each digit were also
    corrected by what it is worth too much or too little in seen combinations. Either is below 0 if
    unseen combinations do not share that error, so that the correction makes them worse.
    """

    mse: float
    shift: float
    misvalued: float
    wrong: float
    misread: tuple[float, ...]
    interplay: float

    def shares(self) -> "ErrorParts":
        """Each part as a share of the error; NaN if there is no error."""
        scale = 1 / self.mse if self.mse else np.nan
        parts = {name: part * scale for name, part in vars(self).items() if name != "misread"}
        return ErrorParts(**parts, misread=tuple(part * scale for part in self.misread))


def estimate(predictions: Table, answer: float) -> Attribution:
    """The parts of the error on all possible images, estimated without bias from these.

    What the errors of two pictures have in common is the wrong answer, if they share no image, and
    also the misreading of an image, if they share it. So each part is a mean of products of two
    errors. They sum to the mean squared error as well; a part near 0 may come out below it.
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
    """Split the error of an unseen combination by what seen combinations share of it.

    `shift` is the network's mean error on its seen combinations in test handwriting, `shared` the
    mean error to expect from the errors of the digits in them. Of a mean error m, an expected
    error e explains m² - (m - e)²: first that of the shift, then what the digits add to it. The
    rest, (m - shared)², is the wrong answer.
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
    """The parts of the errors of a fold's unseen combinations, by row of their table.

    `means` are the mean answers to all combinations: they tell what seen ones share.
    """
    digits, answers = combinations.digits, combinations.answers
    shift = mean_errors(means, answers, seen)[0]
    shared = shared_errors(digits, means, answers, seen)
    return {
        int(row): split_mean_error(estimate(table, float(answers[row])), shift, float(shared[row]))
        for row, table in zip(rows, tables, strict=True)
    }


def mean_error_parts(parts_by_row: Sequence[ErrorParts]) -> ErrorParts:
    """The mean over combinations, or over folds, each weighing the same."""
    with np.errstate(all="ignore"):
        means = {
            name: np.mean([getattr(each, name) for each in parts_by_row], axis=0).tolist()
            for name in vars(parts_by_row[0])
        }
    return ErrorParts(**means | {"misread": tuple(means["misread"])})


def _alike(errors: Floats, shared: tuple[int, ...]) -> float:
    """The mean product of the errors of two pictures that share the images of just these places.

    Squared sums contain all pairs that share these images or more; the pairs that share more are
    removed by inclusion and exclusion.
    """
    others = [axis for axis in range(errors.ndim) if axis not in shared]
    subsets = chain.from_iterable(combinations(others, size) for size in range(len(others) + 1))
    total = 0.0
    for more in subsets:
        free = tuple(axis for axis in others if axis not in more)
        total += (-1) ** len(more) * float(np.sum(errors.sum(axis=free) ** 2))
    pairs = prod(errors.shape) * prod(errors.shape[axis] - 1 for axis in others)
    return float(total / pairs)

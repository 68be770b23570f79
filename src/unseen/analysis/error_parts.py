"""What an error is made of: a wrong answer, misread digits, or the interplay of the images.

An unseen combination is shown with k images in each position, in every arrangement: a table of
predictions with an axis for each position. Its mean squared error splits exactly into the parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from unseen.analysis.digit_values import mean_errors, shared_errors
from unseen.problem.problem import Problem
from unseen.problem.samples import Combinations

Table = NDArray[np.floating]  # (k, ..., k): an axis for each position
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ErrorParts:
    """The mean squared error of unseen combinations, and its parts: they sum to it.

    `shift` is how much smaller the error would be if all answers were corrected by the mean error
    on seen combinations. `misvalued` is how much smaller it would then be if each digit were also
    corrected by what it is worth too much or too little in seen combinations. Either is below 0 if
    unseen combinations do not share that error, so that the correction makes them worse.
    """

    mse: float
    shift: float
    misvalued: float
    wrong: float  # all images answered alike, and wrongly
    misread: tuple[float, ...]  # by position: what depends on the image there alone
    interplay: float  # what only certain images together do

    def shares(self) -> "ErrorParts":
        """Each part as a share of the error; NaN if there is no error."""
        scale = 1 / self.mse if self.mse else np.nan
        parts = {name: part * scale for name, part in vars(self).items() if name != "misread"}
        return ErrorParts(**parts, misread=tuple(part * scale for part in self.misread))


def split_error(
    predictions: Table, answer: float, shift: float = 0.0, shared: float = 0.0
) -> ErrorParts:
    """The parts of the error on all possible images, estimated without bias from these.

    What the errors of two pictures have in common is the wrong answer, if they share no image, and
    also the misreading of an image, if they share it. So each part is a mean of products of two
    errors. They sum to the mean squared error as well; a part near 0 may come out below it.

    `shift` is the network's mean error on its seen combinations in test handwriting, `shared` the
    mean error to expect from the errors of the digits in them. Of a mean error m, an expected
    error e explains m² - (m - e)²: first that of the shift, then what the digits add to it. The
    rest, (m - shared)², is the wrong answer.
    """
    if min(predictions.shape) < 2:
        raise ValueError(f"an estimate needs two images in each place, not {predictions.shape}")
    with np.errstate(all="ignore"):
        errors = predictions.astype(np.float64) - answer
        mean, mse = float(errors.mean()), float(np.mean(errors**2))
        alike = _alike(errors, ())
        misread = tuple(_alike(errors, (place,)) - alike for place in range(errors.ndim))
        shifted, expected = (2 * each * mean - each**2 for each in (shift, shared))
        return ErrorParts(
            mse=mse,
            shift=shifted,
            misvalued=expected - shifted,
            wrong=alike - expected,
            misread=misread,
            interplay=mse - alike - sum(misread) if errors.ndim > 1 else 0.0,
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
        int(row): split_error(table, float(answers[row]), shift, float(shared[row]))
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


def place_names(problem: Problem) -> tuple[str, ...]:
    """Each position of a picture, from left to right."""
    if problem.operation.startswith("shown:"):
        return ("left", "sign", "right")
    if problem.length == 2:
        return ("left", "right")
    return tuple(f"place {at + 1}" for at in range(problem.length))


def parts_by_place(problem: Problem, parts: ErrorParts) -> dict[str, float]:
    """The parts of an error under short names, what is misread position by position."""
    names = place_names(problem)
    misread = {f"misread {name}": part for name, part in zip(names, parts.misread, strict=True)}
    named = {"wrong": parts.wrong, "misvalued": parts.misvalued, "shift": parts.shift}
    return misread | named | ({"interplay": parts.interplay} if len(names) > 1 else {})


def _alike(errors: Floats, shared: tuple[int, ...]) -> float:
    """The mean product of the errors of two pictures that share the images of just these positions.

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

"""What trained networks answer to pictures from outside, and whether they agree."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import SettingError, UnseenError, first_line
from unseen.problem.problem import Problem
from unseen.problem.samples import batches
from unseen.problem.splits import Combination, parse_combination
from unseen.problem.task import make_task
from unseen.runs.fold import torch_threads
from unseen.use.ink import PictureError
from unseen.use.pictures import PreparedPicture, SymbolShape, prepare, read_picture

if TYPE_CHECKING:
    from torch import nn

UNIT_SLACK = 1e-3  # by which floats from 0 to 1 may be above 1, as interpolation leaves them
LEAST_BRIGHT = 16  # the brightest pixel of pictures from 0 to 255; MNIST's have over 100
AT_ONCE = 500  # pictures that are prepared while the networks answer those before


@dataclass(frozen=True)
class Prediction:
    """What the networks answer to one picture."""

    path: Path
    picture: PreparedPicture
    answers: dict[int, float]  # by fold

    # in plain Python: numpy takes ten times as long for ten numbers, and there may be thousands

    @property
    def answer(self) -> float:
        answers = [*self.answers.values()]
        return median(answers) if all(map(math.isfinite, answers)) else math.nan

    @property
    def rounded(self) -> int | None:
        """The answer as a whole number; None where a network answers NaN."""
        return None if math.isnan(answer := self.answer) else round(answer)

    @property
    def agreeing(self) -> int:
        """How many networks round to the same number as all of them together."""
        if (rounded := self.rounded) is None:
            return 0
        return sum(round(answer) == rounded for answer in self.answers.values())

    @property
    def spread(self) -> float:
        """Standard deviation between the networks."""
        answers = self.answers.values()
        mean = sum(answers) / len(answers)
        return math.sqrt(sum((answer - mean) ** 2 for answer in answers) / len(answers))

    def only(self, folds: Collection[int]) -> "Prediction | None":
        """The same of the networks of some folds alone; None if they were not asked."""
        answers = {fold: answer for fold, answer in self.answers.items() if fold in folds}
        return replace(self, answers=answers) if answers else None


@dataclass(frozen=True)
class FailedPicture:
    """A file that could not be read or prepared, and why."""

    path: Path
    fault: str


@dataclass(frozen=True)
class Truth:
    """What a picture really shows, and which networks have never seen that combination."""

    combination: Combination
    answer: int
    unseen_in: tuple[int, ...]  # folds


def find_truth(text: str, problem: Problem, folds: Collection[int]) -> Truth:
    """A combination as it is written, 3,8, with its answer, and which of some folds left it out."""
    task = make_task(problem)
    rows = {tuple(digits): row for row, digits in enumerate(task.combinations.digits.tolist())}
    combination = parse_combination(text)
    if combination is None or combination not in rows:
        count = task.combinations.digits.shape[1]
        raise SettingError("truth", text, f"is no combination of {count} of these symbols, as 3,8")
    row = rows[combination]
    unseen_in = tuple(fold for fold in folds if row in task.unseen(fold))
    return Truth(combination, int(task.combinations.answers[row]), unseen_in)


def combined(answers: NDArray[Any]) -> NDArray[np.float32]:
    """One answer of those of several networks, (networks, n) -> (n,): their median.

    Networks with symbols of their own answer in whole steps. In a mean, one of ten that takes a 1
    for a 7 moves the answer by 0.6, and the rounding with it.
    """
    return np.asarray(np.median(answers, axis=0))


def answers_by_fold(networks: Mapping[int, "nn.Module"], grey: NDArray[Any]) -> NDArray[np.float32]:
    """What each network answers to pictures (n, height, width): (networks, n)."""
    import torch

    from unseen.training.evaluation import predict_pictures

    device = torch.device("cpu")
    return np.stack([predict_pictures(each, grey, device) for each in networks.values()])


def grey_values(pictures: Any, height: int, width: int) -> NDArray[Any]:
    """Pictures of this size as (n, height, width) grey values from 0 to 255, whatever they are.

    Whole numbers are such values as they are; floats up to 1 are shares of 255. What could be
    either is refused, because a network answers anything to pictures that are nearly black.
    """
    wanted = (
        f"pictures must be of shape (n, {height}, {width}), with grey values from 0 to 255, or as "
        "floats from 0 to 1"
    )
    try:
        given = _as_array(pictures)
    except Exception as error:  # of whatever library they are from
        raise UnseenError(f"{wanted}: {first_line(error)}") from error
    fits = given.shape[-2:] == (height, width) and given.shape[1:-2] in ((), (1,))
    if not fits or given.dtype.kind not in "uifb":
        raise UnseenError(f"{wanted}; these are {given.shape} of {given.dtype}")
    given = given.reshape(-1, height, width)
    if not len(given):
        return given
    least, most = float(given.min()), float(given.max())
    whole, unit = given.dtype.kind in "ui", most <= 1 + UNIT_SLACK
    brightest = given.reshape(len(given), -1).max(axis=1)
    if not whole and not unit and ((brightest > 0) & (brightest <= 1 + UNIT_SLACK)).any():
        raise UnseenError(f"{wanted}; some of these go to 1 and others to {most:g}")
    if not (least >= 0 and most <= 255) or (not unit and not whole and most < LEAST_BRIGHT):
        raise UnseenError(f"{wanted}; these go from {least:g} to {most:g}")
    if whole and most == 1:
        raise UnseenError(f"{wanted}; these are whole numbers up to 1, which could be either")
    return given if whole or not unit else np.minimum(given.astype(np.float32), 1) * np.float32(255)


def _as_array(pictures: Any) -> NDArray[Any]:
    """A copy, because torch takes no array that cannot be written to."""
    if isinstance(pictures, list | tuple):
        given = [_as_array(each) for each in pictures]
        if len(kinds := sorted({"whole numbers" if each.dtype.kind in "ui" else "floats"
                                for each in given})) > 1:  # fmt: skip
            raise UnseenError(f"some are {kinds[0]} and some {kinds[1]}")
        return np.array(given)
    if hasattr(pictures, "convert") and pictures.mode[0] not in "FI":  # of PIL; F and I are numbers
        pictures = pictures.convert("L")
    if hasattr(pictures, "detach"):  # of torch
        pictures = pictures.detach().cpu().numpy()
    return np.array(pictures)


def picture_shape(problem: Problem) -> SymbolShape:
    """What the pictures of a problem are made of."""
    task = make_task(problem)
    height, width = task.bank.test.images.shape[1:]
    return SymbolShape(
        task.combinations.digits.shape[1],
        height,
        width,
        is_mnist_like=problem.symbols in ("mnist", "mnist-0-4"),
    )


def predict_files(
    paths: Sequence[Path], shape: SymbolShape, networks: Mapping[int, "nn.Module"], threads: int
) -> Iterator[Prediction | FailedPicture]:
    """What the networks answer to picture files, in order, read as they are asked for.

    Pictures are prepared while a thread answers those that were prepared before.
    """

    def answered(
        paths: Sequence[Path], prepared: Sequence[PreparedPicture | FailedPicture]
    ) -> list[Prediction | FailedPicture]:
        grey = [each.pixels for each in prepared if isinstance(each, PreparedPicture)]
        answers = iter(answers_by_fold(networks, np.stack(grey)).T.tolist() if grey else ())
        return [
            each
            if isinstance(each, FailedPicture)
            else Prediction(path, each, dict(zip(networks, next(answers), strict=True)))
            for path, each in zip(paths, prepared, strict=True)
        ]

    with torch_threads(threads), ThreadPoolExecutor(1) as thread:
        waiting: list[Future[list[Prediction | FailedPicture]]] = []
        for here in batches(len(paths), AT_ONCE):
            prepared = [_prepared(path, shape) for path in paths[here]]
            waiting.append(thread.submit(answered, paths[here], prepared))
            if len(waiting) > 1:
                yield from waiting.pop(0).result()
        for last in waiting:
            yield from last.result()


def _prepared(path: Path, shape: SymbolShape) -> PreparedPicture | FailedPicture:
    try:
        return prepare(read_picture(path), shape)
    except PictureError as error:
        return FailedPicture(path, str(error))

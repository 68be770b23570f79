"""The samples of a fold for a training loop of the user's, and splits for scikit-learn."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.utils.data import Dataset

from unseen.errors import SettingError, UnseenError
from unseen.problem.problem import PAPER_SPLIT_SEED
from unseen.problem.randomness import Streams
from unseen.problem.samples import Combinations, Samples, render_pictures
from unseen.problem.splits import Fold, NamedSplit, find_split, split_folds
from unseen.problem.task import make_task, seen_samples, unseen_samples
from unseen.runs.checks import check_fold, check_folds
from unseen.runs.experiment import Experiment
from unseen.runs.session import find_experiment


class FoldDataset(Dataset[tuple[Tensor, Tensor]]):
    """The samples of one fold as a torch Dataset: (1, height, width) in 0 to 1, and the answer.

    `half` is "train", seen combinations in training handwriting, or "test", unseen ones in test
    handwriting. `settings` change the experiment, as in `unseen.run`.

    >>> import torch, unseen
    >>> train = unseen.FoldDataset("fast", fold=1, operation="subtract", samples=10)
    >>> test = unseen.FoldDataset("fast", fold=1, half="test", operation="subtract", samples=10)
    >>> len(train), len(test)
    (900, 20000)
    >>> pictures, answers = next(iter(torch.utils.data.DataLoader(train, batch_size=32)))
    >>> pictures.shape, answers.shape
    (torch.Size([32, 1, 28, 56]), torch.Size([32]))
    >>> train.digits.shape
    (900, 2)
    """

    def __init__(
        self,
        experiment: Experiment | str = "fast",
        fold: int = 1,
        half: Literal["train", "test"] = "train",
        **settings: Any,
    ) -> None:
        if half not in ("train", "test"):
            raise SettingError("half", half, "must be 'train' or 'test'")
        self.experiment = find_experiment(experiment).vary(**settings)
        problem = self.experiment.problem
        task = make_task(problem)
        check_folds([check_fold(fold)], len(task.folds))
        draw = seen_samples if half == "train" else unseen_samples
        self.samples: Samples = draw(problem, Streams(self.experiment.seed, fold))
        self.digits: NDArray[np.int64] = task.combinations.digits[self.samples.combinations]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, at: int) -> tuple[Tensor, Tensor]:
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        return self.__getitems__([at])[0]

    def __getitems__(self, rows: Sequence[int]) -> list[tuple[Tensor, Tensor]]:
        """Some samples at once, as torch's loaders ask for them."""
        pictures = torch.from_numpy(render_pictures(self.samples, np.asarray(rows)))
        answers = torch.from_numpy(self.samples.answers[np.asarray(rows)]).float()
        return [*zip(pictures.unsqueeze(1).float().div_(255.0), answers, strict=True)]


class CombinationSplit:
    """A cross-validation splitter for scikit-learn: combinations are seen or unseen as a whole.

    `groups` are the digits of each sample, (n, length). A fold's test samples are all those of its
    unseen combinations; `split`, `seed` and `unseen` are as in `unseen.Problem`.

    >>> import numpy as np, unseen
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> digits = np.stack(np.meshgrid(np.arange(10), np.arange(10)), -1).reshape(-1, 2)
    >>> sums, cv = digits.sum(axis=1), unseen.CombinationSplit("random")
    >>> cross_val_score(LinearRegression(), digits, sums, groups=digits, cv=cv).round(3)
    array([1., 1., 1., 1., 1., 1., 1., 1., 1., 1.])
    """

    def __init__(
        self, split: NamedSplit = "random", seed: int = PAPER_SPLIT_SEED, unseen: int | None = None
    ) -> None:
        self.split_name, self.unseen_list = find_split(split)
        self.seed, self.unseen = seed, unseen

    def split(
        self,
        X: Any,  # noqa: N803
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Rows of the samples to train with and to test with, fold by fold."""
        table, row_of = self._table(y, groups)
        for fold in self._folds(table):
            is_unseen = np.isin(row_of, fold.unseen)
            yield np.flatnonzero(~is_unseen), np.flatnonzero(is_unseen)

    def get_n_splits(
        self,
        X: Any = None,  # noqa: N803
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> int:
        """How many folds there are, which depends on the combinations."""
        table, _ = self._table(y, groups)
        return len(self._folds(table))

    def _folds(self, table: Combinations) -> list[Fold]:
        return split_folds(self.split_name, table, self.seed, self.unseen, self.unseen_list)

    def _table(
        self, y: ArrayLike | None, groups: ArrayLike | None
    ) -> tuple[Combinations, NDArray[np.intp]]:
        """All combinations that there are, and of each sample which it shows."""
        digits = np.asarray(groups)
        if digits.ndim != 2 or digits.dtype.kind not in "iu":
            raise UnseenError(
                "groups must be the digits of each sample, of shape (n, length); "
                f"these are {digits.dtype} of shape {digits.shape}"
            )
        table, first, row_of = np.unique(digits, axis=0, return_index=True, return_inverse=True)
        # only the split by answers needs them
        answers = np.zeros(len(table)) if y is None else np.asarray(y)[first]
        combinations = Combinations(table.astype(np.int64), np.rint(answers).astype(np.int32))
        return combinations, np.asarray(row_of).reshape(-1)

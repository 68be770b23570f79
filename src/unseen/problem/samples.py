"""Algorithm 1: samples drawn for combinations, as indices; pictures made a batch at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.problem.symbol_bank import SymbolImages

# so that a million samples need no more memory on the way than their indices
DRAWN_AT_ONCE = 50_000


@dataclass(frozen=True)
class Combinations:
    """A table of combinations, each with its answer."""

    digits: NDArray[np.int64]  # (n, length)
    answers: NDArray[np.int32]  # (n,) signed


@dataclass(frozen=True)
class Samples:
    """Which images stand side by side in each sample, and what the answer is."""

    symbols: SymbolImages
    images: NDArray[np.int32]  # (n, length) rows of the handwriting
    combinations: NDArray[np.int32]  # (n,) rows of the table of combinations
    answers: NDArray[np.int32]  # (n,) signed

    def __len__(self) -> int:
        return len(self.answers)

    def some(self, rows: NDArray[np.intp]) -> "Samples":
        """The samples of the given rows."""
        return Samples(self.symbols, self.images[rows], self.combinations[rows], self.answers[rows])


def draw_samples(
    combinations: Combinations,
    rows: NDArray[np.intp],
    handwriting: SymbolImages,
    samples_per_combination: int,
    rng: np.random.Generator,
) -> Samples:
    """For the combinations of some rows, images of their digits, at random with replacement.

    >>> import numpy as np, unseen
    >>> task = unseen.make_task(unseen.Problem())
    >>> rows, rng = np.asarray([38, 83]), np.random.default_rng(0)  # (3, 8) and (8, 3)
    >>> samples = unseen.draw_samples(task.combinations, rows, task.bank.test, 5, rng)
    >>> samples.answers.tolist()
    [11, 11, 11, 11, 11, 11, 11, 11, 11, 11]
    """
    drawn = np.repeat(rows.astype(np.int32), samples_per_combination)
    order, first, counts = handwriting.by_label
    images = np.empty((len(drawn), combinations.digits.shape[1]), np.int32)
    for here in batches(len(drawn), DRAWN_AT_ONCE):
        digits = combinations.digits[drawn[here]]  # (n, length)
        picks = (rng.random(digits.shape) * counts[digits]).astype(np.int32)
        images[here] = order[first[digits] + picks]
    return Samples(handwriting, images, drawn, combinations.answers[drawn])


def render_pictures(samples: Samples, rows: NDArray[np.integer[Any]] | slice) -> NDArray[np.uint8]:
    """The pictures of some samples, digits side by side: (n, height, length · width).

    >>> import unseen
    >>> samples = unseen.FoldDataset("fast", samples=1).samples
    >>> unseen.render_pictures(samples, slice(0, 3)).shape
    (3, 28, 56)
    """
    return np.asarray(side_by_side(samples.symbols.images[samples.images[rows]]))


def side_by_side(symbols: Any) -> Any:
    """Arrays or tensors of symbols (n, length, height, width) as (n, height, length · width)."""
    count, length, height, width = symbols.shape
    return symbols.swapaxes(1, 2).reshape(count, height, length * width)


def batches(count: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most `size` items, together all `count` of them."""
    return (slice(start, min(start + size, count)) for start in range(0, count, size))

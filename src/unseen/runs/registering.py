"""Parts that users add under a name: networks, operations, symbols and splits."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from unseen.errors import UnseenError, first_line
from unseen.networks.models import MODELS, OWN, Network
from unseen.problem.operations import OPERATIONS, Answers, Digits
from unseen.problem.samples import Combinations
from unseen.problem.splits import SPLITS, Rows
from unseen.problem.symbol_bank import SymbolBank, from_arrays
from unseen.problem.symbols import SYMBOLS

if TYPE_CHECKING:
    from torch import nn

Images = tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]


def register_model(
    name: str, build: "Callable[[int, int, int], nn.Module]", about: str = "registered"
) -> None:
    """Give a network a name that `model=` takes.

    `build` is a class or a function of (length, height, width) that makes a torch module from
    pictures (n, 1, height, width) in 0 to 1 to answers (n, 1).

    >>> import torch, unseen
    >>> class Linear(torch.nn.Sequential):
    ...     def __init__(self, length, height, width):
    ...         super().__init__(torch.nn.Flatten(), torch.nn.Linear(height * width, 1))
    >>> unseen.register_model("linear", Linear)
    >>> unseen.run("fast", model="linear", folds=1, samples=2, test_samples=2).results[0].parameters
    1569
    """
    MODELS.add("model", name, Network(build, OWN, about), build)


def register_operation(name: str, answers: Callable[[Digits], ArrayLike]) -> None:
    """Give a question a name that `operation=` takes: digits (n, length) -> whole numbers (n,).

    >>> import numpy as np, unseen
    >>> unseen.register_operation("gcd", lambda digits: np.gcd(digits[:, 0], digits[:, 1]))
    >>> int(unseen.make_task(unseen.Problem(operation="gcd")).combinations.answers[48])  # of (4, 8)
    4
    """

    def checked(digits: Digits) -> Answers:
        made = np.asarray(_called(f"operation {name!r}", answers, digits))
        if made.shape != digits.shape[:1] or not np.array_equal(made, np.rint(made)):
            raise UnseenError(
                f"operation {name!r} must give one whole number for each row of digits; for "
                f"{len(digits)} it gave {made.dtype} of shape {made.shape}"
            )
        return made.astype(np.int64)

    checked.__doc__ = answers.__doc__
    OPERATIONS.add("operation", name, checked, answers)


def register_symbols(name: str, load: Callable[[], Images]) -> None:
    """Give a symbol set a name that `symbols=` takes.

    `load` gives four arrays: training images (n, height, width) of bytes and their labels (n,) from
    0 to 255, then test images and labels.

    >>> import numpy as np, unseen
    >>> def bars():
    ...     labels = np.arange(40) % 4
    ...     images = np.zeros((40, 28, 28), np.uint8)
    ...     for image, label in zip(images, labels):
    ...         image[: 7 * label + 5, 10:18] = 255
    ...     return images, labels, images, labels
    >>> unseen.register_symbols("bars", bars)
    >>> len(unseen.make_task(unseen.Problem(symbols="bars")).combinations.answers)
    16
    """

    def bank() -> SymbolBank:
        return _bank(name, _called(f"symbols {name!r}", load))

    bank.__doc__ = load.__doc__
    SYMBOLS.add("symbols", name, bank, load)


def register_split(
    name: str, folds: Callable[[Combinations, int, int | None], Sequence[ArrayLike]]
) -> None:
    """Give a split a name that `split=` takes.

    `folds` takes the table of all combinations, a seed, and None; it gives for each fold the rows
    of the table that are unseen.

    >>> import numpy as np, unseen
    >>> def even_sums(table, seed, unseen):
    ...     return [np.flatnonzero(table.answers % 2 == 0)]
    >>> unseen.register_split("even-sums", even_sums)
    >>> len(unseen.make_task(unseen.Problem(split="even-sums")).unseen(1))
    50
    """

    def checked(table: Combinations, seed: int, unseen: int | None) -> list[Rows]:
        count = len(table.digits)
        try:
            made = _called(f"split {name!r}", folds, table, seed, unseen)
            rows = [np.unique(np.asarray(each)) for each in made]
            is_whole = all(
                each.dtype.kind in "iu" and len(each) and 0 <= each[0] <= each[-1] < count
                for each in rows
            )
        except (TypeError, ValueError):
            is_whole = False
        if not is_whole:
            raise UnseenError(
                f"split {name!r} must give a list of rows from 0 to {count - 1} for each fold"
            )
        return rows

    checked.__doc__ = folds.__doc__
    SPLITS.add("split", name, checked, folds)


def _called(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a user's function; what fails in it becomes one line."""
    try:
        return function(*arguments)
    except UnseenError:
        raise
    except Exception as error:
        raise UnseenError(f"{what} fails: {first_line(error)}") from error


def _bank(name: str, made: Any) -> SymbolBank:
    try:
        arrays = [np.asarray(each) for each in made]
        images, labels = arrays[::2], arrays[1::2]
        is_whole = (
            len(arrays) == 4
            and all(each.ndim == 3 and each.dtype == np.uint8 for each in images)
            and all(each.ndim == 1 and each.dtype.kind in "iu" for each in labels)
            and all(0 <= each.min() <= each.max() <= 255 for each in labels)
        )
    except (TypeError, ValueError):
        is_whole = False
    if not is_whole:
        raise UnseenError(
            f"symbols {name!r} must give training images (n, height, width) of bytes, their labels "
            "(n,) from 0 to 255, and the same for test"
        )
    return from_arrays(f"symbols {name!r}", [each.astype(np.uint8) for each in arrays])

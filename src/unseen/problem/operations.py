"""Operations: what is asked of the digits of a combination."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Digits = NDArray[np.int64]  # (n, length)
Answers = NDArray[np.int64]  # (n,): signed, so that no difference wraps around


def add(digits: Digits) -> Answers:
    """The sum of the digits, as in the paper."""
    total: Answers = digits.sum(axis=1)
    return total


OPERATIONS: dict[str, Callable[[Digits], Answers]] = {"add": add}

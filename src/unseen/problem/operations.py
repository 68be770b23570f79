"""Operations: what is asked of the digits of a combination.

An operation is a registered name, an expression in the positions' letters (`"a*b + c"`), `shown:`
with the signs that may stand between two digits (`shown:+,-,*`), or `table:` with a seed, a random
table of answers as a control.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError
from unseen.parts import Registry
from unseen.problem.expressions import EXAMPLE, LARGEST_ANSWER, LETTERS, parse_expression

Digits = NDArray[np.int64]  # (n, positions)
Answers = NDArray[np.int64]  # (n,): signed, so that no difference wraps around

# What a sign is called in a combination: beyond any label that a folder of symbols can have.
SIGN_LABELS = {"+": 256, "-": 257, "*": 258}
SIGNS = {label: sign for sign, label in SIGN_LABELS.items()}


@dataclass(frozen=True)
class Operation:
    """The answers to a table of all combinations, and the signs that stand between their digits."""

    text: str  # the same for the same operation, however it was spaced
    answers: Callable[[Digits], Answers]
    signs: tuple[str, ...] = ()


def add(digits: Digits) -> Answers:
    """The sum of the digits, as in the paper."""
    return np.asarray(digits.sum(axis=1))


def subtract(digits: Digits) -> Answers:
    """The first digit less all the others."""
    return np.asarray(digits[:, 0] - digits[:, 1:].sum(axis=1))


def multiply(digits: Digits) -> Answers:
    """The product of the digits."""
    # in floats, where what is beyond all limits stays so; as integers it would wrap around
    exact = np.minimum(digits.prod(axis=1, dtype=np.float64), 2 * LARGEST_ANSWER)
    return np.asarray(exact.astype(np.int64))


def shown(signs: tuple[str, ...]) -> Operation:
    """Whichever operation the sign between two digits asks for: (left, sign, right) -> answer."""

    def answers(combinations: Digits) -> Answers:
        digits = combinations[:, [0, 2]]
        which = [combinations[:, 1] == SIGN_LABELS[sign] for sign in signs]
        return np.select(which, [OPERATIONS[SIGNED[sign]](digits) for sign in signs])

    return Operation("shown:" + ",".join(signs), answers, signs)


def random_table(seed: int) -> Operation:
    """The sums of all combinations in random order, so that answers can only be memorised."""
    return Operation(
        f"table:{seed}", lambda digits: np.random.RandomState(seed).permutation(add(digits))
    )


def parse_operation(text: str, length: int) -> Operation:
    """The operation that a text asks for, on this many digits."""
    kind, colon, rest = text.partition(":")
    if text in OPERATIONS:
        return Operation(text, OPERATIONS[text])
    if colon and kind == "shown":
        return shown(_signs(rest, length))
    if colon and kind == "table":
        if not (rest.isascii() and rest.isdecimal() and len(rest) <= 20 and int(rest) < 2**32):
            raise UnseenError(f"{text} has no seed; say it as table:7")
        return random_table(int(rest))
    if text.isidentifier() and len(text) > 1:
        raise UnseenError(
            f"unknown operation {text!r}; known: {', '.join(OPERATIONS)}, shown:+,-,*, "
            f"table:SEED, or an expression such as {EXAMPLE}"
        )
    expression = parse_expression(text, length)
    return Operation(expression.text, expression.answers)


def canonical_operation(text: str) -> str:
    """The same text for the same operation, however it is spaced."""
    text = text.strip()
    return parse_operation(text, 2 if text.startswith("shown:") else len(LETTERS)).text


def spelled(combination: Iterable[int]) -> list[int | str]:
    """A combination as people write it: digits as they are, and a sign as a sign."""
    return [SIGNS.get(int(value), int(value)) for value in combination]


def _signs(text: str, length: int) -> tuple[str, ...]:
    if length != 2:
        raise UnseenError(f"a sign is shown between two digits; these are {length}")
    signs = [sign.strip() for sign in text.split(",")]
    if not set(signs) <= set(SIGN_LABELS) or len(set(signs)) < len(signs):
        raise UnseenError(f"shown:{text} names no set of signs; say it as shown:+,-,*")
    return tuple(sign for sign in SIGN_LABELS if sign in signs)


OPERATIONS: Registry[Callable[[Digits], Answers]] = Registry(
    {operation.__name__: operation for operation in (add, subtract, multiply)}
)
SIGNED = {"+": "add", "-": "subtract", "*": "multiply"}

"""Operations as a person writes them: arithmetic in the letters of a combination's symbols."""

import ast
import operator
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen.errors import UnseenError, shortened
from unseen.problem.samples import batches

LETTERS = "abcdefghijklmnopqrst"  # a is the first symbol
LARGEST_ANSWER = 2**24  # up to here float32, in which networks answer, has every integer
LARGEST_INTERMEDIATE = 2**63
LARGEST_EXPONENT = 10
MOST_CHARACTERS = 200
MOST_DEPTH = 20
# so that a million combinations never stand in memory as a million fractions
ANSWERED_AT_ONCE = 50_000

EXAMPLE = '"2*a + 1"'  # which pictures of any length have an answer to
HINT = f"say it as {EXAMPLE}, with + - * / // % **, abs, min, max"

Digits = NDArray[np.int64]  # (n, length)
Values = NDArray[Any]  # (n,) Python's integers and fractions, which are exact


@dataclass(frozen=True)
class Expression:
    """An arithmetic expression in the letters of the symbols, checked and ready to be answered."""

    text: str  # as Python spaces it, so that "a*b" and "a * b" are the same
    tree: ast.expr = field(repr=False, compare=False)

    def answers(self, digits: Digits) -> NDArray[np.int64]:
        """The answer of each combination, (n, length) -> (n,), or an error that names one."""
        answers = np.empty(len(digits), np.int64)
        for part in batches(len(digits), ANSWERED_AT_ONCE):
            some = digits[part].astype(object)
            values = _values(self.tree, some)
            _refuse(self.tree, some, values % 1 != 0, "is no integer")
            _refuse_beyond(self.tree, some, values, LARGEST_ANSWER)
            answers[part] = values
        return answers


def parse_expression(text: str, length: int) -> Expression:
    """The expression that a text says, for combinations of a length; nothing in it is ever run."""
    text = text.strip()
    # spaces aside: the text that a run records is spaced, and has to be read again
    count = len(text.replace(" ", ""))
    if count > MOST_CHARACTERS:
        raise _refusal(
            text, f"is too long: {count:,} characters, but the most is {MOST_CHARACTERS}"
        )
    for character in text:
        # Python would take ａ for a, and leave out what follows a #
        if not (character.isascii() and character.isprintable()) or character == "#":
            raise _no_arithmetic(text, f"{character!r} is not allowed")
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise _no_arithmetic(text, error.msg.split(".")[0] if text else "it is empty") from error
    except (ValueError, MemoryError, RecursionError) as error:
        raise _no_arithmetic(text, "it is too nested to read") from error
    _check(tree, text, length)
    return Expression(ast.unparse(tree), tree)


def _check(node: ast.expr, text: str, length: int, depth: int = 0) -> None:
    """Refuse what is not arithmetic in the letters of so many symbols."""
    if depth > MOST_DEPTH:
        raise _refusal(text, f"is too complicated: at most {MOST_DEPTH} operations in one another")
    parts: list[ast.expr] = []
    match node:
        case ast.Name(id=name):
            _check_letter(name, text, length)
        case ast.Constant(value=int(number)) if type(number) is int:
            if number > LARGEST_ANSWER:
                raise _refusal(text, f"has {_written(node, text)}, beyond {LARGEST_ANSWER:,}")
        case ast.UnaryOp(op=ast.UAdd() | ast.USub()):
            parts = [node.operand]
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            if not _is_exponent(right):
                allowed = f"those are the integers from 0 to {LARGEST_EXPONENT}"
                raise _refusal(text, f"has {_written(right, text)!r} as exponent; {allowed}")
            parts = [left]
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
            parts = [left, right]
        case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]) if name in FUNCTIONS:
            if (len(parts) == 1) != (name == "abs") or not parts:
                raise _no_arithmetic(text, "abs takes one number, min and max take two or more")
        case _:
            raise _no_arithmetic(text, f"{_written(node, text)!r} is not allowed")
    for part in parts:
        _check(part, text, length, depth + 1)


def _is_exponent(node: ast.expr) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    return type(value) is int and value <= LARGEST_EXPONENT


def _check_letter(name: str, text: str, length: int) -> None:
    if len(name) != 1 or name not in LETTERS:
        # asked of a text alone, before it is known how many symbols there are
        fault = f"{shortened(name)!r} is no symbol's letter (a is the first, b the second)"
        raise _no_arithmetic(text, fault)
    if name not in LETTERS[:length]:
        letters = ", ".join(LETTERS[:length])
        raise _refusal(text, f"has {name}, but pictures have {length} symbols ({letters})")


def _no_arithmetic(text: str, reason: str) -> UnseenError:
    return _refusal(text, f"is no arithmetic expression: {reason}; {HINT}")


def _refusal(text: str, fault: str) -> UnseenError:
    return UnseenError(f"operation {shortened(text)!r} {fault}")


def _written(node: ast.expr, text: str) -> str:
    """A node as it was written: unlike ast.unparse, without climbing down into it."""
    return shortened(text[node.col_offset : node.end_col_offset])


def _values(node: ast.expr, digits: Values) -> Values:
    """The value of a node for each combination (n, length) of Python's integers."""
    match node:
        case ast.Constant(value=number):
            return np.full(len(digits), number, object)
        case ast.Name(id=letter):
            return np.asarray(digits[:, LETTERS.index(letter)])
        case ast.UnaryOp(op=sign, operand=operand):
            values = _values(operand, digits)
            return -values if isinstance(sign, ast.USub) else values
        case ast.BinOp(op=sign):
            left, right = _values(node.left, digits), _values(node.right, digits)
            if isinstance(sign, ast.Div | ast.FloorDiv | ast.Mod):
                _refuse(node, digits, right == 0, "divides by zero")
            values = OPERATORS[type(sign)](left, right)
            # or powers of powers would fill the memory
            _refuse_beyond(node, digits, values, LARGEST_INTERMEDIATE)
            return values
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return FUNCTIONS[name](*(_values(each, digits) for each in arguments))
    raise TypeError(f"not checked: {ast.dump(node)}")


def _refuse_beyond(node: ast.expr, digits: Values, values: Values, largest: int) -> None:
    beyond = [max(abs(value.numerator), value.denominator) > largest for value in values]
    for value in values[beyond][:1]:
        limit = f"beyond ± 2^{largest.bit_length() - 1} = {largest:,},"
        _refuse(node, digits, beyond, f"is {shortened(str(value))}, {limit}")


def _refuse(node: ast.expr, digits: Values, wrong: ArrayLike, fault: str) -> None:
    """Name the first combination for which something is wrong, if there is one."""
    for row in np.flatnonzero(wrong)[:1]:
        combination = ", ".join(map(str, digits[row]))
        raise UnseenError(f"{ast.unparse(node)} {fault} for ({combination})")


def _divided(left: int | Fraction, right: int | Fraction) -> int | Fraction:
    return Fraction(left, right) if left % right else left // right


OPERATORS: dict[type[ast.operator], Callable[[Values, Values], Values]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: np.frompyfunc(_divided, 2, 1),
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
FUNCTIONS: dict[str, Callable[..., Values]] = {
    "abs": np.abs,
    "min": lambda *values: reduce(np.minimum, values),
    "max": lambda *values: reduce(np.maximum, values),
}

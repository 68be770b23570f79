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
from numpy.typing import NDArray

from unseen.errors import UnseenError
from unseen.problem.samples import batches

LETTERS = "abcdefghijklmnopqrst"  # a is the first symbol
LARGEST_ANSWER = 2**24  # up to here float32, in which networks answer, has every integer
LARGEST_INTERMEDIATE = 2**63
LARGEST_EXPONENT = 10
MOST_CHARACTERS = 200
MOST_PARTS = 100
MOST_DEPTH = 20
# so that a million combinations never stand in memory as a million fractions
ANSWERED_AT_ONCE = 50_000

EXAMPLE = '"2*a + 1"'  # which pictures of any length have an answer to
HINT = f"say it as {EXAMPLE}, with + - * / // % **, abs, min, max"

Digits = NDArray[np.int64]  # (n, length)
Values = NDArray[Any]  # (n,) int64 where that is exact, else Python's integers and fractions


@dataclass(frozen=True)
class Expression:
    """An arithmetic expression in the letters of the symbols, checked and ready to be answered."""

    text: str  # as Python spaces it, so that "a*b" and "a * b" are the same
    tree: ast.expr = field(repr=False, compare=False)

    def answers(self, digits: Digits) -> NDArray[np.int64]:
        """The answer of each combination, (n, length) -> (n,), or an error that names one."""
        answers = np.empty(len(digits), np.int64)
        for part in batches(len(digits), ANSWERED_AT_ONCE):
            values = _values(self.tree, digits[part])
            if values.dtype == object:
                fractional = np.array([value.denominator != 1 for value in values.tolist()])
                _refuse(self.tree, digits[part], fractional, "is no integer")
            _refuse_beyond(self.tree, digits[part], values, LARGEST_ANSWER)
            answers[part] = values
        return answers


def parse_expression(text: str, length: int) -> Expression:
    """The expression that a text says, for combinations of a length; nothing in it is ever run."""
    text = text.strip()
    if not text:
        raise _no_arithmetic(text, "it is empty")
    # spaces aside: the text that a run records is spaced, and has to be read again
    count = len(text.replace(" ", ""))
    if count > MOST_CHARACTERS:
        fault = f" is too long: {count:,} characters, but the most is {MOST_CHARACTERS}"
        raise _refusal(text, fault)
    for character in text:
        # Python would take ａ for a, and leave out what follows a #
        if not (character.isascii() and character.isprintable()) or character == "#":
            raise _no_arithmetic(text, f"{character!r} is not allowed")
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise _no_arithmetic(text, error.msg.split(".")[0]) from error
    except (ValueError, MemoryError, RecursionError) as error:
        raise _no_arithmetic(text, "it is too nested to read") from error
    _check_tree(tree, text, length)
    return Expression(ast.unparse(tree), tree)


def _check_tree(tree: ast.expr, text: str, length: int) -> None:
    """Refuse what is not arithmetic, level by level, so that no depth can exhaust the stack."""
    level, count, depth = [tree], 0, 0
    while level:
        count += len(level)
        if depth > MOST_DEPTH or count > MOST_PARTS:
            raise _refusal(
                text,
                f" is too complicated: at most {MOST_DEPTH} operations within one another, "
                f"and {MOST_PARTS} numbers, letters and operations in all",
            )
        level = [part for node in level for part in _parts(node, text, length)]
        depth += 1


def _parts(node: ast.expr, text: str, length: int) -> list[ast.expr]:
    """What a node is made of, if it is one that arithmetic has."""
    source = _source(node, text)
    match node:
        case ast.Name(id=name):
            _check_letter(name, text, length)
            return []
        case ast.Constant(value=number):
            if type(number) is not int:
                raise _no_arithmetic(text, f"{source} is no integer")
            if number > LARGEST_ANSWER:
                raise _refusal(text, f": {source} is beyond {_limit(LARGEST_ANSWER)}")
            return []
        case ast.UnaryOp(op=ast.UAdd() | ast.USub()):
            return [node.operand]
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
            value = right.value if isinstance(right, ast.Constant) else None
            is_exponent = type(value) is int and value <= LARGEST_EXPONENT
            if isinstance(sign, ast.Pow) and not is_exponent:
                allowed = f"those are the integers from 0 to {LARGEST_EXPONENT}"
                raise _refusal(text, f": {_source(right, text)!r} is no exponent; {allowed}")
            return [left, right]
        case ast.Call(func=ast.Name(id=name), keywords=[]):
            _check_call(name, len(node.args), text)
            return node.args
    raise _no_arithmetic(text, f"{source!r} is not allowed")


def _check_letter(name: str, text: str, length: int) -> None:
    if len(name) != 1 or name not in LETTERS:
        # asked of a text alone, before it is known how many symbols there are
        fault = f"{_short(name)!r} is no symbol's letter (a is the first, b the second)"
        raise _no_arithmetic(text, fault)
    place = LETTERS.index(name) + 1
    if place > length:
        letters = ", ".join(LETTERS[:length])
        ordinal = {2: "2nd", 3: "3rd"}.get(place, f"{place}th")
        fault = f": {name} is the {ordinal} symbol, but pictures have {length} ({letters})"
        raise _refusal(text, fault)


def _check_call(name: str, count: int, text: str) -> None:
    if name not in FUNCTIONS:
        known = ", ".join(FUNCTIONS)
        raise _no_arithmetic(text, f"{_short(name)!r} is no function there (known: {known})")
    if name == "abs" and count != 1:
        raise _no_arithmetic(text, f"abs takes one number, not {count}")
    if name != "abs" and count < 2:
        raise _no_arithmetic(text, f"{name} takes two or more numbers, not {count}")


def _no_arithmetic(text: str, reason: str) -> UnseenError:
    return _refusal(text, f" is no arithmetic expression: {reason}; {HINT}")


def _refusal(text: str, fault: str) -> UnseenError:
    return UnseenError(f"operation {_short(text)!r}{fault}")


def _source(node: ast.expr, text: str) -> str:
    """A node as it was written: unlike ast.unparse, without climbing down into it."""
    return _short(text[node.col_offset : node.end_col_offset])


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


def _limit(largest: int) -> str:
    return f"± 2^{largest.bit_length() - 1} = {largest:,}"


def _values(node: ast.expr, digits: Digits) -> Values:
    match node:
        case ast.Constant(value=int(number)):
            return np.full(len(digits), number, np.int64)
        case ast.Name(id=letter):
            return digits[:, LETTERS.index(letter)]
        case ast.UnaryOp(op=sign, operand=operand):
            values = _intermediate(operand, digits)
            return -values if isinstance(sign, ast.USub) else values
        case ast.BinOp(op=sign):
            left, right = _intermediate(node.left, digits), _intermediate(node.right, digits)
            if isinstance(sign, ast.Div | ast.FloorDiv | ast.Mod):
                _refuse(node, digits, right == 0, "divides by zero")
            if not _fits_int64(sign, left, right):
                left = left.astype(object)
            return OPERATORS[type(sign)](left, right)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return FUNCTIONS[name](*(_intermediate(each, digits) for each in arguments))
    raise TypeError(f"not checked: {ast.dump(node)}")


def _intermediate(node: ast.expr, digits: Digits) -> Values:
    """Values to go on from: within limits, or powers of powers would fill the memory."""
    values = _values(node, digits)
    if values.dtype == object:
        _refuse_beyond(node, digits, values, LARGEST_INTERMEDIATE)
    return values


def _fits_int64(sign: ast.operator, left: Values, right: Values) -> bool:
    """Whether no result can be out of int64's range, judged by the largest operands."""
    if object in (left.dtype, right.dtype):
        return False
    most_left, most_right = (max(int(side.max()), -int(side.min())) for side in (left, right))
    most: int = most_left + most_right + most_left * most_right
    if isinstance(sign, ast.Pow):
        most = most_left**most_right
    return most < 2**63


def _divided(left: Values, right: Values) -> Values:
    if object not in (left.dtype, right.dtype) and not (left % right).any():
        return left // right
    return np.array([*map(Fraction, left.tolist(), right.tolist())], object)


def _refuse_beyond(node: ast.expr, digits: Digits, values: Values, largest: int) -> None:
    if values.dtype == object:
        sizes = [max(abs(value.numerator), value.denominator) for value in values.tolist()]
        beyond = np.array([size > largest for size in sizes])
    else:
        beyond = np.abs(values) > largest
    for row in np.flatnonzero(beyond)[:1]:
        value = values[row]
        of_fraction = "" if value.denominator == 1 else "of numerator or denominator "
        raise UnseenError(
            f"{ast.unparse(node)} is {_short(str(value))} for {_named(digits[row])}, "
            f"{of_fraction}beyond {_limit(largest)}"
        )


def _refuse(node: ast.expr, digits: Digits, wrong: NDArray[np.bool_], fault: str) -> None:
    for row in np.flatnonzero(wrong)[:1]:
        raise UnseenError(f"{ast.unparse(node)} {fault} for {_named(digits[row])}")


def _named(combination: Digits) -> str:
    return f"({', '.join(map(str, combination.tolist()))})"


OPERATORS: dict[type[ast.operator], Callable[[Values, Values], Values]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divided,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
FUNCTIONS: dict[str, Callable[..., Values]] = {
    "abs": np.abs,
    "min": lambda *values: reduce(np.minimum, values),
    "max": lambda *values: reduce(np.maximum, values),
}

import re
from contextlib import suppress
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from unseen.errors import UnseenError
from unseen.problem.expressions import ANSWERED_AT_ONCE, parse_expression


def combinations(values, length):
    return np.array([*product(values, repeat=length)], np.int64).reshape(-1, length)


def answers_of(text, *digits):
    return parse_expression(text, len(digits)).answers(np.array([digits], np.int64)).tolist()[0]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        *(("a*b + c", 37), ("max(a, b)", 7), ("min(a, b, c)", 4), ("abs(b - a)", 3)),
        *(("--a", 7), ("-a**2", -49), ("a**0", 1), ("(a - a)**0", 1), ("7", 7)),
        *(("-a // 3", -3), ("-a % 3", 2), ("a % -3", -2), ("(a + b) / 1", 11)),
        *(("a / 2 * 2", 7), ("a / 2 // 1", 3), ("-a / 2 // 1", -4), ("(a / 2) % (1 / 2)", 0)),
        *(("max(a / 2, b) * 1", 4), ("abs(-a / 2) * 2", 7), ("(a / 7)**10", 1)),
        *(("0x10", 16), ("1_000", 1000), ("00", 0), ("  a  ", 7), ("a\n", 7)),
        *(("16777216", 2**24), ("-16777216", -(2**24))),
    ],
)
def test_it_answers_as_arithmetic_does(text, answer):
    assert answers_of(text, 7, 4, 9) == answer


def test_twenty_symbols_can_be_weighed_and_added():
    text = " + ".join(f"{letter}*2" for letter in "abcdefghijklmnopqrst")
    assert answers_of(text, *range(20)) == 380


def test_answers_are_signed_integers_one_a_combination():
    answers = parse_expression("a - b", 2).answers(combinations(range(10), 2))
    assert answers.dtype == np.int64
    assert answers.tolist() == [a - b for a in range(10) for b in range(10)]


def test_no_combinations_have_no_answers():
    for text in ("a / b", "7", "a**10"):
        assert parse_expression(text, 2).answers(np.empty((0, 2), np.int64)).tolist() == []


def test_more_combinations_than_are_answered_at_once_keep_their_order():
    digits = np.arange(2 * ANSWERED_AT_ONCE + 7)[:, None]
    assert np.array_equal(parse_expression("a*2 + 1", 1).answers(digits), digits[:, 0] * 2 + 1)


def test_the_longest_text_can_be_read_again_once_spaced():
    text = "max(" + ",".join(["1000000+a*b"] * 16) + ",a,b)"
    assert len(text) == 200
    spaced = parse_expression(text, 2).text
    assert len(spaced) > 200
    assert parse_expression(spaced, 2).text == spaced


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a / b", "a / b divides by zero for (1, 0)"),
        ("a//b", "a // b divides by zero for (1, 0)"),
        ("1 + a % (b - 2)", "a % (b - 2) divides by zero for (1, 2)"),
        ("a / (b / 2)", "a / (b / 2) divides by zero for (1, 0)"),
        ("a / (b + 1)", "a / (b + 1) is no integer for (1, 1)"),
        ("a**9 * b**9", "a ** 9 * b ** 9 is 40353607, beyond ± 2^24 = 16,777,216, for (1, 7)"),
        ("a + 16777215", "a + 16777215 is 16777217, beyond ± 2^24 = 16,777,216, for (2, 0)"),
        ("-a - 16777215", "-a - 16777215 is -16777217, beyond ± 2^24 = 16,777,216, for (2, 0)"),
        (
            "a * 10**10 * 10**9 // 10**10",
            "a * 10 ** 10 * 10 ** 9 is 10000000000000000000, "
            "beyond ± 2^63 = 9,223,372,036,854,775,808, for (1, 0)",
        ),
        (
            "((a / 7)**10)**10 * 0",
            f"((a / 7) ** 10) ** 10 is 1/{str(7**100)[:57]}…, "
            "beyond ± 2^63 = 9,223,372,036,854,775,808, for (1, 0)",
        ),
    ],
)
def test_a_fault_names_the_first_combination_that_shows_it(text, message):
    digits = combinations(range(10), 2)[10:]
    with pytest.raises(UnseenError) as refused:
        parse_expression(text, 2).answers(digits)
    assert str(refused.value) == message


class Exact:
    """Python's own fractions, refusing what is beyond the limit: what answers are checked by."""

    def __init__(self, value):
        self.value = Fraction(value)
        if max(abs(self.value.numerator), self.value.denominator) > 2**63:
            raise OverflowError

    def __lt__(self, other):
        return self.value < other.value

    def __gt__(self, other):
        return self.value > other.value


def _exactly(method):
    return lambda *operands: Exact(method(*(operand.value for operand in operands)))


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "neg", "pos", "abs"):
    setattr(Exact, f"__{_name}__", _exactly(getattr(Fraction, f"__{_name}__")))


def pythons_answer(code, combination):
    """What Python's arithmetic says, or the fault that it shows."""
    names = dict(zip("abc", map(Exact, combination), strict=False))
    try:
        value = eval(code, {"Exact": Exact, **names}).value
    except ZeroDivisionError:
        return "divides by zero"
    except OverflowError:
        return "is beyond limits"
    whole = value.denominator == 1 and abs(value) <= 2**24
    return int(value) if whole else "is no integer, or beyond limits"


def operations_on(parts):
    """Expressions of one more operation, with the parentheses they need and without."""
    nested = st.one_of(parts, parts.map("({})".format))
    return st.one_of(
        st.builds("{}{}{}".format, nested, st.sampled_from([*"+-*", " + ", " - ", " * "]), nested),
        st.builds("{} {} {}".format, nested, st.sampled_from(["/", "//", "%"]), nested),
        st.builds("{}{}".format, st.sampled_from("+-"), nested),
        st.builds("({})**{}".format, parts, st.integers(0, 10)),
        st.builds("({}) ** {}".format, parts, st.integers(0, 3)),
        st.builds("abs({})".format, parts),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), parts, parts),
    )


letters = st.sampled_from("abc")
numbers = st.one_of(
    st.integers(0, 12), st.sampled_from([2**12 - 1, 2**16, 2**23 + 3, 2**24 - 1, 2**24])
).map(str)
shallow = st.one_of(letters, numbers, operations_on(st.one_of(letters, numbers)))
deep = operations_on(st.one_of(shallow, operations_on(shallow)))
expressions = st.one_of(shallow, deep).filter(lambda text: len(text.replace(" ", "")) <= 200)


@settings(max_examples=300)
@given(expressions, st.sampled_from([(0, 1, 2, 5), (1, 3, 9), (2,), (0, 255)]))
@example("16777216*16777216*32767 + a", (0, 1))
@example("16777216*16777216*16383*2 - 1 - a", (0, 1))
@example("(a*16777216*16777216*16384 + a*16777216*16777216*16384 - 1) % 10", (1,))
@example("abs(-16777216*16777216*32768) % 10 + a", (1,))  # 2**63, the largest that may be
@example("(16777216*16777216*32768 + a) % 10", (1,))
@example("(-16777216*16777216*32768 - a) % 10", (1,))
@example("-a // 2 + -a % 2 + a // -2 + a % -2", (1, 3, 9))
@example("-a**2 + (-a)**2 - -a*-b", (1, 3, 9))
def test_answers_and_refusals_are_those_of_pythons_arithmetic(text, values):
    code = compile(re.sub(r"\d+", r"Exact(\g<0>)", text), "<expression>", "eval")
    digits = combinations(values, 3)
    expected = {tuple(row): pythons_answer(code, row) for row in digits.tolist()}
    faults = {row: fault for row, fault in expected.items() if isinstance(fault, str)}
    expression = parse_expression(text, 3)
    if not faults:
        assert expression.answers(digits).tolist() == [*expected.values()]
        return
    with pytest.raises(UnseenError) as refused:
        expression.answers(digits)
    named = re.search(r"for \((\d+), (\d+), (\d+)\)", str(refused.value))
    fault = faults[tuple(map(int, named.groups()))]
    assert ("divides by zero" in str(refused.value)) == (fault == "divides by zero")
    sound = np.array([row for row in expected if row not in faults], np.int64).reshape(-1, 3)
    assert expression.answers(sound).tolist() == [expected[tuple(row)] for row in sound.tolist()]


@given(expressions)
def test_the_canonical_text_says_the_same_again(text):
    canonical = parse_expression(text, 3)
    again = parse_expression(canonical.text, 3)
    assert again == canonical
    assert parse_expression(canonical.text.replace(" ", ""), 3) == canonical
    assert len(canonical.text.replace(" ", "")) <= len(text.replace(" ", ""))


near_expressions = st.lists(
    st.sampled_from(
        [*"abcz0179+-*/%(),.=<:[]{}'\"_ \n\\#~@^!;$ａ", "**", "//", "**2", "abs(", "min(", "max("]
    ),
    max_size=60,
).map("".join)


@settings(max_examples=300)
@given(st.one_of(st.text(), near_expressions, expressions.map(lambda text: text[:-1] + "**2)")))
def test_any_text_is_answered_or_refused_and_nothing_else(text):
    with suppress(UnseenError):
        answers = parse_expression(text, 2).answers(combinations(range(4), 2))
        assert np.abs(answers).max() <= 2**24

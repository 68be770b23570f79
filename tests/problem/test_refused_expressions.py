"""Expressions that are refused: beyond the limits, hostile, or none at all."""

import re

import numpy as np
import pytest

from unseen.errors import UnseenError
from unseen.problem.expressions import EXAMPLE, HINT, parse_expression
from unseen.problem.operations import parse_operation


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a + c", "operation 'a + c' has c, but pictures have 2 symbols (a, b)"),
        ("t", "operation 't' has t, but pictures have 2 symbols (a, b)"),
        ("a*16777217", "has 16777217, beyond 16,777,216"),
        ("a**11", "has '11' as exponent; those are the integers from 0 to 10"),
        *(
            (f"a**{power}", f"{power.strip('()')!r} as exponent")
            for power in ("b", "-1", "(1/2)", "True", "2.0")
        ),
        ("9**9**9", "'9**9' as exponent"),
        ("a + " * 20 + "a", None),
        ("a + " * 21 + "a", "is too complicated: at most 20 operations in one another"),
        ("-" * 20 + "a", None),
        ("-" * 21 + "a", "is too complicated"),
        ("max(" + "-a," * 49 + "-a)", None),
        ("1" * 201, "is too long: 201 characters, but the most is 200"),
        ("×" * 1_000_000, "is too long: 1,000,000 characters"),
        *(
            (text, "abs takes one number, min and max take two or more")
            for text in ("abs()", "abs(a, b)", "min(a)", "max()")
        ),
        ("sqrt(a)", "'sqrt(a)' is not allowed"),
        ("x + y", "'x' is no symbol's letter (a is the first, b the second)"),
        *((text, "is no symbol's letter") for text in ("A", "ab", "max")),
        ("(a", "'(' was never closed"),
        ("", "it is empty"),
    ],
)
def test_limits_are_told_in_so_many_words(text, message):
    if message is None:
        parse_expression(text, 2)
        return
    with pytest.raises(UnseenError) as refused:
        parse_expression(text, 2)
    assert message in str(refused.value)


# ａ is a full-width letter that Python would read as a; а is Cyrillic; the digit is Arabic
HOSTILE = [
    "", " ", "\t\n", "\0", "a\0", "a\0+ b", "a\nb", "a +\nb", "(a +\n b)", "a\n\n+ b", "a\\\n+b",
    "a\t+ b", "a\x0c+ b", "a\r+ b", "\ufeffa + b", "a\u200b", "a\u00a0+ b", "\ud800", "'\udfff'",
    "ａ", "а", "ａ + b", "ª", "a²", "٣", "a × b", "a − b", "a ÷ b", "½", "𝐚", "∑", "💥",
    "a b", "a +", "* a", "a ++", "()", ")(", "a)", "(a", "a;", "a;b", "a = b", "a == b", "a <> b",
    "1.5", "1e5", "1j", "1e999", "0777", "2a", "0x", "0xg", "1__0", "True", "None", "...", "nan",
    "'a'", "b'a'", "'a' 'b'", "f'{a}'", "f'{a!r:>{b}}'", "t'{a}'", "'\\d'", "b'\\777'", "'\\N{x}'",
    "__import__('os')", "a.__class__", "().__class__", "a[0]", "a[b:c]", "abs.__self__",
    "(a:=b)", "a if b else c", "a and b", "not a", "a < b", "a in b", "a is 1", "1is a",
    "1if a else b", "a | b", "a & b", "a ^ b", "~a", "a << b", "a @ b", "a**b", "9**9**9", "a**-1",
    "[a]", "[a for a in b]", "(a for a in b)", "{a}", "{a: b}", "{**a}", "a, b", "*a,", "lambda: a",
    "max(*a)", "max(a, *b)", "max(**a)", "max(a, b, key=abs)", "max(a for a in b)", "(max)(a)",
    "a(b)", "abs(a)(b)", "print(a)", "eval('a')", "await a", "(yield)", "yield a", "(yield from a)",
    "import os", "pass", "a # + b", "# a", "_", "__a", "9" * 5000, "a" * 5000, "(" * 5000,
    "[" * 199, "-" * 199 + "a", "~" * 199 + "a", "a" + "+a" * 99, "(" * 98 + "~a" + ")" * 98,
    "not " * 60 + "a", "a" + ".a" * 99, "a" + "(a)" * 60, "((" * 90 + "a", "lambda:" * 28 + "a",
    "a if a else " * 20 + "a", "{" * 150, "f'{" * 40, "1" * 190, "a" + "[a" * 66,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:30])
def test_hostile_text_is_refused_in_a_short_line(text):
    with pytest.raises(UnseenError) as refused:
        parse_expression(text, 3)
    message = str(refused.value)
    assert message.startswith("operation ")
    assert message.endswith(f"; {HINT}") == ("is no arithmetic expression: " in message)
    assert len(message) < 400
    assert message.isprintable()


def test_a_million_spaces_do_no_harm():
    assert parse_expression("a" + " " * 1_000_000 + "+ b", 2).text == "a + b"


@pytest.mark.parametrize(
    "text",
    ["((((a/7)**10)**10)**10)**10", "((((7 - 1/7)**10)**10)**10)**10", "((a/7)**10)**10 // 1"],
)
def test_powers_of_powers_are_refused_before_they_grow(text):
    with pytest.raises(UnseenError, match=r"beyond ± 2\^63"):
        parse_expression(text, 1).answers(np.arange(1, 10)[:, None])


@pytest.mark.parametrize("length", range(1, 21))
def test_the_expression_that_is_advised_is_one_for_any_length(length):
    assert EXAMPLE in HINT
    with pytest.raises(UnseenError, match=re.escape(EXAMPLE)):
        parse_operation("unheard_of", length)
    assert parse_operation(EXAMPLE.strip('"'), length).text

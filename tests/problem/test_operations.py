import numpy as np
import pytest
from tables_of_combinations import table

from unseen.errors import UnseenError
from unseen.problem.expressions import LARGEST_ANSWER
from unseen.problem.operations import (
    OPERATIONS,
    SIGN_LABELS,
    canonical_operation,
    parse_operation,
    spelled,
)


@pytest.mark.parametrize(
    ("operation", "expression"),
    [("add", "a + b + c"), ("subtract", "a - b - c"), ("multiply", "a * b * c")],
)
def test_registered_operations_are_their_expressions(operation, expression):
    named, written = (table(length=3, operation=text) for text in (operation, expression))
    assert np.array_equal(named.answers, written.answers)
    assert operation in OPERATIONS


def test_a_shown_sign_says_what_to_do():
    problem = table(operation="shown:*,+,-")
    assert problem.digits.shape == (300, 3)
    for (left, sign, right), answer in zip(
        problem.digits.tolist(), problem.answers.tolist(), strict=True
    ):
        plus, minus, times = left + right, left - right, left * right
        assert answer == dict(zip(SIGN_LABELS.values(), (plus, minus, times), strict=True))[sign]
    assert spelled((3, SIGN_LABELS["*"], 4)) == [3, "*", 4]


def test_a_random_table_deals_out_the_sums_by_its_seed():
    one, same, other = (table(operation=f"table:{seed}").answers.tolist() for seed in (1, 1, 2))
    assert one == same != other
    assert sorted(one) == sorted(table().answers.tolist()) != one


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        *(("add", "add"), ("a+b", "a + b"), (" a  + b", "a + b"), ("shown:*, +", "shown:+,*")),
        *(("table:007", "table:7"), ("max(b,a)", "max(b, a)")),
    ],
)
def test_spacing_does_not_make_another_operation(text, canonical):
    assert canonical_operation(text) == canonical


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("mul", "unknown operation 'mul'; known: add, subtract, multiply"),
        ("shown:", "names no set of signs"),
        ("shown:+,+", "names no set of signs"),
        ("shown:/", "names no set of signs"),
        ("table:", "has no seed"),
        ("table:-1", "has no seed"),
        ("table:99999999999", "has no seed"),
        ("c", "has c, but pictures have 2 symbols"),
        ("import os", "no arithmetic expression"),
        ("", "operation"),
    ],
)
def test_what_is_no_operation_is_refused(text, fault):
    with pytest.raises(UnseenError, match=fault):
        parse_operation(text, 2)


def test_signs_need_two_digits():
    with pytest.raises(UnseenError, match="between two digits; these are 3"):
        parse_operation("shown:+", 3)


def test_a_product_too_large_for_integers_does_not_wrap_around():
    assert parse_operation("multiply", 10).answers(np.full((1, 10), 128)) > LARGEST_ANSWER

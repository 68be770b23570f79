import json
from dataclasses import asdict

import numpy as np
import pytest
from tables_of_combinations import DIGITS, table

from unseen.problem.leakage import (
    find_leakage,
    multiplicatively_determined,
    rule_of,
    split_leakage,
)
from unseen.problem.problem import PAPER_SPLIT_SEED
from unseen.problem.splits import Fold, split_folds


def fold_without(problem, unseen):
    rows = [row for row, digits in enumerate(problem.digits.tolist()) if tuple(digits) in unseen]
    return Fold(1, np.asarray(rows), len(problem.digits))


def test_what_the_papers_folds_give_away():
    """PAPER.md: 80 unseen pairs have their mirror seen; only (9, 9) and (0, 0) are new answers."""
    problem = table()
    each = [
        find_leakage(problem, fold, "additive")
        for fold in split_folds("random", problem, PAPER_SPLIT_SEED)
    ]
    assert sum(fold.mirrored for fold in each) == 80
    assert {fold.fold: fold.new_answers for fold in each if fold.new_answers} == {1: (18,), 8: (0,)}
    assert all(fold.new_digits == () and fold.undetermined == 0 for fold in each)


@pytest.mark.parametrize(
    ("operation", "rule"),
    [
        *(("add", "additive"), ("subtract", "additive"), ("10*a + b", "additive")),
        *(("multiply", "multiplicative"), ("a**2 * b", "multiplicative"), ("7", "additive")),
        *(("max(a, b)", None), ("(a + b) % 10", None), ("table:3", None), ("a*b + 1", None)),
        *(("shown:+,-,*", None), ("(a + 1) * (b - 3)", "multiplicative")),
        *(("-a * b", "multiplicative"), ("1000000*a + a*b % 2", None)),
        ("400*a * 400*b + a // 9 * (b // 9)", None),
    ],
)
def test_the_rule_of_an_operation_is_found_in_its_answers(operation, rule):
    assert rule_of(table(operation=operation)) == rule


@pytest.mark.parametrize("length", [2, 3])
def test_a_digit_that_is_never_seen_in_a_place_leaves_its_answers_open(length):
    problem = table(length=length)
    for fold in split_folds("position", problem, 0)[:4]:
        found = find_leakage(problem, fold, "additive")
        assert found.new_digits == ((0, fold.number - 1),)
        assert found.undetermined == found.unseen


def test_disconnected_halves_leave_open_how_they_compare():
    """With even sums alone seen, a constant may move from even digits to odd ones unnoticed."""
    problem = table()
    odd = {(a, b) for a in DIGITS for b in DIGITS if (a + b) % 2}
    assert find_leakage(problem, fold_without(problem, odd), "additive").undetermined == 50


def products_determined(problem, unseen):
    fold = fold_without(problem, unseen)
    seen, answers = problem.digits[fold.seen], problem.answers[fold.seen]
    determined = multiplicatively_determined(seen, answers, problem.digits[fold.unseen])
    return {tuple(problem.digits[row]) for row in fold.unseen[determined]}


def test_products_are_determined_apart_from_zeros():
    problem = table(operation="multiply")
    some = {(0, 3), (3, 0), (0, 0), (5, 7)}
    assert products_determined(problem, some) == some
    # (0, 0) alone is known, by its right zero
    assert products_determined(problem, {(0, b) for b in DIGITS}) == {(0, 0)}


def test_a_zero_beside_a_digit_that_may_be_worth_zero_itself_tells_nothing():
    """Only 0 · 5 is seen of either, and is 0: whose fault is that?"""
    fives, zeros = {(a, 5) for a in DIGITS if a}, {(0, b) for b in DIGITS if b != 5}
    determined = products_determined(table(operation="multiply"), fives | zeros)
    assert determined == {(0, 0)}  # by its right zero, which stands beside 1


def test_two_zeros_are_known_together_where_neither_is_known_alone():
    problem = table((0, 1, 2), length=3, operation="multiply")
    alone = {(0, b, c) for b in (1, 2) for c in (1, 2)} | {
        (a, 0, c) for a in (1, 2) for c in (1, 2)
    }
    more = {(0, b, 0) for b in (1, 2)} | {(a, 0, 0) for a in (1, 2)}
    assert products_determined(problem, alone | more | {(0, 0, 2)}) == more | {(0, 0, 2)}


@pytest.mark.parametrize("operation", ["(a - 4) * (b + 1)", "-a * b"])
def test_any_digit_may_be_worth_zero_or_less_in_a_product(operation):
    problem = table(operation=operation)
    assert products_determined(problem, {(4, 4), (3, 3), (0, 0)}) == {(4, 4), (3, 3), (0, 0)}


def test_the_order_of_more_than_eight_symbols_is_told_apart():
    problem = table((0, 1), length=10)
    fold = fold_without(problem, {(0,) * 9 + (1,), (1,) * 10})
    assert find_leakage(problem, fold, "additive").mirrored == 1


def test_the_leakage_of_a_run_is_plain_data():
    problem = table()
    leakage = split_leakage(problem, split_folds("position", problem, 0)[:2])
    assert (leakage.rule, leakage.undetermined) == ("additive", 20)
    assert json.loads(json.dumps(asdict(leakage)))["folds"][1]["new_digits"] == [[0, 1]]
    assert split_leakage(table(operation="max(a, b)"), []).rule is None

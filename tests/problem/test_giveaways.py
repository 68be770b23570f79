import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests_tables import DIGITS, table

from unseen.experiments.experiment import PAPER_SPLIT_SEED
from unseen.problem.giveaways import (
    additively_determined,
    give_away,
    in_words,
    multiplicatively_determined,
    rule_of,
)
from unseen.problem.splits import Fold, split_folds


def fold_without(problem, unseen):
    rows = [row for row, digits in enumerate(problem.digits.tolist()) if tuple(digits) in unseen]
    return Fold(1, np.setdiff1d(np.arange(len(problem.digits)), rows), np.asarray(rows))


def test_what_the_papers_folds_give_away():
    """PAPER.md: 80 unseen pairs have their mirror seen; only (9, 9) and (0, 0) are new answers."""
    problem = table()
    each = [
        give_away(problem, fold, "additive")
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
        ("shown:+,-,*", None),
    ],
)
def test_the_rule_of_an_operation_is_found_in_its_answers(operation, rule):
    assert rule_of(table(operation=operation)) == rule


@pytest.mark.parametrize("length", [2, 3])
def test_a_digit_that_is_never_seen_in_a_place_leaves_its_answers_open(length):
    problem = table(length=length)
    for fold in split_folds("position", problem, 0)[:4]:
        found = give_away(problem, fold, "additive")
        assert found.new_digits == ((0, fold.number - 1),)
        assert found.undetermined == found.unseen


def test_disconnected_halves_leave_open_how_they_compare():
    """With even sums alone seen, a constant may move from even digits to odd ones unnoticed."""
    problem = table()
    odd = {(a, b) for a in DIGITS for b in DIGITS if (a + b) % 2}
    assert give_away(problem, fold_without(problem, odd), "additive").undetermined == 50


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_determined_means_that_every_fitting_sum_agrees(data):
    """Against the definition: least squares with other free parts gives the same answer or not."""
    problem = table(tuple(range(4)))
    unseen = data.draw(st.sets(st.integers(0, 15), min_size=1, max_size=14))
    rows = np.asarray(sorted(unseen))
    seen = problem.digits[np.setdiff1d(np.arange(16), rows)]
    hot = np.eye(4)[problem.digits].reshape(16, 8)
    seen_hot = np.delete(hot, rows, axis=0)
    projection = np.linalg.pinv(seen_hot) @ seen_hot
    expected = np.abs(hot[rows] @ projection - hot[rows]).max(axis=1) < 1e-6
    assert np.array_equal(additively_determined(seen, problem.digits[rows]), expected)


def test_products_are_determined_apart_from_zeros():
    problem = table(operation="multiply")
    fold = fold_without(problem, {(0, 3), (3, 0), (0, 0), (5, 7)})
    seen, unseen = problem.digits[fold.seen], problem.digits[fold.unseen]
    assert multiplicatively_determined(seen, unseen).all()
    no_zero_left = fold_without(problem, {(0, b) for b in DIGITS})
    seen, unseen = problem.digits[no_zero_left.seen], problem.digits[no_zero_left.unseen]
    # (0, 0) alone is known, by its right zero
    assert multiplicatively_determined(seen, unseen).tolist() == [True] + [False] * 9


def test_words_warn_where_the_answer_is_open_and_only_there():
    problem = table()
    random = [*in_words(problem, split_folds("random", problem, PAPER_SPLIT_SEED))]
    assert "100 combinations are unseen, in 10 folds; another order of 80" in random[0]
    assert "answers never seen: 18 (fold 1), 0 (fold 8)" in random[0]
    assert not any(sentence.startswith("warning") for sentence in random)
    position = [*in_words(problem, split_folds("position", problem, 0))]
    assert "0 in place 1 (fold 1)" in position[0]
    assert "and 16 more" in position[0]
    assert position[1].startswith("warning: the seen combinations leave open what 200 of the 200")
    (only,) = [*in_words(table(operation="max(a, b)"), split_folds("random", problem, 0))][1:]
    assert only.startswith("no number for each digit")

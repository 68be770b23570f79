"""rsbench's splits: which pairs are seen, and what these leave undetermined."""

import numpy as np
import pytest

from unseen.problem.identifiability import span_of
from unseen.problem.leakage import split_leakage
from unseen.problem.splits import ready_lists
from unseen.problem.task import make_task
from unseen.runs.presets import PRESETS


def both_orders(*pairs: tuple[int, int]) -> set[tuple[int, int]]:
    return {*pairs, *((right, left) for left, right in pairs)}


CASES = {
    "mnist-half": (
        "mnist-0-4",
        both_orders((0, 0), (0, 1), (2, 3), (2, 4)),
        both_orders((1, 1)),
        lambda t: {0: 0, 1: 1, 2: 2 + t, 3: 3 - t, 4: 4 - t},
    ),
    "mnist-even-odd": (
        "mnist",
        both_orders((0, 6), (2, 8), (4, 6), (4, 8), (1, 5), (3, 7), (1, 9), (3, 9)),
        both_orders((0, 8), (2, 6), (1, 7), (3, 5)),
        lambda t: (
            {digit: digit + (t if digit < 5 else -t) for digit in (0, 2, 4, 6, 8)}
            | {digit: digit + (t if digit < 4 else -t) for digit in (1, 3, 5, 7, 9)}
        ),
    ),
}


def test_every_list_is_tested():
    assert {*ready_lists()} == {*CASES}


@pytest.mark.parametrize("name", CASES)
def test_a_list_has_the_pairs_of_rsbench_and_leaves_open_what_its_docs_say(name):
    symbols, seen, determined, shifted = CASES[name]
    problem = PRESETS["fast"]().vary(split=name, symbols=symbols).problem
    task = make_task(problem)
    (fold,) = task.folds
    digits = task.combinations.digits
    assert {tuple(each) for each in digits[fold.seen].tolist()} == seen
    unseen = digits[fold.unseen]
    found = unseen[span_of(digits[fold.seen]).determines(unseen)]
    assert {tuple(each) for each in found.tolist()} == determined
    leakage = split_leakage(task.combinations, task.folds)
    assert leakage.undetermined == len(unseen) - len(determined)
    # other values, as the docs name them, fit all seen sums
    values = shifted(1)
    sums = np.asarray([values[left] + values[right] for left, right in digits.tolist()])
    is_right = sums == task.combinations.answers
    assert is_right[fold.seen].all()
    assert {tuple(each) for each in unseen[is_right[fold.unseen]].tolist()} >= determined

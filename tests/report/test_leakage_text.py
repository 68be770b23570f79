import numpy as np
from tables_of_combinations import table

from unseen.problem.leakage import split_leakage
from unseen.problem.splits import Fold, split_folds
from unseen.report.leakage_text import format_leakage
from unseen.runs.experiment import PAPER_SPLIT_SEED


def sentences(split, seed=0, operation="add", folds=slice(None)):
    problem = table(operation=operation)
    return format_leakage(split_leakage(problem, split_folds(split, problem, seed)[folds]))


def test_a_warning_is_given_where_an_answer_is_open_and_only_there():
    unseen, determined = sentences("random", PAPER_SPLIT_SEED)
    assert unseen == (
        "100 unseen combinations in 10 folds. For 80, the same symbols are seen in another order. "
        "Answers never seen: 18 (fold 1), 0 (fold 8). All symbols are seen in all places."
    )
    assert determined == (
        "The seen answers determine every unseen one, if you know that each is a sum of one value "
        "for each symbol in each place."
    )
    unseen, determined = sentences("position")
    assert "Symbols never seen in a place: 0 in place 1 (fold 1), 1 in place 1 (fold 2)," in unseen
    assert unseen.endswith(" and 16 more.")
    assert determined.startswith("warning: the seen answers do not determine 200 of 200 unseen")
    assert sentences("random", operation="max(a, b)")[1].startswith("The answers are neither sums")


def test_signs_are_named_as_signs_and_one_is_counted_as_one():
    unseen, _ = sentences("position", operation="shown:+,-,*", folds=slice(10, 11))
    assert "Symbols never seen in a place: + in place 2 (fold 11)." in unseen
    one = format_leakage(split_leakage(table(), [Fold(1, np.asarray([34]), 100)]))[0]
    assert one.startswith("1 unseen combination in 1 fold. For 1, the same symbols are seen")

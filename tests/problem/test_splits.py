import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold

from unseen.errors import UnseenError
from unseen.experiments.experiment import PAPER_SPLIT_SEED
from unseen.problem.splits import SPLITS, all_combinations, split_folds, ten_fold

DIGITS = tuple(range(10))


def test_pairs_are_ordered_as_in_the_paper():
    pairs = all_combinations(DIGITS, 2)
    assert pairs.tolist() == [[a, b] for a in range(10) for b in range(10)]


@given(st.integers(1, 5), st.integers(1, 4))
def test_there_are_n_to_the_l_combinations(symbols, length):
    combinations = all_combinations(tuple(range(3, 3 + symbols)), length)
    assert combinations.shape == (symbols**length, length)
    assert len({*map(tuple, combinations.tolist())}) == symbols**length
    assert combinations.tolist() == sorted(combinations.tolist())


def test_the_first_fold_is_the_notebooks():
    pairs = all_combinations(DIGITS, 2)
    fold = split_folds("random", pairs, PAPER_SPLIT_SEED)[0]
    assert fold.number == 1
    named = ["".join(map(str, pair)) for pair in pairs[fold.unseen].tolist()]
    assert named == ["06", "32", "50", "71", "75", "77", "82", "85", "86", "99"]


def test_facts_of_papers_folds_hold():
    """PAPER.md: 80 unseen pairs have their mirror seen; only (9, 9) and (0, 0) are out of range."""
    pairs = all_combinations(DIGITS, 2)
    folds = split_folds("random", pairs, PAPER_SPLIT_SEED)
    mirrored, new_answers = 0, []
    for fold in folds:
        seen = {*map(tuple, pairs[fold.seen].tolist())}
        for a, b in pairs[fold.unseen].tolist():
            mirrored += (b, a) in seen
            if a + b not in {sum(pair) for pair in seen}:
                new_answers.append((fold.number, (a, b)))
    assert mirrored == 80
    assert new_answers == [(1, (9, 9)), (8, (0, 0))]


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(4, 11), st.integers(2, 3))
def test_folds_are_those_of_scikit_learn(seed, symbols, length):
    combinations = all_combinations(tuple(range(symbols)), length)
    theirs = KFold(n_splits=10, shuffle=True, random_state=seed).split(combinations)
    ours = ten_fold(combinations, seed)
    assert len(ours) == 10
    for mine, (_, test) in zip(ours, theirs, strict=True):
        assert np.array_equal(mine, test)


@pytest.mark.parametrize("split", SPLITS)
@given(seed=st.integers(0, 2**32 - 1), length=st.integers(2, 3))
def test_every_combination_is_unseen_once_and_never_seen_meanwhile(split, seed, length):
    combinations = all_combinations(tuple(range(5)), length)
    folds = split_folds(split, combinations, seed)
    for fold in folds:
        assert not {*fold.seen} & {*fold.unseen}
        assert {*fold.seen} | {*fold.unseen} == {*range(len(combinations))}
    everything = np.concatenate([fold.unseen for fold in folds])
    assert sorted(everything.tolist()) == [*range(len(combinations))]


def test_too_many_combinations_are_refused():
    with pytest.raises(UnseenError, match="10,000,000 combinations"):
        all_combinations(DIGITS, 7)


def test_too_few_combinations_are_refused():
    with pytest.raises(UnseenError, match="there are 9"):
        ten_fold(all_combinations((0, 1, 2), 2), 0)

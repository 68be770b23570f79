import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables_of_combinations import DIGITS, table

from unseen.errors import UnseenError
from unseen.problem.operations import SIGN_LABELS
from unseen.problem.problem import PAPER_SPLIT_SEED
from unseen.problem.splits import (
    LISTED,
    SPLITS,
    all_combinations,
    find_split,
    folds_of,
    read_folds,
    split_folds,
    typed_folds,
    written_folds,
)


def unseen_sets(split, problem, seed=0, unseen=None):
    folds = split_folds(split, problem, seed, unseen)
    return [{*map(tuple, problem.digits[fold.unseen].tolist())} for fold in folds]


@given(st.integers(1, 5), st.integers(1, 4))
def test_there_are_n_to_the_l_combinations(symbols, length):
    combinations = all_combinations([tuple(range(3, 3 + symbols))] * length)
    assert combinations.shape == (symbols**length, length)
    assert len({*map(tuple, combinations.tolist())}) == symbols**length
    assert combinations.tolist() == sorted(combinations.tolist())


def test_the_first_fold_is_the_notebooks():
    (fold, *_), same = (split_folds("random", table(), PAPER_SPLIT_SEED, n) for n in (None, 10))
    assert fold.number == 1
    assert np.array_equal(fold.unseen, same[0].unseen)
    named = ["".join(map(str, pair)) for pair in table().digits[fold.unseen].tolist()]
    assert named == ["06", "32", "50", "71", "75", "77", "82", "85", "86", "99"]


@given(st.integers(0, 2**32 - 1), st.integers(4, 11), st.integers(2, 3))
def test_folds_are_those_of_scikit_learn(seed, symbols, length):
    from sklearn.model_selection import KFold  # seconds, which only this test needs

    problem = table(tuple(range(symbols)), length)
    theirs = KFold(n_splits=10, shuffle=True, random_state=seed).split(problem.digits)
    ours = split_folds("random", problem, seed)
    assert len(ours) == 10
    for mine, (_, test) in zip(ours, theirs, strict=True):
        assert np.array_equal(mine.unseen, test)


OPERATIONS = st.sampled_from(["add", "multiply", "a - b", "shown:+,-,*"])


@pytest.mark.parametrize("split", SPLITS)
@given(seed=st.integers(0, 2**32 - 1), symbols=st.integers(4, 10), operation=OPERATIONS)
def test_no_combination_is_seen_and_unseen_at_once(split, seed, symbols, operation):
    problem = table(tuple(range(symbols)), 2, operation)
    folds = split_folds(split, problem, seed)
    for number, fold in enumerate(folds, start=1):
        assert fold.number == number
        assert len(fold.unseen) > 0
        assert not {*fold.seen} & {*fold.unseen}
        assert {*fold.seen} | {*fold.unseen} == {*range(len(problem.digits))}


@pytest.mark.parametrize("split", ["random", "mirror", "answer", "diagonal"])
@given(seed=st.integers(0, 2**32 - 1), symbols=st.integers(5, 10), length=st.integers(2, 3))
def test_these_splits_have_every_combination_unseen_once(split, seed, symbols, length):
    problem = table(tuple(range(symbols)), length)
    everything = np.concatenate([fold.unseen for fold in split_folds(split, problem, seed)])
    assert sorted(everything.tolist()) == [*range(len(problem.digits))]


@given(seed=st.integers(0, 2**32 - 1), unseen=st.integers(1, 90))
def test_random_folds_have_as_many_unseen_as_asked_for_and_miss_none(seed, unseen):
    sets = unseen_sets("random", table(), seed, unseen)
    assert {len(pairs) for pairs in sets} == {unseen}
    assert len(set.union(*sets)) == 100
    assert len(sets) == -(-100 // unseen)


@given(seed=st.integers(0, 2**32 - 1), length=st.integers(2, 3), operation=OPERATIONS)
def test_mirrored_combinations_are_unseen_together(seed, length, operation):
    operation = operation if length == 2 else "add"
    problem = table(length=length, operation=operation)
    sets = unseen_sets("mirror", problem, seed)
    assert len(sets) == 10
    sizes = [len(some) for some in sets]
    assert max(sizes) - min(sizes) <= (1 if length == 2 else 6)
    for some in sets:
        assert {digits[::-1] for digits in some} == some
        if length == 3:
            assert {digits[1:] + digits[:1] for digits in some} == some


@given(seed=st.integers(0, 2**32 - 1), unseen=st.integers(1, 90))
def test_mirrored_folds_have_as_many_unseen_as_asked_for_and_miss_none(seed, unseen):
    sets = unseen_sets("mirror", table(), seed, unseen)
    sizes = {1, 2} if unseen == 1 else {unseen - 1, unseen}  # a pair and its mirror are two
    assert {len(some) for some in sets} <= sizes
    assert len(set.union(*sets)) == 100
    assert all({digits[::-1] for digits in some} == some for some in sets)


@given(unseen=st.integers(1, 900))
@settings(max_examples=20)
def test_mirrored_folds_of_three_are_at_most_one_set_short(unseen):
    sets = unseen_sets("mirror", table(length=3), 0, unseen)
    assert all(unseen - 6 < len(some) <= max(6, unseen) for some in sets)
    assert len(set.union(*sets)) == 1000


@given(operation=OPERATIONS)
def test_an_unseen_answer_is_never_seen(operation):
    problem = table(operation=operation)
    folds = split_folds("answer", problem, 0)
    answers = [{*problem.answers[fold.unseen].tolist()} for fold in folds]
    assert [*map(len, answers)] == [1] * len(folds)
    assert [min(some) for some in answers] == sorted({*problem.answers.tolist()})
    for fold, some in zip(folds, answers, strict=True):
        assert not some & {*problem.answers[fold.seen].tolist()}


@given(length=st.integers(1, 3))
def test_a_digit_is_never_seen_in_a_place(length):
    problem = table(length=length)
    folds = split_folds("position", problem, 0)
    assert len(folds) == 10 * length
    for fold, (place, digit) in zip(
        folds, [(place, digit) for place in range(length) for digit in DIGITS], strict=True
    ):
        assert {*problem.digits[fold.unseen][:, place].tolist()} == {digit}
        assert digit not in problem.digits[fold.seen][:, place]


def test_diagonals_start_with_the_doubles():
    sets = unseen_sets("diagonal", table())
    assert sets[0] == {(digit, digit) for digit in DIGITS}
    assert sets[1] == {(digit, (digit + 1) % 10) for digit in DIGITS}
    assert len(sets) == 10
    assert {len(some) for some in unseen_sets("diagonal", table(length=3))} == {100}


def test_the_corner_has_the_largest_digits():
    assert unseen_sets("corner", table()) == [{(a, b) for a in (7, 8, 9) for b in (7, 8, 9)}]
    (five,) = unseen_sets("corner", table(), unseen=5)
    assert five == {(9, 9), (8, 9), (9, 8), (8, 8), (7, 9)}
    (shown,) = unseen_sets("corner", table(operation="shown:+,-,*"))
    assert shown == {(a, s, b) for a in (7, 8, 9) for b in (7, 8, 9) for s in SIGN_LABELS.values()}


def test_a_position_with_one_value_makes_no_fold():
    sets = unseen_sets("position", table(operation="shown:+"))
    assert [*map(len, sets)] == [10] * 20


@pytest.mark.parametrize(
    ("split", "problem", "unseen", "fault"),
    [
        *((split, {}, unseen, "from 1 to 90 of 100")
          for split in ("random", "mirror", "corner") for unseen in (0, 91)),
        *((split, {}, 10, "unseen=10 must be left out: split")
          for split in ("answer", "position", "diagonal")),
        ("random", {"values": (0, 1, 2)}, None, "there are 9"),
        ("random", {"length": 5}, 9, "more than 10,000 folds of 100,000"),
        ("position", {"values": (3,)}, None, "has 0 folds here"),
        ("answer", {"operation": "a - a"}, None, "would leave 0 of 100"),
        ("random", {"length": 7}, None, "10,000,000 combinations"),
    ],
)  # fmt: skip
def test_folds_that_cannot_be_are_refused_before_they_are_made(split, problem, unseen, fault):
    with pytest.raises(UnseenError, match=fault):
        split_folds(split, table(**problem), 0, unseen)


def test_thousands_of_folds_take_little_memory():
    problem = table(length=4)
    tracemalloc.start()
    try:
        folds = split_folds("random", problem, 0, 1)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    assert len(folds) == 10_000
    assert len(folds[-1].seen) == 9_999


@pytest.mark.parametrize(
    "written",
    ["3 4\n9,9\n", "# two\n\n(3, 4)\n[9; 9] # last", "\ufeff3\t4\r\n9 9", "3 4\n3 4\n9 9"],
)
def test_a_file_lists_what_is_unseen(tmp_path, written):
    (tmp_path / "list").write_text(written, encoding="utf-8")
    name, combinations = find_split(str(tmp_path / "list"))
    (fold,) = split_folds(name, table(), 0, None, combinations)
    assert name == LISTED
    assert table().digits[fold.unseen].tolist() == [[3, 4], [9, 9]]


SEVERAL = (
    "3 4\n9 9\n\n5 1\n",
    "3 4 | 5 1\n9 9 |\n",
    "# two folds\n\n9 9\n3 4\n\n\n5, 1 # last\n\n",
)


@pytest.mark.parametrize("written", SEVERAL)
def test_a_file_may_list_several_folds_by_blocks_or_columns(tmp_path, written):
    (tmp_path / "list").write_text(written)
    folds = read_folds(tmp_path / "list")
    assert folds == (((3, 4), (9, 9)), ((5, 1),))
    made = split_folds(LISTED, table(), 0, None, folds)
    assert [table().digits[fold.unseen].tolist() for fold in made] == [[[3, 4], [9, 9]], [[5, 1]]]
    (tmp_path / "again").write_bytes(written_folds(folds))
    assert read_folds(tmp_path / "again") == folds
    assert find_split(typed_folds(folds)) == (LISTED, folds)


def test_python_takes_one_fold_or_several():
    assert find_split([(3, 8), (8, 3)]) == (LISTED, (((3, 8), (8, 3)),))
    assert find_split([[(3, 8)], [(8, 3)]]) == (LISTED, (((3, 8),), ((8, 3),)))
    assert find_split([[[3, "+", 8]]]) == (LISTED, (((3, SIGN_LABELS["+"], 8),),))
    assert find_split(np.asarray([[3, 8], [8, 3]])) == (LISTED, (((3, 8), (8, 3)),))
    floats, empty = [[(3.7, 8)]], [[(3, 8)], [()]]
    for wrong in ([], [[]], [[(3, 8)], []], [[(3, 8)], (8, 3)], [3, 8], 7, floats, empty):
        with pytest.raises(UnseenError, match=r"list|split"):
            find_split(wrong)


def test_the_same_fold_twice_is_no_second_fold():
    with pytest.raises(UnseenError, match="has fold 1 again, as fold 3"):
        split_folds(LISTED, table(), 0, None, (((3, 8),), ((8, 3),), ((3, 8),)))


def test_a_splitter_of_scikit_learn_makes_folds():
    from sklearn import model_selection

    splitter = model_selection.LeaveOneGroupOut()
    folds = folds_of(splitter, lambda digits: digits[:, 0] // 5)
    assert [len(fold) for fold in folds] == [50, 50]
    assert {first for first, _ in folds[1]} == {5, 6, 7, 8, 9}
    shuffled = folds_of(model_selection.KFold(4, shuffle=True, random_state=0))
    with pytest.raises(UnseenError, match="the splitter makes no folds"):
        folds_of(model_selection.GroupKFold(5))
    assert sorted(each for fold in shuffled for each in fold) == [
        *map(tuple, table().digits.tolist())
    ]


def test_a_file_can_list_signs(tmp_path):
    (tmp_path / "list").write_text("3 + 4\n3*4\n0,-,9\n")
    combinations = read_folds(tmp_path / "list")
    plus, minus, times = SIGN_LABELS.values()
    assert combinations == (((0, minus, 9), (3, plus, 4), (3, times, 4)),)
    (fold,) = split_folds(LISTED, table(operation="shown:+,-,*"), 0, None, combinations)
    assert len(fold.unseen) == 3


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        *((f"3 4\n{line}\n".encode(), f"line 2: '{line}' is no combination")
          for line in ("3 x", "0034", ",,,", "3 / 4")),
        *((content, "lists no combination") for content in (b"", b"# 3 4")),
        (b"\xff\xfe\x00", "no text file"),
        *((line.encode(), f"names {re.escape(repr(line))}, which is no combination of 2")
          for line in ("3 4 5", "34", "3 10", "3 + 4")),
    ],
)  # fmt: skip
def test_a_list_that_names_no_combinations_is_refused(tmp_path, written, fault):
    (tmp_path / "list").write_bytes(written)
    with pytest.raises(UnseenError, match=fault):
        split_folds(LISTED, table(), 0, None, read_folds(tmp_path / "list"))


def test_a_text_can_list_combinations():
    for text in ("3 4; 5 1", "5,1;3,4", " 3 4;5 1; "):
        assert find_split(text) == (LISTED, (((3, 4), (5, 1)),)), text
    assert find_split("3 + 4") == (LISTED, (((3, SIGN_LABELS["+"], 4),),))
    assert find_split("3 4; 5 1 | 7 7") == (LISTED, (((3, 4), (5, 1)), ((7, 7),)))
    for text in ("3 4;; 5 1", "3 4; 0034", "3 4; ,", "3 4 | | 5 1", "3 4 |"):
        with pytest.raises(UnseenError, match="lists what is no combination"):
            find_split(text)


def test_an_unknown_split_is_told_what_there_is(tmp_path):
    with pytest.raises(UnseenError, match="unknown split 'rnadom'"):
        find_split("rnadom")
    with pytest.raises(UnseenError, match="is no file; give one that lists combinations"):
        find_split(str(tmp_path))

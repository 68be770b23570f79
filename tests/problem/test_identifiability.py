from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unseen.problem.identifiability import span_of


def rank(rows):
    """The exact rank of integer rows, by elimination with fractions."""
    rows = [[Fraction(int(each)) for each in row] for row in rows]
    found = 0
    for column in range(len(rows[0])):
        at = next((row for row in range(found, len(rows)) if rows[row][column]), None)
        if at is None:
            continue
        rows[found], rows[at] = rows[at], rows[found]
        for row in range(found + 1, len(rows)):
            factor = rows[row][column] / rows[found][column]
            rows[row] = [a - factor * b for a, b in zip(rows[row], rows[found], strict=True)]
        found += 1
    return found


@st.composite
def splits(draw):
    """All combinations of two or three places, and which of them are seen."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=3))
    digits = np.asarray([*product(*map(range, sizes))])
    rows = st.sets(st.integers(0, len(digits) - 1), min_size=1, max_size=12)
    seen = np.zeros(len(digits), bool)
    seen[[*draw(rows)]] = True
    one_hot = np.concatenate(
        [np.eye(size)[col] for size, col in zip(sizes, digits.T, strict=True)], 1
    )
    return digits, seen, one_hot


@settings(max_examples=80, deadline=None)
@given(splits())
def test_determined_is_what_adds_nothing_to_the_exact_rank(split):
    digits, seen, one_hot = split
    known = rank(one_hot[seen])
    expected = [rank([*one_hot[seen], row]) == known for row in one_hot]
    assert span_of(digits[seen]).determines(digits).tolist() == expected


@settings(max_examples=50, deadline=None)
@given(splits())
def test_a_value_is_determined_by_the_exact_rank_too(split):
    digits, seen, one_hot = split
    span = span_of(digits[seen])
    some = one_hot[seen][:, one_hot[seen].any(axis=0)]
    unit = np.eye(some.shape[1])
    known = rank(some)
    expected = [rank([*some, row]) == known for row in unit - unit[span.smallest]]
    assert span.determines_values().tolist() == expected


@settings(max_examples=50, deadline=None)
@given(splits(), st.integers(0, 2**32 - 1))
def test_fitted_values_give_every_determined_answer(split, seed):
    digits, seen, one_hot = split
    answers = one_hot @ np.random.default_rng(seed).standard_normal(one_hot.shape[1])
    span = span_of(digits[seen])
    sums = span.sums(digits, span.least_squares(digits[seen], answers[seen]))
    known = span.determines(digits)
    assert np.allclose(sums[known], answers[known])


def test_a_long_chain_beside_a_full_block_is_told_apart_from_rounding():
    """The hardest case for a tolerance: 128 × 128 pairs, and a chain of 255 that hangs on them."""
    block = [*product(range(128), repeat=2)]
    chain = [pair for at in range(127, 255) for pair in ((at, at + 1), (at + 1, at + 1))]
    assert span_of(np.asarray(block + chain)).determines(np.asarray([(255, 0)])).all()
    torn = np.asarray(block + chain[:100] + chain[101:])
    assert not span_of(torn).determines(np.asarray([(255, 0)])).any()

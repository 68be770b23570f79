import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unseen.analysis.error_parts import (
    ErrorParts,
    error_parts_by_row,
    mean_error_parts,
    split_error,
)
from unseen.problem.samples import Combinations

IMAGES = 20


def readings(rng, deviation, images=IMAGES):
    """What each image of a digit is taken for, less the digit; right on average."""
    errors = rng.standard_normal(images)
    errors -= errors.mean()
    return deviation * errors / errors.std()


def parts_of(parts):
    return [parts.shift, parts.misvalued, parts.wrong, *parts.misread, parts.interplay]


@st.composite
def tables(draw):
    places = draw(st.integers(1, 4))
    shape = draw(st.lists(st.integers(2, 5), min_size=places, max_size=places))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scale = draw(st.sampled_from([0.001, 1.0, 1000.0]))
    return (scale * rng.standard_normal(shape) + draw(st.floats(-50, 50))).astype(np.float32)


@given(tables(), st.integers(-18, 81), st.floats(-3, 3), st.floats(-3, 3))
def test_the_parts_sum_to_the_error(predictions, answer, shift, shared):
    parts = split_error(predictions, answer, shift, shared)
    error = float(np.mean((predictions.astype(np.float64) - answer) ** 2))
    assert parts.mse == pytest.approx(error)
    assert len(parts.misread) == predictions.ndim
    assert sum(parts_of(parts)) == pytest.approx(error, rel=1e-9)


def test_a_wrong_sum_is_a_wrong_answer():
    parts = split_error(np.full((IMAGES, IMAGES), 12.5), 11)
    assert parts_of(parts) == pytest.approx([0, 0, 2.25, 0, 0, 0])


def test_all_at_once_come_apart():
    rng = np.random.default_rng(3)
    left, right = readings(rng, 1, 400), readings(rng, 2, 400)
    predictions = 11 + 0.5 + left[:, None] + right[None, :] + 0.25 * np.outer(left, right)
    expected = [0, 0, 0.25, 1, 4, 0.25]
    assert parts_of(split_error(predictions, 11)) == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((4, 5), [0, 0, 0.25, 1, 0.25, 4]), ((3, 3, 4), [0, 0, 0.25, 1, 0.25, 0, 4])],
)
def test_an_estimate_from_few_images_is_free_of_bias(shape, expected):
    """Left images only look misread: by chance, their means differ by a share of the interplay."""
    rng = np.random.default_rng(4)
    ones = (1,) * (len(shape) - 2)
    estimated = []
    for _ in range(4000):
        left, right = (
            rng.standard_normal((shape[0], 1, *ones)),
            rng.standard_normal((1, shape[1], *ones)),
        )
        predictions = 11 + 0.5 + left + 0.5 * right + 2 * rng.standard_normal(shape)
        estimated.append(parts_of(split_error(predictions, 11)))
    assert np.mean(estimated, axis=0) == pytest.approx(expected, abs=0.1)


def test_one_image_in_a_place_is_too_few_to_estimate_from():
    with pytest.raises(ValueError, match="two images"):
        split_error(np.zeros((1, 5)), 0)


def mean_of(offsets, shift=0.0, shared=None):
    """Of combinations that are off by so much; by default, seen ones share only the shift."""
    rng = np.random.default_rng(7)
    table = readings(rng, 1)[:, None] + np.zeros((1, 9))
    shared = [shift] * len(offsets) if shared is None else shared
    return mean_error_parts(
        [
            split_error(5 + offset + table, 5, shift, error)
            for offset, error in zip(offsets, shared, strict=True)
        ]
    )


def test_a_wrong_answer_is_what_a_shift_leaves():
    exact, shifted = (mean_of([-2.0, -1.0, 1.0], shift=each) for each in (0.0, -2.0))
    assert shifted.shift == pytest.approx(np.mean([4, 1, 1]) - np.mean([0, 1, 9]))
    assert shifted.shift < 0  # unseen combinations do not share it
    assert shifted.wrong == pytest.approx(exact.wrong - shifted.shift)
    assert (exact.shift, exact.misvalued) == (0, 0)


def test_digits_that_seen_combinations_misvalue_as_well_are_named_apart():
    parts = mean_of([-3.0, 1.0], shift=-1.0, shared=[-3.0, 0.0])
    assert parts.shift == pytest.approx(np.mean([9 - 4, 1 - 4]))
    assert parts.misvalued == pytest.approx(np.mean([4 - 0, 4 - 1]))
    assert parts.wrong == pytest.approx(np.mean([0, 1]), abs=0.1)


PAIRS = Combinations(
    np.asarray([(a, b) for a in range(4) for b in range(4)]),
    np.asarray([a + b for a in range(4) for b in range(4)]),
)
UNSEEN = np.asarray([5, 11])  # (1, 1) and (2, 3)


def rows_of(offsets):
    """The parts of two unseen pairs, where pairs are answered wrongly by so much."""
    rng = np.random.default_rng(8)
    means = PAIRS.answers + offsets
    tables = means[UNSEEN][:, None, None] + readings(rng, 0.1)[:, None] + np.zeros(IMAGES)
    seen = ~np.isin(np.arange(16), UNSEEN)
    return error_parts_by_row(PAIRS, seen, means, UNSEEN, tables)


def test_a_digit_worth_too_much_everywhere_is_no_wrong_sum():
    parts_by_row = rows_of(np.where(PAIRS.digits[:, 1] == 3, 2.0, 0.0) - (PAIRS.digits[:, 0] == 2))
    assert {*parts_by_row} == {5, 11}
    assert parts_by_row[11].wrong == pytest.approx(0, abs=0.01)
    assert parts_by_row[11].misvalued + parts_by_row[11].shift == pytest.approx(1, abs=0.01)
    assert parts_by_row[11].misread == pytest.approx((0.01, 0), abs=0.002)
    assert parts_by_row[5].wrong == pytest.approx(0, abs=0.01)


def test_what_only_an_unseen_pair_has_is_a_wrong_sum():
    parts_by_row = rows_of(np.where(np.arange(16) == 11, 2.0, 0.0))
    assert parts_by_row[11].wrong == pytest.approx(4, abs=0.01)
    assert (parts_by_row[11].misvalued, parts_by_row[11].shift) == (0, 0)


def test_folds_are_averaged_and_shared_out():
    parts = mean_error_parts([ErrorParts(4, 0, 0, 2, (2, 0), 0), ErrorParts(8, 1, 1, 4, (0, 2), 0)])
    assert (parts.mse, parts.wrong, parts.misread) == (6, 3, (1, 1))
    shares = parts.shares()
    assert (shares.mse, shares.wrong) == pytest.approx((1, 0.5))
    assert shares.misread == pytest.approx((1 / 6, 1 / 6))


def test_no_error_has_no_shares():
    parts = split_error(np.full((3, 3), 4.0), 4)
    assert parts.mse == 0
    assert math.isnan(parts.shares().wrong)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_network_that_diverged_is_blamed_for_nothing(value):
    predictions = np.zeros((3, 3), np.float32)
    predictions[1, 2] = value
    parts = split_error(predictions, 3)
    assert not any(math.isfinite(part) for part in (parts.mse, parts.wrong, parts.interplay))
    assert parts_of(parts.shares())

import math
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unseen.analysis.error_parts import (
    Attribution,
    error_parts_by_row,
    estimate,
    mean_error_parts,
    split_mean_error,
)
from unseen.problem.samples import Combinations

IMAGES = 20


def readings(rng, deviation, images=IMAGES):
    """What each image of a digit is taken for, less the digit; right on average."""
    errors = rng.standard_normal(images)
    errors -= errors.mean()
    return deviation * errors / errors.std()


def parts_of(attribution):
    return [attribution.wrong, *attribution.misread, attribution.interplay]


def attribute(predictions, answer):
    """The parts of the error on just these images, as an analysis of variance has them.

    With few images, `misread` is too large by a share of the interplay (interplay / k for pairs);
    `estimate` corrects that, and for many images both are the same.
    """
    with np.errstate(all="ignore"):  # a network that diverged has NaN here
        errors = predictions.astype(np.float64) - answer
        mean = errors.mean()
        effects = [mean_beside(errors, place) - mean for place in range(errors.ndim)]
        rest = errors - mean - sum(effects)
        return Attribution(
            mse=float(np.mean(errors**2)),
            mean_error=float(mean),
            wrong=float(mean**2),
            misread=tuple(float(np.mean(effect**2)) for effect in effects),
            interplay=float(np.mean(rest**2)) if errors.ndim > 1 else 0.0,
        )


def mean_beside(errors, place):
    """The mean error of each image of a place over all that stood beside it, axes kept."""
    others = tuple(axis for axis in range(errors.ndim) if axis != place)
    return errors.mean(axis=others, keepdims=True)


@st.composite
def tables(draw):
    places = draw(st.integers(1, 4))
    shape = draw(st.lists(st.integers(2, 5), min_size=places, max_size=places))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scale = draw(st.sampled_from([0.001, 1.0, 1000.0]))
    return (scale * rng.standard_normal(shape) + draw(st.floats(-50, 50))).astype(np.float32)


@pytest.mark.parametrize("split", [attribute, estimate])
@given(predictions=tables(), answer=st.integers(-18, 81))
def test_the_parts_sum_to_the_error(split, predictions, answer):
    attribution = split(predictions, answer)
    error = float(np.mean((predictions.astype(np.float64) - answer) ** 2))
    assert attribution.mse == pytest.approx(error)
    assert len(attribution.misread) == predictions.ndim
    assert sum(parts_of(attribution)) == pytest.approx(error, rel=1e-9)


@given(predictions=tables(), answer=st.integers(-18, 81))
def test_no_part_of_the_error_on_these_images_is_below_zero(predictions, answer):
    assert min(parts_of(attribute(predictions, answer))) >= 0


@pytest.mark.parametrize("split", [attribute, estimate])
def test_a_wrong_sum_is_a_wrong_answer(split):
    attribution = split(np.full((IMAGES, IMAGES), 12.5), 11)
    assert attribution.mean_error == 1.5
    assert parts_of(attribution) == pytest.approx([2.25, 0, 0, 0])


@pytest.mark.parametrize("place", [0, 1, 2])
def test_misread_digits_are_blamed_on_their_place(place):
    rng = np.random.default_rng(1)
    shape = [1, 1, 1]
    shape[place] = IMAGES
    predictions = 11 + readings(rng, 2).reshape(shape) + np.zeros((IMAGES,) * 3)
    attribution = attribute(predictions, 11)
    expected = [0.0, 0.0, 0.0]
    expected[place] = 4.0
    assert attribution.misread == pytest.approx(expected)
    assert attribution.wrong == pytest.approx(0)
    assert attribution.interplay == pytest.approx(0)


def test_what_certain_images_do_together_is_interplay():
    rng = np.random.default_rng(2)
    predictions = 7 + readings(rng, 1)[:, None] * readings(rng, 3)[None, :]
    assert parts_of(attribute(predictions, 7)) == pytest.approx([0, 0, 0, 9])


def test_all_at_once_come_apart():
    rng = np.random.default_rng(3)
    left, right = readings(rng, 1), readings(rng, 2)
    predictions = 11 + 0.5 + left[:, None] + right[None, :] + 0.25 * np.outer(left, right)
    assert parts_of(attribute(predictions, 11)) == pytest.approx([0.25, 1, 4, 0.25])


def test_an_estimate_from_few_images_is_free_of_bias():
    rng = np.random.default_rng(4)
    exact, estimated = [], []
    for _ in range(4000):
        left, right, both = (
            rng.standard_normal(4),
            rng.standard_normal(5),
            rng.standard_normal((4, 5)),
        )
        predictions = 11 + 0.5 + left[:, None] + 0.5 * right[None, :] + 2 * both
        exact.append(parts_of(attribute(predictions, 11)))
        estimated.append(parts_of(estimate(predictions, 11)))
    assert np.mean(estimated, axis=0) == pytest.approx([0.25, 1, 0.25, 4], abs=0.1)
    # left images only look misread: by chance their means differ by the interplay / 5
    assert np.mean(exact, axis=0)[1] == pytest.approx(0.75 * (1 + 4 / 5), abs=0.1)


def test_an_estimate_from_few_images_is_free_of_bias_for_three_places():
    rng = np.random.default_rng(5)
    estimated = []
    for _ in range(4000):
        one, two = rng.standard_normal((3, 1, 1)), rng.standard_normal((1, 3, 4))
        predictions = 0.5 + one + two + rng.standard_normal((3, 3, 4))
        estimated.append(parts_of(estimate(predictions, 0)))
    assert np.mean(estimated, axis=0) == pytest.approx([0.25, 1, 0, 0, 2], abs=0.1)


def test_many_images_need_no_estimate():
    rng = np.random.default_rng(6)
    predictions = 11 + rng.standard_normal((300, 1)) + 0.1 * rng.standard_normal((300, 300))
    assert parts_of(attribute(predictions, 11)) == pytest.approx(
        parts_of(estimate(predictions, 11)), abs=0.01
    )


def test_one_image_in_a_place_is_too_few_to_estimate_from():
    with pytest.raises(ValueError, match="two images in each place"):
        estimate(np.zeros((1, 5)), 0)


def tables_off_by(offsets):
    rng = np.random.default_rng(7)
    return [
        attribute(5 + offset + readings(rng, 1)[:, None] + np.zeros((1, 9)), 5)
        for offset in offsets
    ]


def error_parts_of(attributions, shift=0.0, shared=None):
    """Of some combinations; by default seen ones with the same digits share only the shift."""
    shared = [shift] * len(attributions) if shared is None else shared
    return mean_error_parts(
        [
            split_mean_error(each, shift, error)
            for each, error in zip(attributions, shared, strict=True)
        ]
    )


def test_a_shift_that_seen_combinations_share_is_named_apart():
    parts = error_parts_of(tables_off_by([-2.0, -2.0, -2.0]), shift=-2.0)
    assert parts.shift == pytest.approx(4)
    assert (parts.misvalued, parts.wrong) == (pytest.approx(0), pytest.approx(0))
    assert parts.misread == pytest.approx((1, 0))
    assert parts.mse == pytest.approx(5)


def test_a_wrong_answer_is_what_a_shift_leaves():
    offsets = [-2.0, -1.0, 1.0]
    parts = error_parts_of(tables_off_by(offsets), shift=-2.0)
    assert parts.wrong == pytest.approx(np.mean([0, 1, 9]))
    assert parts.shift == pytest.approx(np.mean([4, 1, 1]) - parts.wrong)
    assert parts.shift < 0  # unseen combinations do not share it


def test_without_a_shift_the_wrong_answers_are_the_mean_of_their_squares():
    parts = error_parts_of(tables_off_by([-2.0, 2.0]))
    assert (parts.shift, parts.misvalued, parts.wrong) == (0, 0, pytest.approx(4))


def test_digits_that_seen_combinations_misvalue_as_well_are_named_apart():
    parts = error_parts_of(tables_off_by([-3.0, 1.0]), shift=-1.0, shared=[-3.0, 0.0])
    assert parts.wrong == pytest.approx(np.mean([0, 1]))
    assert parts.shift == pytest.approx(np.mean([9 - 4, 1 - 4]))
    assert parts.misvalued == pytest.approx(np.mean([4 - 0, 4 - 1]))


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


@given(st.lists(tables(), min_size=1, max_size=4), st.floats(-3, 3), st.floats(-3, 3))
def test_the_parts_of_a_fold_sum_to_its_error(predictions, shift, digits):
    flat = [attribute(each.reshape(len(each), -1), 9) for each in predictions]
    parts = error_parts_of(flat, shift, [shift + digits] * len(flat))
    summands = [parts.shift, parts.misvalued, parts.wrong, *parts.misread, parts.interplay]
    assert sum(summands) == pytest.approx(parts.mse, rel=1e-9)


def test_folds_are_averaged_and_shared_out():
    parts = mean_error_parts([error_parts_of(tables_off_by([offset])) for offset in (1.0, 3.0)])
    assert (parts.mse, parts.wrong) == (pytest.approx(6), pytest.approx(5))
    assert parts.misread == pytest.approx((1, 0))
    shares = parts.shares()
    assert shares.mse == pytest.approx(1)
    assert shares.wrong == pytest.approx(5 / 6)
    assert shares.misread == pytest.approx((1 / 6, 0))


def test_no_error_has_no_shares():
    parts = error_parts_of([attribute(np.full((3, 3), 4.0), 4)])
    assert parts.mse == 0
    assert math.isnan(parts.shares().wrong)


@pytest.mark.parametrize("split", [attribute, estimate])
@pytest.mark.parametrize("astray", [math.nan, math.inf])
def test_a_network_gone_astray_is_blamed_for_nothing(split, astray):
    predictions = np.zeros((3, 3), np.float32)
    predictions[1, 2] = astray
    parts = error_parts_of([split(predictions, 3)])
    assert not any(math.isfinite(part) for part in (parts.mse, parts.wrong, parts.interplay))
    assert len(astuple(parts.shares())) == 6

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unseen.training.metrics import METRICS

NAN, INF = float("nan"), float("inf")


def check(metric, prediction, answer):
    return metric(np.asarray([prediction], np.float32), np.asarray([answer])) == 1.0


@pytest.mark.parametrize(
    ("prediction", "answer", "right"),
    [(0.5, 0, True), (0.5, 1, False), (1.5, 2, True), (2.5, 2, True), (-0.4, 0, True), (NAN, 0, 0)],
)
def test_rounding_is_half_to_even(prediction, answer, right):
    assert check(METRICS["rounded"], prediction, answer) == right


@pytest.mark.parametrize(
    ("prediction", "answer", "right"),
    [(4.1, 4, True), (4.1, 5, True), (4.0, 5, False), (-0.5, -1, True), (4.1, 6, 0), (NAN, 4, 0)],
)
def test_floor_or_ceiling_is_the_answer(prediction, answer, right):
    assert check(METRICS["floor_or_ceiling"], prediction, answer) == right


@pytest.mark.parametrize(
    ("prediction", "answer", "right"),
    [(5.4, 4, True), (5.5, 5, True), (5.6, 4, False), (2.5, 3, True), (NAN, 1, 0), (INF, 1, 0)],
)
def test_within_one_is_judged_after_rounding(prediction, answer, right):
    assert check(METRICS["within_one"], prediction, answer) == right


def test_mse_is_the_mean_of_the_squares():
    mse = METRICS["test_mse"]
    assert mse(np.asarray([1, 4], np.float32), np.asarray([2, 2])) == 2.5
    assert np.isnan(mse(np.asarray([1, NAN], np.float32), np.asarray([2, 2])))


@given(hnp.arrays(np.float32, st.integers(1, 20), elements=st.floats(-30, 30, width=32)))
def test_looser_measures_are_never_lower(predictions):
    answers = np.arange(len(predictions))
    values = {name: metric(predictions, answers) for name, metric in METRICS.items()}
    assert values["rounded"] <= values["within_one"]
    assert values["floor_or_ceiling"] <= values["within_one"]
    assert values["rounded"] <= values["floor_or_ceiling"]

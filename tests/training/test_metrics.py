import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import unseen
from unseen.training.metrics import METRICS

NAN, INF = float("nan"), float("inf")
PACKAGE = Path(unseen.__file__).parent


@pytest.mark.parametrize(
    ("metric", "prediction", "answer", "right"),
    [
        # half to even
        *(("rounded", prediction, answer, right) for prediction, answer, right in [
            (0.5, 0, 1), (0.5, 1, 0), (1.5, 2, 1), (2.5, 2, 1), (-0.4, 0, 1), (NAN, 0, 0),
        ]),
        *(("floor_or_ceiling", prediction, answer, right) for prediction, answer, right in [
            (4.1, 4, 1), (4.1, 5, 1), (4.0, 5, 0), (-0.5, -1, 1), (4.1, 6, 0), (NAN, 4, 0),
        ]),
        # after rounding
        *(("within_one", prediction, answer, right) for prediction, answer, right in [
            (5.4, 4, 1), (5.5, 5, 1), (5.6, 4, 0), (2.5, 3, 1), (NAN, 1, 0), (INF, 1, 0),
        ]),
    ],
)  # fmt: skip
def test_an_answer_is_right_or_wrong(metric, prediction, answer, right):
    found = METRICS[metric](np.asarray([prediction], np.float32), np.asarray([answer]))
    assert found == right


def test_mse_is_the_mean_of_the_squares():
    mse = METRICS["test_mse"]
    assert mse(np.asarray([1, 4], np.float32), np.asarray([2, 2])) == 2.5
    assert np.isnan(mse(np.asarray([1, NAN], np.float32), np.asarray([2, 2])))


@given(hnp.arrays(np.float32, st.integers(1, 20), elements=st.floats(-30, 30, width=32)))
def test_looser_measures_are_never_lower(predictions):
    answers = np.arange(len(predictions))
    values = {name: metric(predictions, answers) for name, metric in METRICS.items()}
    assert values["rounded"] <= values["floor_or_ceiling"] <= values["within_one"]


def test_only_the_registry_knows_the_names_of_metrics():
    """The paper's record has them too; and a picture's answer can be rounded."""
    others = ("metrics.py", "published.py", "prediction_text.py")
    named = re.compile("|".join(f'"{name}"' for name in METRICS))
    sources = [path for path in PACKAGE.rglob("*.py") if path.name not in others]
    assert [path.name for path in sources if named.search(path.read_text())] == []

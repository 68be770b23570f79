import math

import pytest

from unseen.analysis.statistics import measures_of, over_folds, spread
from unseen.runs.fold import FoldResult
from unseen.runs.presets import fast
from unseen.training.metrics import METRICS


def test_a_spread_is_mean_and_sample_deviation():
    assert spread([1.0, 2.0, 3.0, 6.0]).mean == 3.0
    assert spread([1.0, 2.0, 3.0, 6.0]).deviation == pytest.approx((14 / 3) ** 0.5)
    assert spread([1.0]).deviation is None
    assert over_folds([]) == {}


def test_a_metric_that_a_run_did_not_measure_yet_is_nan():
    result = FoldResult(
        fold=1, unseen=[], measures={"rounded": 0.5}, seconds=2, epoch_losses=[], parameters=0
    )
    measures = measures_of(result)
    assert measures.keys() == {*METRICS, "seconds"}
    assert measures["rounded"] == 0.5
    assert math.isnan(measures["test_mse"])


def test_the_paper_is_compared_with_its_own_problem_only(symbols):
    def vary(**changes):
        return fast().vary(**changes).problem

    assert vary().has_the_papers_folds
    assert vary(split_seed=1).is_the_papers
    assert not vary(split_seed=1).has_the_papers_folds
    for other in (vary(length=3), vary(symbols=str(symbols)), vary(development=True)):
        assert not other.is_the_papers

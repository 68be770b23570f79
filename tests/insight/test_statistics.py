import statistics

import pytest

from unseen.experiments.presets import fast
from unseen.insight.paper_results import (
    PAPER_BY_FOLD,
    PAPER_MEAN,
    has_the_papers_folds,
    is_the_papers_problem,
)
from unseen.insight.statistics import MEASURES, over_folds, spread


def test_a_spread_is_mean_and_sample_deviation():
    assert spread([1.0, 2.0, 3.0, 6.0]).mean == 3.0
    assert spread([1.0, 2.0, 3.0, 6.0]).deviation == pytest.approx((14 / 3) ** 0.5)
    assert spread([1.0]).deviation is None
    assert over_folds([]) == {}


@pytest.mark.parametrize("name", PAPER_BY_FOLD)
def test_the_papers_rows_have_its_means(name):
    rows = PAPER_BY_FOLD[name]
    assert [*rows] == [*range(1, 11)]
    assert statistics.fmean(rows.values()) == pytest.approx(PAPER_MEAN[name], abs=1e-4)
    assert PAPER_MEAN.keys() == {*MEASURES}


def test_the_paper_is_compared_with_its_own_problem_only():
    def vary(**changes):
        return fast().vary(problem=changes).problem

    assert has_the_papers_folds(vary())
    assert is_the_papers_problem(vary(split_seed=1))
    assert not has_the_papers_folds(vary(split_seed=1))
    for other in (vary(length=3), vary(symbols="here"), vary(split_seed=1, development=True)):
        assert not is_the_papers_problem(other)

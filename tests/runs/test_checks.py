import numpy as np
import pytest
from tables_of_combinations import table

from unseen.errors import SettingError
from unseen.problem.splits import Fold
from unseen.problem.symbols import load_symbols
from unseen.problem.task import Task
from unseen.runs.checks import batch_sizes, parse_folds
from unseen.runs.presets import fast


def test_folds_are_parsed_as_they_are_typed():
    assert parse_folds(None) is None
    assert parse_folds("1,3-5, 4") == (1, 3, 4, 5)
    assert parse_folds(3) == (3,)
    assert parse_folds(np.arange(3, 0, -1)) == (1, 2, 3)
    for wrong in ("", "x", "1,", "2-1", "-1", "1-99999999", "1--2", [], 1.5, ["1"], [None]):
        with pytest.raises(SettingError):
            parse_folds(wrong)


def test_a_users_network_is_tried_with_the_batches_that_a_run_has():
    experiment = fast().vary(samples=5, batch_size=449)
    folds = [Fold(1, np.arange(10), 100), Fold(2, np.arange(20), 100)]
    task = Task(load_symbols("mnist"), table(), folds)
    assert batch_sizes(experiment, task, [1, 2]) == {449, 1, 400}
    assert batch_sizes(experiment.vary(batch_size=50), task, [1, 2]) == {50}

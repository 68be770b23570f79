import io
import re

import pytest
from rich.console import Console

from unseen.experiments.fold import FoldResult
from unseen.experiments.presets import fast
from unseen.learning.metrics import METRICS
from unseen.views.tables import format_measure, run_tables


def result(fold: int, **changes: object) -> FoldResult:
    measures = {
        "test_mse": 0.5, "train_mse": 0.25, "rounded": 0.8, "floor_or_ceiling": 0.9,
        "within_one": 0.95,
    } | changes  # fmt: skip
    return FoldResult(
        fold=fold, unseen=[[0, 6]], measures=measures, seconds=1.0, epoch_losses=[1.0],
        parameters=44_249,
    )  # fmt: skip


def printed(experiment, results, width=80) -> str:
    file = io.StringIO()
    Console(file=file, width=width).print(run_tables(experiment, results))
    return file.getvalue()


def test_rows_stand_beside_the_papers():
    text = printed(fast(), [result(1), result(7, rounded=0.6)], width=160)
    rows = "\n".join(" ".join(line.split()) for line in text.splitlines())
    assert "\n7 60.00 % 54.32 % 90.00 % 86.94 % 95.00 % 95.38 %" in rows
    assert re.search("\n7 0.5000 1.2150.* 0.2500 0.0803", rows)
    assert "\nmean 70.00 % 70.91 % 90.00 % 88.51 % 95.00 % 94.90 %" in rows
    assert "\n± 14.14 % 16.90 % 0.00 % 7.26 % 0.00 % 3.00 %" in rows
    assert "lenet5-curved (blind, 44,249 parameters), 1 epoch; 2 folds, seed 0" in " ".join(
        text.split()
    )
    assert "likely, not proven" in text


def test_other_folds_of_the_papers_problem_have_only_its_means_beside_them():
    text = printed(fast().vary(split_seed=1), [result(1), result(2)])
    assert "70.91 %" in text
    assert "81.19 %" not in text
    assert "likely" not in text


def test_development_folds_say_so_and_stand_alone():
    text = printed(fast().vary(split_seed=1, development=True), [result(1)])
    assert "1 development fold," in " ".join(text.split())
    assert "paper" not in text.lower()


def test_a_narrow_terminal_keeps_figures_in_one_piece():
    lines = printed(fast(), [result(1), result(7, rounded=0.6)], width=60).splitlines()
    assert max(map(len, lines)) <= 60
    assert any(
        line.split()
        == ["7", "60.00", "%", "54.32", "%", "90.00", "%", "86.94", "%", "95.00", "%", "95.38", "%"]
        for line in lines
    )


@pytest.mark.parametrize("count", [0, 1, 10])
def test_any_number_of_folds_fits_a_terminal(count):
    text = printed(fast(), [result(fold) for fold in range(1, count + 1)])
    assert max(map(len, text.splitlines())) <= 80
    assert "nan" not in text
    assert ("No fold is done yet." in text) == ("Errors" not in text) == (count == 0)


def test_figures_are_percentages_where_they_are_shares():
    assert format_measure(METRICS["rounded"], 0.97123) == "97.12 %"
    assert format_measure(METRICS["test_mse"], 0.97123) == "0.9712"
    assert format_measure(METRICS["test_mse"], None) == ""
    assert format_measure(METRICS["rounded"], float("nan")) == "—"

import io

import pytest
from rich.console import Console

from unseen.report.tables import format_measure, run_tables
from unseen.runs.fold import FoldResult
from unseen.runs.presets import fast, paper, paper_2000
from unseen.training.metrics import METRICS


def result(fold: int, **changes: object) -> FoldResult:
    measures = {
        "test_mse": 0.5, "train_mse": 0.25, "seen_rounded": 0.95, "rounded": 0.8,
        "floor_or_ceiling": 0.9, "within_one": 0.95,
    } | changes  # fmt: skip
    return FoldResult(
        fold=fold, unseen=[[0, 6]], measures=measures, seconds=1.0, epoch_losses=[1.0],
        parameters=44_249,
    )  # fmt: skip


def printed(experiment, results, width=80) -> str:
    file = io.StringIO()
    Console(file=file, width=width).print(run_tables(experiment, results))
    return file.getvalue()


def printed_rows(experiment, results) -> list[str]:
    return [" ".join(line.split()) for line in printed(experiment, results, 160).splitlines()]


def test_accuracies_stand_beside_those_of_as_many_samples_and_their_own_errors():
    rows = printed_rows(paper_2000(), [result(1), result(7, rounded=0.6)])
    assert "7 95.00 % 60.00 % 54.32 % 90.00 % 86.94 % 95.00 % 95.38 %" in rows
    assert "mean 95.00 % 70.00 % 70.91 % 90.00 % 88.51 % 95.00 % 94.91 %" in rows
    assert "± 0.00 % 14.14 % 16.90 % 0.00 % 7.26 % 0.00 % 3.00 %" in rows
    assert "7 0.5000 0.8312 0.2500" in rows  # of the very networks with 54.32 %
    assert not any("1.2150" in row or "paper, " in row for row in rows)
    assert any("lenet" not in row and "1,000" not in row and "2,000" in row for row in rows)


def test_the_papers_errors_stand_beside_runs_with_1000_samples_and_its_accuracies_do_not():
    rows = printed_rows(paper(), [result(1), result(7, rounded=0.6)])
    assert "7 0.5000 1.2150 0.2500 0.0803" in rows
    assert "7 95.00 % 60.00 % 90.00 % 95.00 %" in rows
    assert not any("54.32" in row or "70.91" in row or "0.8312" in row for row in rows)


@pytest.mark.parametrize("changes", [{}, {"split_seed": 1}, {"samples": 1_001}])
def test_other_sample_counts_name_both_sets_of_networks_and_match_no_rows(changes):
    rows = printed_rows(fast().vary(**changes), [result(1), result(7, rounded=0.6)])
    assert "7 95.00 % 60.00 % 90.00 % 95.00 %" in rows
    assert "7 0.5000 0.2500" in rows
    assert "paper, 2,000 70.91 % 88.51 % 94.91 %" in rows
    assert {"paper, 2,000 0.7238", "paper, 1,000 0.8533 0.0656"} <= {*rows}


@pytest.mark.parametrize(("make", "shown"), [(paper, "0.8533"), (paper_2000, "70.91 %")])
def test_other_folds_of_as_many_samples_have_only_means_beside_them(make, shown):
    text = printed(make().vary(split_seed=1), [result(1), result(2)])
    assert shown in text
    assert "81.19 %" not in text
    assert "1.1072" not in text
    assert ("0.8533" in text) != ("70.91 %" in text)


def test_development_folds_say_so_and_stand_alone():
    text = printed(fast().vary(split_seed=1, development=True), [result(1)])
    assert "1 development fold," in " ".join(text.split())
    assert "paper" not in text.lower()


def test_a_narrow_terminal_keeps_figures_in_one_piece():
    lines = printed(paper_2000(), [result(1), result(7, rounded=0.6)], width=70).splitlines()
    assert max(map(len, lines)) <= 70
    rows = [" ".join(line.split()) for line in lines]
    assert "7 95.00 % 60.00 % 54.32 % 90.00 % 86.94 % 95.00 % 95.38 %" in rows


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

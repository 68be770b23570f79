"""docs/results.md has the figures of docs/results.csv, and marks rows of earlier networks."""

import runpy
from pathlib import Path
from types import SimpleNamespace

results = SimpleNamespace(
    **runpy.run_path(str(Path(__file__).parents[1] / "scripts/results.py"), run_name="results")
)


def test_the_page_has_the_figures_of_the_record():
    text, recorded = results.PAGE.read_text(), results.read_record()
    assert results.page(text, recorded) == text
    rows = [*filter(None, map(results.find_row, text.splitlines()))]
    assert recorded.keys() <= {row.arguments for row in rows}


def test_a_row_takes_the_figures_of_the_record_and_other_lines_stay():
    row = "| add | not run yet | | | | `unseen run best` |"
    figures = {"rounded": 0.5, "within_one": 1.0, "test_mse": 2.0, "seconds": 9.0}
    recorded = {"best": {1: figures | {"run": results.present_run("best")}}}
    before = (
        f"# Results\n\n{row}\n| subtract | 1 | 2 | `unseen run fast` |\nBy `unseen run best`.\n"
    )
    after = "| add | 50.0 | 100.0 | 2.000 | fold 1, 9 s | `unseen run best` |"
    assert results.page(before, recorded) == before.replace(row, after)


def test_folds_of_an_earlier_network_are_marked():
    row = results.Row("products", "best --operation multiply")
    figures = {"rounded": 0.9, "within_one": 0.9, "test_mse": 1.0, "seconds": None}
    now, earlier = results.present_run(row.arguments), "best-6893266fb2d5"
    assert "earlier form" not in results.format_row(row, {1: figures | {"run": now}})
    both = {1: figures | {"run": now}, 2: figures | {"run": earlier}}
    assert "folds 1, 2, of an earlier form" in results.format_row(row, both)

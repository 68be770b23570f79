"""docs/results.md says what docs/results.csv has, and which rows are of earlier networks."""

import runpy
from pathlib import Path
from types import SimpleNamespace

results = SimpleNamespace(
    **runpy.run_path(str(Path(__file__).parents[1] / "scripts/results.py"), run_name="results")
)


def test_the_page_is_written_from_the_record():
    assert results.PAGE.read_text() == results.page(
        results.read_record(), results.figures_by_command()
    )


def test_folds_of_an_earlier_network_are_marked():
    (row,) = (row for row in results.SECTIONS["The best results"] if "multiply" in row.arguments)
    figures = {"rounded": 0.9, "within_one": 0.9, "test_mse": 1.0, "seconds": None}
    now, earlier = results.present_run(row.arguments), "best-6893266fb2d5"
    assert "earlier form" not in results.line(row, {1: figures | {"run": now}}, {})
    both = {1: figures | {"run": now}, 2: figures | {"run": earlier}}
    assert "folds 1, 2, of an earlier form" in results.line(row, both, {})

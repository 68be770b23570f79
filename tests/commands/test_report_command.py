"""`unseen report` and `unseen compare`, and the page in a real browser."""

import csv
import io
import itertools
import json
import re
import shutil
from pathlib import Path

import pytest
from browsers import beyond_the_screen, open_page
from conftest import SMALL, run_json, unseen, write_symbols
from made_up_runs import by_heart, diverged, exact, made_up_run, noisy

from unseen.cli import command
from unseen.runs.presets import PRESETS
from unseen.runs.run_folder import RunFolder

WITH_REPORT = [option for option in SMALL if option != "--no-report"]
OWN_NETWORK = """
import torch
class Net(torch.nn.Module):
    def __init__(self, length, height, width):
        super().__init__()
        self.read = torch.nn.Linear(height * width, 8)
        self.say = torch.nn.Linear(8, 1)
    def forward(self, pictures):
        return self.say(self.read(pictures.flatten(1)).tanh())
"""


def ask(*words: str | Path, cwd: Path) -> str:
    """What a command that succeeds prints on stdout."""
    ended = unseen(*words, cwd=cwd)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def refuse(*words: str | Path, cwd: Path) -> str:
    """The one line in which a command is refused."""
    ended = unseen(*words, cwd=cwd)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    return ended.stderr


@pytest.fixture(scope="module")
def a_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small real run, all ten folds, with its report."""
    here = tmp_path_factory.mktemp("real")
    symbols = write_symbols(here / "symbols")
    ran = unseen("run", "fast", "--symbols", symbols, *WITH_REPORT, cwd=here)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    *_, last = ran.stdout.splitlines()
    assert last.startswith("Report: runs/fast-")
    return here / last.removeprefix("Report: ").removesuffix("/report.html")


def test_the_page_stands_in_a_real_browser(a_run: Path, browser):
    page, said, asked = open_page(browser, a_run / "report.html")
    assert page.locator(".cell").count() == 100
    for width, scheme in itertools.product([1280, 360], ["light", "dark"]):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert beyond_the_screen(page, "main *") == []
    page.locator(".cell").nth(37).hover()
    assert page.locator(".details").inner_text().startswith("(3, 7) = 10: ")
    assert (
        "; its error, on 2 images in each place: misread left "
        in page.locator(".details").inner_text()
    )
    page.locator(".cell").nth(0).focus()
    page.keyboard.press("ArrowDown")
    assert page.locator(".details").inner_text().startswith("(1, 0) = 1: ")
    assert said == asked == []


def test_details_cover_no_cell_before_one_is_pointed_at(runs, tmp_path, browser):
    run = runs(noisy, [1], length=3)
    assert unseen("report", run, "--output", "page.html", cwd=tmp_path).returncode == 0
    page, _, _ = open_page(browser, tmp_path / "page.html")
    covered = (
        "(() => { const box = document.querySelector('.details').getBoundingClientRect();"
        "return [...document.querySelectorAll('.cell')].filter(cell => {"
        "const at = cell.getBoundingClientRect(); return at.left < box.right && at.right > box.left"
        " && at.top < box.bottom && at.bottom > box.top; }).length; })()"
    )
    assert page.locator(".cell").count() == 1_000
    page.locator(".grid").first.evaluate(
        "grid => scrollBy(0, grid.getBoundingClientRect().bottom - innerHeight)"
    )
    assert page.evaluate(covered) == 0
    page.locator(".cell").nth(7).hover()
    assert page.locator(".details").inner_text().startswith("(0, 0, 7)")
    assert page.locator(".details").evaluate(
        "box => box.getBoundingClientRect().bottom <= innerHeight"
    )


def test_a_run_that_cannot_write_its_report_is_done_all_the_same(a_run: Path):
    here = a_run.parent.parent
    (a_run / "report.html").rename(a_run / "kept.html")
    (a_run / "report.html").mkdir()
    try:
        again = unseen("run", "fast", "--symbols", here / "symbols", *WITH_REPORT, cwd=here)
    finally:
        (a_run / "report.html").rmdir()
        (a_run / "kept.html").rename(a_run / "report.html")
    assert again.returncode == 0
    assert again.stderr.startswith("unseen: the run is done, but its report is not: cannot write")
    assert again.stderr.count("\n") == 1
    assert "Run folder:" in again.stdout


def test_a_report_is_written_although_nobody_reads_the_tables(runs, tmp_path, monkeypatch):
    def closed(what: object) -> None:
        raise BrokenPipeError

    run = tmp_path / "runs" / runs(noisy, [1])
    monkeypatch.setattr("unseen.commands.show.emit", closed)
    monkeypatch.setattr("signal.signal", lambda *arguments: None)
    words = f"run --symbols {tmp_path / 'symbols'} --test-samples 6 --folds 1 --runs-dir"
    with pytest.raises(BrokenPipeError):
        command([*words.split(), str(run.parent)])
    assert (run / "report.html").is_file()


def test_the_report_goes_where_it_is_asked_to(a_run: Path):
    here = a_run.parent.parent
    asked = ("report", a_run.name, "--output", "page.html", "--figures", "figures")
    assert ask(*asked, cwd=here) == "Report: page.html\n"
    assert {path.suffix for path in (here / "figures").iterdir()} == {".svg", ".pdf"}
    assert ask("report", a_run.name, "--format=latex", cwd=here).count(r"\begin{tabular}") == 2
    shown = json.loads(ask("show", a_run.name, "--json", cwd=here))
    assert shown["insight"]["headline"]
    assert len(shown["folds"]) == 10
    assert ask("report", a_run.name, "--format=csv", "--output", "run.csv", cwd=here) == ""
    assert f"{shown['insight']['intervals']['rounded']['mean']}" in (here / "run.csv").read_text()


def test_a_deep_report_is_kept_until_the_result_changes(tmp_path: Path):
    symbols = write_symbols(tmp_path / "symbols")
    options = ["--length", "1", "--symbols", symbols, "--folds", "1", *SMALL]
    run = tmp_path / run_json(*options, cwd=tmp_path)["run"]
    ask("report", run, "--deep", cwd=tmp_path)
    insight = json.loads(ask("show", run, "--json", cwd=tmp_path))["insight"]
    assert insight["attribution"]["images"] == 100
    (only,) = insight["attribution"]["combinations"]
    assert only["mse"] == pytest.approx(insight["attribution"]["mse"])
    assert [probe["layer"] for probe in insight["probes"]][:2] == ["picture", "Conv2d 1"]
    assert "Where are the symbols read?" in (run / "report.html").read_text()
    kept = run / "folds/01/deep.json"
    written = kept.stat().st_mtime_ns
    ask("report", run, "--deep", cwd=tmp_path)
    assert kept.stat().st_mtime_ns == written
    RunFolder(run).discard_result(1)
    assert RunFolder(run).derived(1, "deep.json") is None


def test_the_layers_of_an_own_network_are_analysed_only_when_it_is_named_again(tmp_path: Path):
    (tmp_path / "net.py").write_text(OWN_NETWORK)
    symbols = write_symbols(tmp_path / "symbols")
    options = ["--symbols", symbols, "--model", "net.py:Net", "--length", "1", "--folds", "1"]
    run = tmp_path / run_json(*options, *SMALL, cwd=tmp_path)["run"]
    (tmp_path / "net.py").rename(tmp_path / "moved.py")
    ask("report", run, cwd=tmp_path)
    assert "Not computed; `unseen report" in (run / "report.html").read_text()
    refused = refuse("report", run, "--deep", cwd=tmp_path)
    assert "net.py:Net is never run unasked; name its file.py:Class again" in refused
    ask("report", "fast", "--model", "moved.py:Net", cwd=tmp_path)
    ask("report", run, "--deep", "--model", "moved.py:Net", cwd=tmp_path)
    (run / "folds/01/deep.json").unlink()
    (tmp_path / "moved.py").write_text(OWN_NETWORK.replace("tanh", "relu"))
    other = refuse("report", run, "--deep", "--model", "moved.py:Net", cwd=tmp_path)
    assert "changed after" in other


@pytest.fixture
def runs(tmp_path: Path):
    """Makes runs in tmp_path/runs; returns their names."""
    symbols = str(write_symbols(tmp_path / "symbols"))

    def make(answering, folds=None, preset="fast", seed=0, **problem) -> str:
        settings = {"symbols": symbols, "test_samples": 6, **problem}
        experiment = PRESETS[preset]().vary(**settings, seed=seed)
        return made_up_run(tmp_path / "runs", experiment, answering, folds).path.name

    return make


def test_runs_are_compared_fold_by_fold(runs, tmp_path):
    first, other = runs(noisy), runs(exact, seed=1)
    table = ask("compare", first, other, "--figure", "difference.svg", cwd=tmp_path)
    assert "a paired t test over folds" in " ".join(table.split())
    assert "test MSE, unseen combinations; less is better" in table
    assert (tmp_path / "difference.svg").read_text().startswith("<?xml")
    itself = refuse("compare", first, other, first, "--json", cwd=tmp_path)
    assert "cannot be compared with itself" in itself
    document = json.loads(ask("compare", first, other, "--json", cwd=tmp_path))
    (difference,) = document["differences"]
    means = [run["mean"]["rounded"] for run in document["runs"]]
    assert difference["rounded"]["difference"] == pytest.approx(means[1] - means[0])
    assert difference["rounded"]["p_value"] < 0.01
    assert difference["test_mse"]["difference"] < 0
    assert (difference["folds"], difference["rounded"]["combinations"]) == (10, 100)
    few = ask("compare", first, runs(exact, [1, 2], seed=2), cwd=tmp_path)
    assert "No test: 2 folds in common" in " ".join(few.split())
    lost = ask("compare", first, runs(diverged, seed=3), cwd=tmp_path)
    assert re.search(r"100 +— +— +—", lost)
    two = ask("compare", *(runs(noisy, [1], unseen=2, seed=seed) for seed in (1, 2)), cwd=tmp_path)
    assert "nan" not in lost + two


TWO_NETWORKS = """
from torch import nn

class Small(nn.Sequential):
    def __init__(self, length, height, width, hidden=4):
        super().__init__(nn.Flatten(), nn.Linear(height * width, hidden), nn.Linear(hidden, 1))

class Large(Small):
    def __init__(self, length, height, width):
        super().__init__(length, height, width, hidden=32)
"""
STUDY = """
[settings]
split = "mine.txt"
symbols = "symbols"
samples = 3
test-samples = 6
[vary]
model = ["nets.py:Small", "nets.py:Large"]
seed = [0, 1, 2]
"""


def test_two_own_networks_on_an_own_split_are_compared_over_seeds(tmp_path):
    write_symbols(tmp_path / "symbols")
    (tmp_path / "nets.py").write_text(TWO_NETWORKS)
    (tmp_path / "mine.txt").write_text("3 8\n8 3\n\n1 2\n\n0 7 | 5 5\n")
    (tmp_path / "st.toml").write_text(STUDY)
    ask("sweep", "st.toml", "--quiet", cwd=tmp_path)
    words = ("compare", "--study", "st.toml", "--by", "model")
    table = ask(*words, cwd=tmp_path)
    assert "model nets.py:Large: fast --model nets.py:Large, 3 seeds" in table
    assert "(5 combinations in 4 folds, 3 seeds)" in " ".join(table.split())
    assert "a paired t test over folds, about other folds" in " ".join(table.split())
    first, other = csv.DictReader(io.StringIO(ask(*words, "--format=csv", cwd=tmp_path)))
    assert (other["runs"], other["seeds"], other["units"]) == ("model nets.py:Large", "3", "4")
    apart = float(other["rounded"]) - float(first["rounded"])
    assert float(other["rounded_difference"]) == pytest.approx(apart)
    assert float(other["rounded_low"]) <= apart <= float(other["rounded_high"])
    assert 0 <= float(other["seen_rounded"]) <= 1
    latex = ask(*words, "--format=latex", cwd=tmp_path)
    assert latex.count(r"\begin{table}") == latex.count("model nets.py:Large &") == 4
    rows = csv.DictReader(io.StringIO((tmp_path / "runs/st.csv").read_text()))
    assert {row["split"] for row in rows} == {"3 8; 8 3 | 1 2 | 0 7 | 5 5"}
    refused = refuse("compare", "--study", "st.toml", "--by", "epochs", cwd=tmp_path)
    assert "must name a setting that the study varies: model" in refused


def test_the_same_symbols_in_another_folder_are_no_difference(runs, tmp_path):
    copy = shutil.copytree(tmp_path / "symbols", tmp_path / "moved" / "copy")
    compared = (runs(noisy, [1]), runs(exact, [1], seed=1, symbols=str(copy)))
    table = ask("compare", *compared, cwd=tmp_path)
    assert f"{compared[1]}: fast --seed 1\n" in table
    assert table.count("--symbols symbols") == 1
    document = json.loads(ask("compare", *compared, "--json", cwd=tmp_path))
    assert [run["settings"] for run in document["runs"]] == [{}, {"seed": 1}]


def test_runs_of_other_questions_are_not_compared(runs, tmp_path):
    first = runs(noisy, [1])
    refusals = {
        runs(noisy, [1], operation="subtract"): "operation add and subtract",
        runs(noisy, [1], split="answer", operation="multiply"): (
            "operation add and multiply; split random and answer"
        ),
        runs(noisy, [1], development=True, split_seed=5): (
            "split seed 376483 and 5; development False and True"
        ),
        runs(noisy, [1], unseen=20): "unseen None and 20",
        runs(noisy, [1], split=[(3, 8)]): "split random and 3 8",
        runs(noisy, [1], symbols=write_symbols(tmp_path / "7", labels=7)): "symbols symbols and 7",
        runs(by_heart, [2], seed=1): "no finished fold in common",
    }
    sentences = refuse("compare", first, *refusals, cwd=tmp_path).strip().split(". ")
    for sentence, (other, words) in zip(sentences, refusals.items(), strict=True):
        assert f" and {other} cannot be compared" in sentence
        assert sentence.endswith(words)
    assert "needs two runs" in refuse("compare", first, cwd=tmp_path)
    bad = refuse("compare", first, runs(exact, [1], seed=4), "--figure", "x.gif", cwd=tmp_path)
    assert "must be a name that ends in .svg or .pdf" in bad


@pytest.mark.parametrize("others", [{"per_label": 6}, {"labels": 7}, {"ink": 180}])
def test_a_run_is_not_shown_with_other_symbols_than_its_own(runs, tmp_path, others):
    run = runs(noisy, [1])
    write_symbols(tmp_path / "symbols", **others)
    assert f"changed after {run} was run with it" in refuse("report", run, cwd=tmp_path)
    shown = unseen("show", run, cwd=tmp_path)
    assert shown.returncode == 0
    assert "nothing can be said of what it shows" in shown.stderr


def test_a_run_with_nothing_done_has_no_report(tmp_path: Path):
    RunFolder(tmp_path / "runs/fast-0").create(PRESETS["fast"]())
    refused = refuse("report", "fast", cwd=tmp_path)
    assert refused == "unseen: no fold of fast-0 is done; there is nothing to report\n"


def test_a_network_trained_on_a_random_table_gets_nothing_unseen(tmp_path: Path):
    symbols = write_symbols(tmp_path / "symbols")
    insight = run_json(
        "--operation", "table:1", "--symbols", symbols, "--folds", "1-6", "--samples", "10",
        "--test-samples", "10", "--watched-samples", "20", "--epochs", "2", "--no-report",
        "--quiet", cwd=tmp_path,
    )["insight"]  # fmt: skip
    assert insight["headline"] in ("No", "Too little learnt to tell")
    assert insight["intervals"]["rounded"]["low"] <= insight["best_constant"]

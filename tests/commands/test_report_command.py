"""`unseen report` and `unseen compare`, and the page in a real browser."""

import csv
import io
import itertools
import json
import re
import shutil
from pathlib import Path

import pytest
from conftest import SMALL, run_json, unseen, write_symbols
from made_up_runs import astray, by_heart, exact, made_up_run, noisy

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
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((a_run / "report.html").as_uri())
    assert page.locator(".cell").count() == 100
    for width, scheme in itertools.product([1280, 360], ["light", "dark"]):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        beyond = page.evaluate(
            "[...document.querySelectorAll('main *')].filter(e => !e.closest('svg') && "
            "e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
        )
        assert beyond == []
    page.locator(".cell").nth(37).hover()
    assert page.locator(".details").inner_text().startswith("(3, 7) = 10: ")
    assert (
        "; its error, on 2 images in each place: misread left "
        in page.locator(".details").inner_text()
    )
    page.locator(".cell").nth(0).focus()
    page.keyboard.press("ArrowDown")
    assert page.locator(".details").inner_text().startswith("(1, 0) = 1: ")
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in asked if url.startswith("file:")]) == 1


def test_details_cover_no_cell_before_one_is_pointed_at(runs, tmp_path, browser):
    run = runs(noisy, [1], length=3)
    assert unseen("report", run, "--output", "page.html", cwd=tmp_path).returncode == 0
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto((tmp_path / "page.html").as_uri())
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
    told = unseen("report", a_run.name, "--output", "page.html", "--figures", "figures", cwd=here)
    assert told.stdout == "Report: page.html\n"
    assert {path.suffix for path in (here / "figures").iterdir()} == {".svg", ".pdf"}
    printed = unseen("report", a_run.name, "--format", "latex", cwd=here)
    assert printed.stdout.count(r"\begin{tabular}") == 2
    shown = json.loads(unseen("show", a_run.name, "--json", cwd=here).stdout)
    assert shown["insight"]["headline"]
    assert len(shown["folds"]) == 10
    csv = unseen("report", a_run.name, "--format", "csv", "--output", "run.csv", cwd=here)
    assert csv.stdout == ""
    assert f"{shown['insight']['intervals']['rounded']['mean']}" in (here / "run.csv").read_text()


def test_a_deep_look_is_kept_until_the_result_changes(tmp_path: Path):
    symbols = write_symbols(tmp_path / "symbols")
    options = ["--length", "1", "--symbols", symbols, "--folds", "1", *SMALL]
    run = tmp_path / run_json(*options, cwd=tmp_path)["run"]
    looked = unseen("report", run, "--deep", cwd=tmp_path)
    assert looked.returncode == 0, looked.stderr
    insight = json.loads(unseen("show", run, "--json", cwd=tmp_path).stdout)["insight"]
    assert insight["attribution"]["images"] == 100
    (only,) = insight["attribution"]["combinations"]
    assert only["mse"] == pytest.approx(insight["attribution"]["mse"])
    assert [probe["layer"] for probe in insight["probes"]][:2] == ["picture", "Conv2d 1"]
    assert "Where are the symbols read?" in (run / "report.html").read_text()
    kept = run / "folds/01/deep.json"
    written = kept.stat().st_mtime_ns
    assert unseen("report", run, "--deep", cwd=tmp_path).returncode == 0
    assert kept.stat().st_mtime_ns == written
    result = run / "folds/01/result.json"
    result.write_bytes(result.read_bytes() + b" ")
    assert RunFolder(run).derived(1, "deep.json") is None


def test_a_network_of_its_own_is_looked_into_only_when_it_is_named_again(tmp_path: Path):
    (tmp_path / "net.py").write_text(OWN_NETWORK)
    symbols = write_symbols(tmp_path / "symbols")
    options = ["--symbols", symbols, "--model", "net.py:Net", "--length", "1", "--folds", "1"]
    options += SMALL
    run = tmp_path / run_json(*options, cwd=tmp_path)["run"]
    (tmp_path / "net.py").rename(tmp_path / "moved.py")
    plain = unseen("report", run, cwd=tmp_path)
    assert plain.returncode == 0, plain.stderr
    assert "never runs unasked" in (run / "report.html").read_text()
    refused = unseen("report", run, "--deep", cwd=tmp_path)
    assert refused.returncode == 2
    assert "net.py:Net is never run unasked; name its file.py:Class again" in refused.stderr
    by_network = unseen("report", "fast", "--model", "moved.py:Net", cwd=tmp_path)
    assert by_network.returncode == 0, by_network.stderr
    named = unseen("report", run, "--deep", "--model", "moved.py:Net", cwd=tmp_path)
    assert named.returncode == 0, named.stderr
    (run / "folds/01/deep.json").unlink()
    (tmp_path / "moved.py").write_text(OWN_NETWORK.replace("tanh", "relu"))
    other = unseen("report", run, "--deep", "--model", "moved.py:Net", cwd=tmp_path)
    assert "changed after" in other.stderr


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
    table = unseen("compare", first, other, "--figure", "difference.svg", cwd=tmp_path)
    assert table.returncode == 0, table.stderr
    assert "a paired t test over folds" in " ".join(table.stdout.split())
    assert (tmp_path / "difference.svg").read_text().startswith("<?xml")
    ended = unseen("compare", first, other, first.replace("fast", "fast"), "--json", cwd=tmp_path)
    assert "cannot be compared with itself" in ended.stderr
    document = json.loads(unseen("compare", first, other, "--json", cwd=tmp_path).stdout)
    (difference,) = document["differences"]
    means = [run["mean"]["rounded"] for run in document["runs"]]
    assert difference["rounded"]["difference"] == pytest.approx(means[1] - means[0])
    assert difference["rounded"]["p_value"] < 0.01
    assert difference["test_mse"]["difference"] < 0
    assert (difference["folds"], difference["rounded"]["combinations"]) == (10, 100)
    few = runs(exact, [1, 2], seed=2)
    said = unseen("compare", first, few, cwd=tmp_path).stdout
    assert "No test: 2 folds in common" in " ".join(said.split())
    lost = unseen("compare", first, runs(astray, seed=3), cwd=tmp_path).stdout
    assert "nan" not in lost
    assert re.search(r"100 +— +— +—", lost)
    two = unseen(
        "compare", *(runs(noisy, [1], unseen=2, seed=seed) for seed in (1, 2)), cwd=tmp_path
    )
    assert two.returncode == 0
    assert "nan" not in two.stdout


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


def test_two_networks_of_ones_own_on_a_split_of_ones_own_are_compared_over_seeds(tmp_path):
    write_symbols(tmp_path / "symbols")
    (tmp_path / "nets.py").write_text(TWO_NETWORKS)
    (tmp_path / "mine.txt").write_text("3 8\n8 3\n\n1 2\n\n0 7 | 5 5\n")
    (tmp_path / "st.toml").write_text(STUDY)
    assert unseen("sweep", "st.toml", "--quiet", cwd=tmp_path).returncode == 0
    words = ("compare", "--study", "st.toml", "--by", "model")
    table = unseen(*words, cwd=tmp_path)
    assert "model nets.py:Large: fast --model nets.py:Large, 3 seeds" in table.stdout
    assert "(5 combinations in 4 folds, 3 seeds)" in " ".join(table.stdout.split())
    assert "a paired t test over folds, about other folds" in " ".join(table.stdout.split())
    first, other = csv.DictReader(io.StringIO(unseen(*words, "--format=csv", cwd=tmp_path).stdout))
    assert (other["runs"], other["seeds"], other["units"]) == ("model nets.py:Large", "3", "4")
    apart = float(other["rounded"]) - float(first["rounded"])
    assert float(other["rounded_difference"]) == pytest.approx(apart)
    assert float(other["rounded_low"]) <= apart <= float(other["rounded_high"])
    assert 0 <= float(other["seen_rounded"]) <= 1
    latex = unseen(*words, "--format=latex", cwd=tmp_path).stdout
    assert latex.count(r"\begin{table}") == latex.count("model nets.py:Large &") == 4
    rows = csv.DictReader(io.StringIO((tmp_path / "runs/st.csv").read_text()))
    assert {row["split"] for row in rows} == {"3 8; 8 3 | 1 2 | 0 7 | 5 5"}
    refused = unseen("compare", "--study", "st.toml", "--by", "epochs", cwd=tmp_path)
    assert refused.returncode == 2
    assert "must name a setting that the study varies: model" in refused.stderr


def test_the_same_symbols_in_another_folder_are_no_difference(runs, tmp_path):
    copy = shutil.copytree(tmp_path / "symbols", tmp_path / "moved" / "copy")
    compared = (runs(noisy, [1]), runs(exact, [1], seed=1, symbols=str(copy)))
    said = unseen("compare", *compared, cwd=tmp_path).stdout
    assert f"{compared[1]}: fast --seed 1\n" in said
    assert said.count("--symbols symbols") == 1
    document = json.loads(unseen("compare", *compared, "--json", cwd=tmp_path).stdout)
    assert [run["settings"] for run in document["runs"]] == [{}, {"seed": 1}]


def test_runs_of_other_questions_are_not_compared(runs, tmp_path):
    first = runs(noisy, [1])
    refusals = {
        runs(noisy, [1], operation="subtract"): "operation add and subtract",
        runs(noisy, [1], split_seed=3): "split seed 376483 and 3",
        runs(noisy, [1], split="answer", operation="multiply"): (
            "operation add and multiply; split random and answer"
        ),
        runs(noisy, [1], development=True): "questions: test folds and development folds",
        runs(noisy, [1], development=True, split_seed=5): (
            "split seed 376483 and 5; test folds and development folds"
        ),
        runs(noisy, [1], unseen=20): "unseen a tenth and 20",
        runs(noisy, [1], split=[(3, 8)]): "split random and listed (3 8)",
        runs(noisy, [1], symbols=write_symbols(tmp_path / "7", labels=7)): "symbols symbols and 7",
        runs(by_heart, [2], seed=1): "no finished fold in common",
    }
    ended = unseen("compare", first, *refusals, cwd=tmp_path)
    assert ended.returncode == 2
    sentences = ended.stderr.strip().split(". ")
    for sentence, (other, words) in zip(sentences, refusals.items(), strict=True):
        assert f" and {other} cannot be compared" in sentence
        assert sentence.endswith(words)
    assert "needs two runs" in unseen("compare", first, cwd=tmp_path).stderr
    bad = unseen("compare", first, runs(exact, [1], seed=4), "--figure", "x.gif", cwd=tmp_path)
    assert "must be a name that ends in .svg or .pdf" in bad.stderr
    assert bad.stdout == ""


@pytest.mark.parametrize(
    "others", [{"per_label": 6}, {"per_label": 20}, {"labels": 7}, {"ink": 180}]
)
def test_a_run_is_not_shown_with_other_symbols_than_its_own(runs, tmp_path, others):
    run = runs(noisy, [1])
    write_symbols(tmp_path / "symbols", **others)
    ended = unseen("report", run, cwd=tmp_path)
    assert ended.returncode == 2
    assert f"changed after {run} was run with it" in ended.stderr
    assert ended.stderr.count("\n") == 1
    shown = unseen("show", run, cwd=tmp_path)
    assert shown.returncode == 0
    assert "nothing can be said of what it shows" in shown.stderr


def test_a_run_with_nothing_done_has_no_report(tmp_path: Path):
    RunFolder(tmp_path / "runs/fast-0").create(PRESETS["fast"]())
    ended = unseen("report", "fast", cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stderr == "unseen: no fold of fast-0 is done; there is nothing to report\n"


def test_a_network_trained_on_a_random_table_gets_nothing_unseen(tmp_path: Path):
    symbols = write_symbols(tmp_path / "symbols")
    document = run_json(
        "--operation", "table:1", "--symbols", symbols, "--folds", "1-6", "--samples", "10",
        "--test-samples", "10", "--watched-samples", "20", "--epochs", "2", "--no-report",
        "--quiet", cwd=tmp_path,
    )  # fmt: skip
    insight = document["insight"]
    assert insight["headline"] in ("No", "Too little learnt to tell")
    assert insight["intervals"]["rounded"]["low"] <= insight["best_constant"]

"""The page and the tables for papers, of runs of every kind."""

import csv
import io
import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from conftest import write_symbols
from made_up_runs import by_heart, diverged, exact, made_up_run, noisy, summary_of

from unseen.analysis.run_data import load_run_data
from unseen.errors import printable
from unseen.report.drawing import Drawing, new_figure
from unseen.report.exports import as_csv, as_latex, as_markdown, latex_escaped
from unseen.report.figures import FIGURES, save_figures
from unseen.report.json_view import insight_json
from unseen.report.network_figures import digit_labels
from unseen.report.repeat_command import command_of, format_folds
from unseen.report.report import render_report
from unseen.report.result_figures import ruler
from unseen.report.tables import format_measure
from unseen.report.verdict_text import verdict_text
from unseen.runs.measuring import Measurement
from unseen.runs.presets import PRESETS
from unseen.runs.run_folder import RunFolder
from unseen.training.metrics import METRICS, unseen_metrics


class Page(HTMLParser):
    """What a test asks of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: Counter[str] = Counter()
        self.classes: Counter[str] = Counter()
        self.tags: Counter[str] = Counter()
        self.links: list[str] = []
        self.words: list[str] = []
        self._hidden = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags[tag] += 1
        self._hidden = tag in ("style", "script")
        self.ids.update([given["id"]] if "id" in given else [])
        self.classes.update((given.get("class") or "").split())
        self.links += [given[name] or "" for name in ("src", "href", "xlink:href") if name in given]

    def handle_data(self, data):
        if not self._hidden:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def page_of(folder) -> Page:
    data = load_run_data(folder, folder.experiment(), folder.results()[0])
    text = render_report(data, summary_of(folder))
    assert len(text) < 3_000_000
    assert printable(text, but="\n") == text  # what is spelled out in a file is none of ours
    return Page(text)


@pytest.fixture
def symbols(tmp_path: Path) -> str:
    return str(write_symbols(tmp_path / "symbols"))


def small(symbols: str, name: str = "fast", training: dict | None = None, **problem: object):
    settings = {"symbols": symbols, "test_samples": 6, **problem}
    return PRESETS[name]().vary(**settings, **training or {})


RUNS = {
    "pairs": ({}, noisy, None, 100),
    "some folds": ({}, noisy, [2, 7], 100),
    "one fold": ({}, noisy, [3], 100),
    "three digits": ({"length": 3}, noisy, [1, 2], 1_000),
    "four digits": ({"length": 4, "test_samples": 1}, noisy, [1], 1_000),
    "one digit": ({"length": 1}, noisy, None, 10),
    "negative answers": ({"operation": "subtract"}, noisy, None, 100),
    "large answers": ({"operation": "multiply"}, noisy, [1, 2], 100),
    "shown signs": ({"operation": "shown:+,-"}, noisy, [1, 2], 200),
    "a random table": ({"operation": "table:1"}, by_heart, None, 100),
    "diverged": ({}, diverged, [1, 2], 100),
    "a corner": ({"split": "corner"}, noisy, None, 100),
    "one combination": ({"split": "listed", "unseen_list": (((3, 4),),)}, noisy, None, 100),
    "overlapping folds": ({"unseen": 30}, noisy, None, 100),
}


WORDS = {
    "negative answers": ["answer −"],
    "three digits": [
        "gap between a combination and its reversal",
        "on 20 of 200 unseen combinations, split exactly",
    ],
}


@pytest.mark.parametrize("name", RUNS)
def test_every_kind_of_run_has_a_page(symbols, tmp_path, name):
    problem, answering, folds, cells = RUNS[name]
    folder = made_up_run(tmp_path, small(symbols, **problem), answering, folds)
    page = page_of(folder)
    assert page.classes["cell"] == cells
    assert [name for name, count in page.ids.items() if count > 1] == []
    assert all(link.startswith(("data:", "#")) for link in page.links)
    assert not re.search(r"\bnan\b|\binf\b|None", page.text)
    assert (" done: what is said here" in page.text) == (folds is not None)
    assert all(words in page.text for words in WORDS.get(name, ()))
    assert "answer -" not in page.text  # there is one kind of minus
    summary = summary_of(folder)
    assert verdict_text(summary).headline in page.text
    for text in (as_latex(summary), as_markdown(summary), as_csv(summary)):
        assert summary.run in text or summary.experiment.name in text
    json.dumps(insight_json(summary), allow_nan=False)


@pytest.mark.parametrize("baseline", ["mean", "nearest", "oracle"])
def test_a_baseline_has_a_page_of_its_own(symbols, tmp_path, baseline):
    made_up_run(tmp_path, small(symbols), noisy)
    run = made_up_run(tmp_path, small(symbols, baseline), exact)
    page = page_of(run)
    assert f"This is a baseline, {baseline}" in page.text
    drawn = {name for name in FIGURES if f"{name}-patch_1" in page.ids}
    assert drawn >= {"ruler", "predictions", "quadrants"}
    assert ("number-line" in drawn) == (baseline != "nearest")


def test_every_network_has_a_learning_curve_also_after_one_epoch(symbols, tmp_path):
    folder = made_up_run(tmp_path, small(symbols), noisy, [1, 2])
    without = page_of(folder)
    assert "Not measured" in without.text
    for fold, epochs in ((1, (0.5, 1.0)), (2, (0.4, 1.0))):
        for at in epochs:
            folder.add_measurement(fold, measurement(at))
    watched = page_of(folder)
    assert watched.tags["svg"] == without.tags["svg"] + 1


def measurement(epochs: float, rounded: float | None = 0.5) -> Measurement:
    measures = {"rounded": rounded, "mse": 2.0, "mean_error": 0.1}
    return Measurement(epochs, 1.0, measures, measures, [[0, 0]], [1], [2], [0.5])


def test_the_figures_are_the_same_in_every_format(symbols, tmp_path):
    made_up_run(tmp_path, small(symbols, "nearest"), by_heart)
    folder = made_up_run(tmp_path, small(symbols), noisy)
    summary = summary_of(folder)
    rounded, mse = summary.headline.mean, summary.error.mean
    shown = (
        format_measure(METRICS["rounded"], rounded),
        format_measure(METRICS["test_mse"], mse),
    )
    page = page_of(folder).text.replace(" %", "%").replace("%", " %")
    latex = as_latex(summary).replace(r"\%", "%")
    for text in (page, latex, as_markdown(summary)):
        for figure in shown:
            assert figure in text
        assert "95 % interval" in text
    rows = [*csv.DictReader(io.StringIO(as_csv(summary)))]
    (in_csv,) = [row for row in rows if (row["about"], row["measure"]) == ("intervals", "rounded")]
    in_json = insight_json(summary)
    assert in_json["intervals"]["rounded"]["mean"] == float(in_csv["value"]) == rounded
    assert in_json["intervals"]["rounded"]["high"] == float(in_csv["high"])
    split = in_json["attribution"]
    assert split["misread"].keys() == {"left", "right"}
    of_combinations = [row for row in rows if row["about"] == "combinations"]
    assert len(of_combinations) == 100 * (3 + len(unseen_metrics()))
    of_one = {
        row["measure"]: float(row["value"])
        for row in rows
        if (row["about"], row["name"]) == ("attribution", "combinations (3, 7)")
    }
    assert of_one.pop("mse") == pytest.approx(sum(of_one.values()))
    assert of_one.keys() == {
        *("misread left", "misread right", "wrong", "misvalued", "shift", "interplay")
    }
    (said,) = [each for each in split["combinations"] if each["combination"] == [3, 7]]
    assert {name: said[name] for name in of_one} == of_one
    assert sum(of_one.values()) == pytest.approx(said["mse"])
    assert len(split["combinations"]) == 100
    figures = {row["measure"]: row["value"] for row in rows if row["about"] == "structure"}
    assert float(figures["additivity"]) == in_json["structure"]["additivity"]["mean"]
    assert in_json["verdict"] == verdict_text(summary).text


def test_hostile_names_are_only_names(tmp_path):
    folder = write_symbols(tmp_path / "<script>alert(1)<b>&_%")
    run = made_up_run(tmp_path, small(str(folder)), noisy, [1])
    page = page_of(run)
    assert page.tags["script"] == 1
    assert "<script>alert(1)<" in page.text
    summary = summary_of(run)
    assert "<script>" not in as_markdown(summary)
    described = [line for line in as_latex(summary).splitlines() if not line.startswith("%")]
    assert not re.search(r"(?<!\\)[%&_#](?=alert|script|_)", " ".join(described))


def test_latex_names_the_package_that_it_needs_and_labels_its_tables(symbols, tmp_path):
    run = made_up_run(tmp_path, small(symbols), noisy, [1]).path
    text = as_latex(summary_of(RunFolder(run.rename(tmp_path / "a_b%{c}"))))
    assert text.startswith("% needs \\usepackage{booktabs}")
    labels = re.findall(r"\\caption\{[^}]+\}\n\\label\{(.*)\}\n", text)
    assert labels == ["tab:a-b--c--accuracy", "tab:a-b--c--errors"]


def test_latex_prints_every_sign_as_it_is():
    assert latex_escaped("50 % of a_b & {c} \\ ~ ±") == (
        r"50 \% of a\_b \& \{c\} \textbackslash{} \textasciitilde{} $\pm$"
    )


def test_whose_machine_it_was_is_not_told(symbols, tmp_path, monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "my-own-machine")
    folder = made_up_run(tmp_path, small(symbols), noisy, [1])
    assert folder.environment()["host"] == "my-own-machine"
    assert "my-own-machine" not in page_of(folder).text


def test_where_its_files_were_is_not_told(tmp_path):
    private = tmp_path / "home of somebody"
    symbols = write_symbols(private / "digits")
    (private / "net.py").write_text("class Net: pass")
    own = f"{private / 'net.py'}:Net"
    for training in ({}, {"model": own}):
        experiment = small(str(symbols), training=training, split=[(3, 8), (8, 3)])
        folder = made_up_run(private / "all runs", experiment, noisy)
        summary, page = summary_of(folder), page_of(folder)
        for text in (page.text, as_latex(summary), as_markdown(summary), as_csv(summary)):
            assert "somebody" not in text
        assert "--symbols digits --split '3 8; 8 3'" in page.text
        assert ("--model net.py:Net" in page.text) == bool(training)


def test_every_figure_is_a_file_too(symbols, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(symbols), noisy))
    written = save_figures(summary, tmp_path / "figures")
    names = {path.stem for path in written}
    assert names == {*FIGURES} - {"curves", "probes"}
    for path in written:
        assert path.read_bytes().startswith(b"%PDF" if path.suffix == ".pdf" else b"<?xml")


def test_a_new_figure_is_on_the_page_and_among_the_files(symbols, tmp_path, monkeypatch):
    def draw(summary):
        is_drawn = summary.experiment.seed == 0
        return (new_figure()[0], "See.") if is_drawn else (None, "Drawn for seed 0 only.")

    drawing = Drawing("New & here", draw, ("a", "b"), lambda s: [("c", "d")])
    monkeypatch.setitem(FIGURES, "new", drawing)
    folder = made_up_run(tmp_path, small(symbols), noisy, [1])
    page = page_of(folder)
    assert page.ids["new"] == 1
    assert "New & here 0.0" in page.text  # the title, then the figure's own marks
    assert "See. a b c d" in page.text
    written = {path.name for path in save_figures(summary_of(folder), tmp_path / "figures")}
    assert {"new.svg", "new.pdf"} <= written
    other = page_of(made_up_run(tmp_path, small(symbols).vary(seed=1), noisy, [1]))
    assert "New & here Drawn for seed 0 only. a b" in other.text


def test_digits_of_nearly_one_worth_share_a_label():
    assert digit_labels({0: 0.0, 1: 1.0, 2: 2.0}, 0.3) == [(0.0, "0"), (1.0, "1"), (2.0, "2")]
    assert digit_labels({0: 5.0, 3: 0.0, 7: 0.2}, 0.3) == [(0.1, "3,7"), (5.0, "0")]
    assert digit_labels(dict.fromkeys(range(10), 0.0), 0.3) == [(0.0, "0–9")]


def test_the_figure_of_a_run_stands_beside_its_interval_not_on_it(symbols, tmp_path):
    summary = summary_of(made_up_run(tmp_path, small(symbols), noisy))
    (axes,) = ruler(summary)[0].axes
    ours = f"{100 * summary.headline.mean:.1f} %"
    (label,) = [text for text in axes.texts if text.get_text() == ours]
    assert label.xy[0] == pytest.approx(100 * summary.headline.high)


DEVELOPMENT = {"development": True, "split_seed": 1}


@pytest.mark.parametrize(
    ("preset", "changes", "command"),
    [
        ("fast", {}, "unseen run fast"),
        ("paper", {"epochs": 2, "seed": 3}, "unseen run paper --epochs 2 --seed 3"),
        ("fast", {"operation": "a * b"}, "unseen run fast --operation 'a * b'"),
        ("fast", {"development": True}, "unseen run fast --development"),
        ("fast", {"fresh_draws": True}, "unseen run fast --fresh-draws"),
        ("fast", {"samples": 5}, "unseen run fast --samples 5"),
        ("fast", {"schedule": "constant"}, "unseen run fast --schedule constant"),
    ],
)  # fmt: skip
def test_the_command_says_what_differs_from_the_preset(preset, changes, command):
    assert command_of(PRESETS[preset]().vary(**changes)) == command


def test_folds_are_named_in_the_command_as_they_are_typed():
    assert format_folds([1, 2, 3, 5, 8, 9]) == "1-3,5,8-9"
    assert command_of(PRESETS["fast"](), [4, 2, 3]) == "unseen run fast --folds 2-4"

"""docs/report.md explains what stands on the page, under the same names and with true numbers."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from conftest import write_symbols
from made_up_runs import exact, made_up_run, noisy, summary_of

from unseen.analysis.error_parts import ErrorParts, split_error
from unseen.analysis.run_data import load_run_data
from unseen.analysis.verdict import Judgement
from unseen.report.report import render_report
from unseen.report.result_figures import ruler
from unseen.report.symbol_words import SYMBOL_WORDS
from unseen.report.verdict_text import HEADLINES
from unseen.report.words import named_parts
from unseen.runs.presets import PRESETS
from unseen.training.baselines import BASELINES

DOCS = (Path(__file__).parent.parent / "docs" / "report.md").read_text()
EXPLAINED = {*re.findall(r"^## (.+)$", DOCS, re.MULTILINE), *re.findall(r"\*\*(.+?)\*\*", DOCS)}


class Terms(HTMLParser):
    """The headings of a page and of its tables; not those of the grid, which are symbols."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._open = self._in_grid = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self._in_grid = dict(attrs).get("class") == "grid"
        if tag in ("h2", "h3", "th", "caption") and not self._in_grid:
            self._open = True
            self.found.append("")
        elif tag == "span":
            self._open = False

    def handle_endtag(self, tag):
        self._in_grid = self._in_grid and tag != "table"
        self._open = self._open and tag not in ("h2", "h3", "th", "caption")

    def handle_data(self, data):
        if self._open:
            self.found[-1] += data.replace("\u200b", "").replace("\n", "")


def test_every_heading_and_term_of_the_page_is_explained(tmp_path, monkeypatch):
    symbols = str(write_symbols(tmp_path / "symbols"))
    monkeypatch.setitem(SYMBOL_WORDS, symbols, SYMBOL_WORDS["mnist"])
    small = {"symbols": symbols, "test_samples": 6}
    for baseline in BASELINES:
        made_up_run(tmp_path, PRESETS[baseline]().vary(**small), exact)
    terms = set()
    for length, folds in ((2, None), (3, [1, 2])):
        experiment = PRESETS["fast"]().vary(**small, length=length)
        folder = made_up_run(tmp_path, experiment, noisy, folds)
        data = load_run_data(folder, experiment, folder.results()[0])
        summary = summary_of(folder)
        found = Terms(render_report(data, summary)).found
        marks = [label.get_text() for label in ruler(summary)[0].axes[0].get_yticklabels()]
        if length == 2:
            found += [*marks, *named_parts(experiment, summary.error_parts)]
        # things of length 3 are called combinations, not pairs
        terms.update(term.replace("combinations, one sum", "pairs, one sum") for term in found)
    terms = {term for term in terms if not term.isdigit()} - {"One sum, different combinations"}
    assert {"rounding", "Fold by fold", "additivity", "oracle", "misread digits"} <= terms
    assert terms - EXPLAINED == set()


def test_every_headline_is_explained():
    assert {*HEADLINES} == {*get_args(Judgement)}
    for headline in HEADLINES.values():
        assert f"\n| {headline} | " in DOCS


HALVES = np.asarray([[-1.0, -1.0], [1.0, 1.0]] * 500)[np.argsort([0, 1] * 500)]  # by left image
ALIKE = np.ones((2, 2))


@pytest.mark.parametrize(
    ("errors", "shift", "shared", "parts"),
    [
        (-2 * ALIKE, -2, -2, {"mse": 4, "shift": 4}),
        (ALIKE, 0, 0, {"mse": 1, "wrong": 1}),
        (-ALIKE, -0.1, -1, {"mse": 1, "shift": 0.19, "misvalued": 0.81}),
        (HALVES, 0, 0, {"mse": 1, "misread": (1, 0)}),
        (2**0.5 * HALVES, 1, 1, {"mse": 2, "shift": -1, "wrong": 1, "misread": (2, 0)}),
    ],
)
def test_the_worked_numbers_are_what_is_computed(errors, shift, shared, parts):
    nothing = ErrorParts(0, 0, 0, 0, (0, 0), 0)
    found = split_error(11 + errors, 11, shift, shared)
    for name, expected in (vars(nothing) | parts).items():
        assert getattr(found, name) == pytest.approx(expected, abs=0.01)

"""Each symbol set is spoken of in its own words, wherever people read."""

import re
from pathlib import Path

import pytest
from conftest import write_symbols
from made_up_runs import made_up_run, noisy, summary_of
from rich.console import Console
from test_report import page_of

from unseen.problem.symbols import SYMBOLS
from unseen.report.symbol_words import SYMBOL_WORDS, symbol_words
from unseen.report.tables import run_tables
from unseen.report.verdict_text import verdict_text
from unseen.report.words import format_combination
from unseen.runs.experiment import fingerprint
from unseen.runs.presets import PRESETS

OTHERS = {"mnist": "garment", "fashion-mnist": "digit|handwriting", "dominoes": "digit|handwriting"}


def test_every_symbol_set_has_its_words():
    assert SYMBOL_WORDS.keys() == SYMBOLS.keys()


def printed(folder) -> str:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(run_tables(folder.experiment(), folder.results()[0]))
    return captured.get()


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_folder_of_ones_own_has_neutral_words_and_the_names_it_lists(tmp_path: Path, length):
    symbols = write_symbols(tmp_path / "symbols")
    experiment = PRESETS["fast"]().vary(symbols=str(symbols), test_samples=6, length=length)
    before = fingerprint(experiment)
    run = made_up_run(tmp_path, experiment, noisy, [1])
    assert "Symbols:" not in printed(run)
    (symbols / "names.txt").write_text("<b>cat</b>\n\x1b[31mdog\n\n" + "x" * 100)
    assert fingerprint(experiment) == before
    shown = page_of(run)
    text = f"{printed(run)} {shown.text} {verdict_text(summary_of(run)).text}"
    # the footer has the title of the paper
    assert not re.search("digit|handwriting", text.replace("Digit Permutation", ""), re.IGNORECASE)
    names = f"Symbols: 0 <b>cat</b>, 1 [31mdog, 2, 3 {'x' * 40}."
    assert names in shown.text
    assert names in " ".join(printed(run).split())
    assert shown.tags["b"] == 0


@pytest.mark.parametrize("symbols", OTHERS)
def test_a_page_has_the_words_of_its_symbols(tmp_path, symbols, monkeypatch):
    """The pictures are made up; only the words are those of the set."""
    own = str(write_symbols(tmp_path / "symbols"))
    monkeypatch.setitem(SYMBOL_WORDS, own, SYMBOL_WORDS[symbols])
    run = made_up_run(tmp_path, PRESETS["fast"]().vary(symbols=own, test_samples=6), noisy, [1, 2])
    page, words = page_of(run).text.replace("Digit Permutation", ""), SYMBOL_WORDS[symbols]
    assert not re.search(OTHERS[symbols], page, re.IGNORECASE)
    assert f"pairs of {words.many} and only their sums" in page
    assert f"in {words.images} it had never seen" in page
    assert ("Symbols: 0 T-shirt, 1 trousers" in page) == (symbols == "fashion-mnist")


def test_a_combination_is_named():
    assert format_combination((0, 4), symbol_words("fashion-mnist")) == "(0 T-shirt, 4 coat)"
    assert format_combination((0, 4), symbol_words("mnist")) == "(0, 4)"
    assert format_combination((3, None), symbol_words("nowhere")) == "(3, …)"

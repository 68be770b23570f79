"""Problems beyond the paper's, through the real command."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL, run_json, unseen, write_symbols
from tables_of_combinations import table

from unseen.cli import command
from unseen.problem.splits import Fold
from unseen.problem.symbols import load_symbols
from unseen.problem.task import Task
from unseen.runs.checks import batch_sizes
from unseen.runs.presets import fast

NET = """
import torch
from pathlib import Path
Path({marker!r}).open("a").write("built ")
class Net(torch.nn.Sequential):
    def __init__(self, length, height, width):
        super().__init__(torch.nn.Flatten(), torch.nn.Linear(height * width, 1))
"""


def refused(*arguments: str | Path, cwd: Path) -> str:
    """The one line of a command that must not work; and nothing may be left behind."""
    ended = unseen("run", *arguments, *SMALL, cwd=cwd)
    assert ended.returncode == 2, ended.stderr
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1, ended.stderr
    assert not (cwd / "runs").exists()
    return ended.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--operation", "mul"], "unknown operation 'mul'"),
        (["--operation", "a / b"], "a / b divides by zero for (0, 0)"),
        (["--operation", "a + c"], "has c, but pictures have 2 symbols"),
        (["--operation", "__import__('os')"], "no arithmetic expression"),
        (["--operation", "shown:+", "--length", "3"], "between two digits"),
        (["--split", "nowhere.txt"], "split 'nowhere.txt': there is no such file; known: a file"),
        (["--split", "nowhere/list"], "split 'nowhere/list': there is no such file; known: a file"),
        (["--split", "radom"], "'radom' (did you mean 'random'?), and there is no such file"),
        (["--symbols", "nowhere"], "unknown symbols 'nowhere', and there is no such folder"),
        (["--symbols", "no/where"], "symbols 'no/where': there is no such folder; known: any"),
        (["--model", "nowhere.py"], "model 'nowhere.py': there is no such file; known: file.py"),
        (["--split", "answer", "--operation", "7"], "would leave 0 of 100"),
        (["--split", "answer", "--unseen", "5"], "--unseen 5 must be left out"),
        (["--split", "answer", "--unseen", "91"], "--unseen 91 must be left out"),
        (["--split", "."], "--split . is no file"),
        (["--unseen", "91"], "from 1 to 90 of 100"),
        (["--unseen", "9", "--length", "5"], "more than 10,000 folds"),
        (["--symbols", ""], "unknown symbols ''"),
        (["--unseen", "0"], "--unseen 0 must be at least 1"),
        (["--model", "nowhere.py:Net"], "nowhere.py"),
        (["--model", "nothing"], "unknown model 'nothing'"),
        (["--symbols", "domino"], "did you mean 'dominoes'?"),
        (["--distortion", "-1"], "--distortion -1 must be at least 0"),
        (["--averaged-epochs", "2"], "there are 1"),
        (["--folds", "0000000011"], "--folds 11 does not exist; this split has folds 1 to 10"),
        (["--model", "towers", "--length", "0"], "--length 0 must be at least 1"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_cannot_be_asked_is_refused_in_one_line(arguments, words, tmp_path: Path):
    assert words in refused(*arguments, cwd=tmp_path)


def test_an_expression_may_begin_with_a_minus_and_be_spaced_anyhow(tmp_path: Path):
    runs = {
        run_json("mean", "--operation", text, "--folds", "1", *SMALL, cwd=tmp_path)["run"]
        for text in ("-a + b", " -a+b ")
    }
    assert len(runs) == 1


def test_signs_are_shown_and_named(tmp_path: Path):
    document = run_json(
        "--operation", "shown:+,-,*", "--symbols", "dominoes", "--folds", "2", *SMALL, cwd=tmp_path
    )
    unseen_ones = document["folds"][0]["unseen"]
    assert len(unseen_ones) == 30
    assert {sign for _, sign, _ in unseen_ones} <= {"+", "-", "*"}
    assert document["experiment"]["problem"]["operation"] == "shown:+,-,*"
    assert document["paper"] == []


def test_a_list_of_combinations_stays_with_the_run(tmp_path: Path):
    (tmp_path / "held_out.txt").write_text("3 4\n4 3\n")
    document = run_json("--split", "held_out.txt", *SMALL, cwd=tmp_path)
    assert [fold["unseen"] for fold in document["folds"]] == [[[3, 4], [4, 3]]]
    (tmp_path / "held_out.txt").unlink()
    shown = unseen("show", document["run"], "--json", cwd=tmp_path)
    assert json.loads(shown.stdout)["folds"][0]["unseen"] == [[3, 4], [4, 3]]


def test_a_run_says_what_its_split_gives_away_and_warns(tmp_path: Path):
    ended = unseen("run", "--split", "position", "--folds", "1", *SMALL[:-1], cwd=tmp_path)
    assert ended.returncode == 0
    assert "Symbols never seen in a place: 0 in place 1 (fold 1)." in ended.stderr
    assert "warning: the seen answers do not determine 10 of 10 unseen ones" in ended.stderr
    again = unseen("run", "--split", "position", "--folds", "1", *SMALL, cwd=tmp_path)
    assert again.stderr == ""


def test_a_model_of_ones_own_runs_and_is_never_run_again_unasked(tmp_path: Path):
    marker = tmp_path / "marker"
    (tmp_path / "my_net.py").write_text(NET.format(marker=str(marker)))
    arguments = ("--model", "my_net.py:Net", "--folds", "1", *SMALL)
    document = run_json(*arguments, cwd=tmp_path)
    assert document["experiment"]["training"]["model"].endswith("my_net.py:Net")
    assert marker.read_text()
    marker.unlink()
    shown = unseen("show", document["run"], cwd=tmp_path)
    assert "your own" in shown.stdout
    assert unseen("runs", cwd=tmp_path).returncode == 0
    assert not marker.exists()
    (tmp_path / "my_net.py").write_text(NET.format(marker=str(marker)) + "# changed\n")
    assert run_json(*arguments, cwd=tmp_path)["run"] != document["run"]


def test_baselines_stand_in_the_same_tables(tmp_path: Path):
    for preset in ("mean", "nearest"):
        ended = unseen("run", preset, "--folds", "1-2", *SMALL, cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
        assert f"model {preset} (baseline" in " ".join(ended.stdout.split())
    listed = unseen("runs", cwd=tmp_path).stdout
    for preset in ("mean", "nearest"):
        assert re.search(rf"{preset}-\w+ +2 ", listed), listed


@pytest.mark.parametrize("preset", ["fast", "oracle"])
def test_pictures_too_small_for_a_network_are_refused_before_the_run(preset, tmp_path: Path):
    symbols = write_symbols(tmp_path / "symbols", side=10)
    assert "at least 13 × 13 pixels" in refused(preset, "--symbols", symbols, cwd=tmp_path)


def test_a_model_of_ones_own_is_tried_with_the_batches_that_a_run_has():
    experiment = fast().vary(samples=5, batch_size=449)
    folds = [Fold(1, np.arange(10), 100), Fold(2, np.arange(20), 100)]
    task = Task(load_symbols("mnist"), table(), folds)
    assert batch_sizes(experiment, task, [1, 2]) == {449, 1, 400}
    assert batch_sizes(experiment.vary(batch_size=50), task, [1, 2]) == {50}


def test_short_memory_gets_one_clear_line(monkeypatch, capsys):
    def fill_memory(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("unseen.runs.session.make_task", fill_memory)
    assert command(["run", "mean"]) == 2
    assert capsys.readouterr().err.startswith("unseen: out of memory; ")


def test_what_a_model_of_ones_own_prints_is_no_result(tmp_path: Path):
    net = NET.format(marker=str(tmp_path / "marker")) + "print('here I am')\n"
    (tmp_path / "my_net.py").write_text(net)
    run_json("--model", "my_net.py:Net", "--folds", "1", *SMALL, cwd=tmp_path)

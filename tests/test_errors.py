"""Errors name settings as Python does, and on the command line as options."""

import ast
import pickle
import re
from pathlib import Path

import pytest
from tables_of_combinations import table

import unseen
from unseen.cli import command
from unseen.errors import SettingError
from unseen.files import DamagedFileError
from unseen.problem.splits import split_folds
from unseen.runs.local_workers import WorkerDiedError
from unseen.runs.records import OtherVersionError


def test_a_fault_of_a_setting_names_it_as_python_does():
    with pytest.raises(SettingError) as caught:
        split_folds("random", table(), 0, 91)
    assert str(caught.value) == "unseen=91 must be from 1 to 90 of 100 combinations"


@pytest.mark.parametrize(
    "error",
    [
        SettingError("unseen", 91, "must be from 1 to 90"),
        OtherVersionError(Path("runs"), "9.9 (format 7)"),
        DamagedFileError(Path("result.json"), "its hash is wrong"),
        WorkerDiedError(-9, deaths=2),
    ],
    ids=lambda error: type(error).__name__,
)
def test_every_error_comes_whole_out_of_a_worker(error):
    here = pickle.loads(pickle.dumps(error))
    assert type(here) is type(error)
    assert (str(here), vars(here)) == (str(error), vars(error))


def test_the_command_line_names_it_as_it_was_typed(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command(["run", "fast", "--unseen", "91"]) == 2
    text = capsys.readouterr().err
    assert text == "unseen: --unseen 91 must be from 1 to 90 of 100 combinations\n"


def test_nothing_below_the_views_names_an_option():
    """Their callers may be a notebook or a page, which have none."""
    named = [
        f"{path.name}:{node.lineno} {node.value[:60]}"
        for room in ("problem", "networks", "training", "runs", "analysis")
        for path in Path(unseen.__file__).parent.glob(f"{room}/*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and re.search(r"(?<!\S)['(]?--[a-z]", str(node.value))
    ]
    assert named == []

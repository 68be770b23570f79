"""Errors come whole out of workers, and only views name options."""

import ast
import pickle
import re
from pathlib import Path

import pytest

import unseen
from unseen.errors import SettingError
from unseen.files import DamagedFileError
from unseen.runs.local_workers import WorkerDiedError
from unseen.runs.records import OtherVersionError


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

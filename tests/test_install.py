"""The package away from its checkout, and `make` on a machine that cannot install."""

import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import SMALL
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[1]
UNREACHABLE = "http://127.0.0.1:9/"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def make_run(clone: Path, python: str = sys.executable, **environment: str) -> list[str]:
    """What a `make run` that fails prints, without make's own last line."""
    # the make that runs the tests hands its flags and variables down
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    ended = subprocess.run(
        ["make", "run", f"PYTHON={python}"],
        cwd=clone,
        env=outside | {"PIP_RETRIES": "1", "PIP_FIND_LINKS": str(clone)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    *printed, _ = ended.stdout.splitlines()
    return printed


def test_an_install_that_fails_says_why_in_one_line_and_leaves_no_stamp(clone: Path):
    for environment, why in (
        ({"PIP_NO_INDEX": "1"}, "No matching distribution found for hatchling"),
        (
            {"PIP_INDEX_URL": UNREACHABLE, "PIP_EXTRA_INDEX_URL": UNREACHABLE},
            "no connection to the package index",
        ),
    ):
        before, after = make_run(clone, **environment)
        assert before.startswith("Installing what running needs into .venv: up to ")
        assert after.startswith(f"Could not install what running needs: {why}")
        assert after.endswith("All of pip's output: .venv/install.log")
        assert (clone / ".venv/install.log").exists()
        assert not (clone / ".venv/.ready").exists()


def test_another_python_is_refused_before_anything_is_installed(clone: Path):
    (printed,) = make_run(clone, python="false")
    assert printed.startswith("unseen needs Python 3.11 to 3.14; name one with: make run PYTHON=")
    assert not (clone / ".venv").exists()


def test_a_wheel_holds_the_package_and_works_without_the_checkout(tmp_path: Path):
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path))
    away = tmp_path / "away"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(away)
    packed, source = (
        {each.relative_to(folder) for each in folder.rglob("*") if each.is_file()}
        for folder in (away / "unseen", ROOT / "src/unseen")
    )
    assert packed == {each for each in source if "__pycache__" not in each.parts}
    commands = [
        ["run", "fast", "--folds", "1", *SMALL],
        ["export", "data", "fast", "--samples", "1", "--test-samples", "1", "--png", "pictures"],
        ["predict", "fast", "pictures/test"],
        ["export", "fast", "--page", "draw.html"],
    ]
    ended = subprocess.run(
        [sys.executable, "-c", AWAY, *map(shlex.join, commands)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(away)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == str(away / "unseen/__init__.py")


AWAY = """
import shlex, sys, unseen
from unseen.cli import command
for line in sys.argv[1:]:
    assert command(shlex.split(line)) == 0, line
print(unseen.__file__)
"""

"""Python files in the working folder, of a downloaded folder, say, are never run."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SMALL
from lab_server import running_lab

# modules of the standard library, and one that we need; a hostile file has only one chance
NAMES = (
    *("abc", "copy", "enum", "filelock", "inspect", "io", "json", "logging", "numpy", "pickle"),
    *("queue", "random", "re", "socket", "string", "struct", "threading", "token", "torch"),
    *("types", "unseen"),
)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    for name in NAMES:
        code = f"open({str(tmp_path / 'executed')!r}, 'a').write('{name} ')\nraise SystemExit(9)\n"
        (tmp_path / f"{name}.py").write_text(code)
    return tmp_path


def run_in(folder: Path, before: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """A small run by a shell, after another command."""
    program = Path(sys.executable).with_name("unseen")
    words = shlex.join([str(program), "run", "--folds", "1", *SMALL])
    return subprocess.run(
        ["bash", "-c", f"{before}{words}"], cwd=folder, capture_output=True, text=True, check=False,
        env=os.environ | environment,
    )  # fmt: skip


def test_a_run_executes_none(hostile: Path):
    ended = run_in(hostile)
    assert ended.returncode == 0, ended.stderr
    assert not (hostile / "executed").exists()


def test_a_long_path_of_temporary_files_is_no_hindrance(tmp_path: Path):
    long = tmp_path / ("x" * 80)
    long.mkdir()
    ended = run_in(tmp_path, TMPDIR=str(long))
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    ("before", "fault"),
    [
        ("mkdir gone; cd gone; rmdir ../gone; ", "the folder that this is run in was removed"),
        ("ulimit -v 500000; ", "memory"),
        ("ulimit -f 1; ", "File too large (a limit of this shell? see ulimit -f)"),
    ],
)
def test_what_a_shell_withholds_is_named_in_one_line(tmp_path: Path, before: str, fault: str):
    ended = run_in(tmp_path, before)
    assert ended.returncode in (1, 2)
    assert fault in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_lab_executes_none(hostile: Path):
    with running_lab(hostile) as lab:
        lab.start()
        assert lab.wait_until("done", "failed")["status"] == "done"
    assert not (hostile / "executed").exists()

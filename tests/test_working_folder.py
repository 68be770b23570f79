"""Python files in the working folder, of a downloaded folder, say, are never run."""

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


def test_a_run_executes_none(hostile: Path):
    program = Path(sys.executable).with_name("unseen")
    command = [program, "run", "--folds", "1", *SMALL]
    ended = subprocess.run(command, cwd=hostile, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert not (hostile / "executed").exists()


def test_the_lab_executes_none(hostile: Path):
    with running_lab(hostile) as lab:
        lab.start()
        assert lab.wait_until("done", "failed")["status"] == "done"
    assert not (hostile / "executed").exists()

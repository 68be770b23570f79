"""What `make bench` says to people; its figures are no matter for tests."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

BENCH = Path(__file__).parents[1] / "benchmarks" / "bench.py"


def bench(*options: str, cwd: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, BENCH, *options]
    environment = os.environ | {"COLUMNS": "200"}  # so that no line is broken
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--keras", "no/such/python"], "--keras no/such/python: there is no such program"),
        (["--json", "no/such/bench.json"], "--json no/such/bench.json: there is no folder no/such"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_measured(options, fault, tmp_path):
    ended = bench(*options, cwd=tmp_path)
    assert ended.returncode == 2
    assert fault in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not [*tmp_path.iterdir()]


def test_a_python_without_keras_is_told_of(tmp_path: Path):
    ended = bench("--quick", "--keras", sys.executable, cwd=tmp_path)
    assert ended.returncode == 1
    assert "benchmarks/notebook.py died" in ended.stderr
    assert "No module named 'keras'" in ended.stderr
    assert not [*tmp_path.iterdir()]


def test_stopped_it_leaves_nothing_behind(tmp_path: Path):
    process = subprocess.Popen(
        [sys.executable, BENCH, "--quick"],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("Without Keras our side is measured alone.")
    while not (family := psutil.Process(process.pid).children(recursive=True)):
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 143
    _, alive = psutil.wait_procs(family, timeout=20)
    assert not alive
    assert not [*tmp_path.iterdir()]

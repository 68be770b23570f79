"""A portion of the generated mutations, always the same ones; `make fuzz` tries others."""

import os
import subprocess
import sys
from pathlib import Path


def test_no_generated_mutation_breaks_a_command():
    ended = subprocess.run(
        [sys.executable, Path(__file__).with_name("fuzz.py"), "--seed=0", "--count=40"],
        capture_output=True,
        text=True,
        timeout=280,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-5000:] + ended.stderr[-2000:]

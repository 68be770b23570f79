"""A portion of the generated mutations, each time others; `make fuzz` does as many as one likes."""

import os
import random
import subprocess
import sys
from pathlib import Path


def test_no_generated_mutation_breaks_a_command():
    seed = random.SystemRandom().randrange(10**6)
    ended = subprocess.run(
        [sys.executable, Path(__file__).with_name("fuzz.py"), f"--seed={seed}", "--seconds=6"],
        capture_output=True,
        text=True,
        timeout=280,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-5000:] + ended.stderr[-2000:]

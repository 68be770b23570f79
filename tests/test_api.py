import subprocess
import sys

import pytest

import unseen


@pytest.mark.parametrize("name", unseen.__all__)
def test_every_name_is_there(name):
    assert getattr(unseen, name).__name__ == name if name != "PRESETS" else unseen.PRESETS


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="no attribute 'surplus'"):
        _ = unseen.surplus


def test_the_example_of_the_package_runs():
    """With fewer samples, so that it takes seconds."""
    example = "\n".join(line[4:] for line in unseen.__doc__.splitlines() if line.startswith("    "))
    assert "run_fold(experiment, 1)" in example
    small = example.replace("vary(", "vary(problem={'samples_per_combination': 2}, ")
    ended = subprocess.run(
        [sys.executable, "-c", small], capture_output=True, text=True, check=True
    )
    assert 0 <= float(ended.stdout) <= 1

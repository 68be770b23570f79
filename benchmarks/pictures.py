"""How well a run's networks answer pictures as people have them: clean, enlarged, photographed.

python benchmarks/pictures.py RUN [--runs-dir runs] [--count 600] [--seed 0]

Pairs of MNIST's test digits are drawn, saved as files in each form, and answered by
`unseen predict`; RUN is a run of sums of two digits of MNIST.
"""

import argparse
import csv
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from unseen.problem.symbols import mnist

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/support"))
from photographs import Grey, enlarged, photograph, side_by_side

Form = Callable[[Grey, np.random.Generator], Grey]
FORMS: dict[str, Form] = {
    "56 × 28, white on black": lambda picture, rng: picture,
    "56 × 28, black on white": lambda picture, rng: 255 - picture,
    "336 × 168, dark on light": lambda picture, rng: on_paper(enlarged(picture)),
    "the same, with margins": lambda picture, rng: on_paper(
        np.pad(enlarged(picture), rng.integers(10, 120, (2, 2)))
    ),
    "photographs": lambda picture, rng: photograph(picture, rng, ruled=False),
    "photographs of ruled paper": photograph,
}


def on_paper(ink: np.ndarray) -> Grey:
    return (255 * (1 - ink)).astype(np.uint8)


def share_right(run: str, runs_dir: str, form: Form, count: int, seed: int) -> float:
    """How many of `count` pictures are answered with the sum of their digits."""
    rng, bank, sums = np.random.default_rng(seed), mnist().test, {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            digits = rng.integers(0, 10, 2)
            picture = side_by_side([bank.images[rng.choice(bank.pools[digit])] for digit in digits])
            name = f"{number:05d}.png"
            made = form(picture, np.random.default_rng([seed, number]))
            Image.fromarray(made).save(Path(folder) / name)
            sums[name] = int(digits.sum())
        command = [sys.executable, "-m", "unseen", "predict", run, folder, "--csv"]
        answered = subprocess.run(
            [*command, "--runs-dir", runs_dir], stdout=subprocess.PIPE, text=True, check=False
        )
    rows = csv.DictReader(answered.stdout.splitlines())
    right = sum(row["rounded"] == str(sums[Path(row["picture"]).name]) for row in rows)
    return right / count


def main() -> None:
    parser = argparse.ArgumentParser(description="How well pictures of each form are answered.")
    parser.add_argument("run")
    parser.add_argument("--runs-dir", default="runs")
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for name, form in FORMS.items():
        started = time.perf_counter()
        right = share_right(given.run, given.runs_dir, form, given.count, given.seed)
        print(f"{name:28} {100 * right:5.1f} % right  {time.perf_counter() - started:5.1f} s")


if __name__ == "__main__":
    main()

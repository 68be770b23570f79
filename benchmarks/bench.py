"""`make bench`: ours and the notebook's, in turns, as ratios measured in one run.

    python benchmarks/bench.py [--quick] [--keras PYTHON] [--precision fp32|bf16] [--json FILE]

Without --keras it says what it leaves out.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from unseen.problem.symbols import load_symbols

HERE = Path(__file__).parent
STEPS_PER_EPOCH = 704
EPOCHS, FOLDS = 100, 10


class Side:
    """A process that does tasks in turn with the other side's."""

    def __init__(self, python: str, script: str, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [python, HERE / script, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.versions: dict[str, str] = json.loads(self._line())

    def __call__(self, task: str, *numbers: int) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([task, *numbers]) + "\n")
        self.process.stdin.flush()
        return json.loads(self._line())

    def _line(self) -> str:
        assert self.process.stdout is not None
        if not (line := self.process.stdout.readline()):
            raise SystemExit("a side of the benchmark died; run its script by hand to see why")
        return line

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def interleaved(ours: Side, theirs: Side | None, task: str, numbers: dict[str, list[int]],
                rounds: int) -> dict[str, Any]:  # fmt: skip
    """The same task by turns: the figures of each side, and the median ratio of neighbours."""
    figures: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(rounds):
        figures["ours"].append(ours(task, *numbers["ours"]))
        if theirs is not None:
            figures["theirs"].append(theirs(task, *numbers["theirs"]))
    row: dict[str, Any] = {side: statistics.median(all_) for side, all_ in figures.items() if all_}
    if theirs is not None:
        pairs = zip(figures["ours"], figures["theirs"], strict=True)
        row["ratios"] = [one / other for one, other in pairs]
    return row


def whole_run() -> tuple[float, dict[str, float]]:
    """Seconds of `unseen run fast` (start, data, training, evaluation, tables), and its means."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "unseen", "run", "fast", "--quiet", "--json"]
        started = time.perf_counter()
        ended = subprocess.run(command, cwd=folder, check=True, capture_output=True)
        return time.perf_counter() - started, json.loads(ended.stdout)["mean"]


def help_seconds() -> float:
    """Seconds of `unseen --help`, the best of five."""
    times = []
    for _ in range(5):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "unseen", "--help"], check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return min(times)


def measure(keras: str | None, precision: str, *, quick: bool) -> list[dict[str, Any]]:
    """All rows of the table."""
    ours = Side(sys.executable, "ours.py", precision)
    theirs = None
    if keras is not None:
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "mnist.npz"
            train = load_symbols("mnist").train
            np.savez(data, images=train.images, labels=train.labels)
            theirs = Side(keras, "notebook.py", str(data))
    rounds, steps = (2, 10) if quick else (5, 30)
    rows = []

    draw = interleaved(ours, theirs, "draw", {"ours": [90, 1000], "theirs": [90, 1000]}, rounds=1)
    draw["ours"] = min(ours("draw", 90, 1000) for _ in range(5))
    if theirs is not None:
        draw["ratios"] = [draw["theirs"] / draw["ours"]]
    rows.append({"what": "drawing 90,000 samples, s", **draw, "must": "≤ 0.010 s"})
    for side in filter(None, (ours, theirs)):
        side("train", 3)  # neither side is timed while it warms up
    train_row = interleaved(ours, theirs, "train", {"ours": [steps], "theirs": [steps]}, rounds)
    rows.append(
        {"what": f"authors' network, training, samples/s ({precision})",
         **train_row, "must": "≥ 2 ×"}
    )  # fmt: skip
    predicted = {"ours": [2_000 if quick else 20_000], "theirs": [50 if quick else 200]}
    predict_row = interleaved(ours, theirs, "predict", predicted, rounds=1)
    if theirs is not None:
        predict_row["ratios"] = [predict_row["theirs"] / predict_row["ours"]]
    rows.append(
        {"what": "authors' network, evaluation, s/sample", **predict_row,
         "must": "≥ 80 ×"}
    )  # fmt: skip
    memory = {"ours": ours("memory")} | ({"theirs": theirs("memory")} if theirs else {})
    rows.append({"what": "peak memory of a fold, MB", **memory, "must": "≤ 700 MB"})
    insight, rest = ours("insight", 1 if quick else 3)
    rows.append(
        {"what": "a fold of fast: insight against all else, s", "ours": insight, "theirs": rest,
         "ratios": [insight / rest], "must": "≤ 0.25 ×"}
    )  # fmt: skip
    for side in filter(None, (ours, theirs)):
        side.close()

    seconds, mean = whole_run()
    row: dict[str, Any] = {
        "what": f"unseen run fast, s (MSE {mean['test_mse']:.3f}, "
        f"rounding {100 * mean['rounded']:.1f} %)",
        "ours": seconds,
        "must": "≥ 2,000 ×",
    }
    if theirs is not None:
        row["theirs"] = STEPS_PER_EPOCH * 128 / train_row["theirs"] * EPOCHS * FOLDS
        row["ratios"] = [row["theirs"] / seconds]
    rows.insert(0, row)

    rows.append({"what": "unseen --help, s", "ours": help_seconds(), "must": "≤ 0.3 s"})
    figures = {}
    for length in (2, 3):
        side = Side(sys.executable, "ours.py", precision)
        samples = {2: 1000, 3: 100 if quick else 1000}[length]
        figures[length] = side("longer", length, samples), side("memory")
        side.close()
    rows += [
        {"what": "three digits against two, s/sample", "ours": figures[3][0],
         "theirs": figures[2][0], "ratios": [figures[3][0] / figures[2][0]], "must": "≤ 2 ×"},
        {"what": "three digits against two, peak memory, MB", "ours": figures[3][1],
         "theirs": figures[2][1], "ratios": [figures[3][1] / figures[2][1]], "must": "≤ 1.1 ×"},
    ]  # fmt: skip
    return rows


def in_figures(value: float) -> str:
    """Three digits that matter, and no powers of ten."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="at most 3 minutes, not 15")
    parser.add_argument("--keras", help="a Python that has keras and tensorflow")
    parser.add_argument("--precision", default="fp32", choices=["fp32", "bf16"])
    parser.add_argument("--json", type=Path, default=Path("bench.json"))
    options = parser.parse_args()
    rows = measure(options.keras, options.precision, quick=options.quick)
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("what", "ours", "notebook", "ratio", "must"):
        table.add_column(heading, justify="left" if heading in ("what", "must") else "right")
    for row in rows:
        ratio = statistics.median(row["ratios"]) if "ratios" in row else None
        cells = (row["ours"], row.get("theirs"), ratio)
        table.add_row(
            row["what"], *("" if c is None else in_figures(c) for c in cells), row["must"]
        )
    Console().print(table)
    if options.keras is None:
        Console().print("Without TensorFlow: what is compared with the notebook is left out.")
    options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()

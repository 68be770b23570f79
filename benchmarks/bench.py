"""`make bench`: ours and the notebook's, in turns, as ratios measured in one run.

    python benchmarks/bench.py [--quick] [--keras PYTHON] [--json FILE]

Training is measured in fp32, and in bf16 as well where the processor computes in it. Without
--keras it says what it leaves out.
"""

import argparse
import json
import math
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from unseen.files import write_whole
from unseen.problem.symbols import load_symbols
from unseen.runs.local_workers import available_cores

HERE = Path(__file__).parent
OURS, BF16, KERAS = "fp32", "bf16", "Keras"  # who takes turns: ours in two precisions, theirs
MUST = {OURS: "≥ 1 ×", BF16: "≥ 2 ×"}  # in training
STEPS_PER_EPOCH = 704
EPOCHS, FOLDS = 100, 10

LEFT_OUT = (
    "Without Keras our side is measured alone. Left out: what the notebook takes to draw, to train "
    "and to predict, its memory, and all ratios to it."
)

Row = dict[str, Any]


class Side:
    """A process that does tasks in turn with the other side's."""

    def __init__(self, python: str, script: str, *arguments: str) -> None:
        self.script = script
        self.said = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed at the end
        self.process = subprocess.Popen(
            [python, HERE / script, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.said,
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
            self.said.seek(0)
            raise SystemExit(f"benchmarks/{self.script} died:\n{last_words(self.said.read())}")
        return line

    def __enter__(self) -> "Side":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.said.close()


def last_words(said: str) -> str:
    return "\n".join(said.splitlines()[-5:])


@contextmanager
def notebook(keras: str) -> Iterator[Side]:
    """The other side, with the same handwriting as ours."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "mnist.npz"
        train = load_symbols("mnist").train
        np.savez(data, images=train.images, labels=train.labels)
        with Side(keras, "notebook.py", str(data)) as side:
            yield side


def in_turns(sides: dict[str, Side], task: str, count: int, rounds: int) -> dict[str, list[float]]:
    """The same task by turns: what every side measures in every round."""
    figures: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            figures[name].append(side(task, count))
    return figures


def row_of(figures: dict[str, list[float]], ours: str) -> Row:
    """The median of ours, beside that of Keras where it was measured."""
    row: Row = {"ours": statistics.median(figures[ours]), "rounds": {"ours": figures[ours]}}
    if KERAS in figures:
        row |= {"against": statistics.median(figures[KERAS]), "against_whom": KERAS}
        row["rounds"][KERAS] = figures[KERAS]
    return row


def rate_row(row: Row) -> Row:
    """With the ratio of neighbours in time: how many times more a second."""
    if "against" in row:
        pairs = zip(row["rounds"]["ours"], row["rounds"][KERAS], strict=True)
        row["ratio"] = statistics.median(one / other for one, other in pairs)
    return row


def time_row(row: Row) -> Row:
    """With the ratio of times: how many times faster."""
    if "against" in row:
        row["ratio"] = row["against"] / row["ours"]
    return row


def whole_run() -> tuple[float, dict[str, float]]:
    """Seconds of `unseen run fast`, report and all, from start to end; and its means."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as said:
        command = [sys.executable, "-m", "unseen", "run", "fast", "--quiet", "--json"]
        started = time.perf_counter()
        with subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=said, text=True
        ) as process:
            try:
                output, _ = process.communicate()
            except BaseException:
                process.terminate()  # it stops its own processes
                raise
        seconds = time.perf_counter() - started
        if process.returncode:
            said.seek(0)
            raise SystemExit(f"unseen run fast failed:\n{last_words(said.read())}")
        return seconds, json.loads(output)["mean"]


def help_seconds() -> list[float]:
    """Seconds of `unseen --help`, five times."""
    times = []
    for _ in range(5):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "unseen", "--help"], check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return times


def measure_both(sides: dict[str, Side], *, quick: bool) -> tuple[list[Row], float]:
    """What the notebook does too; and how many cores other programs kept busy in training."""
    rounds, steps = (2, 10) if quick else (5, 30)
    side_by_side = {name: side for name, side in sides.items() if name in (OURS, KERAS)}
    drawn = in_turns(side_by_side, "draw", 1000, rounds=1)
    for side in sides.values():  # none is timed while it warms up
        side("draw", 1000)
        side("train", 3)
        side("predict", 1)
    with busy_by_others([side.process.pid for side in sides.values()]) as others:
        trained = in_turns(sides, "train", steps, rounds)
    counts = {OURS: 2_000, KERAS: 50} if quick else {OURS: 20_000, KERAS: 200}
    predicted = {name: [side("predict", counts[name])] for name, side in side_by_side.items()}
    rates = [
        {"what": f"authors' network, training, samples/s ({name})",
         **rate_row(row_of(trained, name)), "must": MUST[name]}
        for name in sides if name != KERAS
    ]  # fmt: skip
    return [
        *rates,
        {"what": "drawing 90,000 samples, s", **row_of(drawn, OURS), "must": "≤ 0.010 s"},
        {"what": "authors' network, evaluation, s/sample", **time_row(row_of(predicted, OURS)),
         "must": "≥ 80 ×"},
    ], others[0]  # fmt: skip


@contextmanager
def busy_by_others(processes: list[int]) -> Iterator[list[float]]:
    """A list that gets how many cores other programs kept busy within; NaN where none can tell."""
    cores: list[float] = []
    try:
        before = time.perf_counter(), _busy_seconds() - sum(map(_busy_seconds, processes))
        yield cores
        after = time.perf_counter(), _busy_seconds() - sum(map(_busy_seconds, processes))
        cores.append(max(0.0, (after[1] - before[1]) / (after[0] - before[0])))
    except FileNotFoundError:  # no /proc
        yield cores
        cores.append(math.nan)


def _busy_seconds(process: int | None = None) -> float:
    """Processor time so far, as Linux tells it: of a process, or of all and of other machines."""
    ticks = os.sysconf("SC_CLK_TCK")
    if process is not None:
        _, _, fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")
        return sum(map(int, fields.split()[11:13])) / ticks
    user, nice, system, _idle, _wait, *rest = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    )
    return (user + nice + system + sum(rest)) / ticks


def measure_memory(theirs: Side | None, *, quick: bool) -> Row:
    """The peak of a process that does a fold of the authors' recipe from start to end."""
    samples, shown = (30, "30 samples a pair") if quick else (1000, "one epoch")
    with Side(sys.executable, "ours.py", OURS) as side:
        side("fold", samples)
        row = {"what": f"authors' recipe, a fold's peak memory ({shown}), MB",
               "ours": side("memory"), "must": "≤ 700 MB"}  # fmt: skip
    if theirs is not None:
        row |= {"against": theirs("memory"), "against_whom": KERAS}
    return row


def measure_longer(*, quick: bool) -> list[Row]:
    """What a third digit costs."""
    samples = 100 if quick else 1000
    figures = {}
    for length in (2, 3):
        with Side(sys.executable, "ours.py", OURS) as side:
            figures[length] = side("longer", length, {2: 1000, 3: samples}[length]), side("memory")
    return [
        {"what": f"three digits, {samples:,} samples of 1,000, {what}", "ours": three,
         "against": two, "against_whom": "two digits", "ratio": three / two, "must": must}
        for what, must, two, three in zip(
            ("s/sample", "peak memory, MB"), ("≤ 2 ×", "≤ 1.1 ×"), figures[2], figures[3],
            strict=True,
        )
    ]  # fmt: skip


def measure(keras: str | None, *, quick: bool) -> dict[str, Any]:
    """All rows of the table, and on what they were measured."""
    with ExitStack() as stack:
        precisions = [OURS, BF16] if computes_in_bf16() else [OURS]
        sides = {
            name: stack.enter_context(Side(sys.executable, "ours.py", name)) for name in precisions
        }
        if keras:
            sides[KERAS] = stack.enter_context(notebook(keras))
        versions: dict[str, str] = {}
        for side in sides.values():
            versions |= side.versions
        both, others = measure_both(sides, quick=quick)
        memory = measure_memory(sides.get(KERAS), quick=quick)
        insight, rest = sides[OURS]("insight", 1 if quick else 3)
    seconds, mean = whole_run()
    whole: Row = {
        "what": f"unseen run fast, s (MSE {mean['test_mse']:.3f}, "
        f"rounding {100 * mean['rounded']:.1f} %)",
        "ours": seconds,
        "must": "≥ 2,000 ×",
    }
    if "against" in both[0]:
        notebook_seconds = STEPS_PER_EPOCH * 128 / both[0]["against"] * EPOCHS * FOLDS
        whole |= {"against": notebook_seconds, "against_whom": KERAS}
    helped = help_seconds()
    rows = [
        *(time_row(whole), *both, memory),
        {"what": "unseen --help, s", "ours": statistics.median(helped),
         "rounds": {"ours": helped}, "must": "≤ 0.3 s"},
        *measure_longer(quick=quick),
        {"what": "a fold of fast: insight, s", "ours": insight, "against": rest,
         "against_whom": "all else", "ratio": insight / rest, "must": "≤ 0.25 ×"},
    ]  # fmt: skip
    machine = {"processor": processor(), "cores": available_cores(), "python": sys.version}
    machine |= {"cores busy with other programs": others}
    return {"quick": quick, "machine": machine, "versions": versions, "rows": rows}


def computes_in_bf16() -> bool:
    """Whether the processor has bf16 arithmetic; elsewhere it is emulated, many times slower."""
    try:
        flags = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


def processor() -> str:
    """The processor's name, as well as the system tells it."""
    try:
        told = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        return next(line.split(":")[1].strip() for line in told if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def format_measure(value: float) -> str:
    """Three digits that matter, and no powers of ten."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def as_table(rows: list[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("what", "ours", "against", "ratio", "must"):
        table.add_column(heading, justify="right" if heading in ("ours", "ratio") else "left")
    for row in rows:
        against = (
            f"{format_measure(row['against'])} ({row['against_whom']})" if "against" in row else ""
        )
        ratio = f"{format_measure(row['ratio'])} ×" if "ratio" in row else ""
        table.add_row(row["what"], format_measure(row["ours"]), against, ratio, row["must"])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="at most 3 minutes, not 15")
    parser.add_argument("--keras", help="a Python that has keras and tensorflow")
    parser.add_argument("--json", type=Path, default=Path("bench.json"))
    options = parser.parse_args()
    if options.keras and not shutil.which(options.keras):
        parser.error(f"--keras {options.keras}: there is no such program")
    if not options.json.absolute().parent.is_dir():
        parser.error(f"--json {options.json}: there is no folder {options.json.parent}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing is left behind
    console = Console()
    if not options.keras:
        console.print(LEFT_OUT)
    try:
        measured = measure(options.keras, quick=options.quick)
    except KeyboardInterrupt:
        sys.exit(130)
    console.print(as_table(measured["rows"]))
    machine = measured["machine"]
    others = machine["cores busy with other programs"]
    console.print(
        f"{machine['processor']}, {machine['cores']} cores. While both sides trained, other "
        f"programs kept {others:.2f} of them busy."
    )
    write_whole(options.json, json.dumps(measured, indent=1).encode())


if __name__ == "__main__":
    main()

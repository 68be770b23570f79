"""Generated mutations of run folders, symbols, pictures, names, lists and settings: `make fuzz`.

Each case goes through the real commands in this process. None may end in a traceback, take longer
than ten seconds or a gigabyte, send a control character to the terminal, or hide the whole run
that lies beside the broken one. A case is known by its seed and its number: --only runs one again.
The ways to break a run are in mutations.py.
"""

import argparse
import gzip
import io
import json
import os
import random
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import made_up_runs
import numpy as np
from conftest import write_idx, write_symbols
from mutations import FOLDS, HOSTILE, ODD, TO_FILES, TO_RUNS
from PIL import Image

import unseen
from unseen.analysis.error_parts import ErrorParts
from unseen.analysis.run_data import DEEP_FILE, DeepFold
from unseen.cli import command
from unseen.errors import UnseenError, printable
from unseen.networks import own_models
from unseen.problem.splits import find_split
from unseen.problem.task import make_task
from unseen.runs import worker
from unseen.runs.experiment import SETTINGS, Experiment
from unseen.runs.fold import FoldOutcome, FoldProgress, Report
from unseen.runs.measuring import Measurement
from unseen.runs.presets import PRESETS
from unseen.runs.records import OtherVersionError
from unseen.runs.session import session

SECONDS, BYTES = 10, 1_000_000_000


class TooSlowError(BaseException):
    """A case took longer than it may."""


class BrokenError(AssertionError):
    """A promise was not kept."""


class World:
    """A broken run and a whole one beside it, made anew for each case from a pattern."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.symbols = write_symbols(home / "symbols")
        settings = {"symbols": str(self.symbols), "samples": 6, "test_samples": 4}
        self.experiment = PRESETS["fast"]().vary(**settings)
        self.whole = PRESETS["mean"]().vary(**settings)
        pattern = home / "pattern"
        folder = made_up_runs.made_up_run(pattern, self.experiment, folds=FOLDS)
        self.task = make_task(self.experiment.problem)
        self.measurement = Measurement(
            *(0.5, 1.0, {"rounded": 0.1, "mse": 2.0, "mean_error": 0.1}),
            *({"rounded": 0.1, "mse": 2.0, "mean_error": 0.1}, [[3, 8]], [0], [2], [3.5], [4.5]),
        )
        self.outcomes = {
            fold: made_up_runs.outcome(self.experiment, fold, self.task, made_up_runs.noisy)
            for fold in FOLDS
        }
        for fold in FOLDS:
            folder.add_measurement(fold, self.measurement)
            parts = ErrorParts(1.0, 0.1, 0.2, 0.3, (0.2, 0.2), 0.0)
            rows = self.task.unseen(fold).tolist()
            deep = DeepFold(images=5, by_row=dict.fromkeys(rows, parts), probes={"a": (0.1, 0.2)})
            folder.save_derived(fold, DEEP_FILE, deep.model_dump_json().encode())
        folder.save_progress(1, FoldProgress(epochs_done=0, epoch_share=0.5))
        folder.save_checkpoint(2, b"a state")
        (folder.path / "report.html").write_text("a page")
        self.name = folder.path.name
        whole = made_up_runs.made_up_run(pattern, self.whole, folds=FOLDS)
        self.whole_name = whole.path.name
        self.pattern = pattern
        panel = np.pad(np.full((20, 4), 250, np.uint8), ((4, 4), (12, 12)))
        self.picture = Image.fromarray(np.concatenate([panel, panel], axis=1))
        self.picture_file = home / "picture.png"
        self.picture.save(self.picture_file)

    def lay_out(self) -> tuple[Path, Path]:
        """A runs folder with both runs; returns it and the run that is to be broken."""
        runs = Path(tempfile.mkdtemp(dir=self.home)) / "runs"
        shutil.copytree(self.pattern, runs)
        return runs, runs / self.name

    def fake_fold(
        self, experiment: Experiment, fold: int, report: Report, *_: object
    ) -> FoldOutcome:
        """A fold that is trained in no time."""
        report(FoldProgress(epochs_done=0, epoch_share=0.5), self.measurement, None)
        return self.outcomes[fold]


class Here(Executor):
    """An executor that works in this process."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


# the kinds of cases


def broken_run(world: World, rng: random.Random) -> str:
    runs, run = world.lay_out()
    change = rng.choice(TO_RUNS)
    change(run, rng)
    ask_commands(world, runs, str(run), rng)
    finish(world, runs)
    return change.__name__


def hostile_name(world: World, rng: random.Random) -> str:
    """A run with an odd name, of a network or symbols with odd paths."""
    runs, run = world.lay_out()
    odd = rng.choice(HOSTILE) + rng.choice(("", rng.choice(HOSTILE)))[:100]
    path = run / "experiment.json"
    record = json.loads(path.read_bytes())
    which = rng.choice(("name", "model", "symbols", "host"))
    if which == "model":
        record["experiment"]["training"]["model"] = f"/tmp/{odd}.py:Net"
    elif which == "symbols":
        record["experiment"]["problem"]["symbols"] = f"/tmp/{odd}"
    elif which == "host":
        record["environment"] |= {"torch": odd, odd: odd, "host": odd}
    path.write_text(json.dumps(record))
    name = odd.replace("/", "∕") if which == "name" or rng.random() < 0.5 else world.name
    run.rename(runs / name)
    ask_commands(world, runs, str(runs / name), rng)
    return f"hostile {which}"


def odd_symbols(world: World, rng: random.Random) -> str:
    folder = Path(tempfile.mkdtemp(dir=world.home)) / rng.choice(("symbols", rng.choice(HOSTILE)))
    write_symbols(folder.with_name("plain"), labels=rng.choice((2, 10)), per_label=2, side=8)
    with suppress(OSError):
        folder.with_name("plain").rename(folder)
    folder = folder if folder.exists() else folder.with_name("plain")
    path = rng.choice(sorted(folder.iterdir()))
    kind = rng.choice(("file", "shape", "bomb", "gzip"))
    if kind == "shape":
        shape = [rng.choice((0, 1, 2, 9, 2**16, 2**31, 2**32 - 1)) for _ in range(rng.randrange(5))]
        header = bytes([0, 0, rng.choice((8, 8, 9)), len(shape)])
        path.write_bytes(header + struct.pack(f">{len(shape)}I", *shape) + path.read_bytes()[16:])
    elif kind == "bomb":
        if rng.random() < 0.1:
            path.write_bytes(
                gzip.compress(bytes([0, 0, 8, 1, 0x10, 0, 0, 0]) + bytes(300_000_000), 1)
            )
        else:
            write_idx(path, np.zeros((3, 3000, 3000)), compress=True)
    else:
        if kind == "gzip":
            path.write_bytes(gzip.compress(path.read_bytes()))
        rng.choice(TO_FILES)(path, rng)
    with suppress(UnseenError):
        make_task(PRESETS["fast"]().vary(symbols=folder, samples=2, test_samples=2).problem)
    run_command("run", "fast", "--symbols", str(folder), "--folds", "9999", runs=folder.parent)
    return f"symbols {kind}"


def odd_list(world: World, rng: random.Random) -> str:
    path = Path(tempfile.mkdtemp(dir=world.home)) / "list"
    pieces = ["3 4", "3,4", "(1, 2)", "3 + 4", "1", "1 2 3", "300 1", "#", "", "٣ 4", "9" * 5000]
    pieces += [*HOSTILE, "\0", "-1 -2", "1e3 2", "a b", "3 4 # x", "99999999999999999999 1"]
    lines = [rng.choice(pieces) for _ in range(rng.choice((0, 1, 3, 50)))]
    path.write_bytes(
        rng.choice(("\n", "\r\n", "\x0b")).join(lines).encode(errors="surrogateescape")
    )
    if rng.random() < 0.5:
        rng.choice(TO_FILES)(path, rng)
    run_command("run", "fast", "--split", str(path), "--folds", "9999", runs=path.parent)
    odd = rng.choice(
        [[[rng.choice(ODD)]], [rng.choice(ODD)], rng.choice(ODD), [[3, rng.choice(ODD)]]]
    )
    with suppress(UnseenError):
        find_split(odd)
    return "list"


def odd_setting(world: World, rng: random.Random) -> str:
    """A setting with an odd value, typed and called; no fold 9999 is ever there to be run."""
    name = rng.choice([*SETTINGS])
    odd = rng.choice([*ODD, *HOSTILE])
    runs = Path(tempfile.mkdtemp(dir=world.home))
    said = str(odd).replace("\0", "")
    option = f"--{name.replace('_', '-')}"
    typed = rng.choice(([option, said], [f"{option}={said}"], [option], [option, said, said]))
    run_command("run", *typed, "--folds", "9999", runs=runs)
    run_command("run", "fast", "--folds", rng.choice(("0", said[:50] + "x", "9-1", ",")), runs=runs)
    called = {name: odd} | (
        {rng.choice([*SETTINGS]): rng.choice(ODD)} if rng.random() < 0.3 else {}
    )
    with suppress(UnseenError):
        unseen.run("fast", **called, folds=[9999], runs_dir=runs, on_event=lambda event: None)
        raise BrokenError("fold 9999 was run")
    with suppress(UnseenError):
        unseen.run("fast", folds=[rng.choice(ODD[1:]), 9999], runs_dir=runs, samples=2)
    with suppress(UnseenError):
        unseen.load(rng.choice([*HOSTILE, "\0", "", "a" * 5000, "..", "/", "/dev/zero"]), runs)
    for which in ("show", "report", "compare"):
        run_command(which, rng.choice(HOSTILE), rng.choice(HOSTILE), runs=runs)
    return f"setting {name}"


def odd_picture(world: World, rng: random.Random) -> str:
    """Pictures of odd content, shape, mode and name; the whole one beside them is answered."""
    folder = Path(tempfile.mkdtemp(dir=world.home))
    whole = folder / "whole.png"
    world.picture.save(whole)
    kind = rng.choice(("file", "file", "file", "shape", "claim", "name", "list"))
    name = "odd" if kind != "name" else rng.choice(HOSTILE).replace("/", "")
    odd = folder / f"{name}.{rng.choice(('png', 'jpg', 'webp', 'tif'))}"
    if kind == "shape":
        sizes = [rng.choice((1, 2, 7, 28, 56, 300, 3_000)) for _ in range(2)]
        mode = rng.choice(("1", "L", "RGB", "RGBA", "P", "CMYK", "I;16", "F", "LA"))
        noise = np.random.default_rng(rng.randrange(10**6)).integers(0, 256, (40, 80))
        image = Image.fromarray(noise.astype(np.uint8)).resize(sizes)
        with suppress(OSError, ValueError):  # not every format has every mode
            image.convert(mode).save(odd)
    elif kind == "claim":  # a header that promises more than there is, or than there may be
        world.picture.save(odd.with_suffix(".png"))
        content = bytearray(odd.with_suffix(".png").read_bytes())
        size = [rng.choice((0, 1, 56, 5_000, 60_000, 2**31 - 1)) for _ in range(2)]
        content[16:24] = struct.pack(">II", *size)
        content[29:33] = struct.pack(">I", zlib.crc32(content[12:29]))
        odd.write_bytes(content)
    else:
        with suppress(OSError):
            world.picture.resize((400, 200)).save(odd)
        if kind == "file":
            rng.choice(TO_FILES)(odd, rng)
    asked = [str(folder)]
    if kind == "list":
        lines = [rng.choice([*HOSTILE, "", "/dev/zero", "\0", "a" * 5000, "..."]) for _ in range(5)]
        sys.stdin = io.StringIO("\n".join([*lines, str(whole)]))
        asked = ["-"]
    form = rng.choice(([], ["--json"], ["--csv"], ["--show"]))
    run = str(Path(__file__).parent / "data/runs/fast-81afcdf4e08a")
    _, said = run_command("predict", run, *asked, *form, runs=folder, codes=(0, 1))
    if str(whole) not in said:
        raise BrokenError(f"the whole picture has no answer: {said}"[:500])
    if form == ["--json"]:
        json.loads(said)
    return f"picture {kind}"


KINDS = [broken_run] * 7 + [hostile_name, odd_symbols, odd_list, odd_setting]
KINDS += [odd_picture] * 3


# what is asked of each case


def run_command(*arguments: str, runs: Path, codes: tuple[int, ...] = (0, 2)) -> tuple[int, str]:
    """A command in this process: its exit code and what it printed on stdout."""
    out, told = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(told):
        code = command([*arguments, "--runs-dir", str(runs)])
    said = out.getvalue() + told.getvalue()
    if printable(said, but="\n") != said:
        raise BrokenError(f"control characters in the output of {arguments}: {said!r}"[:500])
    if code not in codes:
        raise BrokenError(f"{arguments} ended with {code}")
    if code == 2 and told.getvalue().count("\n") > 6:
        raise BrokenError(f"{arguments} says more than it should: {told.getvalue()}"[:500])
    return code, out.getvalue()


def ask_commands(world: World, runs: Path, run: str, rng: random.Random) -> None:
    """Every command about a broken run; the whole one beside it must stay as it is."""
    code, listed = run_command("runs", runs=runs)
    if code != 0 or world.whole_name not in listed:
        raise BrokenError(f"the whole run is not listed: {listed}")
    run_command("show", run, runs=runs)
    code, shown = run_command("show", run, "--json", runs=runs)
    if code == 0:
        json.loads(shown.encode())
    for arguments in rng.sample(
        [
            ["report", run, "--format", "csv"],
            ["report", run, "--format", "markdown"],
            ["report", run, "--format", "latex", "--output", str(runs / "out.tex")],
            ["compare", world.whole_name, run],
            ["predict", run, str(world.picture_file), "--json"],
            ["export", run, "--safetensors", str(runs / "weights")],
            ["compare", run, world.whole_name, "--json"],
        ],
        2,
    ):
        run_command(*arguments, runs=runs)
    if rng.random() < 0.06:  # figures take long
        run_command("report", run, "--output", str(runs / "page.html"), runs=runs)
        run_command("compare", run, world.whole_name, "--figure", str(runs / "a.svg"), runs=runs)
    code, shown = run_command("show", world.whole_name, "--json", runs=runs)
    if code != 0 or [fold["fold"] for fold in json.loads(shown)["folds"]] != FOLDS:
        raise BrokenError("the whole run is no longer shown as it was")


def finish(world: World, runs: Path) -> None:
    """Run the experiment: what was damaged is whole again, what another version made is left."""
    try:
        for _ in session(world.experiment, FOLDS, runs, Here()):
            pass
    except OtherVersionError:
        return
    run = unseen.load(world.name, runs)
    if not {*FOLDS} <= {result.fold for result in run.results}:
        raise BrokenError(f"a run has left damage behind: {run.damages}")
    if run.experiment != world.experiment:
        raise BrokenError("a run has left another experiment in its place")


def check(world: World, seed: int, number: int) -> str:
    """Do one case; returns what it was. Whatever it raises is a fault."""
    rng = random.Random(f"{seed} {number}")

    def too_slow(*_: object) -> None:
        raise TooSlowError

    # work counts by its own time, as others may share the machine; waiting by the clock
    for number_of_signal, timer, seconds in (
        (signal.SIGPROF, signal.ITIMER_PROF, SECONDS),
        (signal.SIGALRM, signal.ITIMER_REAL, 6 * SECONDS),
    ):
        signal.signal(number_of_signal, too_slow)
        signal.setitimer(timer, seconds)
    try:
        return rng.choice(KINDS)(world, rng)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="how many cases [2000]")
    seed = random.SystemRandom().randrange(10**6)
    parser.add_argument("--seed", type=int, default=seed, help="of all cases [random]")
    parser.add_argument("--seconds", type=float, default=3600, help="stop after so long [3600]")
    parser.add_argument("--only", type=int, help="the number of one case")
    asked = parser.parse_args()
    os.environ["COLUMNS"] = "250"
    ended = time.monotonic() + asked.seconds
    kinds: Counter[str] = Counter()
    faults = 0
    numbers = range(asked.count) if asked.only is None else [asked.only]
    with tempfile.TemporaryDirectory() as home:
        world = World(Path(home))
        worker.follow_fold = world.fake_fold
        own_models.torch.set_num_threads(1)
        for number in numbers:
            if time.monotonic() > ended:
                break
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            try:
                kinds[check(world, asked.seed, number)] += 1
                now = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                if now > peak and now * 1024 > BYTES:
                    raise BrokenError(f"{now * 1024:,} bytes of memory")
            except (Exception, TooSlowError):
                faults += 1
                print(f"--seed {asked.seed} --only {number}:\n{traceback.format_exc()}", flush=True)
            for left in world.home.glob("tmp*"):
                shutil.rmtree(left, ignore_errors=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    tried = f"{sum(kinds.values()) + faults} cases of seed {asked.seed}"
    print(f"{tried}, {faults} faults, {peak / 1e6:,.0f} MB at most")
    print(dict(sorted(kinds.items())))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())

"""Generated mutations of run folders, IDX folders, names, lists and settings: `make fuzz`.

Each case goes through the real commands in this process. None may end in a traceback, take longer
than ten seconds or a gigabyte, send a control character to the terminal, or hide the whole run
that lies beside the broken one. A case is known by its seed and its number: --only runs one again.
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
import socket
import struct
import sys
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import made_up_runs
import numpy as np
import safetensors.numpy
from conftest import write_idx, write_symbols
from test_versions import sealed

import unseen
from unseen.cli import command
from unseen.errors import UnseenError, printable
from unseen.experiments import worker
from unseen.experiments.experiment import SETTINGS, Experiment
from unseen.experiments.fold import BaselineProgress, FoldStep
from unseen.experiments.measuring import Measurement
from unseen.experiments.posing import pose
from unseen.experiments.presets import PRESETS
from unseen.experiments.records import OtherVersionError
from unseen.experiments.session import session
from unseen.files import sha256
from unseen.insight.deep import DEEP_FILE, DeepFold
from unseen.insight.error_parts import ErrorParts
from unseen.learning import own_models
from unseen.problem.splits import find_split

SECONDS, BYTES = 10, 1_000_000_000
FOLDS = [1, 2]
HOSTILE = [
    *("[bold]x[/bold]", "[/red]", "a[b", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "line\nfeed"),
    *("\u202egnp", "tab\there", "$a$ $b", "<script>x</script>", "{{ 7 }}", "%s %d {0}", "caf\xe9"),
    *(
        os.fsdecode(b"not\xffutf8"),
        "-rf",
        "--json",
        "a b'c\"d",
        "#|`*_",
        ":smile:",
        "\\x1b",
        "é" * 60,
    ),
]
NESTED: Any = []
for _ in range(300):
    NESTED = [NESTED]
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 7, 99, 2**31, 2**63, 10**30, 0.5, -0.5, 1e308, 5e-324),
    *(float("nan"), float("inf"), "", "x", "1", "NaN", "\x1b[31m", "\udcff", "a" * 5000, "../../x"),
    *([], {}, [[]], [None], {"": None}, {"a": {"b": []}}, [0] * 1000, NESTED, HOSTILE[0]),
]


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
        self.posed = pose(self.experiment.problem)
        self.measurement = Measurement(
            *(0.5, 1.0, {"rounded": 0.1, "mse": 2.0, "mean_error": 0.1}),
            *({"rounded": 0.1, "mse": 2.0, "mean_error": 0.1}, [1], [0], [2], [3.5]),
        )
        self.outcomes = {
            fold: made_up_runs.outcome(
                self.experiment, fold, self.posed, made_up_runs.noisy, recorded=True
            )
            for fold in FOLDS
        }
        for fold in FOLDS:
            folder.measurements(fold).add(self.measurement, first=True)
            parts = ErrorParts(1.0, 0.1, 0.2, 0.3, (0.2, 0.2), 0.0)
            rows = self.posed.unseen(fold).tolist()
            deep = DeepFold(images=5, by_row=dict.fromkeys(rows, parts), probes={"a": (0.1, 0.2)})
            folder.save_derived(fold, DEEP_FILE, deep.model_dump_json().encode())
        folder.save_progress(1, 0, 0.5, 2.0)
        folder.save_checkpoint(2, b"a state")
        (folder.path / "report.html").write_text("a page")
        self.name = folder.path.name
        whole = made_up_runs.made_up_run(pattern, self.whole, folds=FOLDS)
        self.whole_name = whole.path.name
        self.pattern = pattern

    def lay_out(self) -> tuple[Path, Path]:
        """A runs folder with both runs; returns it and the run that is to be broken."""
        runs = Path(tempfile.mkdtemp(dir=self.home)) / "runs"
        shutil.copytree(self.pattern, runs)
        return runs, runs / self.name

    def fake_steps(self, experiment: Experiment, fold: int, *_: object) -> Iterator[FoldStep]:
        """A fold that is trained in no time."""
        yield FoldStep(BaselineProgress(0.5), self.measurement)
        return self.outcomes[fold]


class Here(Executor):
    """An engine that works in this process."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


# what is done to a file


def flip(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes() or b"x")
    for _ in range(rng.choice((1, 1, 3, 20))):
        content[rng.randrange(len(content))] ^= rng.randrange(1, 256)
    path.write_bytes(content)


def cut(path: Path, rng: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(len(content) + 1)])


def scramble(path: Path, rng: random.Random) -> None:
    path.write_bytes(rng.randbytes(rng.choice((0, 1, 10, 5000))))


def write_odd_json(path: Path, rng: random.Random) -> None:
    path.write_text(json.dumps(rng.choice(ODD)))


def nest(path: Path, rng: random.Random) -> None:
    path.write_text(rng.choice("[{") * rng.choice((10, 100_000)))


def lengthen(path: Path, rng: random.Random) -> None:
    path.write_bytes(path.read_bytes() * rng.choice((2, 5)) + rng.randbytes(7))


def swell(path: Path, rng: random.Random) -> None:
    os.truncate(path, rng.choice((70_000_000, 3_000_000_000, 10**12)))


def delete(path: Path, rng: random.Random) -> None:
    path.unlink()


def make_folder_of(path: Path, rng: random.Random) -> None:
    path.unlink()
    path.mkdir()
    if rng.random() < 0.5:
        (path / "inside").write_text("x")


def make_pipe_of(path: Path, rng: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def make_link_of(path: Path, rng: random.Random) -> None:
    pipe = path.with_name("a pipe")
    os.mkfifo(pipe)
    target = rng.choice(("/dev/zero", "/dev/null", "/dev/urandom", "/", "nowhere", path, pipe))
    path.unlink()
    path.symlink_to(target)


def make_socket_of(path: Path, rng: random.Random) -> None:
    path.unlink()
    here = Path.cwd()
    os.chdir(path.parent)  # the names of sockets are short
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(path.name)
    os.chdir(here)


def swap(path: Path, rng: random.Random) -> None:
    others = [other for other in path.parents[1].rglob("*") if other.is_file() and other != path]
    path.write_bytes(rng.choice(others).read_bytes() if others else b"")


TO_FILES = [
    *(flip, flip, cut, cut, scramble, write_odd_json, nest, lengthen, swell, delete),
    *(make_folder_of, make_pipe_of, make_link_of, make_socket_of, swap, swap),
]


# what is done to JSON


def mutate_json(tree: Any, rng: random.Random) -> Any:
    """The same with one value somewhere changed, removed or added."""
    if isinstance(tree, dict | list) and tree and rng.random() < 0.85:
        key = rng.choice([*tree] if isinstance(tree, dict) else range(len(tree)))
        kind = rng.random()
        if kind < 0.1:
            del tree[key]
        elif kind < 0.15 and isinstance(tree, dict):
            tree[rng.choice(HOSTILE)] = rng.choice(ODD)
        else:
            tree[key] = mutate_json(tree[key], rng)
        return tree
    return rng.choice(ODD)


def reseal(record: Any) -> bytes:
    return sealed(record) if isinstance(record, dict) else json.dumps(record).encode()


def change_json(run: Path, rng: random.Random) -> None:
    names = ["experiment.json", "environment.json", "folds/01/progress.json"]
    names += ["folds/01/result.json", "folds/02/result.json"] * 2
    path = run / rng.choice(names)
    tree = json.loads(path.read_bytes())
    for _ in range(rng.choice((1, 1, 1, 3))):
        tree = mutate_json(tree, rng)
    sealed = path.name in ("experiment.json", "result.json") and rng.random() < 0.9
    path.write_bytes(reseal(tree) if sealed else json.dumps(tree).encode())


def change_lines(run: Path, rng: random.Random) -> None:
    path = run / "folds/01/measurements.jsonl"
    tree = json.loads(path.read_bytes())
    lines = [json.dumps(mutate_json(json.loads(json.dumps(tree)), rng)) for _ in range(20)]
    path.write_text("\n".join(lines))


def change_deep(run: Path, rng: random.Random) -> None:
    for fold in rng.choice((["01"], ["01", "02"])):
        path = run / f"folds/{fold}/deep.json"
        key, _, body = path.read_bytes().partition(b"\n")
        changed = json.dumps(mutate_json(json.loads(body), rng)).encode()
        path.write_bytes(key + b"\n" + changed)


def replace_and_reseal(run: Path, name: str, content: bytes, *, hashed: bool = True) -> None:
    """A file of a fold with other content, and a result that has its hash."""
    (run / "folds/01" / name).write_bytes(content)
    path = run / "folds/01/result.json"
    record = json.loads(path.read_bytes())
    if hashed:
        record["files"][name] = sha256(content)
    path.write_bytes(reseal(record))


def change_arrays(run: Path, rng: random.Random) -> None:
    with np.load(run / "folds/01/predictions.npz") as kept:
        arrays: dict[str, Any] = dict(kept.items())
    name = rng.choice([*arrays])
    array = arrays[name]
    big = np.dtype(f">{array.dtype.kind}{array.dtype.itemsize}")
    kinds = ["f2", "f8", "i1", "i8", "u4", "c16", "?", "S3", "U2", "M8[s]", big]
    changed = {
        "missing": lambda: arrays.pop(name),
        "shape": lambda: array[: rng.randrange(len(array))],
        "axis": lambda: array[None],
        "scalar": lambda: array.reshape(-1)[0],
        "none": lambda: array[:0],
        "type": lambda: array.astype(rng.choice(kinds)),
        "negative": lambda: -array - 1,
        "large": lambda: array + np.asarray(10**6, array.dtype),
        "zeros": lambda: np.zeros_like(array),
        "shuffled": lambda: np.roll(array, 1, axis=0),
        "not finite": lambda: array * np.asarray(np.nan if array.dtype.kind == "f" else 0),
        "fortran": lambda: np.asfortranarray(np.stack([array, array])),
        "bomb": lambda: np.zeros((200_000_000,), np.uint8),
        "another": lambda: arrays[rng.choice([*arrays])],
    }
    kind = rng.choice([*changed, "type", "shape"] if rng.random() < 0.05 else [*changed][:-2])
    new = changed[kind]()
    if kind != "missing":
        arrays[name] = new
    file = io.BytesIO()
    (np.savez_compressed if rng.random() < 0.5 else np.savez)(file, **arrays)
    replace_and_reseal(run, "predictions.npz", file.getvalue())


def change_archive(run: Path, rng: random.Random) -> None:
    """An archive whose members have headers that lie."""
    with np.load(run / "folds/01/predictions.npz") as kept:
        names = kept.files
    file = io.BytesIO()
    header = rng.choice(
        [
            "{'descr': '<f4', 'fortran_order': False, 'shape': (500000000,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
            "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
            "{'descr': [('a', '<f4')], 'fortran_order': 3, 'shape': 'x'}",
            *("(" * 5000, "[" * 9000 + "]" * 9000, "__import__('os')", "{}", "\xff\x00", ""),
        ]
    ).encode("latin-1")
    with zipfile.ZipFile(file, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_LZMA))) as archive:
        for name in names:
            magic = b"\x93NUMPY" + bytes(rng.choice(((1, 0), (2, 0), (9, 9))))
            packed = struct.pack("<H", len(header) % 65536) + header
            archive.writestr(f"{name}.npy", magic + packed + b"\0" * rng.randrange(100))
    content = bytearray(file.getvalue())
    if rng.random() < 0.5:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    replace_and_reseal(run, "predictions.npz", bytes(content))


def change_weights(run: Path, rng: random.Random) -> None:
    good = safetensors.numpy.save({"a": np.zeros(3, np.float32)})
    header = rng.choice(
        [
            b'{"a":{"dtype":"F32","shape":[1000000000],"data_offsets":[0,4000000000]}}',
            b'{"a":{"dtype":"F32","shape":[-1],"data_offsets":[5,0]}}',
            *(b"{" * 5000, b"[]", b"null", b'{"a":{"dtype":"X"}}', b'{"__metadata__":{"a":1}}'),
        ]
    )
    size = rng.choice((len(header), 0, 2**63, 2**40, len(header) + 1))
    lies = struct.pack("<Q", size) + header
    cut_off = good[: rng.randrange(len(good))]
    replace_and_reseal(run, "model.safetensors", rng.choice((lies, cut_off, good, b"")))


def change_folds(run: Path, rng: random.Random) -> None:
    """A fold under another number, with or without that number in its result."""
    name = rng.choice(("00", "99", "11", "3", "003", "x", "٣", "-1", "10000000", "03", "1e3"))
    other = run / "folds" / name
    shutil.copytree(run / "folds/01", other)
    if rng.random() < 0.7 and name.lstrip("-").isdecimal():
        record = json.loads((other / "result.json").read_bytes())
        record["result"]["fold"] = int(name)
        (other / "result.json").write_bytes(reseal(record))


def change_layout(run: Path, rng: random.Random) -> None:
    """Folders that are files, links or pipes, and files where there should be none."""
    path = run / rng.choice(("folds", "folds/01", "shared"))
    if path.exists():
        shutil.rmtree(path)
    kind = rng.choice(("file", "pipe", "link", "loop", "nothing"))
    if kind == "file":
        path.write_text("x")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind in ("link", "loop"):
        path.symlink_to("/dev/zero" if kind == "link" else path)


def change_file(run: Path, rng: random.Random) -> None:
    paths = sorted(path for path in run.rglob("*") if path.is_file())
    for path in rng.sample(paths, rng.choice((1, 1, 1, 2))):
        rng.choice(TO_FILES)(path, rng)


TO_RUNS = [
    *(change_file,) * 6,
    *(change_json,) * 6,
    *(change_lines, change_deep, change_arrays, change_arrays, change_archive, change_weights),
    *(change_folds, change_layout),
]


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
        environment = json.loads((run / "environment.json").read_bytes())
        environment |= {"torch": odd, odd: odd, "host": odd}
        (run / "environment.json").write_text(json.dumps(environment))
    path.write_bytes(reseal(record))
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
        pose(PRESETS["fast"]().vary(symbols=folder, samples=2, test_samples=2).problem)
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


KINDS = [broken_run] * 7 + [hostile_name, odd_symbols, odd_list, odd_setting]


# what is asked of each case


def run_command(*arguments: str, runs: Path) -> tuple[int, str]:
    """A command in this process: its exit code and what it printed on stdout."""
    out, told = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(told):
        code = command([*arguments, "--runs-dir", str(runs)])
    said = out.getvalue() + told.getvalue()
    if printable(said, but="\n") != said:
        raise BrokenError(f"control characters in the output of {arguments}: {said!r}"[:500])
    if code not in (0, 2):
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
    parser.add_argument("--seed", type=int, default=0, help="of all cases [0]")
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
        worker.fold_steps = world.fake_steps
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
    print(f"{sum(kinds.values()) + faults} cases, {faults} faults, {peak / 1e6:,.0f} MB at most")
    print(dict(sorted(kinds.items())))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())

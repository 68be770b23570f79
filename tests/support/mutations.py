"""Ways to break a run folder: its files, and what they say where their hashes are right."""

import io
import json
import os
import random
import shutil
import struct
import zipfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from unseen.files import sha256

FOLDS = [1, 2]  # of the run that is broken
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


# what is done to a file


def flip(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes() or b"x")
    for _ in range(rng.choice((1, 1, 3, 20))):
        content[rng.randrange(len(content))] ^= rng.randrange(1, 256)
    path.write_bytes(content)


def cut(path: Path, rng: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(len(content) + 1)])


def replace(path: Path, rng: random.Random) -> None:
    """Noise, odd JSON, many brackets, what it had and more, or what another file has."""
    whole = path.read_bytes()
    others = [other for other in path.parents[1].rglob("*") if other.is_file()]
    path.write_bytes(
        rng.choice(
            [
                *(b"", rng.randbytes(5000), b"[" * 100_000, 2 * whole + rng.randbytes(7)),
                *(json.dumps(rng.choice(ODD)).encode(), rng.choice(others).read_bytes()),
            ]
        )
    )


def swell(path: Path, rng: random.Random) -> None:
    os.truncate(path, rng.choice((70_000_000, 3_000_000_000, 10**12)))


def make_another_thing_of(path: Path, rng: random.Random) -> None:
    """Nothing, a folder, a pipe, or a link to what is no file."""
    path.unlink()
    pipe = path.with_name(f"a pipe beside {path.name}")
    os.mkfifo(pipe)
    targets = ("/dev/zero", "/dev/null", "/dev/urandom", "/", "nowhere", path, pipe)
    things = {
        "nothing": lambda: None,
        "folder": path.mkdir,
        "full folder": lambda: (path / "inside").mkdir(parents=True),
        "pipe": lambda: pipe.rename(path),
        "link": lambda: path.symlink_to(rng.choice(targets)),
    }
    things[rng.choice([*things])]()


TO_FILES = [flip, cut, replace, replace, swell, make_another_thing_of, make_another_thing_of]


# what is done to JSON


def mutate_json(tree: Any, rng: random.Random) -> Any:
    """The same with one value somewhere changed, removed or added."""
    if isinstance(tree, dict | list) and tree and rng.random() < 0.85:
        key = rng.choice([*tree] if isinstance(tree, dict) else range(len(tree)))
        kind = rng.random()
        if kind < 0.1:
            del tree[key]
        elif kind < 0.15 and isinstance(tree, dict):
            tree[rng.choice(HOSTILE)] = deepcopy(rng.choice(ODD))
        else:
            tree[key] = mutate_json(tree[key], rng)
        return tree
    return deepcopy(rng.choice(ODD))  # a list of these may be changed in the next round


def change_json(run: Path, rng: random.Random) -> None:
    names = ["experiment.json", "folds/01/progress.json"]
    names += ["folds/01/result.json", "folds/02/result.json"]
    path = run / rng.choice(names)
    tree = json.loads(path.read_bytes())
    for _ in range(rng.choice((1, 1, 1, 3))):
        tree = mutate_json(tree, rng)
    path.write_text(json.dumps(tree))


def change_lines(run: Path, rng: random.Random) -> None:
    path = run / "folds/01/measurements.jsonl"
    tree = json.loads(path.read_bytes())
    lines = [json.dumps(mutate_json(json.loads(json.dumps(tree)), rng)) for _ in range(20)]
    path.write_text("\n".join(lines))


def change_deep(run: Path, rng: random.Random) -> None:
    for fold in rng.choice((["01"], ["01", "02"])):
        path = run / f"folds/{fold}/deep.json"
        path.write_text(json.dumps(mutate_json(json.loads(path.read_bytes()), rng)))


def replace_file(run: Path, name: str, content: bytes) -> None:
    """A file of a fold with other content, and a result that has its hash."""
    (run / "folds/01" / name).write_bytes(content)
    path = run / "folds/01/result.json"
    record = json.loads(path.read_bytes())
    record["sha256"][name] = sha256(content)
    path.write_text(json.dumps(record))


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
    replace_file(run, "predictions.npz", file.getvalue())


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
    replace_file(run, "predictions.npz", bytes(content))


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
    replace_file(run, "model.safetensors", rng.choice((lies, cut_off, good, b"")))


def change_folds(run: Path, rng: random.Random) -> None:
    """A fold under another number, with or without that number in its result."""
    name = rng.choice(("00", "99", "11", "3", "003", "x", "٣", "-1", "10000000", "03", "1e3"))
    other = run / "folds" / name
    shutil.copytree(run / "folds/01", other)
    if rng.random() < 0.7 and name.lstrip("-").isdecimal():
        record = json.loads((other / "result.json").read_bytes())
        record["result"]["fold"] = int(name)
        (other / "result.json").write_text(json.dumps(record))


def change_layout(run: Path, rng: random.Random) -> None:
    """Folders that are files, links or pipes, and files where there should be none."""
    path = run / rng.choice(("folds", "folds/01", "shared"))
    shutil.rmtree(path, ignore_errors=True)
    path.write_text("x")
    if rng.random() < 0.8:
        make_another_thing_of(path, rng)


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

"""What counts as another part: everything that decides what it does."""

import functools
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from unseen.identity import CannotTellError, content_sha256


def cell(source: str, **names: object) -> dict[str, object]:
    """A notebook's cell: run in a module that has no file."""
    module = names.pop("module", None) or types.ModuleType("__main__")
    namespace = vars(module) | {"np": np, "nn": nn, "torch": torch, "functools": functools} | names
    exec(source, namespace)
    return namespace


def sum_of(source: str, part: str = "part", **names: object) -> str:
    return content_sha256(cell(source, **names)[part])


CLASS = """
class Base(nn.Module):
    width = {width}
    def made(self):
        return {made}
class part(Base):
    def __init__(self, length, height, width, hidden={hidden}):
        super().__init__()
        self.layer = nn.Linear({inputs}, hidden)
    @property
    def size(self):
        return {size}
    @staticmethod
    def scale(x):
        return x * {scale}
"""
FIRST = {"width": 3, "made": 1, "hidden": 4, "inputs": 5, "size": 6, "scale": 7}


@pytest.mark.parametrize("changed", FIRST)
def test_an_edited_class_or_base_is_another(changed):
    one, same, other = (
        sum_of(CLASS.format(**FIRST | changes)) for changes in ({}, {}, {changed: 128})
    )
    assert one == same != other


PAIRS = {
    "a body": ["def part(d): return d.sum(1)", "def part(d): return d.prod(1)"],
    "a constant": ["def part(d): return 2 * d", "def part(d): return 3 * d"],
    "a constant within": [
        "part = lambda d: [x + 1 for x in d]",
        "part = lambda d: [x + 2 for x in d]",
    ],
    "a name": ["def part(d): return np.max(d)", "def part(d): return np.min(d)"],
    "a default": ["def part(d, k=1): return k * d", "def part(d, k=5): return k * d"],
    "a keyword's default": ["def part(d, *, k=1): return k", "def part(d, *, k=5): return k"],
    "a closure": [f"def make(k):\n return lambda d: d * k\npart = make({k})" for k in (1, 5)],
    "a loop's variable": [
        f"parts = [lambda d, k=k: d * k for k in range(3)]\npart = parts[{at}]" for at in (1, 2)
    ],
    "a partial": [
        f"def net(*a, hidden): return hidden\npart = functools.partial(net, hidden={k})"
        for k in (4, 128)
    ],
    "a global": [f"k = {k}\ndef part(d): return d.sum(1) * k" for k in (1, 5)],
    "a global list": [f"k = [1, {k}]\ndef part(d): return d * k" for k in (1, 5)],
    "a global array": [f"k = np.arange({k})\ndef part(d): return k[d]" for k in (10, 11)],
    "a global tensor": [f"k = torch.arange({k})\ndef part(d): return k[d]" for k in (10, 11)],
    "a global dict of sets": [f"k = {{'a': {{1, {k}}}}}\ndef part(d): return k" for k in (2, 5)],
    "a function that it calls": [
        f"def inner(d): return {k} * d\ndef part(d): return inner(d)" for k in (1, 5)
    ],
    "two calls away": [
        f"k = {k}\ndef inner(d): return k * d\ndef outer(d): return inner(d)\n"
        "def part(d): return outer(d)"
        for k in (1, 5)
    ],
    "a wrapper": [
        f"def by(f):\n @functools.wraps(f)\n def wrapped(d): return f(d) * {k}\n return wrapped\n"
        "@by\ndef part(d): return d"
        for k in (1, 5)
    ],
    "what is wrapped": [
        "def by(f):\n @functools.wraps(f)\n def wrapped(d): return f(d)\n return wrapped\n"
        f"@by\ndef part(d): return {k} * d"
        for k in (1, 5)
    ],
    "a method of an object": [
        f"class A:\n def __init__(self, k): self.k = k\n def go(self, d): return d * self.k\n"
        f"part = A({k}).go"
        for k in (1, 5)
    ],
    "an object that is called": [
        f"class A:\n def __init__(self, k): self.k = k\n def __call__(self, d): return d * self.k\n"
        f"part = A({k})"
        for k in (1, 5)
    ],
    "a module of torch": [
        f"torch.manual_seed({k})\nlayer = nn.Linear(2, 2)\ndef part(*a): return layer"
        for k in (1, 5)
    ],
    "an attribute set later": [
        f"class part(nn.Module):\n hidden = 4\npart.hidden = {k}" for k in (4, 128)
    ],
    "a function that is cached": [
        f"@functools.cache\ndef inner(d): return d * {k}\ndef part(d): return inner(d)"
        for k in (1, 5)
    ],
    "a function of the first argument's type": [
        f"@functools.singledispatch\ndef inner(d): return d * {k}\ndef part(d): return inner(d)"
        for k in (1, 5)
    ],
    "an attribute of a function": [f"def part(d): return d * part.k\npart.k = {k}" for k in (1, 5)],
    "a part of one tensor": [
        f"k = torch.arange(20.0)[{at}]\ndef part(d): return k[d]" for at in (":10", "10:")
    ],
    "a class within a function": [
        f"def part(*a):\n class Net(nn.Module):\n  hidden = {k}\n return Net()" for k in (4, 128)
    ],
}


@pytest.mark.parametrize("what", PAIRS)
def test_whatever_decides_what_it_does_makes_another(what):
    sums = [[sum_of(source), sum_of(source)] for source in PAIRS[what]]
    assert sums[0][0] == sums[0][1]
    assert sums[1][0] == sums[1][1]
    assert sums[0][0] != sums[1][0]


def test_a_global_that_changes_is_read_when_the_sum_is_asked_for():
    namespace = cell("k = 1\ndef part(d): return d * k")
    before = content_sha256(namespace["part"])
    namespace["k"] = 5
    assert content_sha256(namespace["part"]) != before


def test_a_value_of_a_module_of_ones_own_counts(tmp_path: Path, monkeypatch):
    (tmp_path / "my_settings.py").write_text("k = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    namespace = cell("import my_settings\ndef part(d): return d * my_settings.k")
    before = content_sha256(namespace["part"])
    namespace["my_settings"].k = 5
    assert content_sha256(namespace["part"]) != before
    sys.modules.pop("my_settings")


def test_a_module_that_is_imported_within_a_function_counts(tmp_path: Path, monkeypatch):
    (tmp_path / "my_own.py").write_text("k = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    part = cell("def part(d):\n import my_own\n return d * my_own.k")["part"]
    before = content_sha256(part)
    sys.modules["my_own"].k = 5
    assert content_sha256(part) != before
    sys.modules.pop("my_own")


def test_comments_and_layout_do_not_count():
    one = "def part(d):\n    return d.sum(1)\n"
    assert sum_of(one) == sum_of("\n\ndef part(d):  # the sum\n\n    return (\n        d.sum(1))\n")


def test_the_same_file_has_the_same_sum_in_another_process(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(
        "import functools\nimport numpy as np\nfrom torch import nn\n"
        "from unseen.identity import content_sha256\n"
        "words = {'a', 'b', 'c', 'd'}\ntable = {'x': frozenset({'p', 'q', 'r'})}\n"
        "class Net(nn.Module):\n    def forward(self, x):\n"
        "        return x in {'u', 'v', 'w'}, words\n"
        "def part(k, d): return np.gcd(d, k), table, Net\n"
        "print(content_sha256(functools.partial(part, 3)))\n"
    )
    sums = {
        subprocess.run(
            [sys.executable, script], env={"PYTHONHASHSEED": seed}, check=True,
            capture_output=True, text=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(sums) == 1


@pytest.mark.parametrize(
    "source",
    [
        "rng = np.random.default_rng(0)\ndef part(d): return rng.integers(9, size=len(d))",
        "import random\nrng = random.Random(0)\ndef part(d): return rng.random()",
        "import threading\nlock = threading.Lock()\ndef part(d): return lock",
        "turns = iter([1, 2])\ndef part(d): return next(turns)",
        "def counted():\n yield 1\nit = counted()\ndef part(d): return next(it)",
        "def part(d): return np.random.permutation(19)[d]",
        "def part(d): return eval('d * k')",
        "import os\ndef part(d): return d * int(os.environ['K'])",
        "k = []\nfor _ in range(3_000): k = [k]\ndef part(d): return k",
        "k = torch.eye(3).to_sparse()\ndef part(d): return k",
        "def part(d):\n import nowhere_to_be_found\n return d",
    ],
)
def test_what_changes_as_it_is_used_cannot_be_told(source):
    with pytest.raises(CannotTellError):
        sum_of(source)


def test_what_refers_to_itself_has_a_sum():
    assert sum_of("def part(n): return n and part(n - 1)")
    assert sum_of("k = [1]\nk.append(k)\ndef part(n): return k")


def test_a_library_counts_by_name_and_version(monkeypatch):
    source = "def part(*a): return torch.nn.Linear(1, 1)"
    before = sum_of(source)
    monkeypatch.setattr("unseen.identity._version", lambda package: "0.0")
    assert sum_of(source) != before

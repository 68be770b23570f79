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


# sources of two parts each: K is 1 in one and 5 in the other
PAIRS = {
    "a body": "def part(d): return d.sum(K)",
    "a constant within": "part = lambda d: [x + K for x in d]",
    "a name": "def part(d): return np.maxK(d)",
    "a default": "def part(d, k=K): return k * d",
    "a keyword's default": "def part(d, *, k=K): return k",
    "a closure": "def make(k):\n return lambda d: d * k\npart = make(K)",
    "a loop's variable": "parts = [lambda d, k=k: d * k for k in range(6)]\npart = parts[K]",
    "a partial": "def net(*a, hidden): return hidden\npart = functools.partial(net, hidden=K)",
    "a global": "k = K\ndef part(d): return d.sum(1) * k",
    "a global list": "k = [1, K]\ndef part(d): return d * k",
    "a global array of objects": "k = np.array(['a', K], object)\ndef part(d): return k[d]",
    "a global tensor": "k = torch.arange(K)\ndef part(d): return k[d]",
    "a part of one tensor": "k = torch.arange(20.0)[K : K + 3]\ndef part(d): return k[d]",
    "a global dict of sets": "k = {'a': {2, K}}\ndef part(d): return k",
    "a global path": "from pathlib import Path\nk = Path('K')\ndef part(d): return k",
    "a method of a list": "k = [2, K].count\ndef part(d): return k(d)",
    "a global of a function that it calls": "k = K\ndef inner(d): return k * d\n"
    "def part(d): return inner(d)",
    "a wrapper": "def by(f):\n @functools.wraps(f)\n def wrapped(d): return f(d) * K\n"
    " return wrapped\n@by\ndef part(d): return d",
    "what is wrapped": "def by(f):\n @functools.wraps(f)\n def wrapped(d): return f(d)\n"
    " return wrapped\n@by\ndef part(d): return K * d",
    "a method of an object": "class A:\n def __init__(self, k): self.k = k\n"
    " def go(self, d): return d * self.k\npart = A(K).go",
    "an object that is called": "class A:\n def __init__(self, k): self.k = k\n"
    " def __call__(self, d): return d * self.k\npart = A(K)",
    "a module of torch": "torch.manual_seed(K)\nlayer = nn.Linear(2, 2)\n"
    "def part(*a): return layer",
    "an attribute set later": "class part(nn.Module):\n hidden = 4\npart.hidden = K",
    "a cached function": "@functools.cache\ndef inner(d): return d * K\n"
    "def part(d): return inner(d)",
    "a function of its argument's type": "@functools.singledispatch\n"
    "def inner(d): return d * K\ndef part(d): return inner(d)",
    "an attribute of a function": "def part(d): return d * part.k\npart.k = K",
    "a class within a function": "def part(*a):\n class Net(nn.Module):\n  hidden = K\n"
    " return Net()",
    "a base": "class Base(nn.Module):\n width = K\nclass part(Base): pass",
    "a method's default": "class part(nn.Module):\n def __init__(self, *a, hidden=K): pass",
    "a method's body": "class part(nn.Module):\n def __init__(self): self.layer = nn.Linear(K, 2)",
    "a property": "class part(nn.Module):\n @property\n def size(self): return K",
    "a static method": "class part(nn.Module):\n @staticmethod\n def scale(x): return x * K",
}


@pytest.mark.parametrize("what", PAIRS)
def test_all_that_decides_what_it_does_makes_another(what):
    one, same, other = (sum_of(PAIRS[what].replace("K", each)) for each in "115")
    assert one == same != other


def test_a_global_that_changes_is_read_when_the_sum_is_asked_for():
    namespace = cell("k = 1\ndef part(d): return d * k")
    before = content_sha256(namespace["part"])
    namespace["k"] = 5
    assert content_sha256(namespace["part"]) != before


@pytest.mark.parametrize(
    "source",
    [
        "import my_own\ndef part(d): return d * my_own.k",
        "def part(d):\n import my_own\n return d * my_own.k",
    ],
)
def test_a_value_of_a_users_module_counts(tmp_path: Path, monkeypatch, source):
    (tmp_path / "my_own.py").write_text("k = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    part = cell(source)["part"]
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

from collections.abc import Iterable
from pathlib import Path

import pytest
import torch

from unseen.errors import UnseenError
from unseen.networks.models import OWN, find_network
from unseen.networks.own_files import is_own
from unseen.runs.fold import run_fold
from unseen.runs.presets import fast
from unseen.training.own_check import check_own
from unseen.training.recipe import Training

GOOD = """
import torch
class Net(torch.nn.Module):
    def __init__(self, length, height, width):
        super().__init__()
        self.read = torch.nn.Linear(height * width, 1)
    def forward(self, pictures):
        return self.read(pictures.flatten(1))
"""


def check(model: str, batch_sizes: Iterable[int] = (64,), **changes: object) -> None:
    training = fast().vary(**{"model": model} | changes).training
    check_own(training, {*batch_sizes}, 2, 28, 56)


def write(folder: Path, text: str) -> str:
    path = folder / "my_net.py"
    path.write_text(text)
    return f"{path}:Net"


def test_a_class_in_a_file_is_a_network_and_naming_it_runs_nothing(tmp_path):
    model = write(tmp_path, f"open({str(tmp_path / 'ran')!r}, 'w').close()\n" + GOOD)
    assert is_own(model)
    network = find_network(model)
    assert network.layout == OWN
    assert not (tmp_path / "ran").exists()
    assert network.build(2, 28, 56)(torch.rand(5, 1, 28, 56)).shape == (5, 1)
    assert (tmp_path / "ran").exists()
    check(model)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("x = ", "cannot be loaded: SyntaxError"),
        ("import nowhere_to_be_found", "cannot be loaded: ModuleNotFoundError"),
        ("Net = 3", "has no class Net"),
        ("class Net: pass", "cannot be built with length=2, height=28, width=56: TypeError"),
        ("def Net(*sizes): return 3", "makes a int, not a torch.nn.Module"),
        (GOOD.replace("width, 1)", "width, 2)"), r"must answer 3 pictures with 3.*\[3, 2\]"),
        (GOOD.replace("height * width", "height"), "fails on pictures of shape .3, 1, 28, 56."),
        (GOOD.replace("self.read(", "0 * self.read.weight.sum() / 0 + self.read("), "not finite"),
        (GOOD.replace("return ", "return 0,") , "it gave tuple"),
        (GOOD.replace("self.read(pictures", "torch.sum(pictures").replace("(1))", "(1), 1)"),
         "nothing to train"),
        ("class Stop(BaseException): pass\nraise Stop('now')", "cannot be loaded: Stop: now"),
        (GOOD.replace("flatten(1))", "flatten(1))[: 3 if len(pictures) < 9 else 1]"),
         "cannot be trained on 64 pictures: ValueError: 64 pictures got 1 answers"),
        (GOOD.replace("return ", "return self.empty.sum() + ").replace("self.read =",
         "self.empty = torch.nn.Parameter(torch.zeros(4, 0)); self.read ="),
         "cannot be trained on 64 pictures: ZeroDivisionError"),
        (GOOD.replace("flatten(1)", "reshape(3, -1)"),
         "cannot be trained on 64 pictures: RuntimeError"),
        (GOOD.replace("return ", "if len(pictures) == 1: 1 / 0\n        return "),
         "once trained, .* fails on pictures of shape .1, 1, 28, 56.: ZeroDivisionError"),
        (GOOD.replace("return self.read(pictures.flatten(1))",
                      "y = self.read(pictures.flatten(1)).exp(); y += 1; return y"),
         "cannot be trained on 64 pictures: RuntimeError: .*inplace"),
    ],
)  # fmt: skip
def test_a_network_that_cannot_be_used_is_refused_before_the_run(tmp_path, text, fault):
    with pytest.raises(UnseenError, match=fault):
        check(write(tmp_path, text))


def test_what_the_last_batch_of_an_epoch_would_break_is_refused_before(tmp_path):
    normal = GOOD.replace(
        "torch.nn.Linear(height * width, 1)",
        "torch.nn.Sequential(torch.nn.BatchNorm1d(height * width), "
        "torch.nn.Linear(height * width, 1))",
    )
    model = write(tmp_path, normal)
    check(model, {64, 2})
    with pytest.raises(UnseenError, match=r"one picture by itself, the last of an epoch; another"):
        check(model, {64, 1})
    with pytest.raises(UnseenError, match=r"one picture by itself: ValueError"):
        check(model, {1}, batch_size=1)


def test_all_of_a_network_has_to_be_in_its_file(tmp_path):
    (tmp_path / "helper.py").write_text("")
    with pytest.raises(UnseenError, match="No module named 'helper'"):
        check(write(tmp_path, "import helper\n" + GOOD))
    found = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport helper\n"
    with pytest.raises(UnseenError, match="imports 'helper' from beside it; put all"):
        check(write(tmp_path, found + GOOD))


def test_a_file_without_a_class_asks_for_one(tmp_path):
    path = write(tmp_path, "import os\nclass One: pass\nclass Two: pass").removesuffix(":Net")
    for named in (path, f"{path}:", f"{path}:not one"):
        with pytest.raises(UnseenError, match=f"no class; say it as {path}:Class"):
            Training(model=named)
    for elsewhere in (str(tmp_path), f"{path}x", "x" * 300):
        with pytest.raises(UnseenError, match="there is no such file"):
            Training(model=elsewhere)
    with pytest.raises(UnseenError, match="null character"):
        Training(model="\0.py")


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(UnseenError, match=r"needs a file .*nowhere.py"):
        check("nowhere.py:Net")


@pytest.mark.parametrize("model", ["net.py", "net.py:", "net:Net", "net.py:a b", "net.py:a.b"])
def test_other_names_are_no_files(model):
    assert not is_own(model)
    with pytest.raises(UnseenError, match="unknown model"):
        find_network(model)


LAYER = "torch.nn.Linear(height * width, 1)"
USUAL = {
    "one layer under two names": GOOD.replace("self.read = ", "self.twin = self.read = "),
    "layers that find their own size": GOOD.replace(LAYER, "torch.nn.LazyLinear(1)"),
    "kernels of volumes": GOOD.replace(
        LAYER, "torch.nn.Sequential(torch.nn.Conv3d(1, 1, (1, height, width)), torch.nn.Flatten())"
    ).replace("pictures.flatten(1)", "pictures[:, None]"),
    "settings of its own": "from __future__ import annotations\nimport dataclasses\n"
    "@dataclasses.dataclass\nclass Settings:\n    width: int = 3\n" + GOOD,
}


@pytest.mark.parametrize("text", USUAL.values(), ids=USUAL)
def test_what_networks_usually_have_is_trained_and_saved(tmp_path, symbols, text):
    experiment = fast().vary(
        **{"samples": 2, "test_samples": 2} | {"symbols": str(symbols)},
        model=write(tmp_path, text),
    )
    check(experiment.training.model)
    assert run_fold(experiment, 1).model


def test_a_network_that_fails_on_the_way_is_told_of_in_one_line(tmp_path, symbols):
    failing = GOOD.replace(
        "return ", "if len(pictures) > 3: raise ValueError('no\\nmore')\n        return "
    )
    experiment = fast().vary(symbols=str(symbols), samples=2, model=write(tmp_path, failing))
    with pytest.raises(UnseenError, match=r"Net failed on the way: ValueError: no$"):
        run_fold(experiment, 1)

"""What is public: its list, its examples, and users' parts under a name."""

import doctest
import inspect
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch

import unseen
from unseen import parts
from unseen.cli import command
from unseen.networks.models import MODELS
from unseen.problem.splits import SPLITS
from unseen.runs.experiment import fingerprint

LISTED = Path(__file__).parent / "data/public-names.txt"
pytestmark = pytest.mark.usefixtures("without_added_parts")
SMALL = {"samples": 2, "test_samples": 2, "folds": 1}


class Net(torch.nn.Module):
    def __init__(self, length, height, width, hidden=2):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(height * width, hidden), torch.nn.Linear(hidden, 1)
        )

    def forward(self, pictures):
        return self.layers(pictures)


def test_an_edited_part_is_run_anew_and_the_earlier_run_is_not_shown_with_it():
    factor = 1

    def scaled(digits):
        return factor * digits.sum(axis=1)

    unseen.register_operation("scaled", scaled)
    unseen.register_model("mine", partial(Net, hidden=3))
    settings = {"operation": "scaled", "model": "mine", **SMALL}
    first = unseen.run("fast", **settings)
    answers = first.folder.arrays(1, first.experiment).answer
    assert unseen.run("fast", **settings).folder == first.folder
    factor = 5
    second = unseen.run("fast", **settings)
    assert second.folder != first.folder
    assert np.array_equal(second.folder.arrays(1, second.experiment).answer, 5 * answers)
    with pytest.raises(unseen.UnseenError, match="operation 'scaled' changed after fast-"):
        _ = unseen.load(first.name).summary
    assert unseen.load(second.name).summary.scores
    unseen.register_model("mine", partial(Net, hidden=4))
    third = unseen.run("fast", **settings)
    assert third.folder not in (first.folder, second.folder)
    with pytest.raises(unseen.UnseenError, match="model 'mine' changed after fast-"):
        unseen.load(second.name).predict(np.zeros((1, 28, 56), np.uint8))


def test_a_part_without_a_sum_is_a_new_run_every_time_and_says_so():
    rng = np.random.default_rng(0)
    unseen.register_operation("random", lambda digits: rng.integers(9, size=len(digits)))
    events, folders = [], set()
    for _ in range(2):
        run = unseen.run("fast", operation="random", on_event=events.append, **SMALL)
        folders.add(run.folder)
    assert len(folders) == 2
    notes = [event for event in events if getattr(event, "kind", "") == "untold part"]
    assert [note.details["kind"] for note in notes] == ["operation"] * 2
    assert "Generator" in notes[0].details["why"]


def test_a_part_that_is_not_registered_now_is_named(capsys):
    unseen.register_model("mine", Net)
    run = unseen.run("fast", model="mine", **SMALL)
    del MODELS["mine"], parts.ADDED["model", "mine"]
    with pytest.raises(unseen.UnseenError, match=r"unknown model 'mine'.*register it first"):
        _ = unseen.load(run.folder.path).experiment
    command(["runs"])
    assert "register it first" in " ".join(capsys.readouterr().out.split())


def public_lines() -> list[str]:
    """Every public name with its parameters; of classes, their public methods too."""
    lines = []
    for name in unseen.__all__:
        thing = getattr(unseen, name)
        is_function = inspect.isroutine(thing) or hasattr(thing, "cache_clear")
        lines.append(f"{name}{parameters(thing)}" if is_function else name)
        if inspect.isclass(thing):
            own = {**vars(thing)} if thing.__module__.startswith("unseen") else {}
            for each, value in sorted(own.items()):
                is_public = callable(value) and not each.startswith(("_", "model_"))
                if is_public or each == "__init__":
                    lines.append(f"{name}.{each}{parameters(value)}")
    return lines


def parameters(function) -> str:
    return "(" + ", ".join(map(str, inspect.signature(function).parameters)) + ")"


def test_what_is_public_does_not_change_unnoticed():
    """Where it changes on purpose, write the new list into tests/data/public-names.txt."""
    assert public_lines() == LISTED.read_text().splitlines()
    assert dir(unseen) == unseen.__all__  # which a notebook completes
    with pytest.raises(AttributeError, match="no attribute 'surplus'"):
        _ = unseen.surplus


@pytest.mark.parametrize("name", unseen.__all__)
def test_every_public_name_has_an_example_that_runs(name):
    thing = getattr(unseen, name)
    if not inspect.isclass(thing) and not callable(thing):  # a registry: its module has one
        thing = import_module(unseen._HOME[name])
    found = doctest.DocTestFinder(recurse=False).find(inspect.unwrap(thing), name, globs={})
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    tried = 0
    for test in found:
        tried += runner.run(test).attempted
    assert tried > 0
    assert runner.failures == 0


def test_types_are_announced():
    assert Path(unseen.__file__).with_name("py.typed").is_file()


class Tiny(torch.nn.Sequential):
    def __init__(self, length, height, width):
        super().__init__(torch.nn.Flatten(), torch.nn.Linear(height * width, 1))


def other_rows(table, seed, unseen):
    """Every other combination."""
    return [np.arange(0, len(table.digits), 2)]


def test_a_users_parts_are_run_shown_and_told_apart():
    unseen.register_model("tiny", Tiny)
    unseen.register_split("other-rows", other_rows)
    unseen.register_operation("first", lambda digits: digits[:, 0])
    settings = {"model": "tiny", "split": "other-rows", "operation": "first"}
    run = unseen.run("fast", **settings, **SMALL)
    assert len(run.results[0].unseen) == 50
    assert "first" in str(run.experiment)
    assert unseen.load(run.folder.path).predict(np.zeros((1, 28, 56))).shape == (1,)
    before = fingerprint(run.experiment)
    unseen.register_operation("first", lambda digits: digits[:, 0] + 0)  # another source
    assert fingerprint(run.experiment) != before


def test_a_part_of_the_package_is_not_replaced_and_names_are_names():
    for name, fault in (("add", "has its own"), ("a b", "no name"), ("q", "2 to 61 letters")):
        with pytest.raises(unseen.UnseenError, match=fault):
            unseen.register_operation(name, lambda digits: digits[:, 0])
    with pytest.raises(unseen.UnseenError, match="must be a function"):
        unseen.register_model("new-one", "no function")


def test_faults_of_a_users_parts_are_one_line():
    unseen.register_operation("halves", lambda digits: digits[:, 0] / 2)
    unseen.register_operation("broken", lambda digits: 1 // 0)
    unseen.register_split("outside", lambda table, seed, unseen: [[500]])
    unseen.register_symbols("few", lambda: (np.zeros((2, 28, 28), np.uint8), [0, 1]))
    for settings, fault in (
        ({"operation": "halves"}, "one whole number"),
        ({"operation": "broken"}, "operation 'broken' fails: ZeroDivisionError"),
        ({"split": "outside"}, "rows from 0 to 99"),
        ({"symbols": "few"}, "symbols 'few' must give"),
    ):
        with pytest.raises(unseen.UnseenError, match=fault):
            unseen.make_task(unseen.Problem(**settings))


def test_a_dataset_has_the_samples_of_the_fold():
    settings = {"samples": 3, "test_samples": 2, "operation": "subtract"}
    test = unseen.FoldDataset("fast", 4, "test", **settings)
    task = unseen.make_task(test.experiment.problem)
    rows = {tuple(each) for each in task.combinations.digits[task.unseen(4)].tolist()}
    assert {tuple(each) for each in test.digits.tolist()} == rows
    train = unseen.FoldDataset("fast", 4, **settings)
    assert not rows & {tuple(each) for each in train.digits.tolist()}
    picture, answer = train[7]
    assert picture.shape == (1, 28, 56)
    assert 0 <= picture.min() <= picture.max() <= 1
    assert answer == train.digits[7, 0] - train.digits[7, 1]
    assert len([*train]) == len(train)
    for wrong in ({"fold": 11}, {"half": "unseen"}):
        with pytest.raises(unseen.UnseenError):
            unseen.FoldDataset("fast", **wrong)


def test_a_problem_takes_every_split_that_a_command_takes(tmp_path):
    (tmp_path / "list").write_text("3 8\n8 3\n")
    splits = ("mnist-even-odd", "8 3; 3 8", [(8, 3), (3, 8)], tmp_path / "list", "mirror")
    for split in splits:
        problem = unseen.PRESETS["fast"]().vary(split=split).problem
        assert unseen.Problem(split=split).unseen_list == problem.unseen_list, split
        changed = unseen.Problem(split="0 0").change(split=split)
        assert (changed.split, changed.unseen_list) == (problem.split, problem.unseen_list), split
        assert changed.change(length=2) == changed
    with pytest.raises(unseen.UnseenError, match="did you mean 'mnist-half'"):
        unseen.Problem(split="mnist-hlaf")
    with pytest.raises(unseen.UnseenError, match="did you mean 'mnist-half'"):
        unseen.CombinationSplit("mnist-hlaf")


@pytest.mark.parametrize("split", [*SPLITS, "mnist-even-odd", "3 8; 8 3"])
def test_scikit_learn_gets_the_same_folds(split):
    task = unseen.make_task(unseen.Problem(split=split))
    digits = np.repeat(task.combinations.digits, 3, axis=0)
    answers = np.repeat(task.combinations.answers, 3)
    splitter = unseen.CombinationSplit(split)
    folds = [*splitter.split(digits, answers, digits)]
    assert len(folds) == splitter.get_n_splits(digits, answers, digits) == len(task.folds)
    for (train, test), fold in zip(folds, task.folds, strict=True):
        assert np.array_equal(np.unique(test // 3), fold.unseen)
        assert len(train) + len(test) == len(digits)
    with pytest.raises(unseen.UnseenError, match="groups must be the digits"):
        next(splitter.split(digits, answers))

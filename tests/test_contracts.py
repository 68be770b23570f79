"""What every registered part must keep: it runs, with the defaults and beside every other part."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from conftest import RULES, write_symbols

from unseen.errors import UnseenError
from unseen.networks import rules
from unseen.networks.models import MODELS
from unseen.problem.fashion import find_fashion_mnist
from unseen.problem.operations import OPERATIONS
from unseen.problem.splits import SPLITS
from unseen.problem.symbols import SYMBOLS
from unseen.problem.task import make_task
from unseen.runs.fold import run_fold
from unseen.runs.presets import PRESETS, fast
from unseen.training.baselines import BASELINES
from unseen.training.recipe import OPTIMIZERS
from unseen.training.schedules import SCHEDULES

TINY = fast().vary(samples=2, test_samples=3, batch_size=32, watched_samples=20)
PARTS = {
    "operation": [*OPERATIONS, "max(a, b) - 1", "shown:+,-,*", "table:3"],
    "symbols": [*SYMBOLS],
    "split": [*SPLITS],
    # the other networks of the paper's size are built by the same function, and run alone
    "model": [
        *(name for name in MODELS if name != "paper-undropped"),
        *(name for name in BASELINES if name != "oracle"),
    ],
    "length": [2, 3],
    "unseen": [None, 5],
}
BRIEF = ((4, 20),)  # rules at a time, steps
CHOOSES_ITSELF = ("answer", "position", "diagonal")


def allowed(choice):
    """What is refused by design; tests elsewhere see that it is."""
    if choice.get("length") == 3 and "shown" in str(choice.get("operation")):
        return False
    return not (choice.get("unseen") and choice.get("split") in CHOOSES_ITSELF)


def pairwise_cover(parts):
    """Few choices in which every two values of different parts meet somewhere."""
    left = {
        ((one, a), (two, b))
        for one, two in combinations(parts, 2)
        for a, b in product(parts[one], parts[two])
        if allowed({one: a, two: b})
    }
    while left:
        choice = dict(min(left, key=str))
        for name in parts:
            if name not in choice:
                fits = [value for value in parts[name] if allowed(choice | {name: value})]
                choice[name] = max(fits, key=lambda value: met(choice | {name: value}, left))
        left = {pair for pair in left if not {*pair} <= {*choice.items()}}
        yield choice


def met(choice, left):
    return sum({*pair} <= {*choice.items()} for pair in left)


@pytest.fixture(autouse=True)
def brief_rules(monkeypatch):
    """Rules that are hardly looked for: so few samples have none to find."""
    for kind in RULES:
        monkeypatch.setattr(rules, kind, replace(getattr(rules, kind), stages=BRIEF))
    monkeypatch.setattr(rules, "REFITTED", (20, 20))


def vary(choice):
    choice = dict(choice)
    training = {"model": choice.pop("model")} if "model" in choice else {}
    few = {"samples": 1, "test_samples": 1, "batch_size": 256}
    is_large = choice.get("length") == 3 or "paper" in training.get("model", "")
    return TINY.vary(**choice | (few if is_large else {}), **training)


def check(experiment):
    task = make_task(experiment.problem)
    outcome = run_fold(experiment, len(task.folds))
    unseen = task.folds[-1].unseen
    each = experiment.problem.test_samples_per_combination
    assert len(outcome.result.unseen) == len(unseen)
    assert outcome.arrays.prediction.shape == (each * len(unseen),)
    assert np.isfinite(outcome.arrays.prediction).all()
    assert 0 <= outcome.result.measures["rounded"] <= outcome.result.measures["within_one"] <= 1
    assert len(outcome.result.quadrants) == 4


def skip_without_fashion(choice):
    if choice.get("symbols") == "fashion-mnist" and find_fashion_mnist() is None:
        pytest.skip("Fashion-MNIST is not here: Debian's package dataset-fashion-mnist has it")


@pytest.mark.parametrize(
    ("part", "value"),
    [
        *((part, value) for part in PARTS for value in PARTS[part]),
        *(("model", "paper-undropped"), ("length", 1)),
    ],
)
def test_every_part_runs_with_the_defaults(part, value):
    skip_without_fashion({part: value})
    check(vary({part: value}))


@pytest.mark.parametrize("choice", [*pairwise_cover(PARTS)], ids=str)
def test_every_two_parts_run_together(choice):
    skip_without_fashion(choice)
    try:
        experiment = vary(choice)
        make_task(experiment.problem)
    except UnseenError as refusal:  # three places may leave a split too much or too little
        pytest.fail(str(refusal))
    check(experiment)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_optimizer_runs_with_every_schedule(optimizer, schedule):
    check(TINY.vary(optimizer=optimizer, schedule=schedule, learning_rate=1e-3))


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_runs(preset, tmp_path):
    few = write_symbols(tmp_path / "symbols")
    problem = TINY.vary(symbols=str(few)).problem
    short = PRESETS[preset]().vary(epochs=1, averaged_epochs=0, watched_samples=20, starts=1)
    check(short.change(problem=problem))


def test_the_cover_covers():
    chosen = [*pairwise_cover(PARTS)]
    for one, two in combinations(PARTS, 2):
        wanted = {(a, b) for a, b in product(PARTS[one], PARTS[two]) if allowed({one: a, two: b})}
        assert wanted <= {(choice[one], choice[two]) for choice in chosen}
    assert len(chosen) < 90

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests_tables import table

from unseen.learning import oracle as oracle_module
from unseen.learning.baselines import BASELINES
from unseen.learning.nearest import NearestSample
from unseen.problem.randomness import Streams
from unseen.problem.samples import Samples, draw_samples, render_pictures
from unseen.problem.symbols import SymbolImages, load_symbols

STREAMS = Streams(0, 1)


def fit(name, seen, problem, shared=None, streams=STREAMS):
    """A fitted baseline, and how often it said how far it had come."""
    fitting = BASELINES[name].fit(seen, problem, streams, shared)
    said = 0
    while True:
        try:
            next(fitting)
        except StopIteration as end:
            return end.value, said
        said += 1


def drawn(problem, half, each, rows=None, seed=0):
    rows = np.arange(len(problem.digits)) if rows is None else rows
    return draw_samples(problem, rows, half, each, np.random.default_rng(seed))


def test_the_mean_is_of_the_training_answers():
    problem, bank = table(), load_symbols("mnist")
    seen = drawn(problem, bank.train, 2, rows=np.arange(30))
    answers = fit("mean", seen, problem)[0](drawn(problem, bank.test, 1))
    assert answers == pytest.approx(seen.answers.mean())
    assert len(answers) == 100


def plain_nearest(seen, new):
    """Every picture compared with every other, in whole numbers."""
    old, pictures = (
        render_pictures(some, slice(None)).reshape(len(some), -1).astype(np.int64)
        for some in (seen, new)
    )
    return ((pictures[:, None] - old[None]) ** 2).sum(axis=2).argmin(axis=1)


@pytest.mark.parametrize(("length", "each"), [(1, 20), (2, 3), (3, 1)])
def test_the_nearest_picture_is_found_pixel_by_pixel(length, each):
    problem, bank = table(length=length), load_symbols("mnist")
    seen = drawn(problem, bank.train, each)
    new = drawn(
        problem, bank.test, 1, rows=np.arange(0, 10**length, 10 ** (length - 1) // 10 or 1), seed=1
    )
    expected = plain_nearest(seen, new)
    assert np.array_equal(NearestSample(seen)(new), expected)
    assert np.array_equal(fit("nearest", seen, problem)[0](new), seen.answers[expected])


@settings(max_examples=40)
@given(
    hnp.arrays(np.uint8, st.tuples(st.integers(1, 12), st.integers(1, 4), st.integers(1, 4))),
    st.integers(1, 3),
    st.integers(0, 2**32 - 1),
)
def test_the_nearest_of_any_pictures_is_exact_and_the_first_of_ties(images, length, seed):
    rng = np.random.default_rng(seed)
    symbols = SymbolImages(images, np.zeros(len(images), np.uint8), np.arange(len(images)))
    seen, new = (
        Samples(symbols, rng.integers(0, len(images), (count, length)).astype(np.int32),
                np.zeros(count, np.int32), np.arange(count, dtype=np.int32))
        for count in (30, 10)
    )  # fmt: skip
    assert np.array_equal(NearestSample(seen)(new), plain_nearest(seen, new))


def test_a_memory_knows_what_it_has_seen():
    problem, bank = table(), load_symbols("mnist")
    seen = drawn(problem, bank.train, 2)
    assert np.array_equal(fit("nearest", seen, problem)[0](seen), seen.answers)


@pytest.mark.parametrize("operation", ["multiply", "shown:+,-,*"])
def test_the_oracle_reads_and_then_computes(monkeypatch, operation):
    from unseen.problem.symbols import with_signs

    monkeypatch.setattr(oracle_module, "EPOCHS", 1)
    monkeypatch.setattr(oracle_module, "RATE", 0.05)
    bank = load_symbols("mnist")
    bank = with_signs(bank, "+-*") if operation.startswith("shown") else bank
    few = np.random.default_rng(0).permutation(len(bank.train.labels))[:12_000]
    if operation.startswith("shown"):
        few = np.union1d(few, np.flatnonzero(bank.train.labels >= 200))
    problem = table(operation=operation)
    seen = drawn(problem, bank.train.only(few), 1)
    new = drawn(problem, bank.test, 5)
    answers = fit("oracle", seen, problem)[0](new)
    assert np.mean(answers == new.answers) > 0.8


@pytest.fixture
def few_symbols(monkeypatch):
    """Some hundreds of digits, and an oracle that learns them in three epochs."""
    monkeypatch.setattr(oracle_module, "EPOCHS", 3)
    bank = load_symbols("mnist")
    problem = table()
    return problem, drawn(problem, bank.train.only(np.arange(600)), 1), drawn(problem, bank.test, 3)


def assert_same_weights(one, other):
    weights = other.classifier.state_dict()
    assert all(
        torch.equal(each, weights[name]) for name, each in one.classifier.state_dict().items()
    )


def test_the_oracle_is_trained_once_for_all_folds_of_a_run(few_symbols, tmp_path):
    problem, seen, new = few_symbols
    shared = tmp_path / "shared/oracle"
    alone, _ = fit("oracle", seen, problem)
    first, epochs = fit("oracle", seen, problem, shared)
    second, again = fit("oracle", seen, problem, shared, streams=Streams(0, 7))
    assert (epochs, again) == (3, 0)
    assert np.array_equal(alone(new), first(new))
    assert np.array_equal(alone(new), second(new))
    for ours, theirs in zip(
        alone.classifier.parameters(), second.classifier.parameters(), strict=True
    ):
        assert torch.equal(ours, theirs)


def test_an_oracle_that_was_killed_goes_on_with_the_same_bits(few_symbols, tmp_path):
    problem, seen, _ = few_symbols
    shared = tmp_path / "shared/oracle"
    alone, _ = fit("oracle", seen, problem)
    fitting = BASELINES["oracle"].fit(seen, problem, STREAMS, shared)
    next(fitting)
    next(fitting)
    fitting.close()
    resumed, epochs = fit("oracle", seen, problem, shared)
    assert epochs == 2
    for ours, theirs in zip(
        alone.classifier.parameters(), resumed.classifier.parameters(), strict=True
    ):
        assert torch.equal(ours, theirs)
    shared.write_bytes(shared.read_bytes()[:-3])
    assert fit("oracle", seen, problem, shared)[1] == 3, "a damaged classifier was believed"

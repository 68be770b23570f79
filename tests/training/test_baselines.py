import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tables_of_combinations import table

from unseen.problem.randomness import Streams
from unseen.problem.samples import Samples, draw_samples, render_pictures
from unseen.problem.symbol_bank import SymbolImages
from unseen.problem.symbols import load_symbols, with_signs
from unseen.training import nearest as nearest_module
from unseen.training import oracle as oracle_module
from unseen.training.baselines import BASELINES
from unseen.training.nearest import NearestSample

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
        render_pictures(some, slice(None)).reshape(len(some), -1).astype(np.int32)
        for some in (seen, new)
    )
    return [((old - picture) ** 2).sum(axis=1, dtype=np.int64).argmin() for picture in pictures]


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


def any_samples(symbols, count, length, rng):
    images = rng.integers(0, len(symbols.images), (count, length)).astype(np.int32)
    return Samples(symbols, images, np.zeros(count, np.int32), np.arange(count, dtype=np.int32))


def any_symbols(images):
    return SymbolImages(images, np.arange(len(images), dtype=np.uint8) % 3, np.arange(len(images)))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(nearest_module, "QUERIES_AT_ONCE", 7)
    monkeypatch.setattr(nearest_module, "IMAGES_AT_ONCE", 5)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    images=st.tuples(st.integers(2, 24), st.integers(1, 5), st.integers(1, 5)).flatmap(
        lambda shape: hnp.arrays(np.uint8, shape, elements=st.integers(0, 255))
    ),
    darkest=st.sampled_from([0, 128, 254]),
    length=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_nearest_of_any_pictures_is_exact_and_the_first_of_ties(
    small_blocks, images, darkest, length, seed
):
    rng = np.random.default_rng(seed)
    images = np.maximum(images, darkest)
    half = len(images) // 2
    remembered, others = (any_symbols(part) for part in (images[:half], images[half:]))
    seen = any_samples(remembered, 30, length, rng)
    find = NearestSample(seen)
    for symbols in (remembered, others):
        new = any_samples(symbols, 15, length, rng)
        assert np.array_equal(find(new), plain_nearest(seen, new))


def test_large_pictures_are_measured_in_whole_numbers():
    """Squared distances here are beyond the whole numbers that float32 can tell apart."""
    rng = np.random.default_rng(0)
    far, new = np.full((40, 30, 30), 255, np.uint8), np.zeros((1, 30, 30), np.uint8)
    far[np.arange(40), rng.integers(0, 30, 40), rng.integers(0, 30, 40)] -= rng.integers(
        0, 3, 40
    ).astype(np.uint8)
    seen = any_samples(any_symbols(far), 200, 2, rng)
    asked = any_samples(any_symbols(new), 1, 2, rng)
    assert np.array_equal(NearestSample(seen)(asked), plain_nearest(seen, asked))


@pytest.mark.parametrize("operation", ["multiply", "shown:+,-,*"])
def test_the_oracle_reads_and_then_computes(monkeypatch, operation):
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


def same_weights(one, other):
    weights = other.classifier.state_dict()
    return all(
        torch.equal(each, weights[name]) for name, each in one.classifier.state_dict().items()
    )


def test_the_oracle_is_trained_once_for_all_folds_of_a_run(few_symbols, tmp_path):
    problem, seen, new = few_symbols
    shared = tmp_path / "shared/oracle"
    alone, _ = fit("oracle", seen, problem)
    first, epochs = fit("oracle", seen, problem, shared)
    second, again = fit("oracle", seen, problem, shared, streams=Streams(0, 7))
    assert (epochs, again) == (3, 0)
    assert same_weights(alone, first)
    assert same_weights(alone, second)
    assert np.array_equal(alone(new), second(new))


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
    assert same_weights(alone, resumed)
    shared.write_bytes(shared.read_bytes()[:-3])
    assert fit("oracle", seen, problem, shared)[1] == 3, "a damaged classifier was believed"

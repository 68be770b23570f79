import numpy as np
import pytest
from tests_tables import table

from unseen.learning import baselines
from unseen.learning.baselines import mean, nearest, oracle
from unseen.problem.randomness import Streams
from unseen.problem.samples import draw_samples, render_pictures
from unseen.problem.symbols import load_symbols

STREAMS = Streams(0, 1)


def drawn(problem, half, each, rows=None, seed=0):
    rows = np.arange(len(problem.digits)) if rows is None else rows
    return draw_samples(problem, rows, half, each, np.random.default_rng(seed))


def test_the_mean_is_of_the_training_answers():
    problem, bank = table(), load_symbols("mnist")
    seen = drawn(problem, bank.train, 2, rows=np.arange(30))
    answers = mean(seen, problem, STREAMS)(drawn(problem, bank.test, 1))
    assert answers == pytest.approx(seen.answers.mean())
    assert len(answers) == 100


def test_the_nearest_picture_is_found_pixel_by_pixel(monkeypatch):
    monkeypatch.setattr(baselines, "REMEMBERED_AT_ONCE", 70)
    monkeypatch.setattr(baselines, "COMPARED_AT_ONCE", 9)
    problem, bank = table(), load_symbols("mnist")
    seen, new = drawn(problem, bank.train, 3), drawn(problem, bank.test, 1, seed=1)
    old, pictures = (
        render_pictures(some, slice(None)).reshape(len(some), -1).astype(np.float64)
        for some in (seen, new)
    )
    distances = ((pictures[:, None] - old[None]) ** 2).sum(axis=2)
    expected = seen.answers[distances.argmin(axis=1)]
    assert np.array_equal(nearest(seen, problem, STREAMS)(new), expected)


def test_a_memory_knows_what_it_has_seen():
    problem, bank = table(), load_symbols("mnist")
    seen = drawn(problem, bank.train, 2)
    assert np.array_equal(nearest(seen, problem, STREAMS)(seen), seen.answers)


@pytest.mark.parametrize("operation", ["multiply", "shown:+,-,*"])
def test_the_oracle_reads_and_then_computes(monkeypatch, operation):
    from unseen.problem.symbols import with_signs

    monkeypatch.setattr(baselines, "ORACLE_EPOCHS", 1)
    bank = load_symbols("mnist")
    bank = with_signs(bank, "+-*") if operation.startswith("shown") else bank
    few = np.random.default_rng(0).permutation(len(bank.train.labels))[:12_000]
    if operation.startswith("shown"):
        few = np.union1d(few, np.flatnonzero(bank.train.labels >= 200))
    problem = table(operation=operation)
    seen = drawn(problem, bank.train.only(few), 1)
    new = drawn(problem, bank.test, 5)
    answers = oracle(seen, problem, STREAMS)(new)
    assert np.mean(answers == new.answers) > 0.8

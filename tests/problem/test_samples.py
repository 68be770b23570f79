import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tables_of_combinations import table, used_combinations

from unseen.problem.randomness import Streams
from unseen.problem.samples import draw_samples, render_pictures, side_by_side
from unseen.problem.symbol_bank import SymbolImages
from unseen.problem.symbols import load_symbols


@st.composite
def handwritings(draw):
    labels = draw(st.lists(st.integers(0, 255), min_size=1, max_size=30))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    images = rng.integers(0, 256, (len(labels), 3, 4), np.uint8)
    return SymbolImages(images, np.asarray(labels, np.uint8), np.arange(len(labels)))


@given(handwritings(), st.integers(1, 3), st.integers(1, 9), st.integers(0, 2**31))
def test_every_sample_shows_the_digits_of_its_combination(handwriting, length, count, seed):
    combinations = table(handwriting.values[:4], length)
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(rng.random(len(combinations.digits)) < 0.7)
    samples = draw_samples(combinations, rows, handwriting, count, rng)
    assert len(samples) == len(rows) * count
    assert used_combinations(samples) == {*rows.tolist()}
    shown = handwriting.labels[samples.images].astype(np.int64)
    assert np.array_equal(shown, combinations.digits[samples.combinations])
    assert np.array_equal(samples.answers, shown.sum(axis=1))
    assert np.array_equal(np.bincount(samples.combinations, minlength=1)[rows], [count] * len(rows))


def test_images_are_drawn_evenly_and_with_replacement():
    labels = np.repeat(np.arange(2, dtype=np.uint8), 5)
    handwriting = SymbolImages(np.zeros((10, 2, 2), np.uint8), labels, np.arange(10))
    rows = np.arange(4)
    samples = draw_samples(table((0, 1), 2), rows, handwriting, 10_000, np.random.default_rng(0))
    counts = np.bincount(samples.images.ravel(), minlength=10)
    # 8,000 expected of each; five standard deviations
    assert np.all(np.abs(counts - 8_000) < 5 * np.sqrt(8_000))
    first, second = samples.images[samples.combinations == 0].T
    assert np.mean(first == second) == pytest.approx(0.2, abs=0.02)


def test_pictures_are_the_images_side_by_side():
    bank = load_symbols("mnist")
    rows = np.asarray([38, 83])
    samples = draw_samples(table(bank.values, 2), rows, bank.train, 2, np.random.default_rng(1))
    pictures = render_pictures(samples, np.asarray([0, 3]))
    assert pictures.shape == (2, 28, 56)
    assert pictures.dtype == np.uint8
    for picture, (left, right) in zip(pictures, samples.images[[0, 3]], strict=True):
        assert np.array_equal(picture[:, :28], bank.train.images[left])
        assert np.array_equal(picture[:, 28:], bank.train.images[right])


def test_streams_depend_on_seed_fold_and_purpose_alone():
    def numbers(*stream):
        seed, fold, purpose, *rest = stream
        return Streams(seed, fold).numpy(purpose, *rest).integers(2**62, size=4).tolist()

    streams = [(0, 1, "a"), (1, 1, "a"), (0, 2, "a"), (0, 1, "b"), (0, 1, "a", 1), (0, 1, "a", 2)]
    drawn = [numbers(*stream) for stream in streams]
    assert len({*map(tuple, drawn)}) == len(streams)
    assert [numbers(*stream) for stream in reversed(streams)] == drawn[::-1]
    assert 0 <= Streams(3, 4).integer("weights") < 2**63


def test_tensors_are_put_side_by_side_as_arrays_are():
    symbols = np.random.default_rng(0).random((4, 3, 5, 6))
    pictures = side_by_side(symbols)
    assert np.array_equal(pictures, np.concatenate([*symbols.swapaxes(0, 1)], axis=2))
    assert np.array_equal(side_by_side(torch.from_numpy(symbols)).numpy(), pictures)

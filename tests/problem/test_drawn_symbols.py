"""Dominoes, printed digits and signs: drawn once by a script, and carried by the package."""

import gzip
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from unseen.problem.operations import SIGN_LABELS
from unseen.problem.symbol_bank import SymbolBank
from unseen.problem.symbols import BANK_SHA256, load_symbols, with_signs

ROOT = Path(__file__).parents[2]
DRAWING = runpy.run_path(str(ROOT / "scripts/draw_symbols.py"), run_name="draw_symbols")
DRAWN = ("dominoes", "printed")
PER_VALUE = {"dominoes": (1_000, 200), "printed": (500, 100)}
FRAME_AT_MOST = 82  # how bright a domino's frame can be: 0.32 of 255


def count_blobs(bright: np.ndarray) -> int:
    """How many groups of touching pixels are true, corners included."""
    return ndimage.label(bright, np.ones((3, 3)))[1]


def signs(*shown: str) -> SymbolBank:
    """The images of some signs alone."""
    bank = load_symbols("dominoes")
    joined = with_signs(bank, shown)
    train, test = (half.only(half.labels > 255) for half in (joined.train, joined.test))
    return SymbolBank(train, test, joined.sha256)


def test_the_script_draws_what_the_package_carries():
    for name, files in DRAWING["drawn_files"]().items():
        folder = ROOT / "src/unseen/problem" / name
        carried = {path.stem: gzip.decompress(path.read_bytes()) for path in folder.iterdir()}
        assert carried == files, name


@pytest.mark.parametrize("name", DRAWN)
def test_banks_have_as_many_images_of_each_value_and_none_twice(name: str):
    bank = load_symbols(name)
    assert bank.sha256 == BANK_SHA256[name]
    for half, count in zip((bank.train, bank.test), PER_VALUE[name], strict=True):
        assert half.images.shape == (10 * count, 28, 28)
        assert np.bincount(half.labels).tolist() == [count] * 10
        assert (half.images.dtype, half.labels.dtype) == (np.uint8, np.uint8)
    images = np.concatenate([bank.train.images, bank.test.images])
    assert len({image.tobytes() for image in images}) == len(images)
    numbers = np.concatenate([bank.train.numbers, bank.test.numbers])
    assert np.array_equal(numbers, np.arange(len(images)))


@pytest.mark.parametrize("half", ["train", "test"])
def test_pips_can_be_counted_and_keep_off_the_border(half: str):
    handwriting = getattr(load_symbols("dominoes"), half)
    bright = handwriting.images > FRAME_AT_MOST
    assert [*map(count_blobs, bright)] == handwriting.labels.tolist()
    assert not bright[:, [0, 1, -2, -1], :].any()
    assert not bright[:, :, [0, 1, -2, -1]].any()


@pytest.mark.parametrize("half", ["train", "test"])
def test_printed_digits_keep_off_the_border_and_are_fully_inked(half: str):
    images = getattr(load_symbols("printed"), half).images
    assert not images[:, [0, -1], :].any()
    assert not images[:, :, [0, -1]].any()
    assert (images.max(axis=(1, 2)) == 255).all()


def test_test_digits_are_printed_in_font_families_of_their_own():
    train, test = (
        {re.match(r"DejaVu|STIX|cm[a-z]+", font)[0] for font in fonts}
        for fonts in DRAWING["FONTS"].values()
    )
    assert not train & test


def test_printed_digits_have_their_holes():
    """In a bitmap, where thin lines do not tear."""
    for font in ("DejaVuSans", "STIXGeneral", "cmr10", "cmss10"):
        inked, _ = DRAWING["_bitmaps"](DRAWING["_digit_outlines"](font))
        holes = [count_blobs(np.pad(np.diff(digit), 1) == 0) - 1 for digit in inked]
        assert [holes[digit] for digit in (0, 1, 2, 7, 8, 9)] == [1, 0, 0, 0, 2, 1]


def test_signs_are_added_under_their_labels_in_one_order():
    everything, some = signs("+", "-", "*"), signs("*", "+")
    for half, count in (("train", 300), ("test", 100)):
        whole, part = getattr(everything, half), getattr(some, half)
        assert whole.labels.tolist() == np.repeat([*SIGN_LABELS.values()], count).tolist()
        assert part.labels.tolist() == np.repeat([256, 258], count).tolist()
        assert np.array_equal(part.images, whole.images[whole.labels != SIGN_LABELS["-"]])
        assert not whole.images[:, [0, -1], :].any()
        assert not whole.images[:, :, [0, -1]].any()
    numbers = np.concatenate([some.train.numbers, some.test.numbers])
    assert np.array_equal(numbers, np.arange(12_000, 12_800))
    images = np.concatenate([everything.train.images, everything.test.images])
    assert len({image.tobytes() for image in images}) == 1_200

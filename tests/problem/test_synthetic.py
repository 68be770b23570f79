import hashlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import write_idx

from unseen.errors import UnseenError
from unseen.problem import glyphs
from unseen.problem.operations import SIGN_LABELS
from unseen.problem.symbol_bank import (
    DRAWN_SHA256,
    MNIST_SHA256,
    SymbolBank,
    SymbolImages,
    from_folder,
)
from unseen.problem.synthetic import (
    PIPS,
    PRINTED_FONTS,
    dominoes,
    printed,
    signs,
)

FRAME_AT_MOST = 82  # how bright a domino's frame can be: 0.32 of 255

PIXELS_SHA256 = {
    ("dominoes", "train"): "d642ba32265d8e8e1a520cdead6745a444633452097f26bb738274a7dd074f93",
    ("dominoes", "test"): "6a7979eb001e0aba2c5d5f2eaa5112005a0a4fb52e014a2ba9a947ae1b06a00f",
    ("printed", "train"): "ca59b86787bb2b12e91f69163a376c94661478bf29fb79674b865f1075805894",
    ("printed", "test"): "1a0c1a3270815ce1b2faabbe51fc08290e7da51101787dba44f0c70038dc9195",
    ("+", "train"): "37ea4e3c4554fa78b0d5498c6c388057cf739d26365352b8289365934e270b9e",
    ("+", "test"): "7c10e5eb8590beddf2e5af98bb5e65162ebc778570210bd63ebab20b531d689d",
    ("-", "train"): "f2d586476dbf2092726fe074150de3771ce67f9817a7e49316328a5c044a70b0",
    ("-", "test"): "9511e50dcd19f96ebad92f2f4f38988113705239beb7ae34cb6317d4fda2a74e",
    ("*", "train"): "df6d13142db0535870da0a791cd818dec9dc01a09f55f2f8f36bfe2e785ee5b4",
    ("*", "test"): "c8d7456c98e65f571301e7c139bf2e4d371bb786bed86724337053042bb38354",
}


@pytest.fixture(scope="module")
def banks() -> dict[str, SymbolBank]:
    return {"dominoes": dominoes(), "printed": printed()}


def shared_images(one: SymbolImages, other: SymbolImages) -> set[bytes]:
    return {image.tobytes() for image in one.images} & {image.tobytes() for image in other.images}


def count_blobs(bright: np.ndarray) -> int:
    """How many groups of touching pixels are true, corners included."""
    wide = bright.shape[1] + 2
    left = set(np.flatnonzero(np.pad(bright, 1)).tolist())
    around = (-wide - 1, -wide, -wide + 1, -1, 1, wide - 1, wide, wide + 1)
    blobs = 0
    while left:
        blobs += 1
        reached = [left.pop()]
        while reached:
            here = reached.pop()
            near = left.intersection([here + step for step in around])
            reached += near
            left -= near
    return blobs


def test_blobs_are_counted():
    ring = np.pad(np.zeros((3, 3), bool), 1, constant_values=True)
    corners = np.eye(5, dtype=bool)
    apart = np.zeros((5, 5), bool)
    apart[::2, ::2] = True
    assert [count_blobs(each) for each in (ring, ~ring, corners, apart)] == [1, 1, 1, 9]


@pytest.mark.parametrize(("name", "half"), PIXELS_SHA256)
def test_every_machine_draws_the_same_pixels(banks: dict[str, SymbolBank], name: str, half: str):
    halves = (banks[name].train, banks[name].test) if name in banks else signs([name])
    pixels = halves[half == "test"].images.tobytes()
    assert hashlib.sha256(pixels).hexdigest() == PIXELS_SHA256[name, half]


@pytest.mark.parametrize("name", DRAWN_SHA256)
def test_a_bank_has_the_sum_that_is_promised(banks: dict[str, SymbolBank], name: str):
    assert banks[name].sha256 == DRAWN_SHA256[name]


@pytest.mark.parametrize(
    ("name", "per_value"), [("dominoes", (1000, 200)), ("printed", (500, 100))]
)
def test_banks_have_as_many_images_of_each_value(
    banks: dict[str, SymbolBank], name: str, per_value: tuple[int, int]
):
    bank = banks[name]
    for half, count in zip((bank.train, bank.test), per_value, strict=True):
        assert half.images.shape == (10 * count, 28, 28)
        assert {value: len(pool) for value, pool in half.pools.items()} == dict.fromkeys(
            range(10), count
        )
        assert (half.images.dtype, half.labels.dtype) == (np.uint8, np.uint8)
        assert half.numbers.dtype == np.int64
    numbers = np.concatenate([bank.train.numbers, bank.test.numbers])
    assert np.array_equal(numbers, np.arange(10 * sum(per_value)))


@pytest.mark.parametrize("name", DRAWN_SHA256)
def test_no_image_is_in_both_halves_nor_twice_in_one(banks: dict[str, SymbolBank], name: str):
    train, test = banks[name].train, banks[name].test
    assert not shared_images(train, test)
    for half in (train, test):
        assert len({image.tobytes() for image in half.images}) == len(half.images)


@pytest.mark.parametrize("name", DRAWN_SHA256)
def test_a_bank_written_as_a_folder_keeps_its_sum(
    banks: dict[str, SymbolBank], name: str, tmp_path: Path
):
    train, test = banks[name].train, banks[name].test
    arrays = (train.images, train.labels, test.images, test.labels)
    for file, array in zip(MNIST_SHA256, arrays, strict=True):
        write_idx(tmp_path / file, array)
    assert from_folder(tmp_path).sha256 == banks[name].sha256


@pytest.mark.parametrize("half", ["train", "test"])
def test_pips_can_be_counted(banks: dict[str, SymbolBank], half: str):
    handwriting = getattr(banks["dominoes"], half)
    counted = [count_blobs(image) for image in handwriting.images > FRAME_AT_MOST]
    assert counted == handwriting.labels.tolist()


def test_pips_keep_off_the_border(banks: dict[str, SymbolBank]):
    for half in (banks["dominoes"].train, banks["dominoes"].test):
        bright = half.images > FRAME_AT_MOST
        assert not bright[:, [0, 1, -2, -1], :].any()
        assert not bright[:, :, [0, 1, -2, -1]].any()


def test_a_pattern_has_as_many_pips_as_it_is_worth():
    assert {value: len({*places}) for value, places in PIPS.items()} == {n: n for n in range(10)}


def test_test_digits_are_printed_in_fonts_of_their_own():
    assert not {*PRINTED_FONTS["train"]} & {*PRINTED_FONTS["test"]}
    train, test = (
        {re.match(r"DejaVu|STIX|cm[a-z]+", font)[0] for font in fonts}
        for fonts in PRINTED_FONTS.values()
    )
    assert not train & test


def test_printed_digits_keep_off_the_border_and_are_fully_inked(banks: dict[str, SymbolBank]):
    for half in (banks["printed"].train, banks["printed"].test):
        assert not half.images[:, [0, -1], :].any()
        assert not half.images[:, :, [0, -1]].any()
        assert (half.images.max(axis=(1, 2)) == 255).all()


@pytest.mark.parametrize(("digit", "holes"), [(0, 1), (1, 0), (2, 0), (7, 0), (8, 2), (9, 1)])
def test_a_printed_digit_has_its_holes(digit: int, holes: int):
    """In a bitmap, where thin lines do not tear; DejaVu Sans Mono's 0 has a dot, so another."""
    for font in ("DejaVuSans", "STIXGeneral", "cmr10", "cmss10"):
        inked, _ = glyphs.bitmaps([glyphs.digit_curves(font)[digit]])
        paper = np.pad(np.diff(inked[0]), 1) == 0
        assert count_blobs(paper) == 1 + holes


def test_a_bitmap_is_what_the_curves_surround():
    square = np.array([[0.0, 0.0], [0.0, 8.0], [8.0, 8.0], [8.0, 0.0]])
    hole = np.array([[2.0, 2.0], [6.0, 2.0], [6.0, 6.0], [2.0, 6.0]])  # the other way round
    corners = np.ones(4, bool)
    outline = np.concatenate([glyphs._curves(square, corners), glyphs._curves(hole, corners)])
    inked, aspects = glyphs.bitmaps([outline])
    bitmap = np.diff(inked[0, 1:-1].astype(int))
    expected = np.ones((128, 128), int)
    expected[32:96, 32:96] = 0
    assert np.array_equal(bitmap, expected)
    assert aspects == [1.0]


def test_control_points_round_a_contour():
    """Four control points alone make nearly a disc, as TrueType has it."""
    square = np.array([[0.0, 0.0], [0.0, 8.0], [8.0, 8.0], [8.0, 0.0]])
    curves = glyphs._curves(square, np.zeros(4, bool))
    assert curves.shape == (4, 3, 2)
    assert curves[0].tolist() == [[4.0, 0.0], [0.0, 0.0], [0.0, 4.0]]
    inked, _ = glyphs.bitmaps([curves])
    assert inked[0, :, -1].sum() / 128**2 == pytest.approx(5 / 6, abs=0.03)


def test_other_fonts_are_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(PRINTED_FONTS, "test", ("cmss10", "cmtt10"))
    with pytest.raises(UnseenError, match="printed symbols come out otherwise here"):
        printed()


def test_missing_fonts_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(glyphs, "_font_folder", lambda: tmp_path)
    with pytest.raises(UnseenError, match=r"cannot read the font .*DejaVuSans\.ttf"):
        printed()


def test_a_missing_matplotlib_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(glyphs, "find_spec", lambda name: None)
    with pytest.raises(UnseenError, match="pip install matplotlib"):
        printed()


def test_printed_digits_are_drawn_silently_and_without_importing_matplotlib():
    code = (
        "import sys; from unseen.problem.synthetic import printed; printed(); "
        "assert 'matplotlib' not in sys.modules"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == ended.stderr == ""


def test_signs_have_as_many_images_of_each():
    for half, count in zip(signs(["+", "-", "*"]), (300, 100), strict=True):
        assert half.images.shape == (3 * count, 28, 28)
        assert {label: len(pool) for label, pool in half.pools.items()} == dict.fromkeys(
            SIGN_LABELS.values(), count
        )
        assert half.images.dtype == np.uint8
        assert not half.images[:, [0, -1], :].any()
        assert not half.images[:, :, [0, -1]].any()


def test_sign_numbers_go_on_from_train_to_test():
    train, test = signs(["+", "*"])
    numbers = np.concatenate([train.numbers, test.numbers])
    assert np.array_equal(numbers, np.arange(800))


def test_no_sign_is_in_both_halves():
    train, test = signs([*SIGN_LABELS])
    assert not shared_images(train, test)


def test_a_sign_does_not_depend_on_the_others_that_are_asked_for():
    everything = signs([*SIGN_LABELS])
    for sign, label in SIGN_LABELS.items():
        for alone, half in zip(signs([sign]), everything, strict=True):
            assert np.array_equal(alone.images, half.images[half.pools[label]])


def test_signs_come_in_one_order_and_once():
    for one, other in zip(signs(["*", "+", "*"]), signs(["+", "*"]), strict=True):
        assert np.array_equal(one.images, other.images)
        assert np.array_equal(one.labels, other.labels)


def test_no_signs_are_no_images():
    assert [half.images.shape for half in signs([])] == [(0, 28, 28), (0, 28, 28)]


def test_an_unknown_sign_is_answered_with_the_known_ones():
    with pytest.raises(UnseenError, match=r"unknown sign '/'; known: \*, \+, -"):
        signs(["+", "/"])

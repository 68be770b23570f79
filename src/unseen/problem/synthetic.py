"""Symbols that the program draws: dominoes, printed digits and the signs of operations.

They are the same on every machine, byte for byte: all randomness is PCG64's, and all arithmetic
is what IEEE 754 rounds in one way only (+ - * / and square roots, one at a time) or in integers.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.random import PCG64, Generator
from numpy.typing import NDArray

from unseen.errors import UnseenError, unknown
from unseen.problem.glyphs import CELLS, Reals, bitmaps, digit_curves
from unseen.problem.idx import idx_sha256
from unseen.problem.operations import SIGN_LABELS
from unseen.problem.symbol_bank import (
    DRAWN_SHA256,
    MNIST_SHA256,
    SymbolBank,
    SymbolImages,
    combined_sha256,
)

Pictures = NDArray[np.uint8]  # (n, 28, 28)

SIDE = 28
CENTRE = SIDE / 2
PIXELS = np.arange(SIDE) + 0.5  # their centres; a picture reaches from 0 to 28
DRAWN_AT_ONCE = 200  # pictures, so that what is being worked on stays in the processor's cache

DOMINOES_PER_VALUE = {"train": 1_000, "test": 200}
# for 0 to 9 as on double-nine dominoes, in a grid of nine places: 012 above 345 above 678
PIP_PLACES = "", "4", "26", "246", "0268", "02468", "023568", "0234568", "01235678", "012345678"
PIPS = {  # (row, column) from the middle
    value: tuple((int(place) // 3 - 1, int(place) % 3 - 1) for place in places)
    for value, places in enumerate(PIP_PLACES)
}

PRINTED_PER_DIGIT = {"train": 500, "test": 100}
# Families stay together. Only fonts whose digits are all of one height (cmmi10's are not), and
# that matplotlib has long carried (cmti10 came with 3.11): each release gives the same pictures.
PRINTED_FONTS = {
    "train": (
        *("DejaVuSans", "DejaVuSans-Bold", "DejaVuSans-Oblique", "DejaVuSans-BoldOblique"),
        *("DejaVuSansMono", "DejaVuSansMono-Bold"),
        *("DejaVuSansMono-Oblique", "DejaVuSansMono-BoldOblique"),
        *("DejaVuSerif", "DejaVuSerif-Bold", "DejaVuSerif-Italic", "DejaVuSerif-BoldItalic"),
        *("cmr10", "cmb10"),
    ),
    "test": (
        *("STIXGeneral", "STIXGeneralBol", "STIXGeneralItalic", "STIXGeneralBolIta"),
        *("cmss10", "cmtt10"),
    ),
}
ROWS_PER_PIXEL = 4

SIGNS_PER_LABEL = {"train": 300, "test": 100}
SIGN_STREAMS = {"+": 200, "-": 201, "*": 202}  # of the random numbers that each is drawn with
STROKES = {  # (x, y) of both ends, in half sizes from the middle; y grows downwards
    "+": (((-1.0, 0.0), (1.0, 0.0)), ((0.0, -1.0), (0.0, 1.0))),
    "-": (((-1.0, 0.0), (1.0, 0.0)),),
    "*": (((-0.8, -0.8), (0.8, 0.8)), ((0.8, -0.8), (-0.8, 0.8))),
}


def dominoes() -> SymbolBank:
    """Halves of dominoes with 0 to 9 pips; a faint frame makes even the blanks differ."""
    return _bank("dominoes", *_halves(PIPS, DOMINOES_PER_VALUE, _draw_values))


def printed() -> SymbolBank:
    """Digits as printed, in other fonts in the test half than in the training half."""
    return _bank("printed", *_halves(range(10), PRINTED_PER_DIGIT, _draw_printed))


def signs(shown: Sequence[str]) -> tuple[SymbolImages, SymbolImages]:
    """The signs of operations as if by hand, for training and for test; × stands for "*"."""
    for sign in shown:
        if sign not in SIGN_LABELS:
            raise unknown("sign", sign, SIGN_LABELS)
    wanted = [sign for sign in SIGN_LABELS if sign in shown]

    def draw(half: str, count: int) -> list[Pictures]:
        return [_draw_sign(sign, count, _generator(3, half, SIGN_STREAMS[sign])) for sign in wanted]

    return _halves([SIGN_LABELS[sign] for sign in wanted], SIGNS_PER_LABEL, draw)


def _generator(kind: int, half: str, stream: int = 0) -> Generator:
    return Generator(PCG64([kind, ("train", "test").index(half), stream]))


def _between(rng: Generator, low: float | Reals, high: float | Reals, *shape: int) -> Reals:
    return low + (high - low) * rng.random(shape)


def _parts(count: int) -> list[NDArray[np.intp]]:
    """The numbers below a count, as many in each part as are drawn at once."""
    return np.split(np.arange(count), range(DRAWN_AT_ONCE, count, DRAWN_AT_ONCE))


def _halves(
    labels: Collection[int], counts: dict[str, int], draw: Callable[[str, int], list[Pictures]]
) -> tuple[SymbolImages, SymbolImages]:
    """Training and test pictures, drawn label by label, so many of each in each half."""
    known = np.array([*labels], np.min_scalar_type(max(labels, default=0)))
    train, test = (
        SymbolImages(
            np.concatenate([np.empty((0, SIDE, SIDE), np.uint8), *draw(half, count)]),
            np.repeat(known, count),
            np.arange(len(known) * count),
        )
        for half, count in counts.items()
    )
    return train, test.numbered_after(len(train.numbers))


def _bank(name: str, train: SymbolImages, test: SymbolImages) -> SymbolBank:
    """A bank with the sum that it would have as a folder of IDX files, if that is the right one."""
    arrays = (train.images, train.labels, test.images, test.labels)
    sums = dict(zip(MNIST_SHA256, map(idx_sha256, arrays), strict=True))
    bank = SymbolBank(train, test, combined_sha256(sums))
    if bank.sha256 != DRAWN_SHA256[name]:
        raise UnseenError(
            f"the {name} symbols come out otherwise here than elsewhere: numpy, or matplotlib's "
            "fonts, are not as released; install both again with pip"
        )
    return bank


def _ink(beyond: Reals) -> Reals:
    """How much of a pixel is inked whose middle lies so far beyond the ink's edge."""
    return np.asarray(np.clip(0.5 - beyond, 0.0, 1.0))


def _as_bytes(light: Reals) -> Pictures:
    return np.floor(light * 255 + 0.5).astype(np.uint8)


def _draw_values(half: str, count: int) -> list[Pictures]:
    """For each value its dominoes."""
    sizes = [len(part) for part in _parts(count)]
    streams = {value: _generator(1, half, value) for value in PIPS}
    return [
        np.concatenate([_draw_dominoes(PIPS[value], size, rng) for size in sizes])
        for value, rng in streams.items()
    ]


def _draw_dominoes(pips: tuple[tuple[int, int], ...], count: int, rng: Generator) -> Pictures:
    """Bright pips within a faint frame; the ranges keep them all apart."""
    each = (count, 1, 1)  # one number for all pixels of a picture
    spacing = _between(rng, 6.4, 7.4, *each)
    frame = 1.65 * spacing  # from the middle to each side
    room = np.minimum(12.9 - frame, 2.0)[:, 0]
    middle = CENTRE + _between(rng, -room, room, count, 2)  # (n, 2) as (row, column)
    radius = spacing * _between(rng, 0.23, 0.3, *each)
    brightness = _between(rng, 0.7, 1.0, *each)
    faint = _between(rng, 0.2, 0.32, *each)
    beyond = np.full((count, SIDE, SIDE), float(SIDE))
    for place in pips:
        jitter = _between(rng, -0.4, 0.4, count, 2)
        down, across = _offsets(middle + spacing[:, 0] * np.array(place, np.float64) + jitter)
        size = radius * _between(rng, 0.92, 1.0, *each)
        beyond = np.minimum(beyond, np.sqrt(down * down + across * across) - size)
    outwards = np.maximum(*map(np.abs, _offsets(middle)))
    frames = faint * _ink(np.abs(outwards - frame) - 0.5)  # a line, one pixel thick
    return _as_bytes(np.maximum(frames, brightness * _ink(beyond)))


def _offsets(points: Reals) -> tuple[Reals, Reals]:
    """How far below, (n, 28, 1), and right, (n, 1, 28), of a (row, column) each pixel lies."""
    return (PIXELS - points[:, :1])[:, :, None], (PIXELS - points[:, 1:])[:, None, :]


def _draw_sign(sign: str, count: int, rng: Generator) -> Pictures:
    """Pictures of one sign, each stroke slightly bent."""
    size = _between(rng, 5.5, 8.5, count, 1)
    middle = CENTRE + _between(rng, -1.5, 1.5, count, 2)
    thickness = _between(rng, 1.1, 1.9, count, 1, 1)  # from the middle of a stroke to its edge
    distance = np.full((count, SIDE, SIDE), float(SIDE))
    for ends in STROKES[sign]:
        start, end = (
            middle + size * (np.array(end) + _between(rng, -0.16, 0.16, count, 2)) for end in ends
        )
        bend = (start + end) / 2 + size * _between(rng, -0.08, 0.08, count, 2)
        for piece in ((start, bend), (bend, end)):
            distance = np.minimum(distance, _distance_to(*piece))
    return _as_bytes(_ink(distance - thickness))


def _distance_to(start: Reals, end: Reals) -> Reals:
    """How far each pixel is from a straight line between two points (x, y), one for a picture."""
    along = (end - start)[:, :, None, None]  # (n, 2, 1, 1)
    down, across = _offsets(start[:, ::-1])
    length = along[:, 0] * along[:, 0] + along[:, 1] * along[:, 1]
    share = np.clip((across * along[:, 0] + down * along[:, 1]) / length, 0.0, 1.0)
    right, below = across - share * along[:, 0], down - share * along[:, 1]
    return np.asarray(np.sqrt(right * right + below * below))


def _draw_printed(half: str, count: int) -> list[Pictures]:
    """For each digit its pictures, font after font.

    So the last sixth, which development folds hold out, is mostly in fonts of its own.
    """
    fonts, rng = PRINTED_FONTS[half], _generator(2, half)
    inked, aspects = bitmaps([curves for font in fonts for curves in digit_curves(font)])
    rows = [part * len(fonts) // count * 10 for part in _parts(count)]
    return [
        np.concatenate([_sample_bitmaps(inked, aspects, part + digit, rng) for part in rows])
        for digit in range(10)
    ]


def _sample_bitmaps(
    inked: NDArray[np.int16], aspects: Reals, rows: NDArray[np.intp], rng: Generator
) -> Pictures:
    """Pictures of the bitmaps of these rows, each of another size, slant and place."""
    count = len(rows)
    height = _between(rng, 15.0, 21.0, count)
    slant = _between(rng, -0.2, 0.2, count)
    width = height * aspects[rows] + np.abs(slant) * height
    room = np.clip(np.stack([SIDE - 2 - width, SIDE - 2 - height], axis=1) / 2, 0.0, 3.0)
    middle = CENTRE + _between(rng, -room, room, count, 2)  # (n, 2) as (x, y)
    scale = CELLS / height  # cells a pixel
    # pixels are cut into rows, and each row's ink is counted from one edge of a pixel to the next
    below = (np.arange(SIDE * ROWS_PER_PIXEL) + 0.5) / ROWS_PER_PIXEL - middle[:, 1:]
    lines = np.clip(np.floor(below * scale[:, None] + CELLS / 2), -1, CELLS).astype(np.intp) + 1
    right = np.arange(SIDE + 1) - middle[:, :1]
    across = right[:, None, :] + (slant[:, None] * below)[:, :, None]  # (n, 28 · rows, 29)
    half_width = aspects[rows] * height / 2
    edges = np.floor((across + half_width[:, None, None]) * scale[:, None, None])
    ink = inked[rows[:, None, None], lines[:, :, None], np.clip(edges, 0, CELLS).astype(np.intp)]
    return _as_bytes(_pixel_sums(np.diff(ink)) / _pixel_sums(np.diff(edges)))


def _pixel_sums(counts: NDArray[Any]) -> NDArray[np.int64]:
    """Whole numbers for each row of a pixel, added up for the pixel."""
    parts = counts.reshape(len(counts), SIDE, ROWS_PER_PIXEL, SIDE)
    return np.asarray(parts.astype(np.int64).sum(axis=2))

"""Draw the symbols that the package carries: dominoes, printed digits and the signs of operations.

Run once, from the project's root:

    python scripts/draw_symbols.py

They come out the same on every machine, byte for byte: all randomness is PCG64's, and all
arithmetic is what IEEE 754 rounds in one way only (+ - * / and square roots, one at a time) or in
integers. Printed digits come from the outlines of matplotlib's fonts, read by fonttools, which
matplotlib brings.
"""

import gzip
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from fontTools.ttLib import TTFont  # type: ignore[import-untyped]
from numpy.random import PCG64, Generator
from numpy.typing import NDArray

from unseen.problem.idx import idx_bytes
from unseen.problem.symbol_bank import IDX_FILES

Reals = NDArray[np.float64]
Pictures = NDArray[np.uint8]  # (n, 28, 28)
Half = str  # train or test

TARGET = Path(__file__).parents[1] / "src/unseen/problem"
SIDE = 28
CENTRE = SIDE / 2
PIXELS = np.arange(SIDE) + 0.5  # their centres; a picture reaches from 0 to 28
DRAWN_AT_ONCE = 200  # pictures

# for 0 to 9 as on double-nine dominoes, in a grid of nine: 012 above 345 above 678
PIP_POSITIONS = "", "4", "26", "246", "0268", "02468", "023568", "0234568", "01235678", "012345678"
PIPS = [  # (row, column) from the middle
    [(int(at) // 3 - 1, int(at) % 3 - 1) for at in positions] for positions in PIP_POSITIONS
]
STROKES = {  # (x, y) of both ends, in half sizes from the middle; y grows downwards
    "+": (((-1.0, 0.0), (1.0, 0.0)), ((0.0, -1.0), (0.0, 1.0))),
    "-": (((-1.0, 0.0), (1.0, 0.0)),),
    "*": (((-0.8, -0.8), (0.8, 0.8)), ((0.8, -0.8), (-0.8, 0.8))),
}
# Families stay together. Only fonts whose digits are all of one height (cmmi10's are not), and
# that matplotlib has long carried (cmti10 came with 3.11): each release gives the same pictures.
FONTS = {
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
CELLS = 128  # rows of a digit's bitmap, and columns: none is wider than high
CURVE_STEPS = 4  # straight pieces that a curve is drawn with; a power of two divides exactly
ROWS_PER_PIXEL = 4


def main() -> None:
    for name, files in drawn_files().items():
        (TARGET / name).mkdir(exist_ok=True)
        for file, content in files.items():
            # no file name and no time in the header, so that the same bytes come out each time
            packed = gzip.compress(content, compresslevel=9, mtime=0)
            (TARGET / name / f"{file}.gz").write_bytes(packed)


def drawn_files() -> dict[str, dict[str, bytes]]:
    """The IDX files of each symbol set, raw."""
    sets: dict[str, tuple[dict[Half, int], Callable[[Half, int], list[Pictures]]]] = {
        "dominoes": ({"train": 1_000, "test": 200}, draw_dominoes),
        "printed": ({"train": 500, "test": 100}, draw_printed),
        "signs": ({"train": 300, "test": 100}, draw_signs),
    }
    drawn = {}
    for name, (counts, draw) in sets.items():
        arrays: list[NDArray[np.uint8]] = []
        for half, count in counts.items():
            pictures = draw(half, count)
            arrays.append(np.concatenate(pictures))
            arrays.append(np.repeat(np.arange(len(pictures), dtype=np.uint8), count))
        drawn[name] = dict(zip(IDX_FILES, map(idx_bytes, arrays), strict=True))
    return drawn


def _generator(kind: int, half: Half, stream: int = 0) -> Generator:
    return Generator(PCG64([kind, ("train", "test").index(half), stream]))


def _between(rng: Generator, low: float | Reals, high: float | Reals, *shape: int) -> Reals:
    return low + (high - low) * rng.random(shape)


def _parts(count: int) -> list[NDArray[np.intp]]:
    """The numbers below a count, as many in each part as are drawn at once."""
    return np.split(np.arange(count), range(DRAWN_AT_ONCE, count, DRAWN_AT_ONCE))


def _ink(beyond: Reals) -> Reals:
    """How much of a pixel is inked whose middle lies so far beyond the ink's edge."""
    return np.asarray(np.clip(0.5 - beyond, 0.0, 1.0))


def _as_bytes(light: Reals) -> Pictures:
    return np.floor(light * 255 + 0.5).astype(np.uint8)


def _offsets(points: Reals) -> tuple[Reals, Reals]:
    """How far below, (n, 28, 1), and right, (n, 1, 28), of a (row, column) each pixel lies."""
    return (PIXELS - points[:, :1])[:, :, None], (PIXELS - points[:, 1:])[:, None, :]


def draw_dominoes(half: Half, count: int) -> list[Pictures]:
    """Halves of dominoes with 0 to 9 pips; a faint frame makes even the blanks differ."""
    sizes = [len(part) for part in _parts(count)]
    streams = [_generator(1, half, value) for value in range(len(PIPS))]
    return [
        np.concatenate([_draw_pips(pips, size, rng) for size in sizes])
        for pips, rng in zip(PIPS, streams, strict=True)
    ]


def _draw_pips(pips: list[tuple[int, int]], count: int, rng: Generator) -> Pictures:
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
    for pip in pips:
        jitter = _between(rng, -0.4, 0.4, count, 2)
        down, across = _offsets(middle + spacing[:, 0] * np.array(pip, np.float64) + jitter)
        size = radius * _between(rng, 0.92, 1.0, *each)
        beyond = np.minimum(beyond, np.sqrt(down * down + across * across) - size)
    outwards = np.maximum(*map(np.abs, _offsets(middle)))
    frames = faint * _ink(np.abs(outwards - frame) - 0.5)  # a line, one pixel thick
    return _as_bytes(np.maximum(frames, brightness * _ink(beyond)))


def draw_signs(half: Half, count: int) -> list[Pictures]:
    """The signs of operations as if by hand, one after the other; × stands for "*"."""
    return [
        _draw_sign(sign, count, _generator(3, half, 200 + number))
        for number, sign in enumerate(STROKES)
    ]


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


def draw_printed(half: Half, count: int) -> list[Pictures]:
    """Digits as printed, font after font, in other fonts in the test half than in training.

    So the last sixth, which development folds hold out, is mostly in fonts of its own.
    """
    fonts, rng = FONTS[half], _generator(2, half)
    inked, aspects = _bitmaps([outline for font in fonts for outline in _digit_outlines(font)])
    rows = [part * len(fonts) // count * 10 for part in _parts(count)]
    return [
        np.concatenate([_draw_bitmaps(inked, aspects, part + digit, rng) for part in rows])
        for digit in range(10)
    ]


def _draw_bitmaps(
    inked: NDArray[np.int16], aspects: Reals, rows: NDArray[np.intp], rng: Generator
) -> Pictures:
    """Pictures of the bitmaps of these rows, each of another size, slant and position."""
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


def _digit_outlines(font: str) -> list[Reals]:
    """The outlines of a font's ten digits, each as quadratic curves (n, 3, 2)."""
    # old fonts have odd dates in their headers
    logging.getLogger("fontTools.ttLib.tables._h_e_a_d").setLevel(logging.ERROR)
    with TTFont(Path(matplotlib.get_data_path()) / f"fonts/ttf/{font}.ttf", lazy=True) as opened:
        names, glyphs = opened.getBestCmap(), opened["glyf"]
        return [_outline(glyphs[names[ord(digit)]], glyphs) for digit in "0123456789"]


def _outline(glyph: Any, glyphs: Any) -> Reals:
    points, ends, flags = glyph.getCoordinates(glyphs)
    positions, on_curve = np.array(points, np.float64), np.array(flags, np.uint8) & 1 == 1
    contours = (np.split(each, [end + 1 for end in ends[:-1]]) for each in (positions, on_curve))
    return np.concatenate([*map(_curves, *contours)])


def _curves(points: Reals, on_curve: NDArray[np.bool_]) -> Reals:
    """A closed TrueType contour as curves (n, 3, 2): start, control point, end.

    Between two control points lies a point of the curve, halfway; a straight line is a curve
    whose control point lies halfway.
    """
    before, after = np.roll(points, 1, axis=0), np.roll(points, -1, axis=0)
    on_before, on_after = np.roll(on_curve, 1), np.roll(on_curve, -1)
    start = np.where(on_before[:, None], before, (before + points) / 2)
    end = np.where(on_after[:, None], after, (points + after) / 2)
    bent = np.stack([start, points, end], axis=1)[~on_curve]
    straight = np.stack([points, (points + after) / 2, after], axis=1)[on_curve & on_after]
    return np.concatenate([bent, straight])


def _bitmaps(outlines: list[Reals]) -> tuple[NDArray[np.int16], Reals]:
    """For each outline, how much ink each row has up to each column; and its width by its height.

    Rows 0 and -1 are empty, for what is above and below.
    """
    inked = np.zeros((len(outlines), CELLS + 2, CELLS + 1), np.int16)
    aspects = np.empty(len(outlines))
    for number, outline in enumerate(outlines):
        points = _points_along(outline)
        low, high = points.min(axis=(0, 1)), points.max(axis=(0, 1))
        scale = CELLS / (high[1] - low[1])
        aspects[number] = (high[0] - low[0]) * scale / CELLS
        cells = np.stack([points[..., 0] - low[0], high[1] - points[..., 1]], axis=-1) * scale
        np.cumsum(_inside(cells), axis=1, out=inked[number, 1:-1, 1:])
    return inked, aspects


def _points_along(curves: Reals) -> Reals:
    """Points along each curve: (n, CURVE_STEPS + 1, 2)."""
    share = (np.arange(CURVE_STEPS + 1) / CURVE_STEPS)[:, None]
    start, control, end = (curves[:, None, which] for which in range(3))
    rest = 1 - share
    return start * (rest * rest) + control * (2 * rest * share) + end * (share * share)


def _inside(points: Reals) -> NDArray[np.bool_]:
    """Which cells' centres the outline winds around (columns without the last edge's)."""
    start, end = points[:, :-1].reshape(-1, 2), points[:, 1:].reshape(-1, 2)
    first = np.ceil(np.minimum(start[:, 1], end[:, 1]) - 0.5).astype(np.intp)
    past = np.ceil(np.maximum(start[:, 1], end[:, 1]) - 0.5).astype(np.intp)
    piece = np.repeat(np.arange(len(start)), past - first)  # one for each row that it crosses
    row = np.arange(len(piece)) - np.repeat(np.cumsum(past - first) - past, past - first)
    (x0, y0), (x1, y1) = start[piece].T, end[piece].T
    crossing = x0 + (row + 0.5 - y0) / (y1 - y0) * (x1 - x0)
    winding = np.zeros((CELLS, CELLS + 1), np.int8)
    column = np.clip(np.ceil(crossing - 0.5), 0, CELLS).astype(np.intp)
    np.add.at(winding, (row, column), np.where(y1 > y0, 1, -1).astype(np.int8))
    return np.asarray(np.cumsum(winding, axis=1)[:, :-1] != 0)


if __name__ == "__main__":
    main()

"""Digits of matplotlib's fonts, from their outlines to fine bitmaps."""

import logging
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError

Reals = NDArray[np.float64]

CELLS = 128  # rows of a digit's bitmap, and columns: none is wider than high
CURVE_STEPS = 4  # straight pieces that a curve is drawn with; a power of two divides exactly


def _font_folder() -> Path:
    """Where matplotlib keeps its fonts, found without the time that importing it takes."""
    package = find_spec("matplotlib")
    if package is None or package.origin is None:
        raise UnseenError("printed digits need matplotlib's fonts: pip install matplotlib")
    return Path(package.origin).parent / "mpl-data/fonts/ttf"


def digit_curves(font: str) -> list[Reals]:
    """The outlines of a font's ten digits, each as quadratic curves (n, 3, 2)."""
    from fontTools.ttLib import TTFont  # type: ignore[import-untyped]

    # old fonts have odd dates in their headers, which nobody here needs to hear of
    logging.getLogger("fontTools.ttLib.tables._h_e_a_d").setLevel(logging.ERROR)
    path = _font_folder() / f"{font}.ttf"
    try:
        with TTFont(path, lazy=True) as opened:
            names, glyphs = opened.getBestCmap(), opened["glyf"]
            return [_outline(glyphs[names[ord(digit)]], glyphs) for digit in "0123456789"]
    except Exception as error:  # a damaged font file can fail in any way
        raise UnseenError(f"cannot read the font {path}: {error}") from error


def _outline(glyph: Any, glyphs: Any) -> Reals:
    points, ends, flags = glyph.getCoordinates(glyphs)
    places, on_curve = np.array(points, np.float64), np.array(flags, np.uint8) & 1 == 1
    contours = (np.split(each, [end + 1 for end in ends[:-1]]) for each in (places, on_curve))
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


def bitmaps(outlines: Sequence[Reals]) -> tuple[NDArray[np.int16], Reals]:
    """For each outline, how much ink each row has up to each column; and how wide it is for a
    height of 1. Rows 0 and -1 are empty, for whatever is above and below."""
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

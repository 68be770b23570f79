"""The ink of a picture: what is drawn, whatever the paper, and which symbol each piece belongs to.

Paper may be lit unevenly and ruled, and the symbols may stand anywhere in their row.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from unseen.errors import UnseenError

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]
Cut = Literal["as they are", "equal panels", "by ink"]

NO_INK = "it shows no ink: it is of one colour, or nearly"
LEAST_CONTRAST = 0.1  # of ink, as a share of what white paper and black ink differ by
LEAST_PART = 0.08  # of the ink of one symbol: what is smaller is dust
NARROWEST = 0.6  # of each symbol of a row without gaps, by the height of the row
STEEPEST = 0.2  # slope of ruled lines: a little more than 11°


class PictureError(UnseenError):
    """A picture that cannot be read or prepared."""


def is_dark_on_light(grey: NDArray[np.uint8]) -> bool:
    """Whether what is on the paper is darker than the paper: the median of the picture's frame."""
    frame = np.sort(_frame(grey))
    paper = int(frame[frame.size // 2])
    values = np.sort(grey, axis=None)
    dark, light = int(values[values.size // 100]), int(values[-1 - values.size // 100])
    return paper - dark > light - paper


def _frame(values: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([values[0], values[-1], values[:, 0], values[:, -1]])


def has_dark_ink(grey: NDArray[np.uint8]) -> bool:
    """Whether what stands out from its surroundings is dark: ink is the smaller part of them.

    Shadows do not count: they part a picture into large areas, each with an edge of both kinds.
    """
    around = Image.fromarray(grey).filter(ImageFilter.BoxBlur(grey.shape[0] / 4))
    deviations = grey.astype(np.float32) - np.asarray(around, np.float32)
    return bool((deviations**3).mean() < 0)


def find_ink(grey: NDArray[np.uint8], *, is_dark: bool) -> Floats:
    """How much ink there is, 0 to 1, whatever light falls on the paper; without ruled lines."""
    from scipy import ndimage  # 0.3 s, which `unseen show` need not wait for

    light = 255 - grey if is_dark else grey
    blurred = np.asarray(Image.fromarray(light).filter(ImageFilter.BoxBlur(1)))
    reach = -(-grey.shape[0] // 6)  # half of what no stroke is wider than
    size = 2 * reach + 1
    ground = ndimage.grey_opening(blurred, (size, size), mode="nearest")
    contrast = blurred.astype(np.float32) - ground
    # ink takes a share of the light that falls on it: less in a shadow
    contrast /= np.maximum(255.0 - ground, 16) if is_dark else 255.0
    contrast = np.clip(contrast, 0, 1)
    least = _threshold(contrast)
    lines, slope = find_lines(contrast > least / 2)
    contrast[lines] = 0
    strong = contrast[contrast > least]
    full = float(np.median(strong)) if len(strong) else 0.0
    if full < LEAST_CONTRAST:
        raise PictureError(NO_INK)
    ink: Floats = np.clip(contrast / full, 0, 1)
    if slope is None:
        return ink
    level = Image.fromarray(ink).rotate(np.degrees(np.arctan(slope)), Image.Resampling.BILINEAR)
    return np.asarray(level)


def _threshold(values: Floats) -> float:
    """Otsu's: the level that parts paper from ink best."""
    counts, edges = np.histogram(values, 64, (0, 1))
    middles = (edges[:-1] + edges[1:]) / 2
    below = np.cumsum(counts)
    above = below[-1] - below
    sums = np.cumsum(counts * middles)
    with np.errstate(divide="ignore", invalid="ignore"):
        between = below * above * (sums / below - (sums[-1] - sums) / above) ** 2
    return float(edges[1 + int(np.nanargmax(between))]) if np.isfinite(between).any() else 1.0


def find_lines(is_ink: Mask) -> tuple[Mask, float | None]:
    """The pixels of ruled lines, and their slope; strokes that cross them are left whole.

    A ruled line is thin and goes from one side of the picture to the other.
    """
    rows, columns = is_ink.shape
    edges = np.diff(np.pad(is_ink, ((1, 1), (0, 0))).astype(np.int8), axis=0)
    across, starts = np.nonzero(edges.T == 1)
    ends = np.nonzero(edges.T == -1)[1]
    thin = ends - starts <= max(3, rows // 24)
    across, starts, ends = across[thin], starts[thin], ends[thin]
    found = np.zeros_like(is_ink)
    if len(across) < columns / 2:
        return found, None
    middles, at = (starts + ends - 1) / 2, np.arange(columns) - columns / 2
    room = int(STEEPEST * columns) + 2

    def level_heights(slope: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The height of each run if lines of this slope lay level, and how many are at each."""
        heights = np.rint(middles - slope * at[across]).astype(np.intp) + room
        return heights, np.bincount(heights, minlength=rows + 2 * room)

    slopes = np.arange(-STEEPEST, STEEPEST, 1 / columns)
    # of a power of the counts, the largest has them all at few heights
    scores = [(level_heights(slope)[1].astype(np.float64) ** 3).sum() for slope in slopes]
    slope = float(slopes[np.argmax(scores)])
    heights, counts = level_heights(slope)
    near = counts + np.roll(counts, 1) + np.roll(counts, -1)
    sides = columns // 8
    is_line = False
    for height in np.flatnonzero((near >= columns // 2) & (near >= np.roll(near, 1))):
        runs = np.abs(heights - height) <= 1
        # where it is within the picture, it is there nearly everywhere, from side to side
        line = height - room + slope * at
        has_run = np.isin(np.flatnonzero((line >= 1) & (line <= rows - 2)), across[runs])
        parts = has_run, has_run[:sides], has_run[-sides:]
        if len(has_run) < columns / 2 or min(part.mean() for part in parts) < 0.6:
            continue
        is_line = True
        thickest = 1.5 * float(np.median((ends - starts)[runs])) + 1
        runs &= ends - starts <= thickest
        for column, start, end in zip(across[runs], starts[runs], ends[runs], strict=True):
            found[max(0, start - 1) : end + 1, column] = True
    return found, slope if is_line else None


def split_ink(ink: Floats, length: int) -> tuple[list[Floats], Cut]:
    """The ink of each symbol of a row: in equal panels if each holds whole pieces, else by gaps.

    Ink without gaps that is too narrow for the row, or in too few pieces, is refused.
    """
    from scipy import ndimage

    columns = ink.shape[1]
    pieces, count = ndimage.label(ink >= 0.5, np.ones((3, 3)))  # diagonals included
    sizes = np.bincount(pieces.ravel(), minlength=count + 1)
    sizes[0] = 0
    # the edge of a shadow in a corner of the picture lies along its frame; a digit only touches it
    at_frame = np.bincount(_frame(pieces), minlength=count + 1) > ink.shape[0] / 5
    if ((sizes > 0) & ~at_frame).sum() >= length:
        sizes[at_frame] = 0
    kept = np.flatnonzero(sizes > LEAST_PART * sizes.sum() / length)
    if not len(kept):
        raise PictureError(NO_INK)
    by_column = np.stack([(pieces == number).sum(axis=0) for number in kept])  # (pieces, columns)
    _refuse_too_few(np.isin(pieces, kept), len(kept), length)
    xs = np.arange(columns)
    panel_of = np.minimum(xs * length // columns, length - 1)
    in_panel = np.stack([by_column[:, panel_of == at].sum(axis=1) for at in range(length)], axis=1)
    cut: Cut = "equal panels"
    owners = in_panel.argmax(axis=1)
    is_whole = (in_panel.max(axis=1) >= 0.85 * in_panel.sum(axis=1)).all()
    if not is_whole or len(np.unique(owners)) < length:
        cut = "by ink"
        owners = _grouped((by_column @ xs) / by_column.sum(axis=1), length)
    symbol_of = np.zeros(count + 1, np.intp)  # from 1; 0 is paper
    symbol_of[kept] = owners + 1
    # soft edges go with the piece that they are nearest to
    spread = ndimage.maximum_filter(symbol_of[pieces], 3)
    return [np.where(spread == at + 1, ink, np.float32(0)) for at in range(length)], cut


def _refuse_too_few(is_ink: Mask, pieces: int, length: int) -> None:
    rows, columns = np.flatnonzero(is_ink.any(axis=1)), np.flatnonzero(is_ink.any(axis=0))
    symbols = 1 + int((np.diff(columns) > 1).sum())  # with a gap between
    is_narrow = np.ptp(columns) + 1 < NARROWEST * length * (np.ptp(rows) + 1)
    if symbols < length and (is_narrow or pieces < length):
        raise PictureError(
            f"it shows only {symbols} of {length} symbols: they have to stand side by side, "
            "with a gap between"
        )


def _grouped(centres: NDArray[np.float64], length: int) -> NDArray[np.intp]:
    """Which symbol each piece belongs to: the widest gaps between their centres part them."""
    order = np.sort(centres)
    gaps = np.diff(order)
    widest = np.sort(np.argsort(gaps)[len(gaps) - (length - 1) :])
    return np.searchsorted((order[widest] + order[widest + 1]) / 2, centres)

"""The ink of a picture: what is drawn, whatever the paper, and which symbol each piece belongs to.

Paper may be lit unevenly and ruled, and the symbols may stand anywhere in their row.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from unseen.errors import UnseenError

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]
Cut = Literal["as they are", "equal panels", "by ink"]

LEAST_CONTRAST = 0.1  # of ink, as a share of what white paper and black ink differ by
LEAST_PART = 0.08  # of the ink of one symbol: what is smaller is dust
NARROWEST = 0.6  # of each symbol of a row without gaps, by the height of the row
STEEPEST = 0.2  # slope of ruled lines: a little more than 11°


class PictureError(UnseenError):
    """A picture that cannot be read or prepared."""


def is_dark_on_light(grey: NDArray[np.uint8]) -> bool:
    """Whether what is on the paper is darker than the paper: the median of the picture's frame."""
    frame = np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])
    paper = int(np.sort(frame)[frame.size // 2])
    values = np.sort(grey, axis=None)
    dark, light = int(values[values.size // 100]), int(values[-1 - values.size // 100])
    return paper - dark > light - paper


def has_dark_ink(grey: NDArray[np.uint8]) -> bool:
    """Whether what stands out from its surroundings is dark: ink is the smaller part of them.

    Shadows do not count: they part a picture into large areas, each with an edge of both kinds.
    """
    around = Image.fromarray(grey).filter(ImageFilter.BoxBlur(grey.shape[0] / 4))
    deviations = grey.astype(np.float32) - np.asarray(around, np.float32)
    return bool((deviations**3).mean() < 0)


def find_ink(grey: NDArray[np.uint8], *, is_dark: bool) -> Floats:
    """How much ink there is, 0 to 1, whatever light falls on the paper; without ruled lines."""
    light = 255 - grey if is_dark else grey
    blurred = np.asarray(Image.fromarray(light).filter(ImageFilter.BoxBlur(1)))
    reach = -(-grey.shape[0] // 6)  # half of what no stroke is wider than
    ground = _filtered(_filtered(blurred, reach, np.minimum), reach, np.maximum)
    contrast = blurred.astype(np.float32) - ground
    # ink takes a share of the light that falls on it: less in a shadow
    contrast /= np.maximum(255.0 - ground, 16) if is_dark else 255.0
    contrast = np.clip(contrast, 0, 1)
    level = _threshold(contrast)
    lines, slope = find_lines(contrast > level / 2)
    contrast[lines] = 0
    full = float(np.median(contrast[contrast > level])) if (contrast > level).any() else 0.0
    if full < LEAST_CONTRAST:
        raise PictureError("it shows no ink: it is of one colour, or nearly")
    ink = np.clip(contrast / full, 0, 1)
    return ink if slope is None else _turned(ink, slope)


def _filtered(values: NDArray[Any], reach: int, choose: Callable[..., Any]) -> NDArray[Any]:
    """The smallest or the largest value within reach, along rows and columns."""
    size = 2 * reach + 1
    for _ in range(2):
        wide = np.pad(values, ((reach, reach), (0, 0)), mode="edge")
        known = 1  # rows that each one stands for already
        while 2 * known <= size:
            wide = choose(wide[:-known], wide[known:])
            known *= 2
        rest = size - known
        values = (choose(wide[:-rest], wide[rest:]) if rest else wide).T
    return values


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
    middles = (starts + ends - 1) / 2
    best: tuple[float, float, NDArray[np.intp], NDArray[np.intp]] | None = None
    room = int(STEEPEST * columns) + 2
    for slope in np.arange(-STEEPEST, STEEPEST, 1 / columns):
        heights = np.rint(middles - slope * (across - columns / 2)).astype(np.intp) + room
        counts = np.bincount(heights, minlength=rows + 2 * room)
        score = float((counts.astype(np.float64) ** 3).sum())
        if best is None or score > best[0]:
            best = (score, float(slope), heights, counts)
    assert best is not None
    _, slope, heights, counts = best
    near = counts + np.roll(counts, 1) + np.roll(counts, -1)
    sides = columns // 8
    is_line = False
    for height in np.flatnonzero((near >= columns // 2) & (near >= np.roll(near, 1))):
        runs = np.abs(heights - height) <= 1
        # where it is within the picture, it is there nearly everywhere, from side to side
        places = height - room + slope * (np.arange(columns) - columns / 2)
        has_run = np.zeros(columns, bool)
        has_run[across[runs]] = True
        has_run = has_run[(places >= 1) & (places <= rows - 2)]
        if (
            len(has_run) < columns / 2
            or min(part.mean() for part in (has_run, has_run[:sides], has_run[-sides:])) < 0.6
        ):
            continue
        is_line = True
        thickest = 1.5 * float(np.median((ends - starts)[runs])) + 1
        runs &= ends - starts <= thickest
        for column, start, end in zip(across[runs], starts[runs], ends[runs], strict=True):
            found[max(0, start - 1) : end + 1, column] = True
    return found, slope if is_line else None


def _turned(ink: Floats, slope: float) -> Floats:
    """The ink turned so that lines of this slope lie level."""
    angle = float(np.degrees(np.arctan(slope)))
    return np.asarray(Image.fromarray(ink).rotate(angle, Image.Resampling.BILINEAR))


def split_ink(ink: Floats, length: int) -> tuple[list[Floats], Cut]:
    """The ink of each symbol of a row: in equal panels if each holds whole pieces, else by gaps.

    Ink without gaps that is too narrow for the row, or in too few pieces, is refused.
    """
    columns = ink.shape[1]
    pieces, count = label_pieces(ink >= 0.5)
    sizes = np.bincount(pieces.ravel(), minlength=count + 1)
    sizes[0] = 0
    # the edge of a shadow in a corner of the picture lies along its frame; a digit only touches it
    frame = np.concatenate([pieces[0], pieces[-1], pieces[:, 0], pieces[:, -1]])
    at_frame = np.bincount(frame, minlength=count + 1) > ink.shape[0] / 5
    if ((sizes > 0) & ~at_frame).sum() >= length:
        sizes[at_frame] = 0
    kept = sizes > LEAST_PART * sizes.sum() / length
    if not kept.any():
        raise PictureError("it shows no ink: it is of one colour, or nearly")
    xs = np.arange(columns)
    by_column = np.stack(
        [
            np.bincount(np.nonzero(pieces == which)[1], minlength=columns)
            for which in np.flatnonzero(kept)
        ]
    )  # (pieces, columns)
    rows_with, columns_with = np.flatnonzero(kept[pieces].any(1)), np.flatnonzero(by_column.any(0))
    symbols = 1 + int((np.diff(columns_with) > 1).sum())  # with a gap between
    is_narrow = np.ptp(columns_with) + 1 < NARROWEST * length * (np.ptp(rows_with) + 1)
    if symbols < length and (is_narrow or len(by_column) < length):
        raise PictureError(
            f"it shows only {symbols} of {length} symbols: they have to stand side by side, "
            "with a gap between"
        )
    panel_of = np.minimum(xs * length // columns, length - 1)
    in_panel = np.stack([by_column[:, panel_of == at].sum(axis=1) for at in range(length)], axis=1)
    numbers = np.flatnonzero(kept)
    cut: Cut = "equal panels"
    owners = in_panel.argmax(axis=1)
    is_whole = (in_panel.max(axis=1) >= 0.85 * in_panel.sum(axis=1)).all()
    if not is_whole or len(np.unique(owners)) < length:
        cut = "by ink"
        owners = _grouped((by_column @ xs) / by_column.sum(axis=1), length)
    owner_of = np.full(count + 1, -1)
    owner_of[numbers] = owners
    # soft edges go with the piece that they are nearest to
    spread = _filtered(np.where(kept[pieces], owner_of[pieces] + 1, 0), 1, np.maximum)
    return [np.where(spread == at + 1, ink, np.float32(0)) for at in range(length)], cut


def _grouped(centres: NDArray[np.float64], length: int) -> NDArray[np.intp]:
    """Which symbol each piece belongs to: the widest gaps between their centres part them."""
    order = np.argsort(centres)
    gaps = np.diff(centres[order])
    cuts = np.sort(np.argsort(gaps)[len(gaps) - (length - 1) :])
    owners = np.empty(len(centres), np.intp)
    owners[order] = np.searchsorted(cuts, np.arange(len(centres)), side="left")
    return owners


def label_pieces(is_ink: Mask) -> tuple[NDArray[np.intp], int]:
    """Numbers from 1 for pieces of ink that hang together, diagonals included; 0 is paper."""
    rows, columns = is_ink.shape
    edges = np.diff(np.pad(is_ink, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    row_of, starts = np.nonzero(edges == 1)
    ends = np.nonzero(edges == -1)[1]
    first = np.searchsorted(row_of, np.arange(rows + 1))
    piece = list(range(len(starts)))

    def root(of: int) -> int:
        while piece[of] != of:
            piece[of] = piece[piece[of]]
            of = piece[of]
        return of

    for row in range(1, rows):
        above, end_above = int(first[row - 1]), int(first[row])
        for run in range(end_above, int(first[row + 1])):
            while above < end_above and ends[above] < starts[run]:
                above += 1
            other = above
            while other < end_above and starts[other] <= ends[run]:
                piece[root(other)] = root(run)
                other += 1
    roots = np.asarray([root(run) for run in range(len(piece))], np.intp)
    names, numbers = np.unique(roots, return_inverse=True)
    labels = np.zeros((rows, columns), np.intp)
    labels[is_ink] = np.repeat(numbers + 1, ends - starts)  # runs are in the order of their pixels
    return labels, len(names)

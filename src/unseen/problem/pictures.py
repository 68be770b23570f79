"""Pictures from outside, prepared as MNIST's digits were.

A digit of MNIST was cropped to its ink, scaled into 20 × 20 pixels with its aspect kept, and put
into 28 × 28 with its centre of mass in the middle. Here the ink has to be found first: on paper
that is lit unevenly, among ruled lines, in one of several places. The page of `unseen export`
prepares what is drawn on it in the same steps, in a browser (`lab/static/prepare.js`).
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter, ImageOps, UnidentifiedImageError

from unseen.errors import UnseenError
from unseen.files import open_regular

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]
Cut = Literal["as they are", "equal panels", "by ink"]

FORMATS = ("PNG", "JPEG", "WEBP", "TIFF")
FORMATS_IN_WORDS = "PNG, JPEG, WebP or TIFF"
SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff")
LARGEST_PICTURE_BYTES = 50_000_000
MOST_PIXELS = 40_000_000
LEAST_SIDE = 8  # pixels of a picture
LONGEST = 10  # times its height, for each symbol: looking for lines takes the square of the width

SIDE = 28  # of a digit of MNIST
BOX = 20  # pixels that its longer side takes
MIDDLE = 14  # the pixel that its centre of mass is at, counted from 0
THINNEST, THICKEST = 1.8, 3.6  # its strokes, in pixels
MOST_ROWS = 168  # of a picture that ink is looked for in; more are averaged
LEAST_CONTRAST = 0.1  # of ink, as a share of what white paper and black ink differ by
LEAST_PART = 0.08  # of the ink of one symbol: what is smaller is dust
FINE = 60  # pixels along the longer side of a symbol, while its strokes are measured
STEEPEST = 0.2  # slope of ruled lines: a little more than 11°


class PictureError(UnseenError):
    """A picture that cannot be read or prepared."""


@dataclass(frozen=True)
class PreparedPicture:
    """A picture as a network takes it, and what was found out about it."""

    pixels: NDArray[np.uint8]  # (height, length · width), light on dark
    is_dark_on_light: bool
    cut: Cut


@dataclass(frozen=True)
class SymbolShape:
    """What the pictures of a run are made of."""

    length: int  # symbols side by side
    height: int
    width: int
    is_mnist_like: bool  # prepared as MNIST's digits were; others are scaled as they stand


def read_picture(path: Path) -> NDArray[np.uint8]:
    """The grey values of a picture file, (height, width), turned as its camera was held."""
    try:
        with (
            open_regular(path, LARGEST_PICTURE_BYTES) as file,
            warnings.catch_warnings(action="ignore"),
            Image.open(file, formats=FORMATS) as image,
        ):
            if image.width * image.height > MOST_PIXELS:
                raise Image.DecompressionBombError
            image.draft("L", (8 * MOST_ROWS, 4 * MOST_ROWS))  # a large JPEG is decoded smaller
            return _grey(image)
    except Image.DecompressionBombError as error:
        most = MOST_PIXELS // 1_000_000
        raise PictureError(f"it has more than {most} million pixels, which is the most") from error
    except OSError as error:
        what = "" if isinstance(error, UnidentifiedImageError) else error.strerror
        raise PictureError(what or f"it is no whole {FORMATS_IN_WORDS} picture") from error
    except MemoryError:
        raise
    except Exception as error:  # whatever a decoder makes of a hostile file
        raise PictureError(f"it is no whole {FORMATS_IN_WORDS} picture") from error


def _grey(image: Image.Image) -> NDArray[np.uint8]:
    """Grey values from 0 to 255; what is transparent is white paper.

    A large picture is made smaller first, so that copies of it take little memory.
    """
    orientation = image.getexif().get(0x0112, 1)
    deep = image.mode.startswith(("I", "F"))
    if image.mode.startswith("I;"):
        image = image.convert("I")
    elif image.mode in ("1", "P", "PA"):
        image = image.convert("RGBA" if image.has_transparency_data else "L")
    if (factor := min(image.size) // (2 * MOST_ROWS)) > 1:
        image = image.reduce(factor)
    if deep:
        values = np.asarray(image, np.float32)
        most = 65_535 if image.mode == "I" else max(1.0, float(np.nanmax(values)))
        whole = np.clip(np.nan_to_num(values) * (255 / most), 0, 255)
        image = Image.fromarray(whole.astype(np.uint8))
    elif image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    image = image if image.mode == "L" else image.convert("L")
    if orientation != 1:
        image.getexif()[0x0112] = orientation
        image = ImageOps.exif_transpose(image)
    return np.asarray(image)


def prepare(grey: NDArray[np.uint8], shape: SymbolShape) -> PreparedPicture:
    """A picture of some symbols in a row, as a network takes it.

    A picture of the right size is taken as it is, turned round if it is dark on light.
    """
    if grey.shape == (shape.height, shape.length * shape.width):
        if shape.is_mnist_like:
            _refuse_blank(np.split(grey, shape.length, axis=1))
        is_dark = is_dark_on_light(grey)
        return PreparedPicture(255 - grey if is_dark else grey, is_dark, "as they are")
    rows, columns = grey.shape
    if min(rows, columns) < LEAST_SIDE:
        raise PictureError(f"{columns} × {rows} pixels are too few to show a symbol")
    if columns > LONGEST * shape.length * rows:
        raise PictureError(f"{columns} × {rows} pixels are too long a strip for its symbols")
    if not shape.is_mnist_like:
        return _scaled(grey, shape)
    if rows == SIDE and columns % SIDE == 0:
        raise PictureError(
            f"{columns} × {rows} pixels are {columns // SIDE} of MNIST's digits, and not "
            f"{shape.length}"
        )
    if (enlarged := _enlarged(grey, shape.length)) is not None:
        return enlarged
    grey = _shrunk(grey)
    is_dark = has_dark_ink(grey)
    ink = find_ink(grey, is_dark=is_dark)
    parts, cut = split_ink(ink, shape.length)
    panels = [prepare_symbol(part) for part in parts]
    return PreparedPicture(np.concatenate(panels, axis=1), is_dark, cut)


def _refuse_blank(panels: Sequence[NDArray[np.uint8]]) -> None:
    """Refuse a picture with a panel of one colour: no digit is blank, as other symbols may be."""
    for at, panel in enumerate(panels, 1):
        if np.ptp(panel) < 255 * LEAST_CONTRAST:
            raise PictureError(
                f"it shows no ink in panel {at} of {len(panels)}: it is of one colour, or nearly"
            )


def _scaled(grey: NDArray[np.uint8], shape: SymbolShape) -> PreparedPicture:
    """A picture of symbols that have no box of their own: scaled as a whole."""
    rows, columns = grey.shape
    wanted = shape.length * shape.width / shape.height
    if not 0.8 < columns / rows / wanted < 1.25:
        raise PictureError(
            f"{columns} × {rows} pixels are of another shape than {shape.length} symbols of "
            f"{shape.width} × {shape.height}"
        )
    is_dark = is_dark_on_light(grey)
    size = (shape.length * shape.width, shape.height)
    small = np.asarray(Image.fromarray(grey).resize(size, Image.Resampling.BOX))
    return PreparedPicture(255 - small if is_dark else small, is_dark, "equal panels")


def _enlarged(grey: NDArray[np.uint8], length: int) -> PreparedPicture | None:
    """A picture that is MNIST's already, but larger: on clean paper, in its box, in the middle."""
    rows, columns = grey.shape
    if columns != length * rows or rows < SIDE:
        return None
    is_dark = is_dark_on_light(grey)
    small = Image.fromarray(grey).resize((length * SIDE, SIDE), Image.Resampling.BOX)
    pixels = 255 - np.asarray(small) if is_dark else np.asarray(small)
    for panel in np.split(pixels, length, axis=1):
        rows_with, columns_with = (np.flatnonzero((panel > 50).any(axis=axis)) for axis in (1, 0))
        if not len(rows_with) or np.median(panel) > 4:
            return None
        longer = max(np.ptp(rows_with), np.ptp(columns_with)) + 1
        mass, at = panel.sum(), np.arange(SIDE)
        middle = ((panel.sum(axis=1) @ at) / mass, (panel.sum(axis=0) @ at) / mass)
        if not BOX - 2 <= longer <= BOX + 1 or max(abs(each - MIDDLE) for each in middle) > 1:
            return None
    return PreparedPicture(pixels, is_dark, "as they are")


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


def _shrunk(grey: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """At most MOST_ROWS rows, each pixel the mean of those that it stands for."""
    factor = -(-grey.shape[0] // MOST_ROWS)
    return grey if factor == 1 else np.asarray(Image.fromarray(grey).reduce(factor))


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
    """The ink of each symbol of a row: in equal panels if each holds whole pieces, else by gaps."""
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
    if len(centres) < length:
        raise PictureError(
            f"it shows {len(centres)} piece(s) of ink for {length} symbols; they need a gap between"
        )
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


def prepare_symbol(ink: Floats) -> NDArray[np.uint8]:
    """The ink of one symbol as MNIST has it: in a box of 20 × 20, centred by mass in 28 × 28."""
    rows, columns = np.flatnonzero((ink >= 0.5).any(axis=1)), np.flatnonzero((ink >= 0.5).any(0))
    crop = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    longer = max(crop.shape)
    enlarged = _resized(crop, FINE / longer, Image.Resampling.BILINEAR)
    # thin strokes are paler once they are scaled down
    fine = _with_strokes_as_mnist(np.pad(enlarged, 6) >= enlarged.max() / 2)
    rows, columns = np.flatnonzero(fine.any(axis=1)), np.flatnonzero(fine.any(axis=0))
    crop = fine[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].astype(np.float32)
    small = _resized(crop, BOX / max(crop.shape), Image.Resampling.BOX)
    height, width = small.shape
    mass = small.sum()
    y = float((small.sum(axis=1) @ np.arange(height)) / mass)
    x = float((small.sum(axis=0) @ np.arange(width)) / mass)
    top = min(max(round(MIDDLE - y), 0), SIDE - height)
    left = min(max(round(MIDDLE - x), 0), SIDE - width)
    made = np.zeros((SIDE, SIDE), np.uint8)
    made[top : top + height, left : left + width] = np.rint(255 * small)
    return made


def _resized(values: Floats, scale: float, how: Image.Resampling) -> Floats:
    height, width = (max(1, round(scale * side)) for side in values.shape)
    return np.asarray(Image.fromarray(values).resize((width, height), how))


def _with_strokes_as_mnist(fine: Mask) -> Mask:
    """Thin strokes made thicker and thick ones thinner, up to what MNIST's digits have."""
    # a stroke is a quarter of its width deep, in the mean
    depth, left = 0.0, fine
    while left.any() and depth < FINE:
        depth += float(left.sum()) / float(fine.sum())
        left = ~_dilated(~left)
    pixel = FINE / BOX
    measured = 4 * (depth - 0.5)
    by = (min(max(measured, THINNEST * pixel), THICKEST * pixel) - measured) / 2
    for _ in range(round(by)):
        fine = _dilated(fine)
    for _ in range(round(-by)):
        thinner = ~_dilated(~fine)
        fine = thinner if thinner.any() else fine
    return fine


def _dilated(mask: Mask) -> Mask:
    """The mask and its neighbours up, down, left and right."""
    made = mask.copy()
    made[1:] |= mask[:-1]
    made[:-1] |= mask[1:]
    made[:, 1:] |= mask[:, :-1]
    made[:, :-1] |= mask[:, 1:]
    return made

"""Pictures from outside, prepared as MNIST's digits were.

A digit of MNIST was cropped to its ink, scaled into 20 × 20 pixels with its aspect kept, and put
into 28 × 28 with its centre of mass in the middle. Here the ink has to be found first: on paper
that is lit unevenly, among ruled lines, in one of several places. The page of `unseen export`
prepares what is drawn on it in the same steps, in a browser (`lab/static/prepare.js`).
"""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from unseen.files import open_regular
from unseen.use.ink import (
    LEAST_CONTRAST,
    Cut,
    Floats,
    Mask,
    PictureError,
    find_ink,
    has_dark_ink,
    is_dark_on_light,
    split_ink,
)

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
FINE = 60  # pixels along the longer side of a symbol, while its strokes are measured


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
    except MemoryError:
        raise
    except Exception as error:  # whatever a decoder makes of a hostile file
        fault = getattr(error, "strerror", None) or f"it is no whole {FORMATS_IN_WORDS} picture"
        raise PictureError(fault) from error


def _grey(image: Image.Image) -> NDArray[np.uint8]:
    """Grey values from 0 to 255; what is transparent is white paper."""
    image.load()  # which turns a TIFF
    ImageOps.exif_transpose(image, in_place=True)
    if image.mode.startswith("I;"):
        image = image.convert("I")
    elif image.mode in ("1", "P", "PA"):
        image = image.convert("RGBA" if image.has_transparency_data else "L")
    # a large picture is made smaller first, so that copies of it take little memory
    if (factor := min(image.size) // (2 * MOST_ROWS)) > 1:
        image = image.reduce(factor)
    if image.mode in ("I", "F"):
        values = np.asarray(image, np.float32)
        most = 65_535 if image.mode == "I" else max(1.0, float(np.nanmax(values)))
        whole = np.clip(np.nan_to_num(values) * (255 / most), 0, 255)
        image = Image.fromarray(whole.astype(np.uint8))
    elif image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return np.asarray(image.convert("L"))


def prepare(grey: NDArray[np.uint8], shape: SymbolShape) -> PreparedPicture:
    """A picture of some symbols in a row, as a network takes it.

    A picture of the right size is taken as it is, turned round if it is dark on light.
    """
    if grey.shape == (shape.height, shape.length * shape.width):
        blank = np.ptp(np.split(grey, shape.length, axis=1), axis=(1, 2)) < 255 * LEAST_CONTRAST
        if shape.is_mnist_like and blank.any():  # as other symbols may be
            where = f"panel {int(blank.argmax()) + 1} of {shape.length}"
            raise PictureError(f"it shows no ink in {where}: it is of one colour, or nearly")
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
    if (factor := -(-rows // MOST_ROWS)) > 1:
        grey = np.asarray(Image.fromarray(grey).reduce(factor))
    is_dark = has_dark_ink(grey)
    ink = find_ink(grey, is_dark=is_dark)
    parts, cut = split_ink(ink, shape.length)
    panels = [prepare_symbol(part) for part in parts]
    return PreparedPicture(np.concatenate(panels, axis=1), is_dark, cut)


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
        if np.median(panel) > 4 or not (panel > 50).any():
            return None
        longer = max(panel[_bounds(panel > 50)].shape)
        off_centre = max(abs(each - MIDDLE) for each in _centre_of_mass(panel))
        if not BOX - 2 <= longer <= BOX + 1 or off_centre > 1:
            return None
    return PreparedPicture(pixels, is_dark, "as they are")


def prepare_symbol(ink: Floats) -> NDArray[np.uint8]:
    """The ink of one symbol as MNIST has it: in a box of 20 × 20, centred by mass in 28 × 28."""
    crop = ink[_bounds(ink >= 0.5)]
    enlarged = _resized(crop, FINE / max(crop.shape), Image.Resampling.BILINEAR)
    # thin strokes are paler once they are scaled down
    fine = _with_strokes_as_mnist(np.pad(enlarged, 6) >= enlarged.max() / 2)
    crop = fine[_bounds(fine)].astype(np.float32)
    small = _resized(crop, BOX / max(crop.shape), Image.Resampling.BOX)
    top, left = (
        min(max(round(MIDDLE - centre), 0), SIDE - side)
        for centre, side in zip(_centre_of_mass(small), small.shape, strict=True)
    )
    made = np.zeros((SIDE, SIDE), np.uint8)
    made[top : top + small.shape[0], left : left + small.shape[1]] = np.rint(255 * small)
    return made


def _bounds(mask: Mask) -> tuple[slice, slice]:
    """The rows and columns that a mask takes."""
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    return slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)


def _centre_of_mass(values: NDArray[Any]) -> tuple[float, float]:
    y, x = (values.sum(axis=axis) @ np.arange(values.shape[1 - axis]) for axis in (1, 0))
    return float(y / values.sum()), float(x / values.sum())


def _resized(values: Floats, scale: float, how: Image.Resampling) -> Floats:
    height, width = (max(1, round(scale * side)) for side in values.shape)
    return np.asarray(Image.fromarray(values).resize((width, height), how))


def _with_strokes_as_mnist(fine: Mask) -> Mask:
    """Thin strokes made thicker and thick ones thinner, up to what MNIST's digits have."""
    from scipy import ndimage

    depth = ndimage.distance_transform_cdt(fine, "taxicab")
    # a stroke is a quarter of its width deep, in the mean
    measured = 4 * (float(depth.sum()) / float(fine.sum()) - 0.5)
    pixel = FINE / BOX
    steps = round((min(max(measured, THINNEST * pixel), THICKEST * pixel) - measured) / 2)
    if steps > 0:
        return np.asarray(ndimage.distance_transform_cdt(~fine, "taxicab") <= steps)
    return np.asarray(depth > min(-steps, depth.max() - 1))

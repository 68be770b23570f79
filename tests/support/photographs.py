"""Pictures as people have them, made from MNIST's test digits: scans, photographs, thin pens."""

from collections.abc import Sequence
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

Grey = NDArray[np.uint8]
SCALE = 6  # pixels of a photograph for one of MNIST's


def enlarged(digits: NDArray[np.uint8], scale: int = SCALE) -> NDArray[np.float64]:
    """How much ink there is, 0 to 1, in an enlarged picture of digits side by side."""
    size = (digits.shape[1] * scale, digits.shape[0] * scale)
    smooth = Image.fromarray(digits).resize(size, Image.Resampling.BICUBIC)
    return np.clip((np.asarray(smooth, float) / 255 - 0.3) / 0.4, 0, 1)


def photograph(
    digits: Grey, rng: np.random.Generator, *, ruled: bool = True, quality: int | None = None
) -> Grey:
    """Dark ink on uneven, shadowed paper, turned by up to 10°, noisy, as JPEG leaves it."""
    ink = enlarged(digits)
    margin = int(rng.integers(2, 9)) * SCALE
    ink = np.pad(ink, margin)
    height, width = ink.shape
    if ruled:
        lines = np.zeros_like(ink)
        spacing = int(rng.uniform(0.8, 1.4) * 20 * SCALE)
        for top in range(int(rng.integers(0, spacing)), height, spacing):
            lines[top : top + int(rng.integers(1, 4))] = rng.uniform(0.3, 0.8)
        ink = np.maximum(ink, lines)
    # turned about the middle, beyond which the paper goes on
    angle = rng.uniform(-10, 10)
    room = int(0.1 * max(ink.shape))
    turned = Image.fromarray(np.pad(ink, room, mode="edge").astype(np.float32)).rotate(
        angle, Image.Resampling.BICUBIC
    )
    ink = np.clip(np.asarray(turned)[room:-room, room:-room], 0, 1)
    y, x = np.mgrid[:height, :width] / max(height, width)
    direction = rng.uniform(0, 2 * np.pi)
    along = x * np.cos(direction) + y * np.sin(direction)
    light = 215 + 60 * rng.uniform(-1, 1) * (along - along.mean())
    edge = rng.uniform(along.min(), along.max())
    shadow = 1 - rng.uniform(0, 0.5) / (1 + np.exp((edge - along) / rng.uniform(0.004, 0.05)))
    paper = light * shadow
    grey = paper * (1 - rng.uniform(0.55, 0.9) * ink)
    grey += rng.normal(0, rng.uniform(1, 8), grey.shape)
    image = Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8))
    image = image.filter(ImageFilter.GaussianBlur(rng.uniform(0, 1.5)))
    with BytesIO() as file:
        image.save(file, "JPEG", quality=quality or int(rng.integers(25, 80)))
        return np.asarray(Image.open(file))


def side_by_side(images: Sequence[Grey]) -> Grey:
    return np.concatenate(list(images), axis=1)

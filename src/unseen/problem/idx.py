"""The IDX format of MNIST: a magic number, the sizes, then one byte a value."""

import gzip
import math
import struct
import zlib
from io import BufferedReader
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError
from unseen.files import open_regular

MAGIC = (0, 0, 0x08)  # 0x08: of unsigned bytes; the number of dimensions follows
LARGEST_BYTES = 640 * 1024**2  # above EMNIST, the largest set of this format
LARGEST_SIDE = 256  # pixels: larger pictures take gigabytes once they are side by side
GZIP = b"\x1f\x8b"  # how a gzip file begins

Bytes = NDArray[np.uint8]


def read_idx(path: Path, dimensions: int) -> Bytes:
    """The array that an IDX file holds, raw or compressed."""
    try:
        with open_regular(path) as file:
            if not file.peek(2).startswith(GZIP):
                return _read_array(path, file, dimensions)
            with gzip.open(file) as raw:
                return _read_array(path, raw, dimensions)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or f"its compression is damaged ({error})"
        raise UnseenError(f"cannot read {path}: {reason}") from error


def _read_array(path: Path, file: BufferedReader | gzip.GzipFile, dimensions: int) -> Bytes:
    """The array that follows the header; no more is read than the header promises."""
    header = file.read(4 + 4 * dimensions)
    magic = bytes([*MAGIC, dimensions])
    if header[:4] != magic:
        raise UnseenError(
            f"{path} is no IDX file of {dimensions} dimension(s): "
            f"it starts with 0x{header[:4].hex()}, not 0x{magic.hex()}"
        )
    if len(header) < 4 + 4 * dimensions:
        raise UnseenError(f"{path} is truncated: it ends within its header")
    shape = struct.unpack(f">{dimensions}I", header[4:])
    promised, sizes = math.prod(shape), " × ".join(f"{size:,}" for size in shape)
    if promised == 0:
        raise UnseenError(f"{path} is empty: its header says {sizes}")
    if max(shape[1:], default=0) > LARGEST_SIDE:
        raise UnseenError(
            f"{path} has images of {shape[1]:,} × {shape[2]:,} pixels; the most is "
            f"{LARGEST_SIDE} × {LARGEST_SIDE}"
        )
    if promised > LARGEST_BYTES:
        raise UnseenError(f"{path} claims to hold {sizes} bytes, more than is sensible")
    content = file.read(promised + 1)
    if len(content) != promised:
        fault = "truncated" if len(content) < promised else "longer than its header says"
        raise UnseenError(f"{path} is {fault}: {sizes} bytes were promised")
    return np.frombuffer(content, np.uint8).reshape(shape).copy()  # which may be written to


def idx_bytes(array: Bytes) -> bytes:
    """An array as an IDX file."""
    return struct.pack(f">4B{array.ndim}I", *MAGIC, array.ndim, *array.shape) + array.tobytes()

"""The IDX format of MNIST: a magic number, the sizes, then one byte a value."""

import gzip
import hashlib
import math
import struct
import zlib
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError

MAGIC = (0, 0, 0x08)  # 0x08: of unsigned bytes; the number of dimensions follows
# Far above any symbol set there is, and low enough for a laptop to survive a lying header.
LARGEST_FILE_BYTES = 2 * 1024**3

Bytes = NDArray[np.uint8]


def read_idx(path: Path, dimensions: int) -> tuple[str, Bytes]:
    """The SHA-256 of an IDX file, as if never compressed, and the array that it holds."""
    try:
        with path.open("rb") as file:
            compressed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if compressed else path.open("rb") as file:
            array = _parse(cast(BinaryIO, file), path, dimensions)
    except (OSError, EOFError, zlib.error) as error:
        # EOFError and zlib.error: a gzip stream that was cut or scrambled
        reason = getattr(error, "strerror", None) or f"its compression is damaged ({error})"
        raise UnseenError(f"cannot read {path}: {reason}") from error
    return idx_sha256(array), array


def idx_sha256(array: Bytes) -> str:
    """The SHA-256 of an array as an IDX file."""
    shape = struct.pack(f">{array.ndim}I", *array.shape)
    digest = hashlib.sha256(bytes([*MAGIC, array.ndim]) + shape)
    digest.update(array.data)
    return digest.hexdigest()


def _parse(file: BinaryIO, path: Path, dimensions: int) -> Bytes:
    header = file.read(4 + 4 * dimensions)
    magic = bytes([*MAGIC, dimensions])
    if not header:
        raise UnseenError(f"{path} is empty: there is not one byte in it")
    if header[:4] != magic:
        raise UnseenError(
            f"{path} is no IDX file of {dimensions} dimension(s): "
            f"it starts with 0x{header[:4].hex()}, not 0x{magic.hex()}"
        )
    if len(header) < 4 + 4 * dimensions:
        raise UnseenError(f"{path} is truncated: it ends within its header")
    shape = struct.unpack(f">{dimensions}I", header[4:])
    expected = math.prod(shape)
    if expected > LARGEST_FILE_BYTES:
        raise UnseenError(f"{path} claims to hold {_times(shape)} bytes, more than is sensible")
    if expected == 0:
        raise UnseenError(f"{path} is empty: its header says {_times(shape)}")
    body = file.read(expected + 1)
    if len(body) != expected:
        fault = "truncated" if len(body) < expected else "longer than its header says"
        raise UnseenError(f"{path} is {fault}: {_times(shape)} bytes were promised")
    return np.frombuffer(body, np.uint8).reshape(shape)


def _times(shape: tuple[int, ...]) -> str:
    return " × ".join(f"{size:,}" for size in shape)

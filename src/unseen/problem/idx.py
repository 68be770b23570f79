"""The IDX format of MNIST: a magic number, the sizes, then one byte a value."""

import gzip
import hashlib
import math
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError
from unseen.files import open_regular

MAGIC = (0, 0, 0x08)  # 0x08: of unsigned bytes; the number of dimensions follows
# Far above any symbol set there is, and low enough for a laptop to survive a lying header.
LARGEST_FILE_BYTES = 640 * 1024**2
READ_AT_ONCE = 1024**2

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class IdxFile:
    """An IDX file whose header was read, and nothing else yet."""

    path: Path
    shape: tuple[int, ...]

    def read(self) -> tuple[str, Bytes]:
        """The SHA-256 of the file, as if never compressed, and the array that it holds."""
        array = np.empty(self.shape, np.uint8)
        with _opened(self.path) as file:
            file.read(_header_bytes(len(self.shape)))
            room, filled = array.reshape(-1).data, 0
            while count := file.readinto(room[filled : filled + READ_AT_ONCE]):
                filled += count
            if filled < array.size or file.read(1):
                fault = "truncated" if filled < array.size else "longer than its header says"
                promised = f"{_times(self.shape)} bytes were promised"
                raise UnseenError(f"{self.path} is {fault}: {promised}")
        return idx_sha256(array), array


def open_idx(path: Path, dimensions: int) -> IdxFile:
    """Read the header of an IDX file, raw or compressed: what it promises, and no more."""
    with _opened(path) as file:
        header = file.read(_header_bytes(dimensions))
    magic = bytes([*MAGIC, dimensions])
    if not header:
        raise UnseenError(f"{path} is empty: there is not one byte in it")
    if header[:4] != magic:
        raise UnseenError(
            f"{path} is no IDX file of {dimensions} dimension(s): "
            f"it starts with 0x{header[:4].hex()}, not 0x{magic.hex()}"
        )
    if len(header) < _header_bytes(dimensions):
        raise UnseenError(f"{path} is truncated: it ends within its header")
    shape = struct.unpack(f">{dimensions}I", header[4:])
    if math.prod(shape) > LARGEST_FILE_BYTES:
        raise UnseenError(f"{path} claims to hold {_times(shape)} bytes, more than is sensible")
    if math.prod(shape) == 0:
        raise UnseenError(f"{path} is empty: its header says {_times(shape)}")
    return IdxFile(path, shape)


@contextmanager
def _opened(path: Path) -> Iterator[BufferedIOBase]:
    """An IDX file as if never compressed; whatever cannot be read is told in one line."""
    try:
        with open_regular(path) as raw:
            compressed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            with gzip.open(raw) if compressed else raw as file:
                yield file
    except (OSError, EOFError, zlib.error) as error:
        # EOFError and zlib.error: a gzip stream that was cut or scrambled
        reason = getattr(error, "strerror", None) or f"its compression is damaged ({error})"
        raise UnseenError(f"cannot read {path}: {reason}") from error


def _header_bytes(dimensions: int) -> int:
    return 4 + 4 * dimensions


def idx_sha256(array: Bytes) -> str:
    """The SHA-256 of an array as an IDX file."""
    shape = struct.pack(f">{array.ndim}I", *array.shape)
    digest = hashlib.sha256(bytes([*MAGIC, array.ndim]) + shape)
    digest.update(array.data)
    return digest.hexdigest()


def _times(shape: tuple[int, ...]) -> str:
    return " × ".join(f"{size:,}" for size in shape)

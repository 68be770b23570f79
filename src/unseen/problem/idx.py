"""The IDX format of MNIST: a magic number, the sizes, then one byte a value."""

import hashlib
import math
import struct
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError
from unseen.files import open_regular

MAGIC = (0, 0, 0x08)  # 0x08: of unsigned bytes; the number of dimensions follows
# Far above any symbol set there is, and low enough for a laptop to survive a lying header.
LARGEST_FILE_BYTES = 640 * 1024**2
READ_AT_ONCE = 64 * 1024
GZIP = b"\x1f\x8b"  # how a gzip file and each of its members begin

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class IdxFile:
    """An IDX file whose header was read, and nothing else yet."""

    path: Path
    shape: tuple[int, ...]

    def read(self) -> tuple[str, Bytes]:
        """The SHA-256 of the file, as if never compressed, and the array that it holds."""
        array = np.empty(self.shape, np.uint8)
        room, filled = array.reshape(-1), -_header_bytes(len(self.shape))
        with closing(_pieces(self.path)) as pieces:
            for piece in pieces:
                new = np.frombuffer(piece, np.uint8)[max(0, -filled) :]
                if filled + len(piece) > array.size:
                    raise self._fault("longer than its header says")
                room[max(0, filled) : max(0, filled) + len(new)] = new
                filled += len(piece)
        if filled < array.size:
            raise self._fault("truncated")
        return idx_sha256(array), array

    def _fault(self, fault: str) -> UnseenError:
        return UnseenError(f"{self.path} is {fault}: {_times(self.shape)} bytes were promised")


def open_idx(path: Path, dimensions: int) -> IdxFile:
    """Read the header of an IDX file, raw or compressed: what it promises, and no more."""
    header = b""
    with closing(_pieces(path)) as pieces:
        while len(header) < _header_bytes(dimensions) and (piece := next(pieces, b"")):
            header += piece
    header = header[: _header_bytes(dimensions)]
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


def _pieces(path: Path) -> Generator[bytes, None, None]:
    """An IDX file piece by piece, as if never compressed; what cannot be read is told in a line."""
    try:
        with open_regular(path) as file:
            packed = file.read(READ_AT_ONCE)
            if packed.startswith(GZIP):
                yield from _unpacked(packed, file)
                return
            while packed:
                yield packed
                packed = file.read(READ_AT_ONCE)
    except (OSError, EOFError, zlib.error) as error:
        # EOFError and zlib.error: a gzip stream that was cut or scrambled
        reason = getattr(error, "strerror", None) or f"its compression is damaged ({error})"
        raise UnseenError(f"cannot read {path}: {reason}") from error


def _unpacked(packed: bytes, file: BufferedReader) -> Iterator[bytes]:
    """What the gzip members of a file hold; Python's own gzip takes minutes for padding."""
    while packed.startswith(GZIP):
        member = zlib.decompressobj(16 + zlib.MAX_WBITS)
        while not member.eof:
            packed = packed or file.read(READ_AT_ONCE)
            piece = member.decompress(packed, READ_AT_ONCE)
            if not (packed or piece or member.eof):
                raise EOFError("it ends too early")
            packed = member.unconsumed_tail
            if piece:
                yield piece
        packed = member.unused_data or file.read(READ_AT_ONCE)


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

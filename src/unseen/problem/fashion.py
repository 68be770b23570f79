"""Where Fashion-MNIST comes from: Debian's package, our own cache, or the network."""

import gzip
import io
import os
import zlib
from collections.abc import Generator, Iterator
from functools import partial
from http.client import HTTPException
from itertools import chain
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from platformdirs import user_cache_path

from unseen.errors import UnseenError
from unseen.files import make_folder, open_regular, sha256, write_whole
from unseen.problem.symbol_bank import SymbolBank, published_bank

# of the raw bytes, as for MNIST
FASHION_SHA256 = {
    "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}

DEBIAN_FOLDER = Path("/usr/share/datasets/fashion-mnist")
# The second is not encrypted, and need not be: what counts is the sum of what comes.
MIRRORS = (
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
)
News = tuple[str, int, int]  # a file, how many bytes of it have come, of how many (0: not known)

TIMEOUT_SECONDS = 20
CHUNK_BYTES = 64 * 1024
# The largest file has 26 MB, 47 MB unpacked; a mirror that sends more does not send that file.
LARGEST_DOWNLOAD_BYTES = 32 * 1024**2
LARGEST_RAW_BYTES = 64 * 1024**2

THREE_WAYS = (
    "give a folder of its four IDX files as symbols, install Debian's package "
    "dataset-fashion-mnist, or have a network to download it over"
)


class _MirrorError(Exception):
    """Why one mirror did not give us a file."""


def cache_folder() -> Path:
    return user_cache_path("unseen") / "fashion-mnist"


def find_fashion_mnist() -> Path | None:
    """The folder that holds all four files already, if there is one."""
    for folder in (DEBIAN_FOLDER, cache_folder()):
        if all(os.path.isfile(path) for path in _paths(folder).values()):
            return folder
    return None


def fashion_mnist() -> SymbolBank:
    """Xiao, Rasul and Vollgraf's pictures of ten kinds of clothes, if they are on this machine."""
    folder = find_fashion_mnist()
    if folder is None:
        raise UnseenError(f"Fashion-MNIST is not on this machine; {THREE_WAYS}")
    if folder == DEBIAN_FOLDER:
        remedy = "install Debian's package dataset-fashion-mnist again"
    else:
        remedy = "delete it, and the next run downloads it again"
    return published_bank(folder, FASHION_SHA256, remedy)


def fetch_fashion_mnist() -> Iterator[News]:
    """Download into the cache what is not there yet, and yield how it goes."""
    folder = cache_folder()
    make_folder(folder)
    for name, path in _paths(folder).items():
        if not _is_kept(name, path):
            content = yield from _download(name)
            write_whole(path, content)


def _paths(folder: Path) -> dict[str, Path]:
    return {name: folder / f"{name}.gz" for name in FASHION_SHA256}


def _is_kept(name: str, path: Path) -> bool:
    """Whether the file is there and is the published one."""
    try:
        with open_regular(path, LARGEST_DOWNLOAD_BYTES) as packed:
            return _raw_sha256(packed) == FASHION_SHA256[name]
    except (OSError, _MirrorError):
        return False


def _download(name: str) -> Generator[News, None, bytes]:
    """The published file, compressed, from the first mirror that has it."""
    reasons = []
    for mirror in MIRRORS:
        try:
            packed = yield from _read(f"{mirror}{name}.gz", name)
            if _raw_sha256(io.BytesIO(packed)) == FASHION_SHA256[name]:
                return packed
            raise _MirrorError("sent another file than the published one: its SHA-256 differs")
        except _MirrorError as reason:
            reasons.append(f"{urlsplit(mirror).hostname}: {reason}")
    raise UnseenError(
        f"cannot download Fashion-MNIST's {name}.gz ({'; '.join(reasons)}); {THREE_WAYS}"
    )


def _read(address: str, name: str) -> Generator[News, None, bytes]:
    """All that an address sends, unless that is too much or too little."""
    received = bytearray()
    try:
        with urlopen(address, timeout=TIMEOUT_SECONDS) as response:
            promised = response.length or 0
            # nothing first: so the size is told, and checked, before the first byte comes
            for chunk in chain([b""], iter(partial(response.read1, CHUNK_BYTES), b"")):
                received += chunk
                if max(len(received), promised) > LARGEST_DOWNLOAD_BYTES:
                    raise _MirrorError(f"sends more than {LARGEST_DOWNLOAD_BYTES:,} bytes")
                yield name, len(received), promised
    except HTTPError as error:
        error.close()
        raise _MirrorError(f"HTTP status {error.code}") from error
    except (OSError, HTTPException, ValueError) as error:  # ValueError: sent on to a bad address
        cause = error.reason if isinstance(error, URLError) else error
        text = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
        raise _MirrorError(" ".join(text.split())) from error
    if len(received) < promised:
        raise _MirrorError(f"broke off after {len(received):,} of {promised:,} bytes")
    return bytes(received)


def _raw_sha256(packed: BinaryIO) -> str:
    """The SHA-256 of what a gzip file holds, if that is not more than is sensible."""
    try:
        with gzip.open(packed) as file:
            raw = file.read(LARGEST_RAW_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise _MirrorError(f"sent no whole gzip file ({error})") from error
    if len(raw) > LARGEST_RAW_BYTES:
        raise _MirrorError(f"sent what unpacks to over {LARGEST_RAW_BYTES:,} bytes")
    return sha256(raw)

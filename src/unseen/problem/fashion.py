"""Where Fashion-MNIST comes from: Debian's package, our own cache, or a download."""

import gzip
import io
import zlib
from collections.abc import Generator, Iterator
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

from platformdirs import user_cache_path

from unseen.errors import UnseenError, first_line
from unseen.files import make_folder, sha256, write_whole
from unseen.problem.symbol_bank import SymbolBank, combined_sha256, published_bank

SOURCE = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
# of the raw bytes: another gzip of the same file is still the same file
FASHION_SHA256 = {
    "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}
DEBIAN_FOLDER = Path("/usr/share/datasets/fashion-mnist")
TIMEOUT_SECONDS = 20
CHUNK_BYTES = 64 * 1024
# the largest file has 26 MB, 47 MB unpacked
LARGEST_DOWNLOAD_BYTES = 32 * 1024**2
LARGEST_RAW_BYTES = 64 * 1024**2
THREE_WAYS = (
    "give a folder of its four IDX files as symbols, install Debian's package "
    "dataset-fashion-mnist, or have a network to download it over"
)

News = tuple[str, int, int]  # a file, how many bytes of it have come, of how many (0: not known)


def cache_folder() -> Path:
    return user_cache_path("unseen") / "fashion-mnist"


def find_fashion_mnist() -> Path | None:
    """The folder that holds all four files already, if there is one."""
    for folder in (DEBIAN_FOLDER, cache_folder()):
        if all((folder / f"{name}.gz").is_file() for name in FASHION_SHA256):
            return folder
    return None


def fashion_mnist() -> SymbolBank:
    """Ten kinds of clothing that stand for 0 to 9 (Xiao, Rasul, Vollgraf)."""
    folder = find_fashion_mnist()
    if folder is None:
        raise UnseenError(f"Fashion-MNIST is not on this machine; {THREE_WAYS}")
    if folder == DEBIAN_FOLDER:
        remedy = "install Debian's package dataset-fashion-mnist again"
    else:
        remedy = "delete it, and the next run downloads it again"
    return published_bank(folder, combined_sha256(FASHION_SHA256.values()), remedy)


def fetch_fashion_mnist() -> Iterator[News]:
    """Download into the cache what is not there yet, and yield the progress."""
    folder = cache_folder()
    make_folder(folder)
    for name in FASHION_SHA256:
        path = folder / f"{name}.gz"
        if not path.is_file():
            packed = yield from _download(name)
            write_whole(path, packed)


def _download(name: str) -> Generator[News, None, bytes]:
    """The published file, compressed."""
    packed = bytearray()
    try:
        with urlopen(f"{SOURCE}{name}.gz", timeout=TIMEOUT_SECONDS) as response:
            promised = response.length or 0
            yield name, 0, promised
            while len(packed) <= LARGEST_DOWNLOAD_BYTES and (chunk := response.read1(CHUNK_BYTES)):
                packed += chunk
                yield name, len(packed), promised
        with gzip.open(io.BytesIO(packed)) as file:
            raw = file.read(LARGEST_RAW_BYTES)
    except (OSError, HTTPException, EOFError, zlib.error) as error:
        fault = first_line(error)
    else:
        if sha256(raw) == FASHION_SHA256[name]:
            return bytes(packed)
        fault = "another file than the published one came: its SHA-256 differs"
    raise UnseenError(f"cannot download Fashion-MNIST's {name}.gz ({fault}); {THREE_WAYS}")

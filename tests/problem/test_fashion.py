import gzip
import hashlib
import io
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.client import RemoteDisconnected
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import repeat
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from conftest import write_symbols

from unseen.errors import UnseenError
from unseen.problem import fashion
from unseen.problem.fashion import fashion_mnist, fetch_fashion_mnist, find_fashion_mnist
from unseen.problem.symbol_bank import IDX_FILES, combined_sha256

FIRST = "train-images-idx3-ubyte.gz"
SECOND = "train-labels-idx1-ubyte.gz"
THREE_WAYS = r"folder of its four IDX files.*dataset-fashion-mnist.*network"


@pytest.fixture
def files(tmp_path: Path, monkeypatch) -> Path:
    """A folder of small files that pass for Fashion-MNIST here."""
    raw = write_symbols(tmp_path / "raw")
    sums = {name: hashlib.sha256((raw / name).read_bytes()).hexdigest() for name in IDX_FILES}
    monkeypatch.setattr(fashion, "FASHION_SHA256", sums)
    (tmp_path / "served").mkdir()
    for name in IDX_FILES:
        packed = gzip.compress((raw / name).read_bytes())
        (tmp_path / "served" / f"{name}.gz").write_bytes(packed)
    return tmp_path / "served"


@pytest.fixture
def asked(files: Path, monkeypatch) -> Iterator[list[str]]:
    """A server of these files; the paths that were asked for."""
    paths: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            paths.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(files)))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setattr(fashion, "SOURCE", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    yield paths
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch) -> Path:
    """A machine without Fashion-MNIST, whose cache is the test's own."""
    cache = tmp_path / "cache/fashion-mnist"
    monkeypatch.setattr(fashion, "DEBIAN_FOLDER", tmp_path / "debian")
    monkeypatch.setattr(fashion, "cache_folder", lambda: cache)
    return cache


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def fill(folder: Path, files: Path) -> None:
    folder.mkdir(parents=True)
    for name, packed in content(files).items():
        (folder / name).write_bytes(packed)


def fetch() -> Path | None:
    assert [*fetch_fashion_mnist()]
    return find_fashion_mnist()


def test_a_download_reports_its_progress_and_is_kept(asked: list[str], files: Path, cache: Path):
    assert find_fashion_mnist() is None
    news = [*fetch_fashion_mnist()]
    assert find_fashion_mnist() == cache
    assert content(cache) == content(files)
    for name in IDX_FILES:
        size = len((files / f"{name}.gz").read_bytes())
        received = [so_far for told_name, so_far, _ in news if told_name == name]
        assert received == sorted(received)
        assert (received[0], received[-1]) == (0, size)
        assert {promised for told_name, _, promised in news if told_name == name} == {size}
    bank = fashion_mnist()
    assert len(bank.train.images) == 80
    assert bank.values == tuple(range(10))


def test_only_what_is_missing_is_asked_for(asked: list[str], files: Path, cache: Path):
    fill(cache, files)
    assert [*fetch_fashion_mnist()] == []
    (cache / FIRST).unlink()
    assert find_fashion_mnist() is None
    assert fetch() == cache
    assert asked == [f"/{FIRST}"]


class Answer(io.BytesIO):
    """A server's answer as urllib has it."""

    length = 1_000  # as its header says


class Endless(Answer):
    length = None

    def read1(self, size: int = -1) -> bytes:
        return bytes(size)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (partial(Answer, b"only this"), "Not a gzipped file"),
        (partial(Answer, gzip.compress(bytes(1_000))[:-9]), "EOFError"),
        (partial(Answer, gzip.compress(b"another file")), "its SHA-256 differs"),
        (partial(Answer, gzip.compress(bytes(5_000_000))), "its SHA-256 differs"),
        (Endless, "Not a gzipped file"),
        *((partial(next, repeat(error)), reason) for error, reason in (
            (RemoteDisconnected("closed"), "closed"),
            (TimeoutError("timed out"), "timed out"),
            (URLError(ConnectionRefusedError(111, "refused\nhere")), "refused"),
        )),
    ],
)  # fmt: skip
def test_a_download_that_fails_is_told_and_nothing_kept(
    files: Path, cache: Path, monkeypatch, answer: Callable, reason: str
):
    def urlopen(address: str, timeout: float) -> io.BytesIO:
        made = Answer((files / FIRST).read_bytes()) if address.endswith(FIRST) else answer()
        if isinstance(made, Exception):
            raise made
        return made

    monkeypatch.setattr(fashion, "urlopen", urlopen)
    monkeypatch.setattr(fashion, "LARGEST_DOWNLOAD_BYTES", 300_000)
    monkeypatch.setattr(fashion, "LARGEST_RAW_BYTES", 1_000_000)
    with pytest.raises(UnseenError, match=rf"{SECOND} .*{reason}.*{THREE_WAYS}") as caught:
        fetch()
    assert "\n" not in str(caught.value)
    assert [*content(cache)] == [FIRST]


def test_a_file_that_the_server_does_not_have_is_told(asked: list[str], files: Path, cache: Path):
    (files / FIRST).unlink()
    with pytest.raises(UnseenError, match=f"HTTP Error 404.*{THREE_WAYS}"):
        fetch()
    assert content(cache) == {}
    with pytest.raises(UnseenError, match=rf"is not on this machine; .*{THREE_WAYS}"):
        fashion_mnist()


def test_an_interruption_leaves_nothing(asked: list[str], cache: Path):
    download = fetch_fashion_mnist()
    while next(download)[1] == 0:
        pass
    download.close()
    assert content(cache) == {}


def test_two_downloads_at_once_do_no_harm(asked: list[str], files: Path, cache: Path):
    threads = [threading.Thread(target=fetch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert content(cache) == content(files)


@pytest.mark.parametrize("place", ["cache", "debian"])
def test_debians_folder_comes_first_and_a_damaged_file_is_never_used(
    files: Path, cache: Path, place: str
):
    fill(cache, files)
    if place == "debian":
        fill(fashion.DEBIAN_FOLDER, files)
    folder = cache if place == "cache" else fashion.DEBIAN_FOLDER
    assert find_fashion_mnist() == folder
    assert len(fashion_mnist().train.images) == 80
    raw = bytearray(gzip.decompress((folder / FIRST).read_bytes()))
    raw[-1] ^= 1
    (folder / FIRST).write_bytes(gzip.compress(raw))
    remedy = "delete it" if place == "cache" else "install Debian's package .* again"
    with pytest.raises(UnseenError, match=f"{folder}.*; {remedy}"):
        fashion_mnist()


@pytest.mark.skipif(
    not Path("/usr/share/datasets/fashion-mnist").is_dir(),
    reason="Debian's package dataset-fashion-mnist is not installed",
)
def test_debians_package_has_the_published_files(monkeypatch):
    monkeypatch.setattr(fashion, "DEBIAN_FOLDER", Path("/usr/share/datasets/fashion-mnist"))
    bank = fashion_mnist()
    assert bank.sha256 == combined_sha256(fashion.FASHION_SHA256.values())
    assert bank.train.images.shape == (60_000, 28, 28)
    assert np.array_equal(np.bincount(bank.test.labels), [1_000] * 10)

import gzip
import hashlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from conftest import write_symbols

from unseen.errors import UnseenError
from unseen.problem import fashion
from unseen.problem.fashion import fashion_mnist, fetch_fashion_mnist, find_fashion_mnist
from unseen.problem.symbol_bank import IDX_FILES, combined_sha256

FIRST = "train-images-idx3-ubyte"
THREE_WAYS = r"folder of its four IDX files.*dataset-fashion-mnist.*network"
Answer = Callable[[BaseHTTPRequestHandler], None]


class Mirror:
    """A web server of our own: what it answers for each path, and which were asked for."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.answers: dict[str, Answer] = {path: send(body) for path, body in files.items()}
        self.asked: list[str] = []
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                mirror.asked.append(self.path)
                with suppress(ConnectionError):  # when the client has had enough
                    mirror.answers.get(self.path, not_found)(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/"


def send(body: bytes, *, promised: int | None = None) -> Answer:
    """An answer with this body, and perhaps a false word on how long it is."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        length = len(body) if promised is None else promised
        request.send_header("Content-Length", str(length))
        request.end_headers()
        request.wfile.write(body)

    return answer


def send_without_end(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.end_headers()
    while True:
        request.wfile.write(bytes(10_000))


def not_found(request: BaseHTTPRequestHandler) -> None:
    request.send_error(404)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Small files that pass for Fashion-MNIST here, by the paths they are asked for with."""
    raw = {path.name: path.read_bytes() for path in write_symbols(tmp_path / "raw").iterdir()}
    sums = {name: hashlib.sha256(raw[name]).hexdigest() for name in IDX_FILES}
    monkeypatch.setattr(fashion, "FASHION_SHA256", sums)
    return {f"/{name}.gz": gzip.compress(content) for name, content in raw.items()}


@pytest.fixture
def mirror(files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    mirror = Mirror(files)
    thread = threading.Thread(target=mirror.server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setattr(fashion, "SOURCE", mirror.address)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    yield mirror
    mirror.server.shutdown()
    thread.join()
    mirror.server.server_close()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without Fashion-MNIST, whose cache is the test's own."""
    cache = tmp_path / "cache/fashion-mnist"
    monkeypatch.setattr(fashion, "DEBIAN_FOLDER", tmp_path / "debian")
    monkeypatch.setattr(fashion, "cache_folder", lambda: cache)
    return cache


def fill(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True)
    for path, content in files.items():
        (folder / path[1:]).write_bytes(content)


def fetch(tell=lambda *news: None):
    """Download to the end, telling what happens."""
    for news in fetch_fashion_mnist():
        tell(*news)
    return find_fashion_mnist()


def test_a_download_is_told_of_and_kept(mirror: Mirror, files: dict[str, bytes], cache: Path):
    told: list[tuple[str, int, int]] = []
    assert find_fashion_mnist() is None
    assert fetch(lambda *news: told.append(news)) == cache
    assert {f"/{path.name}": path.read_bytes() for path in cache.iterdir()} == files
    for name in IDX_FILES:
        size = len(files[f"/{name}.gz"])
        received = [so_far for told_name, so_far, _ in told if told_name == name]
        assert received[0] == 0
        assert received == sorted(received)
        assert received[-1] == size
        assert {promised for told_name, _, promised in told if told_name == name} == {size}
    bank = fashion_mnist()
    assert len(bank.train.images) == 80
    assert bank.values == tuple(range(10))


def test_only_what_is_missing_is_asked_for(mirror: Mirror, files: dict[str, bytes], cache: Path):
    fill(cache, files)
    assert fetch() == cache
    assert mirror.asked == []
    (cache / f"{FIRST}.gz").unlink()
    assert find_fashion_mnist() is None
    fetch()
    assert mirror.asked == [f"/{FIRST}.gz"]
    assert len(fashion_mnist().train.images) == 80


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (send(b"only this", promised=1_000), "Not a gzipped file"),
        (send(gzip.compress(bytes(1_000))[:-9], promised=1_000), "EOFError"),
        (send(gzip.compress(b"another file")), "its SHA-256 differs"),
        (send(gzip.compress(bytes(5_000_000))), "its SHA-256 differs"),
        (send_without_end, "Not a gzipped file"),
        (not_found, "HTTP Error 404"),
        (lambda request: None, "closed connection without response"),
        (lambda request: threading.Event().wait(1) and None, "timed out"),
    ],
)
def test_a_download_that_fails_is_told_and_nothing_kept(
    mirror: Mirror, cache: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer, reason: str
):
    monkeypatch.setattr(fashion, "LARGEST_DOWNLOAD_BYTES", 300_000)
    monkeypatch.setattr(fashion, "LARGEST_RAW_BYTES", 1_000_000)
    monkeypatch.setattr(fashion, "TIMEOUT_SECONDS", 0.5)
    mirror.answers["/train-labels-idx1-ubyte.gz"] = answer
    received = []
    with pytest.raises(UnseenError, match=rf"train-labels-.*{reason}.*{THREE_WAYS}") as caught:
        fetch(lambda name, so_far, promised: received.append(so_far))
    assert "\n" not in str(caught.value)
    assert max(received) <= 300_000 + fashion.CHUNK_BYTES
    assert [path.name for path in cache.iterdir()] == [f"{FIRST}.gz"]


def test_debians_folder_comes_first(files: dict[str, bytes], cache: Path):
    fill(cache, files)
    fill(fashion.DEBIAN_FOLDER, files)
    assert find_fashion_mnist() == fashion.DEBIAN_FOLDER
    assert len(fashion_mnist().train.images) == 80


def test_without_a_network_the_three_ways_are_named(cache: Path, monkeypatch: pytest.MonkeyPatch):
    with socket.socket() as taken:  # bound but not listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setattr(fashion, "SOURCE", f"http://127.0.0.1:{taken.getsockname()[1]}/")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        with pytest.raises(UnseenError, match=rf"refused.*{THREE_WAYS}"):
            fetch()
    assert [*cache.iterdir()] == []
    with pytest.raises(UnseenError, match=rf"is not on this machine; .*{THREE_WAYS}"):
        fashion_mnist()


@pytest.mark.parametrize("error", [KeyboardInterrupt, BrokenPipeError])
def test_an_interruption_goes_through_and_leaves_nothing(
    mirror: Mirror, cache: Path, error: type[BaseException]
):
    def interrupt(name: str, received: int, promised: int) -> None:
        if received:
            raise error

    with pytest.raises(error):
        fetch(interrupt)
    assert [*cache.iterdir()] == []


def test_two_downloads_at_once_do_no_harm(mirror: Mirror, files: dict[str, bytes], cache: Path):
    threads = [threading.Thread(target=fetch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {f"/{path.name}": path.read_bytes() for path in cache.iterdir()} == files


@pytest.mark.parametrize("place", ["cache", "debian"])
def test_a_damaged_file_is_never_used(files: dict[str, bytes], cache: Path, place: str):
    folder = cache if place == "cache" else fashion.DEBIAN_FOLDER
    fill(folder, files)
    path = folder / "t10k-images-idx3-ubyte.gz"
    raw = bytearray(gzip.decompress(path.read_bytes()))
    raw[-1] ^= 1
    path.write_bytes(gzip.compress(raw))
    remedy = "delete it" if place == "cache" else "install Debian's package .* again"
    with pytest.raises(UnseenError, match=f"{folder}.*; {remedy}"):
        fashion_mnist()


@pytest.mark.skipif(
    not Path("/usr/share/datasets/fashion-mnist").is_dir(),
    reason="Debian's package dataset-fashion-mnist is not installed",
)
def test_debians_package_has_the_published_files(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fashion, "DEBIAN_FOLDER", Path("/usr/share/datasets/fashion-mnist"))
    bank = fashion_mnist()
    assert bank.sha256 == combined_sha256(fashion.FASHION_SHA256.values())
    assert bank.train.images.shape == (60_000, 28, 28)
    assert np.array_equal(np.bincount(bank.test.labels), [1_000] * 10)

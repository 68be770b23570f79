import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest
from conftest import write_idx, write_symbols

from unseen.errors import UnseenError
from unseen.problem.symbol_bank import (
    development_bank,
    from_folder,
    published_bank,
)
from unseen.problem.symbols import (
    BANK_SHA256,
    canonical_symbols,
    load_symbols,
    symbols_sha256,
)

MNIST_MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}
CARRIED = Path(__file__).parents[2] / "src/unseen/problem"


def test_mnist_is_whole():
    bank = load_symbols("mnist")
    assert bank.train.images.shape == (60_000, 28, 28)
    assert bank.test.images.shape == (10_000, 28, 28)
    assert bank.values == tuple(range(10))
    assert bank.sha256 == BANK_SHA256["mnist"] == symbols_sha256("mnist")


@pytest.mark.parametrize("name", MNIST_MD5)
def test_the_package_carries_the_published_files(name):
    raw = gzip.decompress((CARRIED / f"mnist/{name}.gz").read_bytes())
    assert hashlib.md5(raw).hexdigest() == MNIST_MD5[name]


@pytest.mark.parametrize("damage", ["missing", "cut", "changed"])
def test_damaged_files_of_the_package_are_never_used(tmp_path: Path, damage: str):
    for path in (CARRIED / "printed").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    labels = tmp_path / "t10k-labels-idx1-ubyte.gz"
    raw = bytearray(gzip.decompress(labels.read_bytes()))
    raw[-1] ^= 1
    labels.write_bytes(labels.read_bytes()[:-20] if damage == "cut" else gzip.compress(raw))
    if damage == "missing":
        labels.unlink()
    with pytest.raises(UnseenError, match=f"{tmp_path}.*; install unseen again"):
        published_bank(tmp_path, BANK_SHA256["printed"], "install unseen again")


def test_a_folder_works_raw_and_compressed(tmp_path: Path):
    raw = write_symbols(tmp_path / "raw")
    packed = tmp_path / "packed"
    packed.mkdir()
    for path in raw.iterdir():
        (packed / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    one, other = from_folder(raw), from_folder(packed)
    assert np.array_equal(one.train.images, other.train.images)
    assert np.array_equal(one.test.labels, other.test.labels)
    assert one.sha256 == other.sha256


@pytest.mark.parametrize("style", ["{}-images.idx3-ubyte", "emnist-digits-{}-images-idx3-ubyte"])
def test_other_usual_file_names_work(symbols: Path, style: str):
    for half in ("train", "t10k"):
        images = symbols / f"{half}-images-idx3-ubyte"
        images.rename(symbols / style.format("test" if half == "t10k" else half))
    assert len(from_folder(symbols).train.images) == 80


def test_mnist_elsewhere_is_still_mnist(tmp_path: Path):
    for path in (CARRIED / "mnist").glob("*.gz"):
        (tmp_path / path.name).symlink_to(path)
    assert canonical_symbols(str(tmp_path)) == "mnist"


def test_what_a_folder_holds_decides_its_sum(symbols: Path, tmp_path: Path):
    before = from_folder(symbols).sha256
    moved = symbols.rename(tmp_path / "moved")
    assert from_folder(moved).sha256 == before
    images = moved / "train-images-idx3-ubyte"
    content = bytearray(images.read_bytes())
    content[-1] ^= 1
    images.write_bytes(content)
    assert from_folder(moved).sha256 != before


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("t10k-labels-idx1-ubyte", np.arange(40) % 9, "label 9 has no image in the test half"),
        ("train-labels-idx1-ubyte", np.arange(79) % 10, "training half has 80 images, but 79 lab"),
        ("t10k-images-idx3-ubyte", np.zeros((40, 20, 20)), "images are 28 × 28, test images 20"),
        ("t10k-images-idx3-ubyte", None, "has no t10k-images-idx3-ubyte"),
    ],
)
def test_files_that_do_not_belong_together_are_refused(symbols: Path, name, content, fault):
    (symbols / name).unlink()
    if content is not None:
        write_idx(symbols / name, content)
    with pytest.raises(UnseenError, match=fault):
        from_folder(symbols)


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(UnseenError, match=r"unknown symbols 'mnits'.*did you mean 'mnist'"):
        load_symbols("mnits")


def test_development_holds_out_a_sixth_of_every_label_and_no_test_image():
    bank = load_symbols("mnist")
    development = development_bank(bank)
    train, test = {*development.train.numbers}, {*development.test.numbers}
    assert not train & test
    assert train | test == {*bank.train.numbers}
    assert development.values == development.test.values == bank.values
    for label, pool in bank.train.pools.items():
        assert len(development.test.pools[label]) == len(pool) // 6
    assert np.array_equal(
        development.test.images[0], bank.train.images[development.test.numbers[0]]
    )

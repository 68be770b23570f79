"""Symbol banks: images of symbols with their labels, in train and in test handwriting."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError
from unseen.problem.idx import idx_bytes, read_idx

# as MNIST's are named
IDX_FILES = (
    *("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    *("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
)
DEVELOPMENT_SHARE = 6  # one image in six, as 10,000 of MNIST's 60,000


@dataclass(frozen=True)
class SymbolImages:
    """Images with their labels: one half of a bank."""

    images: NDArray[np.uint8]  # (n, height, width)
    labels: NDArray[np.unsignedinteger[Any]]  # (n,): a byte, if there are no signs among them
    numbers: NDArray[np.int64]  # (n,) which image of the whole bank each one is

    @cached_property
    def pools(self) -> dict[int, NDArray[np.intp]]:
        """For each label, the rows of its images."""
        return {label: np.flatnonzero(self.labels == label) for label in self.values}

    @cached_property
    def by_label(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """All images ordered by label; and for each possible label, its first row and count."""
        order = np.argsort(self.labels, kind="stable").astype(np.int32)
        counts = np.bincount(self.labels, minlength=256).astype(np.int32)
        return order, np.cumsum(counts, dtype=np.int32) - counts, counts

    @cached_property
    def values(self) -> tuple[int, ...]:
        return tuple(np.unique(self.labels).tolist())

    def only(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> "SymbolImages":
        return SymbolImages(self.images[rows], self.labels[rows], self.numbers[rows])


@dataclass(frozen=True)
class SymbolBank:
    """A symbol set: its images and labels in training and in test handwriting."""

    train: SymbolImages
    test: SymbolImages
    sha256: str

    @property
    def values(self) -> tuple[int, ...]:
        return self.train.values


def development_bank(bank: SymbolBank) -> SymbolBank:
    """The bank's training images alone, the last sixth of each label held out as its test half."""
    held_out = np.zeros(len(bank.train.labels), bool)
    for label, pool in bank.train.pools.items():
        if len(pool) < DEVELOPMENT_SHARE:
            raise UnseenError(
                f"label {label} has {len(pool)} training image(s); development folds need "
                f"{DEVELOPMENT_SHARE}, to hold one out"
            )
        held_out[pool[-(len(pool) // DEVELOPMENT_SHARE) :]] = True
    return replace(bank, train=bank.train.only(~held_out), test=bank.train.only(held_out))


def published_bank(folder: Path, sha256: str, remedy: str) -> SymbolBank:
    """The bank of a folder that must have this sum; an error ends in the remedy."""
    try:
        bank = from_folder(folder)
    except UnseenError as error:
        raise UnseenError(f"{error}; {remedy}") from error
    if bank.sha256 != sha256:
        raise UnseenError(f"{folder} does not hold the published files; {remedy}")
    return bank


def from_folder(folder: Path) -> SymbolBank:
    """Any four IDX files named as MNIST's are, raw or compressed."""
    arrays = [
        read_idx(_find_file(folder, name), dimensions=3 if "images" in name else 1)
        for name in IDX_FILES
    ]
    return from_arrays(str(folder), arrays)


def from_arrays(name: str, arrays: Sequence[NDArray[np.uint8]]) -> SymbolBank:
    """A bank of training images and labels, then test images and labels; faults name it."""
    train_images, train_labels, test_images, test_labels = arrays
    for half, images, labels in (
        ("training", train_images, train_labels),
        ("test", test_images, test_labels),
    ):
        if len(images) != len(labels):
            fault = f"{len(images):,} images, but {len(labels):,} labels"
            raise UnseenError(f"{name}: the {half} half has {fault}")
    if train_images.shape[1:] != test_images.shape[1:]:
        sizes = ["{} × {}".format(*images.shape[1:]) for images in (train_images, test_images)]
        raise UnseenError("{}: training images are {}, test images {}".format(name, *sizes))
    count, most = len(train_images), len(train_images) + len(test_images)
    train = SymbolImages(train_images, train_labels, np.arange(count))
    test = SymbolImages(test_images, test_labels, np.arange(count, most))
    for label in sorted({*train.values} ^ {*test.values}):
        half = "test" if label in train.values else "training"
        raise UnseenError(f"{name}: label {label} has no image in the {half} half")
    sums = (hashlib.sha256(idx_bytes(array)).hexdigest() for array in arrays)
    return SymbolBank(train, test, combined_sha256(sums))


def _find_file(folder: Path, name: str) -> Path:
    """The one file of the folder that has the role of MNIST's `name`."""
    half, content = name.split("-")[:2]
    halves = "t10k|test" if half == "t10k" else half
    pattern = rf"(?:.*[-_.])?(?:{halves})[-_.]{content}(?:[-_.]idx\d)?(?:[-_.]ubyte)?"
    found = {
        stem: path
        for path in sorted(folder.iterdir(), reverse=True)  # of x and x.gz, x is met last and stays
        if re.fullmatch(pattern, stem := path.name.removesuffix(".gz"), re.IGNORECASE)
        and path.is_file()
    }
    if not found:
        raise UnseenError(f"{folder} has no {name} (nor {name}.gz)")
    if len(found) > 1:
        raise UnseenError(f"{folder} has several files for {name}: {', '.join(sorted(found))}")
    return next(iter(found.values()))


def combined_sha256(sums: Iterable[str]) -> str:
    """The sum of a bank from the sums of its four files, unpacked."""
    return hashlib.sha256("".join(sums).encode()).hexdigest()

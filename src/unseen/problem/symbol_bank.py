"""Symbol banks: images of symbols with their labels, in train and in test handwriting."""

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError
from unseen.problem.idx import LARGEST_FILE_BYTES, IdxFile, open_idx

# of the raw bytes: another gzip of the same file is still the same file
LARGEST_SIDE = 256  # pixels: larger pictures take gigabytes once they are side by side


MNIST_SHA256 = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}


# of banks that are drawn: their sums are known without drawing them
DRAWN_SHA256 = {
    "dominoes": "80d402936aa0b03d289e011ba778e37e4aa287cbabcbdb9140d9ed24733d4267",
    "printed": "41e9b160c22110f12099d8c2d758c35d3b316a6f2c2628c9f112ea32049f8e57",
}
DEVELOPMENT_SHARE = 6  # one image in six, as 10,000 of MNIST's 60,000


@dataclass(frozen=True)
class SymbolImages:
    """Images with their labels: one half of a bank."""

    images: NDArray[np.uint8]  # (n, height, width)
    labels: NDArray[np.unsignedinteger[Any]]  # (n,): a byte, if there are no signs among them
    numbers: NDArray[np.int64]  # (n,) which image of the whole bank each one is

    @cached_property
    def pools(self) -> dict[int, NDArray[np.intp]]:
        """For each label, where its images stand."""
        return {label: np.flatnonzero(self.labels == label) for label in self.values}

    @cached_property
    def by_label(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """All images ordered by label; and for each possible label, its first place and count."""
        order = np.argsort(self.labels, kind="stable").astype(np.int32)
        counts = np.bincount(self.labels, minlength=256).astype(np.int32)
        return order, np.cumsum(counts, dtype=np.int32) - counts, counts

    @cached_property
    def values(self) -> tuple[int, ...]:
        return tuple(np.unique(self.labels).tolist())

    def only(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> "SymbolImages":
        return SymbolImages(self.images[rows], self.labels[rows], self.numbers[rows])

    def numbered_after(self, count: int) -> "SymbolImages":
        return replace(self, numbers=self.numbers + count)


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


def joined(one: SymbolImages, other: SymbolImages) -> SymbolImages:
    return SymbolImages(
        np.concatenate([one.images, other.images]),
        np.concatenate([one.labels, other.labels]),
        np.concatenate([one.numbers, other.numbers]),
    )


def published_bank(folder: Path, published: Mapping[str, str], remedy: str) -> SymbolBank:
    """Four compressed IDX files that must have these sums; an error ends in the remedy."""
    paths = {name: folder / f"{name}.gz" for name in published}
    try:
        bank, sums = _read_bank(paths)
    except UnseenError as error:
        raise UnseenError(f"{error}; {remedy}") from error
    for name, expected in published.items():
        if sums[name] != expected:
            raise UnseenError(f"{paths[name]} is not the published file; {remedy}")
    return bank


def from_folder(folder: Path) -> SymbolBank:
    """Any four IDX files named as MNIST's are, raw or compressed."""
    return _read_bank({name: _find_file(folder, name) for name in MNIST_SHA256})[0]


def _find_file(folder: Path, name: str) -> Path:
    """The one file of the folder that plays the part of MNIST's `name`."""
    half, content = name.split("-")[:2]
    halves = "t10k|test" if half == "t10k" else half
    part = rf"(?:.*[-_.])?(?:{halves})[-_.]{content}(?:[-_.]idx\d)?(?:[-_.]ubyte)?"
    found = {
        stem: path
        for path in sorted(folder.iterdir(), reverse=True)  # of x and x.gz, x is met last and stays
        if re.fullmatch(part, stem := path.name.removesuffix(".gz"), re.IGNORECASE)
        and path.is_file()
    }
    if not found:
        raise UnseenError(f"{folder} has no {name} (nor {name}.gz)")
    if len(found) > 1:
        raise UnseenError(f"{folder} has several files for {name}: {', '.join(sorted(found))}")
    return next(iter(found.values()))


def _read_bank(paths: dict[str, Path]) -> tuple[SymbolBank, dict[str, str]]:
    """The bank of four files named as MNIST's are, and the sum of each file.

    What their headers promise is compared before anything else is read or unpacked.
    """
    opened = {
        name: open_idx(path, dimensions=3 if "images" in name else 1)
        for name, path in paths.items()
    }
    _check_headers(opened)
    arrays, sums = {}, {}
    for name, file in opened.items():
        sums[name], arrays[name] = file.read()
    train, test = (
        SymbolImages(images, arrays[labels_file(name)], np.arange(len(images)))
        for name, images in arrays.items()
        if "images" in name
    )
    folder = next(iter(paths.values())).parent
    for label in sorted({*train.values} ^ {*test.values}):
        half = "test" if label in train.values else "training"
        raise UnseenError(f"{folder}: label {label} has no image in the {half} half")
    test = test.numbered_after(len(train.numbers))
    return SymbolBank(train, test, combined_sha256(sums)), sums


def _check_headers(files: Mapping[str, IdxFile]) -> None:
    """Refuse files that do not belong together, by their headers."""
    images = {name: file for name, file in files.items() if "images" in name}
    for name, file in images.items():
        labels = files[labels_file(name)]
        if file.shape[0] != labels.shape[0]:
            raise UnseenError(
                f"{file.path} has {file.shape[0]:,} images, but "
                f"{labels.path} has {labels.shape[0]:,} labels"
            )
        if max(file.shape[1:]) > LARGEST_SIDE:
            raise UnseenError(
                f"{file.path} has images of {file.shape[1]:,} × {file.shape[2]:,} pixels; the most "
                f"is {LARGEST_SIDE} × {LARGEST_SIDE}"
            )
    train, test = images.values()
    if train.shape[1:] != test.shape[1:]:
        sizes = ("{} × {}".format(*file.shape[1:]) for file in (train, test))
        fault = "{}: training images are {}, test images {}"
        raise UnseenError(fault.format(train.path.parent, *sizes))
    if sum(math.prod(file.shape) for file in files.values()) > LARGEST_FILE_BYTES:
        raise UnseenError(f"{train.path.parent} holds more images than is sensible")


def labels_file(images_file: str) -> str:
    return images_file.replace("images-idx3", "labels-idx1")


def combined_sha256(sums: dict[str, str]) -> str:
    return hashlib.sha256("".join(sums[name] for name in MNIST_SHA256).encode()).hexdigest()

"""The symbol sets by name, and what each holds."""

import hashlib
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from unseen.errors import SettingError, UnseenError, unknown
from unseen.parts import Registry, part_sha256
from unseen.problem.fashion import fashion_mnist
from unseen.problem.operations import SIGN_LABELS
from unseen.problem.symbol_bank import SymbolBank, SymbolImages, from_folder, published_bank

MNIST_BANK_SHA256 = "c65580678af93f1ea48c2c0d01d543ec89307c6b8a0eb7ca542d7c18c5f4c681"
# of the sets that the package carries, so that their sums are known without reading them
BANK_SHA256 = {
    "mnist": MNIST_BANK_SHA256,
    "mnist-0-4": hashlib.sha256(f"{MNIST_BANK_SHA256} 0 to 4".encode()).hexdigest(),
    "dominoes": "80d402936aa0b03d289e011ba778e37e4aa287cbabcbdb9140d9ed24733d4267",
    "printed": "41e9b160c22110f12099d8c2d758c35d3b316a6f2c2628c9f112ea32049f8e57",
}
SIGNS_SHA256 = "489ea1934c0843fcfbb56482f41671d93bea8644f42b26e7496ef90e2d6c5360"


def mnist() -> SymbolBank:
    """LeCun, Cortes and Burges's handwritten digits, carried by the package."""
    return _carried("mnist", MNIST_BANK_SHA256)


def mnist_0_4() -> SymbolBank:
    """The digits 0 to 4 of MNIST, as in rsbench's MNIST-Half."""
    bank = mnist()
    train, test = (half.only(half.labels <= 4) for half in (bank.train, bank.test))
    return SymbolBank(train, test, BANK_SHA256["mnist-0-4"])


def dominoes() -> SymbolBank:
    """Pips to count, 0 to 9, as on dominoes, drawn by a program with jitter."""
    return _carried("dominoes", BANK_SHA256["dominoes"])


def printed() -> SymbolBank:
    """Printed digits of many sizes and slants; other fonts in the test half."""
    return _carried("printed", BANK_SHA256["printed"])


def _carried(name: str, sha256: str) -> SymbolBank:
    """A symbol set that the package carries as IDX files."""
    return published_bank(Path(__file__).parent / name, sha256, remedy="install unseen again")


def with_signs(bank: SymbolBank, shown: Sequence[str]) -> SymbolBank:
    """The bank and images of some operator signs, under their own labels."""
    height, width = bank.train.images.shape[1:]
    if (height, width) != (28, 28):
        raise UnseenError(
            f"signs are drawn 28 × 28, between symbols of that size; these are {height} × {width}"
        )
    signs = _carried("signs", SIGNS_SHA256)
    labels = np.array([*SIGN_LABELS.values()], np.uint16)
    wanted = [number for number, sign in enumerate(SIGN_LABELS) if sign in shown]
    count, halves = len(bank.train.labels) + len(bank.test.labels), []
    for own, half in ((bank.train, signs.train), (bank.test, signs.test)):
        some = half.only(np.isin(half.labels, wanted))
        halves.append(
            SymbolImages(
                np.concatenate([own.images, some.images]),
                np.concatenate([own.labels, labels[some.labels]]),
                np.concatenate([own.numbers, np.arange(count, count + len(some.labels))]),
            )
        )
        count += len(some.labels)
    train, test = halves
    return SymbolBank(train, test, bank.sha256)


def symbols_sha256(symbols: str) -> str:
    """What a symbol set holds, as one sum; the same files elsewhere have the same."""
    return BANK_SHA256.get(symbols) or load_symbols(symbols).sha256


def canonical_symbols(symbols: str) -> str:
    """The name of a symbol set that has one, else the full path of its folder."""
    if symbols in SYMBOLS:
        return symbols
    path = str(Path(symbols).resolve()) if _is_folder(symbols) else symbols
    return "mnist" if load_symbols(path).sha256 == MNIST_BANK_SHA256 else path


def _is_folder(symbols: str) -> bool:
    return bool(symbols) and os.path.isdir(symbols)  # which is so of no name that is too long


def load_symbols(symbols: str) -> SymbolBank:
    """The bank of a registered name, or of a folder.

    >>> import unseen
    >>> unseen.load_symbols("mnist").test.images.shape
    (10000, 28, 28)
    """
    return _loaded(symbols, part_sha256("symbols", symbols), _stamps(symbols))


def _stamps(symbols: str) -> tuple[tuple[str, int, int], ...]:
    """What changes when a file of a folder of symbols is written anew."""
    if not _is_folder(symbols):
        return ()
    try:
        stats = [(path.name, path.stat()) for path in Path(symbols).iterdir() if path.is_file()]
    except OSError as error:
        raise UnseenError(f"cannot read {error.filename}: {error.strerror}") from error
    return tuple(sorted((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats))


@lru_cache(maxsize=1)
def _loaded(symbols: str, part: str, stamps: tuple[tuple[str, int, int], ...]) -> SymbolBank:
    """The symbols, while what was added under their name and the files of their folder stay."""
    if symbols in SYMBOLS:
        return SYMBOLS[symbols]()
    if _is_folder(symbols):
        return from_folder(Path(symbols))
    if symbols and os.path.exists(symbols):
        raise SettingError("symbols", symbols, "is a file; give the folder that holds four of them")
    known = [*SYMBOLS, "any folder of four IDX files"]
    raise unknown("symbols", symbols, known, place="folder")


SYMBOLS: Registry[Callable[[], SymbolBank]] = Registry(
    {
        "mnist": mnist,
        "mnist-0-4": mnist_0_4,
        "fashion-mnist": fashion_mnist,
        "dominoes": dominoes,
        "printed": printed,
    }
)

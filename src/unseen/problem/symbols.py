"""The symbol sets by name, and what each holds."""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path

from unseen.errors import SettingError, UnseenError, unknown
from unseen.parts import Registry, part_sha256
from unseen.problem.symbol_bank import (
    DRAWN_SHA256,
    MNIST_SHA256,
    SymbolBank,
    combined_sha256,
    from_folder,
    joined,
    published_bank,
)


def with_signs(bank: SymbolBank, shown: Sequence[str]) -> SymbolBank:
    """The bank and images of some operator signs, under their own labels."""
    from unseen.problem.synthetic import signs

    height, width = bank.train.images.shape[1:]
    if (height, width) != (28, 28):
        raise UnseenError(
            f"signs are drawn 28 × 28, between symbols of that size; these are {height} × {width}"
        )
    count = len(bank.train.numbers) + len(bank.test.numbers)
    train, test = (half.numbered_after(count) for half in signs(shown))
    return replace(bank, train=joined(bank.train, train), test=joined(bank.test, test))


def mnist() -> SymbolBank:
    """LeCun, Cortes and Burges's handwritten digits, carried by the package."""
    with as_file(files("unseen.problem").joinpath("mnist")) as folder:
        return published_bank(folder, MNIST_SHA256, remedy="install unseen again")


def mnist_0_4() -> SymbolBank:
    """The digits 0 to 4 of MNIST, as in rsbench's MNIST-Half."""
    bank = mnist()
    train, test = (half.only(half.labels <= 4) for half in (bank.train, bank.test))
    return SymbolBank(train, test, MNIST_0_4_SHA256)


MNIST_BANK_SHA256 = combined_sha256(MNIST_SHA256)


MNIST_0_4_SHA256 = hashlib.sha256(f"{MNIST_BANK_SHA256} 0 to 4".encode()).hexdigest()


BANK_SHA256 = {"mnist": MNIST_BANK_SHA256, "mnist-0-4": MNIST_0_4_SHA256, **DRAWN_SHA256}


def symbols_sha256(symbols: str) -> str:
    """What a symbol set holds, as one sum; the same files elsewhere have the same."""
    return BANK_SHA256.get(symbols) or load_symbols(symbols).sha256


def dominoes() -> SymbolBank:
    """Pips to count, 0 to 9, as on dominoes, drawn by the program with jitter."""
    from unseen.problem import synthetic

    return synthetic.dominoes()


def printed() -> SymbolBank:
    """Printed digits of many sizes and slants; other fonts in the test half."""
    from unseen.problem import synthetic

    return synthetic.printed()


def fashion_mnist() -> SymbolBank:
    """Ten kinds of clothing that stand for 0 to 9 (Xiao, Rasul, Vollgraf)."""
    from unseen.problem import fashion

    return fashion.fashion_mnist()


def canonical_symbols(symbols: str) -> str:
    """The name of a symbol set that has one, else the full path of its folder."""
    if symbols in SYMBOLS:
        return symbols
    try:
        path = str(Path(symbols).resolve()) if symbols and Path(symbols).is_dir() else symbols
    except OSError as error:
        raise UnseenError(f"cannot read {symbols}: {error.strerror}") from error
    return "mnist" if load_symbols(path).sha256 == MNIST_BANK_SHA256 else path


def load_symbols(symbols: str) -> SymbolBank:
    """The bank of a registered name, or of a folder.

    >>> import unseen
    >>> unseen.load_symbols("mnist").test.images.shape
    (10000, 28, 28)
    """
    return _loaded(symbols, part_sha256("symbols", symbols), _stamps(symbols))


def _stamps(symbols: str) -> tuple[tuple[str, int, int], ...]:
    """What changes when a file of a folder of symbols is written anew."""
    if not symbols or symbols in SYMBOLS:
        return ()
    try:
        with os.scandir(symbols) as entries:
            stats = [(entry.name, entry.stat()) for entry in entries]
    except (OSError, ValueError):
        return ()
    return tuple(sorted((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats))


@lru_cache(maxsize=1)
def _loaded(symbols: str, part: str, stamps: tuple[tuple[str, int, int], ...]) -> SymbolBank:
    """The symbols, while what was added under their name and the files of their folder stay."""
    if symbols in SYMBOLS:
        return SYMBOLS[symbols]()
    folder = Path(symbols)
    try:
        if symbols and folder.is_dir():
            return from_folder(folder)
    except OSError as error:
        raise UnseenError(f"cannot read {folder}: {error.strerror}") from error
    if symbols and folder.exists():
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

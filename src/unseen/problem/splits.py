"""Splits: which combinations are seen in training, and which are not.

A split is a function of all combinations, a seed and how many should be unseen in a fold (None:
as many as the split chooses; only those in COUNTED can be told). It returns the unseen rows of each
fold, in order. Its docstring says what the folds are.
"""

import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen.errors import SettingError, UnseenError, shortened, unknown
from unseen.files import open_regular
from unseen.parts import Registry
from unseen.problem.operations import SIGN_LABELS, spelled
from unseen.problem.samples import Combinations

MOST_COMBINATIONS = 1_000_000
MOST_UNSEEN_SHARE = 0.9
MOST_FOLDS = 10_000
LARGEST_LIST_BYTES = 5_000_000

Rows = NDArray[np.intp]
Combination = tuple[int, ...]
ListedFold = tuple[Combination, ...]  # each combination once, in order
NamedSplit = str | Path | Iterable[Sequence[Any]]  # as `find_split` takes it


@dataclass(frozen=True)
class Fold:
    """One split of the combinations, as rows of their table; numbered from 1."""

    number: int
    unseen: Rows  # in order
    combinations: int  # in all

    @property
    def seen(self) -> Rows:
        """All other rows; not kept, because of thousands of folds most are never asked for."""
        return np.delete(np.arange(self.combinations), self.unseen)


def all_combinations(values: Sequence[tuple[int, ...]]) -> NDArray[np.int64]:
    """Every ordered choice of a value for each position, from (0, 0) to (9, 9): (n, positions)."""
    count = math.prod(len(choices) for choices in values)
    if count > MOST_COMBINATIONS:
        most = f"the most is {MOST_COMBINATIONS:,}"
        raise UnseenError(f"{len(values)} positions make {count:,} combinations; {most}")
    columns = np.meshgrid(*(np.asarray(choices, np.int64) for choices in values), indexing="ij")
    return np.stack(columns, axis=-1).reshape(count, len(values))


def random(table: Combinations, seed: int, unseen: int | None) -> list[Rows]:
    """Ten folds at random, each combination unseen once: the paper's own.

    Or folds of N, the last filled up from the first. The ten are those of scikit-learn's
    KFold(10, shuffle=True, random_state=seed); importing it would take longer than reading MNIST.
    """
    count = len(table.digits)
    rows = np.arange(count)
    np.random.RandomState(seed).shuffle(rows)
    if unseen is None:
        if count < 10:
            few = f"ten folds need ten combinations; there are {count}"
            raise UnseenError(f"{few}: set how many are unseen, or choose another split")
        return np.array_split(rows, 10)
    starts = range(0, count, unseen)
    return [np.take(rows, range(start, start + unseen), mode="wrap") for start in starts]


def mirror(table: Combinations, seed: int, unseen: int | None) -> list[Rows]:
    """Ten folds at random; (a, b) and (b, a) are unseen together, each combination once.

    Longer combinations: all reorderings go together. Or folds of N, or a few less where no set of
    reorderings fits, or of one set that is larger; the last is filled up from the first.
    """
    groups: dict[Combination, list[int]] = {}
    for row, digits in enumerate(np.sort(table.digits, axis=1).tolist()):
        groups.setdefault(tuple(digits), []).append(row)
    members = [*groups.values()]
    shuffled = [members[at] for at in np.random.RandomState(seed).permutation(len(members))]
    folds = _even_folds(shuffled) if unseen is None else _filled_folds(shuffled, unseen)
    return [np.asarray(fold) for fold in folds]


def _even_folds(groups: list[list[int]]) -> list[list[int]]:
    """Ten folds of whole groups, each group in one."""
    folds: list[list[int]] = [[] for _ in range(10)]
    if len(groups) < len(folds):
        raise UnseenError(f"split mirror cannot make 10 folds of {len(groups)} sets of reorderings")
    # the largest first, each to the fold that has least: the folds come out even
    for group in sorted(groups, key=len, reverse=True):
        min(folds, key=len).extend(group)
    return folds


def _filled_folds(groups: list[list[int]], size: int) -> list[list[int]]:
    """Folds of whole groups, as many as fit but one at least, until each group was in one."""
    folds, waiting = [], [*range(len(groups))]
    while waiting:
        taken: set[int] = set()
        fold: list[int] = []
        for number in (*waiting, *range(len(groups))):
            if len(fold) >= size:
                break
            if number not in taken and (not fold or len(fold) + len(groups[number]) <= size):
                taken.add(number)
                fold += groups[number]
        folds.append(fold)
        waiting = [number for number in waiting if number not in taken]
    return folds


def answer(table: Combinations, seed: int, unseen: int | None) -> list[Rows]:
    """A fold for each answer, from the smallest: no combination with it is seen."""
    return [np.flatnonzero(table.answers == value) for value in np.unique(table.answers)]


def position(table: Combinations, seed: int, unseen: int | None) -> list[Rows]:
    """A fold for each position and digit: that digit is never seen in that position.

    By position, then by digit. A position with just one value (a single sign) makes no fold.
    """
    return [
        np.flatnonzero(column == value)
        for column in table.digits.T
        if len(values := np.unique(column)) > 1
        for value in values
    ]


def diagonal(table: Combinations, seed: int, unseen: int | None) -> list[Rows]:
    """A fold for each diagonal: (0, 0), (1, 1) to (9, 9), then (0, 1), (1, 2) to (9, 0), ….

    Longer combinations: by the first and the last digit.
    """
    if table.digits.shape[1] < 2:
        raise UnseenError("split diagonal needs two digits or more")
    first, last = (np.unique(table.digits[:, at], return_inverse=True)[1] for at in (0, -1))
    distance = (last - first) % (first.max() + 1)
    return [np.flatnonzero(distance == steps) for steps in range(first.max() + 1)]


def corner(table: Combinations, seed: int, unseen: int | None) -> list[Rows]:
    """One fold: the largest digits together are unseen, so it has to extrapolate.

    All combinations of the k largest digits, nearest to a tenth of all; or the N whose smallest
    digit is largest, and among equals those with the largest sum. Signs do not count as digits.
    """
    is_digit = [column.max() < min(SIGN_LABELS.values()) for column in table.digits.T]
    digits = table.digits[:, is_digit if any(is_digit) else slice(None)]
    smallest = digits.min(axis=1)
    if unseen is None:
        sizes = {value: int((smallest >= value).sum()) for value in np.unique(digits)}
        aim = len(digits) / 10
        least = min(sizes, key=lambda value: abs(sizes[value] - aim))
        return [np.flatnonzero(smallest >= least)]
    order = np.lexsort((np.arange(len(digits)), -digits.sum(axis=1), -smallest))
    return [order[:unseen]]


def listed(table: Combinations, folds: Sequence[ListedFold]) -> list[Rows]:
    """The folds of a list: in each, just its combinations are unseen."""
    rows = {tuple(digits): row for row, digits in enumerate(table.digits.tolist())}
    for combination in (each for fold in folds for each in fold):
        if combination not in rows:
            text = shortened(" ".join(map(str, spelled(combination))))
            raise UnseenError(
                f"the list of unseen combinations names {text!r}, which is no combination "
                f"of {table.digits.shape[1]} of these symbols"
            )
    first: dict[ListedFold, int] = {}
    for number, fold in enumerate(folds, start=1):
        if first.setdefault(fold, number) != number:
            raise UnseenError(
                f"the list of unseen combinations has fold {first[fold]} again, as fold {number}"
            )
    return [np.asarray([rows[combination] for combination in fold]) for fold in folds]


def split_folds(
    split: str,
    table: Combinations,
    seed: int,
    unseen: int | None = None,
    listed_folds: Sequence[ListedFold] = (),
) -> list[Fold]:
    """All folds of a split, in order; refuses those that would leave nothing to see."""
    count = len(table.digits)
    most = math.floor(MOST_UNSEEN_SHARE * count)
    if unseen is not None and split not in COUNTED:
        fault = f"must be left out: split {split} determines how many combinations are unseen"
        raise SettingError("unseen", unseen, fault)
    if unseen is not None and not 1 <= unseen <= most:
        raise SettingError("unseen", unseen, f"must be from 1 to {most} of {count} combinations")
    if split == "random" and unseen is not None and count > MOST_FOLDS * unseen:
        fault = f"would make more than {MOST_FOLDS:,} folds of {count:,} combinations"
        raise SettingError("unseen", unseen, fault)
    folds = listed(table, listed_folds) if listed_folds else SPLITS[split](table, seed, unseen)
    if not 1 <= len(folds) <= MOST_FOLDS:
        raise UnseenError(
            f"split {split!r} has {len(folds):,} folds here; from 1 to {MOST_FOLDS:,} can be run"
        )
    if (left := count - max(map(len, folds))) < count - most:
        raise UnseenError(
            f"split {split!r} would leave {left} of {count} combinations to be seen; at least "
            f"{count - most} are needed"
        )
    return [Fold(number, np.sort(rows), count) for number, rows in enumerate(folds, start=1)]


def read_folds(path: Path) -> tuple[ListedFold, ...]:
    """The folds of a text file: a combination a line, as 3 4 or 3,4; 3 + 4 where a sign is shown.

    An empty line begins another fold, and so does a | within a line: 3 4 | 5 1 are in two folds.
    """
    try:
        with open_regular(path, LARGEST_LIST_BYTES) as file:
            text = file.read().decode("utf-8-sig")
    except OSError as error:
        raise UnseenError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UnseenError(f"{path} is no text file; give one combination a line, as 3 4") from error
    folds: dict[tuple[int, int], set[Combination]] = {}  # by block and column
    block = 0
    for number, line in enumerate(text.splitlines(), start=1):
        block += not line.strip()
        for column, cell in enumerate(line.partition("#")[0].split("|")):
            if written := cell.strip(" \t()[]"):
                if (combination := parse_combination(written)) is None:
                    named = f"{path}, line {number}: {shortened(cell.strip())!r}"
                    raise UnseenError(f"{named} is no combination; say it as 3 4")
                folds.setdefault((block, column), set()).add(combination)
    if not folds:
        raise UnseenError(f"{path} lists no combination; give one a line, as 3 4")
    return _in_order(folds[at] for at in sorted(folds))


def _in_order(folds: Iterable[Iterable[Combination]]) -> tuple[ListedFold, ...]:
    return tuple(tuple(sorted({*fold})) for fold in folds)


def parse_combination(text: str) -> Combination | None:
    """A combination as it is written, or None."""
    pieces = re.findall(r"\d+|[^\d\s,;]", text, flags=re.ASCII)
    if not pieces or not all(re.fullmatch(r"\d{1,3}|[-+*]", p, re.ASCII) for p in pieces):
        return None
    return tuple(SIGN_LABELS.get(p) or int(p) for p in pieces)


def written_folds(folds: Iterable[ListedFold]) -> bytes:
    """Listed folds as the text file that they can be read from."""
    return (typed_folds(folds, "\n", "\n\n") + "\n").encode()


def typed_folds(folds: Iterable[ListedFold], between: str = "; ", after: str = " | ") -> str:
    """Listed folds as they are typed: 3 4; 5 1 | 7 7."""
    lines = ([" ".join(map(str, spelled(each))) for each in fold] for fold in folds)
    return after.join(map(between.join, lines))


def ready_lists() -> dict[str, Path]:
    """Lists of unseen combinations that come with the package, by name."""
    return {path.stem: path for path in sorted((Path(__file__).parent / "lists").glob("*.txt"))}


def find_split(split: NamedSplit) -> tuple[str, tuple[ListedFold, ...]]:
    """A split by its name, or the unseen combinations of each fold of a list.

    A list is [(3, 4), (3, "+", 4)] for one fold, [[(3, 4)], [(5, 1)]] for several; a file of them;
    or a text such as "3 4; 5 1 | 7 7", with | between folds.
    """
    if not isinstance(split, str | Path):
        return LISTED, _folds_of_list(split)
    if (split := str(split)) in SPLITS:
        return split, ()
    path = ready_lists().get(split, Path(split))
    if os.path.isfile(path):  # which is so of no name that is too long
        return LISTED, read_folds(path)
    if split and os.path.exists(path):
        fault = f"is no file; give one that lists combinations, or: {', '.join(SPLITS)}"
        raise SettingError("split", split, fault)
    if re.fullmatch(r"\s*\d[-+*\d\s,;|]*", split, re.ASCII):
        folds = [
            [parse_combination(part) for part in fold.strip().rstrip(";").split(";")]
            for fold in split.split("|")
        ]
        if any(None in fold for fold in folds):
            raise SettingError("split", split, "lists what is no combination; say it as 3 4; 5 1")
        return LISTED, _in_order(filter(None, fold) for fold in folds)
    raise unknown("split", split, [*SPLITS, *ready_lists(), "a file of combinations"], place="file")


def _folds_of_list(given: Iterable[Sequence[Any]]) -> tuple[ListedFold, ...]:
    """The folds of a list in Python: of combinations, or of folds that are such lists."""
    try:
        parts = [*given]
        values = (value for part in parts for value in part)
        is_nested = any(np.iterable(value) and not isinstance(value, str) for value in values)
        folds = parts if is_nested else [parts]
        found = [{tuple(map(_whole, each)) for each in fold} for fold in folds]
    except (TypeError, ValueError, OverflowError) as error:
        raise UnseenError(
            "a split is a name, a file or a list of combinations, as [(3, 8), (8, 3)]; of several "
            "folds, a list of such lists"
        ) from error
    if not found or not all(found) or any(() in fold for fold in found):
        raise UnseenError("the list of unseen combinations is empty, or has an empty fold")
    return _in_order(found)


def _whole(value: Any) -> int:
    """A label or a sign as a number; a TypeError for 3.7, which is none."""
    return SIGN_LABELS.get(str(value)) or (int(value) if isinstance(value, str) else index(value))


def folds_of(
    splitter: Any,
    groups: ArrayLike | Callable[[NDArray[np.int64]], ArrayLike] | None = None,
    *,
    length: int = 2,
    symbols: Iterable[int] = range(10),
) -> list[list[Combination]]:
    """The unseen combinations of each fold of a scikit-learn splitter, to be given as a split.

    The splitter splits all combinations of so many of these symbols, in order; `groups` are theirs,
    or a function of the (n, length) labels.

    >>> import unseen
    >>> from sklearn.model_selection import GroupKFold
    >>> folds = unseen.folds_of(GroupKFold(5), groups=lambda digits: digits.sum(axis=1) % 5)
    >>> len(folds), len(folds[0]), folds[0][:2]
    (5, 20, [(0, 4), (0, 9)])
    >>> problem = unseen.Problem(split=folds)
    """
    digits = all_combinations([tuple(symbols)] * length)
    labels = groups(digits) if callable(groups) else groups
    try:
        folds = [test for _, test in splitter.split(digits, groups=labels)]
    except (TypeError, ValueError) as error:
        raise UnseenError(f"the splitter makes no folds of combinations: {error}") from error
    return [[tuple(each) for each in digits[test].tolist()] for test in folds]


LISTED = "listed"
COUNTED = ("random", "mirror", "corner")  # splits that can be told how many are unseen

SPLITS: Registry[Callable[[Combinations, int, int | None], list[Rows]]] = Registry(
    {split.__name__: split for split in (random, mirror, answer, position, diagonal, corner)}
)

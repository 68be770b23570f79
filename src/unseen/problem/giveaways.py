"""What a split gives away: how much of an unseen combination could be known from the seen ones."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unseen.problem.samples import Combinations
from unseen.problem.splits import Fold, Rows

# above rounding, and far below any true distance between integers
TOLERANCE = 1e-6
WARNING = "warning: "


@dataclass(frozen=True)
class Giveaways:
    """How many of a fold's unseen combinations each thing is true of, and what was never seen."""

    fold: int
    unseen: int
    mirrored: int  # another order of the same digits is seen
    new_answers: tuple[int, ...]  # answers that no seen combination has
    new_digits: tuple[tuple[int, int], ...]  # (place from 0, digit) that unseen ones have alone
    undetermined: int | None  # by a rule of the operation's kind; None where it has none


def give_away(table: Combinations, fold: Fold, rule: str | None) -> Giveaways:
    """What the seen combinations of a fold say about its unseen ones, by a kind of rule."""
    seen, unseen = table.digits[fold.seen], table.digits[fold.unseen]
    new_digits = (
        (place, int(digit))
        for place in range(seen.shape[1])
        for digit in np.setdiff1d(unseen[:, place], seen[:, place])
    )
    undetermined = None
    if rule is not None:
        undetermined = int((~DETERMINED[rule](seen, unseen)).sum())
    return Giveaways(
        fold.number,
        len(unseen),
        int(np.isin(_without_order(unseen), _without_order(seen)).sum()),
        tuple(np.setdiff1d(table.answers[fold.unseen], table.answers[fold.seen]).tolist()),
        tuple(new_digits),
        undetermined,
    )


def _without_order(digits: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for each combination, the same for all orders of its digits."""
    in_order = np.sort(digits, axis=1)
    return in_order @ 256 ** np.arange(digits.shape[1], dtype=np.int64)  # a label is a byte


def rule_of(table: Combinations) -> str | None:
    """Whether all answers follow from a number for each digit in each place, and how."""
    if is_additive(table):
        return "additive"
    return "multiplicative" if is_multiplicative(table) else None


def additively_determined(seen: NDArray[np.int64], unseen: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether any f(a) + g(b) + … that fits all seen combinations has one answer to each unseen.

    So it is where the unseen combination's one-hot row lies in the span of the seen ones.
    """
    labels = [np.unique(column) for column in np.concatenate([seen, unseen]).T]
    width = sum(map(len, labels))
    hot = _hot(seen, labels)
    together = (np.bincount(one * width + two, minlength=width**2) for one in hot for two in hot)
    gram = np.sum([*together], axis=0).reshape(width, width).astype(np.float64)
    sizes, directions = np.linalg.eigh(gram)
    free = directions[:, sizes < TOLERANCE * max(1.0, sizes[-1])]  # (columns, unconstrained)
    left_open = np.sum([free[columns] for columns in _hot(unseen, labels)], axis=0)
    return np.asarray(np.all(np.abs(left_open) < 1e-4, axis=-1))


def multiplicatively_determined(
    seen: NDArray[np.int64], unseen: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """The same for f(a) · g(b) · …: among digits that are not zero, its logarithm is additive.

    A zero in a place is known to make the answer zero once it is seen there beside no other zero.
    """
    nonzero_seen = seen[np.all(seen != 0, axis=1)]
    has_zero = np.any(unseen == 0, axis=1)
    determined = np.zeros(len(unseen), bool)
    if len(nonzero_seen):
        determined[~has_zero] = additively_determined(nonzero_seen, unseen[~has_zero])
    lone_zeros = seen[(seen == 0).sum(axis=1) == 1]
    known = np.any(lone_zeros == 0, axis=0)  # by place
    determined[has_zero] = np.any((unseen[has_zero] == 0) & known, axis=1)
    return determined


def is_additive(table: Combinations) -> bool:
    """Whether the answers to all combinations are a sum of one number a place."""
    return _is_sum(table.digits, table.answers.astype(np.float64))


def is_multiplicative(table: Combinations) -> bool:
    """Whether all answers are a product of one number a place, which is zero for the digit 0."""
    nonzero = np.all(table.digits != 0, axis=1)
    answers = table.answers[nonzero]
    if np.any(table.answers[~nonzero]) or not len(answers) or np.any(answers <= 0):
        return False
    return _is_sum(table.digits[nonzero], np.log(answers))


def _is_sum(digits: NDArray[np.int64], values: NDArray[np.float64]) -> bool:
    """Whether nothing is left of values of all combinations once each digit's mean is taken off."""
    rest = values - values.mean()
    for column in digits.T:
        _, where = np.unique(column, return_inverse=True)
        rest = rest - (np.bincount(where, rest) / np.bincount(where))[where]
    return bool(np.all(np.abs(rest) < TOLERANCE * max(1.0, float(np.abs(values).max()))))


def _hot(digits: NDArray[np.int64], labels: list[NDArray[np.int64]]) -> list[Rows]:
    """For each place, the one-hot column of each combination."""
    first = np.cumsum([0, *map(len, labels)])
    return [
        start + np.searchsorted(known, column)
        for start, known, column in zip(first, labels, digits.T, strict=False)
    ]


def in_words(table: Combinations, folds: list[Fold]) -> Iterator[str]:
    """What a run's folds give away together, a sentence each; the last may be a warning."""
    rule = rule_of(table)
    each = [give_away(table, fold, rule) for fold in folds]
    unseen, mirrored = (sum(getattr(f, what) for f in each) for what in ("unseen", "mirrored"))
    yield (
        f"{unseen:,} combinations are unseen, in {len(each)} fold{'s' * (len(each) > 1)}; another "
        f"order of {mirrored:,} of them is seen; {_new_answers(each)}; {_new_digits(each)}"
    )
    if rule is None:
        yield "no number for each digit gives these answers, neither as a sum nor as a product"
        return
    undetermined = sum(fold.undetermined or 0 for fold in each)
    kind = "sum" if rule == "additive" else "product"
    if undetermined:
        yield (
            f"{WARNING}the seen combinations leave open what {undetermined:,} of the {unseen:,} "
            f"unseen ones make, even for whoever knows that the answer is a {kind} of one number "
            "for each digit in each place"
        )
    else:
        yield (
            f"the seen combinations determine every unseen answer, for whoever knows that it is a "
            f"{kind} of one number for each digit in each place"
        )


def _new_answers(each: list[Giveaways]) -> str:
    met = [f"{answer} (fold {fold.fold})" for fold in each for answer in fold.new_answers]
    return "all answers are seen" if not met else f"answers never seen: {_some(met)}"


def _new_digits(each: list[Giveaways]) -> str:
    met = [
        f"{digit} in place {place + 1} (fold {fold.fold})"
        for fold in each
        for place, digit in fold.new_digits
    ]
    if not met:
        return "all digits are seen in all places"
    return f"digits never seen in a place: {_some(met)}"


def _some(things: list[str]) -> str:
    return ", ".join(things[:4]) + (f" and {len(things) - 4} more" if len(things) > 4 else "")


DETERMINED = {
    "additive": additively_determined,
    "multiplicative": multiplicatively_determined,
}

"""What a split gives away, in sentences."""

from collections.abc import Sequence

from unseen.problem.leakage import SplitLeakage
from unseen.problem.operations import spelled
from unseen.report.words import format_count

MOST_NAMED = 4
OPERATIONS = {"additive": "sum", "multiplicative": "product"}


def format_leakage(leakage: SplitLeakage) -> tuple[str, str]:
    """What is unseen; and whether it can be worked out, a warning where it cannot."""
    folds = leakage.folds
    unseen, mirrored = sum(fold.unseen for fold in folds), sum(fold.mirrored for fold in folds)
    answers = [f"{each} (fold {fold.fold})" for fold in folds for each in fold.new_answers]
    digits = [
        f"{spelled([digit])[0]} in place {place + 1} (fold {fold.fold})"
        for fold in folds
        for place, digit in fold.new_digits
    ]
    in_place = f"Symbols never seen in a place: {_some(digits)}."
    sentences = (
        f"{format_count(unseen, 'unseen combination')} in {format_count(len(folds), 'fold')}.",
        f"For {mirrored:,}, the same symbols are seen in another order.",
        f"Answers never seen: {_some(answers)}." if answers else "All answers are seen.",
        in_place if digits else "All symbols are seen in all places.",
    )
    return " ".join(sentences), _determined(leakage, unseen)


def _determined(leakage: SplitLeakage, unseen: int) -> str:
    if leakage.rule is None:
        return "The answers are neither sums nor products of one value for each symbol."
    rule = f"a {OPERATIONS[leakage.rule]} of one value for each symbol in each place"
    if not leakage.undetermined:
        return f"The seen answers determine every unseen one, if you know that each is {rule}."
    return (
        f"warning: the seen answers do not determine {leakage.undetermined:,} of {unseen:,} unseen "
        f"ones, even if you know that each is {rule}."
    )


def _some(things: Sequence[str]) -> str:
    more = f" and {len(things) - MOST_NAMED} more" if len(things) > MOST_NAMED else ""
    return ", ".join(things[:MOST_NAMED]) + more

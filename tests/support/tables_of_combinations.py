"""Tables of all combinations, and what samples hold, that several tests ask about."""

from unseen.problem.operations import SIGN_LABELS, parse_operation
from unseen.problem.samples import Combinations
from unseen.problem.splits import all_combinations

DIGITS = tuple(range(10))


def table(values=DIGITS, length=2, operation="add"):
    """All combinations of some digits, with their answers."""
    asked = parse_operation(operation, length)
    places = [values] * length
    if asked.signs:
        places.insert(1, tuple(SIGN_LABELS[sign] for sign in asked.signs))
    digits = all_combinations(places)
    return Combinations(digits, asked.answers(digits))


def used_images(samples):
    """The numbers, in the whole bank, of all images that stand in some sample."""
    return set(samples.symbols.numbers[samples.images].ravel().tolist())


def used_combinations(samples):
    """The rows of all combinations that have some sample."""
    return set(samples.combinations.tolist())

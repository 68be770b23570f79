"""A problem task: its symbols read, its combinations split, its samples drawn."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from unseen.errors import UnseenError
from unseen.parts import part_sha256
from unseen.problem.expressions import LARGEST_ANSWER
from unseen.problem.operations import SIGN_LABELS, parse_operation
from unseen.problem.problem import Problem
from unseen.problem.randomness import Streams
from unseen.problem.samples import Combinations, Samples, draw_samples
from unseen.problem.splits import Fold, Rows, all_combinations, split_folds
from unseen.problem.symbol_bank import SymbolBank, development_bank
from unseen.problem.symbols import load_symbols, with_signs

MOST_SAMPLES = 20_000_000
QUADRANT_SHARE = 0.2  # of as many samples as the test has
QUADRANTS = ("seen_train", "seen_test", "unseen_train", "unseen_test")


@dataclass(frozen=True)
class Task:
    """A problem with its symbols at hand: every combination, its answer, the folds."""

    bank: SymbolBank
    combinations: Combinations
    folds: list[Fold]

    def unseen(self, fold: int) -> Rows:
        """The rows of the combinations that are unseen in a fold."""
        return self.folds[fold - 1].unseen


def make_task(problem: Problem) -> Task:
    """Read the symbols and split their combinations.

    >>> import unseen
    >>> task = unseen.make_task(unseen.Problem(split="corner"))
    >>> task.combinations.digits[task.unseen(1)].tolist()[:3]
    [[7, 7], [7, 8], [7, 9]]
    """
    sums = part_sha256("operation", problem.operation), part_sha256("split", problem.split)
    return _task(problem, load_symbols(problem.symbols).sha256, *sums)


@lru_cache(maxsize=1)
def _task(problem: Problem, *sums: str) -> Task:
    """The task, while the sums of its symbols and of added parts stay as they are."""
    bank = load_symbols(problem.symbols)
    operation = parse_operation(problem.operation, problem.length)
    positions = [bank.values] * problem.length
    if operation.signs:
        bank = with_signs(bank, operation.signs)
        positions.insert(1, tuple(SIGN_LABELS[sign] for sign in operation.signs))
    if problem.development:
        bank = development_bank(bank)
    digits = all_combinations(positions)
    per_combination = max(problem.samples_per_combination, problem.test_samples_per_combination)
    if len(digits) * per_combination > MOST_SAMPLES:
        raise UnseenError(
            f"{len(digits):,} combinations with {per_combination:,} samples each are more "
            f"than {MOST_SAMPLES:,}; ask for fewer samples per combination"
        )
    answers = operation.answers(digits)
    if np.abs(answers).max() > LARGEST_ANSWER:
        raise UnseenError(
            f"operation {problem.operation!r} has answers beyond ± {LARGEST_ANSWER:,}, "
            "more than a network's numbers can tell apart"
        )
    table = Combinations(digits, answers.astype(np.int32))
    folds = split_folds(
        problem.split, table, problem.split_seed, problem.unseen, problem.unseen_list
    )
    return Task(bank, table, folds)


def fold_samples(problem: Problem, streams: Streams) -> tuple[Samples, Samples]:
    """A fold's samples: seen combinations in train handwriting, unseen ones in test handwriting."""
    return seen_samples(problem, streams), unseen_samples(problem, streams)


def seen_samples(problem: Problem, streams: Streams, *epoch: int) -> Samples:
    """Samples of a fold's seen combinations; with an epoch, drawn afresh for it."""
    task, rng = make_task(problem), streams.numpy("training samples", *epoch)
    rows, each = task.folds[streams.fold - 1].seen, problem.samples_per_combination
    return draw_samples(task.combinations, rows, task.bank.train, each, rng)


def unseen_samples(problem: Problem, streams: Streams) -> Samples:
    """Samples of a fold's unseen combinations, in test handwriting."""
    task, rng = make_task(problem), streams.numpy("test samples")
    rows, each = task.unseen(streams.fold), problem.test_samples_per_combination
    return draw_samples(task.combinations, rows, task.bank.test, each, rng)


def quadrant_samples(
    problem: Problem, streams: Streams, share: float = QUADRANT_SHARE
) -> dict[str, Samples]:
    """Fresh draws of seen and of unseen combinations, in train and in test handwriting."""
    task = make_task(problem)
    fold = task.folds[streams.fold - 1]
    room = max(20, round(share * problem.test_samples_per_combination * len(fold.unseen)))
    quadrants = {}
    for combinations, rows in (("seen", fold.seen), ("unseen", fold.unseen)):
        for handwriting, half in (("train", task.bank.train), ("test", task.bank.test)):
            name = f"{combinations}_{handwriting}"
            rng = streams.numpy(f"quadrant {name}")
            # as many of each combination as there is room for; of very many, some
            some = rng.permutation(rows)[:room]
            each = max(1, room // len(some))
            quadrants[name] = draw_samples(task.combinations, np.sort(some), half, each, rng)
    return quadrants

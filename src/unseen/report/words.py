"""What things are called in a problem: pairs, sums, digits or garments."""

import math
from collections.abc import Sequence

from unseen.analysis.error_parts import ErrorParts
from unseen.analysis.intervals import FEWEST_UNITS, Interval
from unseen.analysis.statistics import Spread
from unseen.problem.operations import SIGNS
from unseen.problem.problem import Problem
from unseen.report.symbol_words import NEUTRAL, SymbolWords, symbol_words
from unseen.runs.experiment import Experiment

UNITS = {"h": 3600, "min": 60, "s": 1}
HALF_UP = 1e-9  # of percent: a half is rounded up, whichever way a sum of floats has missed it


def combinations_word(problem: Problem) -> str:
    """What combinations are called: pairs where two symbols stand side by side."""
    if problem.operation.startswith("shown:"):
        return "combinations"
    return {1: symbol_words(problem.symbols).many, 2: "pairs"}.get(problem.length, "combinations")


def answers_word(problem: Problem) -> str:
    """What answers are called: sums where digits are added."""
    if problem.length == 1:
        return "answers"
    return {"add": "sums", "subtract": "differences", "multiply": "products"}.get(
        problem.operation, "answers"
    )


def symbols_word(problem: Problem) -> str:
    """What can be misread: digits, and signs where they are shown."""
    many = symbol_words(problem.symbols).many
    return f"{many} and signs" if problem.operation.startswith("shown:") else many


def names_line(problem: Problem) -> str:
    """What each symbol is, if its label does not say it: 0 T-shirt, 1 trousers."""
    words = symbol_words(problem.symbols)
    return ", ".join(words.name(label) for label in range(len(words.names)))


def named_parts(experiment: Experiment, parts: ErrorParts) -> dict[str, float]:
    """The parts of an error in words, what is misread in any position as one."""
    problem = experiment.problem
    things, symbols = combinations_word(problem), symbols_word(problem)
    named = {
        f"misread {symbols}": sum(parts.misread),
        f"wrong {answers_word(problem)} of unseen {things}": parts.wrong,
        f"{symbols} misvalued in seen {things} too": parts.misvalued,
        f"a shift that seen {things} share": parts.shift,
    }
    return named | ({"interplay of the images": parts.interplay} if len(parts.misread) > 1 else {})


def format_combination(combination: Sequence[int | None], words: SymbolWords = NEUTRAL) -> str:
    """A combination as people write it: (3, 8), or 3 + 8 with its sign; … stands for any symbol.

    Given the words of its symbol set, with names: (0 T-shirt, 4 coat).
    """
    parts = [
        "…" if value is None else SIGNS.get(value) or words.name(value) for value in combination
    ]
    if any(value in SIGNS for value in combination):
        return " ".join(parts)
    return f"({', '.join(parts)})" if len(parts) > 1 else parts[0]


def format_percent(share: float, digits: int = 1) -> str:
    """A share as people read it; `percent` of the lab's page (dom.js) rounds in the same way."""
    if math.isnan(share):
        return "NaN"
    figure = round(100 * share + HALF_UP, digits) + 0.0  # no minus before a 0
    return f"{figure:.{digits}f} %".replace("-", "−")


def format_ends(interval: Interval) -> str:
    """The ends of the interval of a share; a dash where it has none."""
    if math.isnan(interval.low):
        return "—"
    return f"{format_percent(interval.low)} to {format_percent(interval.high)}"


def no_interval_words(interval: Interval) -> str:
    """Why a mean has no interval."""
    if not math.isfinite(interval.mean):
        return "no interval: an answer is not finite"
    needed = f"no interval from fewer than {FEWEST_UNITS} {interval.unit}"
    return needed if interval.units < FEWEST_UNITS else "no interval: all are alike"


def format_decimal(value: float, digits: int = 2) -> str:
    """A number as people read it; a dash if it is not finite."""
    if not math.isfinite(value):
        return "—"
    return format(round(value, digits) + 0.0, decimals(value, digits)).replace("-", "−")


def decimals(value: float, digits: int) -> str:
    """How a number is formatted: with an exponent if it is so large that it would fill a line."""
    return f".{digits}{'f' if abs(value) < 1e8 else 'e'}"


def format_spread(spread: Spread) -> str:
    """A mean with its standard deviation between folds."""
    deviation = "" if spread.deviation is None else f" ± {format_decimal(spread.deviation, 3)}"
    return format_decimal(spread.mean, 3) + deviation


def format_count(count: int, thing: str) -> str:
    """A count and its noun: 1 fold, 10 folds."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def format_duration(seconds: float) -> str:
    """Seconds as people read them: 9 s, 11 min, 4.6 h."""
    unit, length = next(each for each in UNITS.items() if seconds >= 1.5 * each[1] or each[1] == 1)
    return f"{seconds / length:{'.0f' if seconds >= 10 * length else '.2g'}} {unit}"

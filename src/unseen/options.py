"""What was typed: settings from options, and faults in the options' own words."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from unseen.errors import UnseenError
from unseen.experiments.experiment import Experiment
from unseen.learning.models import is_own
from unseen.problem.splits import find_split
from unseen.problem.symbols import canonical_symbols
from unseen.views.repeat_command import option_of


def parse_folds(text: str | None, count: int) -> list[int]:
    """Fold numbers from a list like 1,3-5; all of them where nothing is said."""
    if text is None:
        return list(range(1, count + 1))
    folds: set[int] = set()
    for part in text.split(","):
        first, dash, last = (piece.strip() for piece in part.partition("-"))
        ends = [first, last] if dash else [first]
        if not all(end.isascii() and end.isdecimal() for end in ends):
            raise UnseenError(f"--folds {text!r}: {part.strip()!r} is no fold; say it as 1,3-5")
        for end in ends:
            if not 1 <= int(end.lstrip("0")[:9] or "0") <= count:
                raise UnseenError(f"fold {end} does not exist; this split has folds 1 to {count}")
        if int(ends[0]) > int(ends[-1]):
            raise UnseenError(f"--folds {text!r}: {part.strip()} runs backwards")
        folds.update(range(int(ends[0]), int(ends[-1]) + 1))
    return sorted(folds)


def varied(
    experiment: Experiment, problem: dict[str, Any], training: dict[str, Any], **changes: Any
) -> Experiment:
    """The experiment with the settings that were given."""
    if problem["symbols"] is not None:
        problem["symbols"] = canonical_symbols(problem["symbols"])
    if problem["split"] is not None:
        problem["split"], problem["unseen_list"] = find_split(problem["split"])
    if training["model"] is not None and is_own(training["model"]):
        file, _, name = training["model"].rpartition(":")
        training["model"] = f"{Path(file).resolve()}:{name}"
    try:
        return experiment.vary(problem=given(problem), training=given(training), **given(changes))
    except ValidationError as error:
        raise UnseenError(format_validation_error(error)) from None


def given(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def format_validation_error(error: ValidationError) -> str:
    """The first fault of a validation, in the words of the command line."""
    fault = error.errors()[0]
    limits = fault.get("ctx", {})
    says = {
        "greater_than_equal": "must be at least {ge}",
        "greater_than": "must be greater than {gt}",
        "less_than_equal": "must be at most {le}",
        "less_than": "must be less than {lt}",
        "finite_number": "must be a finite number",
        "string_pattern_mismatch": "must be cpu, cuda, cuda:N or mps",
        "literal_error": "must be {expected}",
    }.get(fault["type"])
    if says is None:
        return fault["msg"].removeprefix("Value error, ")
    setting = str(fault["loc"][-1])
    return f"{option_of(setting)} {says.format(**limits)}, not {fault['input']}"

"""What networks answer to pictures, as lines, JSON and CSV; and what they saw."""

import csv
import json
from collections.abc import Callable, Sequence
from io import StringIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import printable
from unseen.problem.operations import spelled
from unseen.problem.problem import Problem
from unseen.report.json_view import jsonable
from unseen.report.symbol_words import symbol_words
from unseen.report.words import format_combination, format_count, format_decimal
from unseen.use.predictions import FailedPicture, Prediction, Truth

SHADES = " ░▒▓█"
INK = ("light on dark", "dark on light")
CUTS = {
    "as they are": "at MNIST's own positions",
    "equal panels": "into equal panels",
    "by ink": "by its ink",
}
COLUMNS: dict[str, Callable[[Prediction], Any]] = {
    "picture": lambda each: printable(str(each.path)),
    "answer": lambda each: each.answer,
    "rounded": lambda each: each.rounded,
    "spread": lambda each: each.spread,
    "agreeing": lambda each: each.agreeing,
    "networks": lambda each: len(each.answers),
    "ink": lambda each: INK[each.picture.is_dark_on_light],
    "cut": lambda each: each.picture.cut,
}
TRUTH_COLUMNS: dict[str, Callable[[Prediction, Truth], Any]] = {
    "truth": lambda _, truth: " ".join(map(str, spelled(truth.combination))),
    "is_right": lambda each, truth: each.rounded == truth.answer,
    "answer_where_unseen": lambda each, truth: getattr(each.only(truth.unseen_in), "answer", None),
}


def prediction_line(prediction: Prediction, truth: Truth | None = None) -> str:
    """One line: the number and its rounding, how sure it is, and what was found out."""
    answer, count = format_decimal(prediction.answer), len(prediction.answers)
    rounded = "NaN" if prediction.rounded is None else str(prediction.rounded).replace("-", "−")
    sure = (
        f" ± {format_decimal(prediction.spread)}; {prediction.agreeing} of {count} networks agree"
        if count > 1
        else ""
    )
    ink, cut = INK[prediction.picture.is_dark_on_light], CUTS[prediction.picture.cut]
    right = ""
    if truth is not None:
        right = ", right" if prediction.rounded == truth.answer else f", wrong: {truth.answer}"
        unseen = prediction.only(truth.unseen_in)
        if unseen is not None and len(truth.unseen_in) < count:
            right += f"; {format_decimal(unseen.answer)} where it is unseen"
    path = printable(str(prediction.path))
    return f"{path}: {rounded}{right} ({answer}{sure}; {ink}, cut {cut})"


def truth_line(truth: Truth, problem: Problem, folds: Sequence[int]) -> str:
    """Whether the networks that are asked have seen a combination."""
    name = format_combination(truth.combination, symbol_words(problem.symbols))
    count = len(truth.unseen_in)
    if len(folds) == 1:
        state = "unseen" if count else "seen in training"
        return f"{name} makes {truth.answer}; it was {state} in fold {folds[0]}"
    which = ", ".join(map(str, truth.unseen_in))
    unseen = f"unseen in fold{'s' * (count > 1)} {which}" if count else "unseen in none of them"
    return f"{name} makes {truth.answer}; of {format_count(len(folds), 'fold')}, it was {unseen}"


def drawn(pixels: NDArray[np.uint8]) -> str:
    """What a network saw, in characters of five shades: two rows of pixels in a line."""
    rows = pixels[: len(pixels) // 2 * 2].reshape(-1, 2, pixels.shape[1]).mean(axis=1)
    shades = np.asarray([*SHADES])[
        np.minimum(rows * len(SHADES) // 256, len(SHADES) - 1).astype(int)
    ]
    return "\n".join("".join(line) for line in shades)


def prediction_row(prediction: Prediction, truth: Truth | None = None) -> dict[str, Any]:
    """A prediction under the names of the columns of JSON and CSV."""
    row = {name: of(prediction) for name, of in COLUMNS.items()}
    if truth is not None:
        row |= {name: of(prediction, truth) for name, of in TRUTH_COLUMNS.items()}
    return row


def predictions_json(
    run: str,
    folds: Sequence[int],
    predictions: Sequence[Prediction | FailedPicture],
    truth: Truth | None,
) -> str:
    """All predictions as one JSON object; a picture that failed has an error instead."""
    document = {
        "run": printable(run),
        "folds": folds,
        "truth": truth and {**vars(truth), "combination": spelled(truth.combination)},
        "predictions": [
            prediction_row(each, truth) | {"answers": each.answers}
            if isinstance(each, Prediction)
            else {"picture": printable(str(each.path)), "error": printable(each.fault)}
            for each in predictions
        ],
    }
    return json.dumps(jsonable(document), indent=2)


def predictions_csv(predictions: Sequence[Prediction | FailedPicture], truth: Truth | None) -> str:
    """A header and a row for each picture that has an answer."""
    with StringIO(newline="") as file:
        columns = [*COLUMNS, *(TRUTH_COLUMNS if truth else ())]
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            prediction_row(each, truth) for each in predictions if isinstance(each, Prediction)
        )
        return file.getvalue()

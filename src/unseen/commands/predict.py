"""`unseen predict`: what the networks of a run answer to pictures of the user's."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unseen.api import load
from unseen.commands.output import AsJson, RunsDir, emit, say, stderr_console
from unseen.commands.parameters import WHOLE, RunSettings, given
from unseen.commands.show import RunName, warn_of_damages
from unseen.errors import UnseenError
from unseen.networks.own_files import is_own
from unseen.report.progress import count_up
from unseen.use.pictures import FORMATS_IN_WORDS, SUFFIXES
from unseen.use.prediction_text import (
    drawn,
    prediction_line,
    predictions_csv,
    predictions_json,
    truth_line,
)
from unseen.use.predictions import FailedPicture, Prediction, find_truth


def predict(
    run: RunName,
    /,
    *pictures: Annotated[
        str,
        Parameter(
            help="PNG, JPEG, WebP or TIFF files, folders of them, or - for a list on stdin. A "
            "picture has the run's symbols in a row, of any size, dark on light or light on dark.",
            allow_leading_hyphen=True,  # "-" is stdin
        ),
    ],
    fold: Annotated[
        int | None,
        WHOLE,
        Parameter(help="Ask the network of this fold; by default all, for their median."),
    ] = None,
    truth: Annotated[
        str | None,
        Parameter(help="What the pictures show, as 3,8: is it right, and was that pair seen?"),
    ] = None,
    show: Annotated[bool, Parameter(negative="", help="Draw what the networks saw.")] = False,
    json: AsJson = False,
    csv: Annotated[bool, Parameter(negative="", help="CSV on stdout")] = False,
    settings: RunSettings = None,
    runs_dir: RunsDir = Path("runs"),
) -> int:
    if json + csv + show > 1:
        raise UnseenError("choose one of --json, --csv and --show")
    named = given(settings)
    model = named.pop("model") if is_own(named.get("model", "")) else None
    asked = load(run, runs_dir, **named)
    warn_of_damages(asked)
    folds = [each.fold for each in asked.results] if fold is None else [fold]
    shown = None if truth is None else find_truth(truth, asked.experiment.problem, folds)
    paths, faults = find_pictures(pictures)
    predictions: list[Prediction | FailedPicture] = []
    for each in count_up(asked.predict_files(paths, fold, model), len(paths), stderr_console):
        if isinstance(each, FailedPicture):
            faults.append(each)
            say(f"{each.path}: {each.fault}")
        elif not json and not csv:
            emit(prediction_line(each, shown))
            if show:
                emit(drawn(each.picture.pixels))
            continue
        predictions.append(each)
    if json:
        emit(predictions_json(str(asked.folder.path), folds, predictions, shown))
    elif csv:
        emit(predictions_csv(predictions, shown).removesuffix("\n"))
    elif shown is not None:
        emit(truth_line(shown, asked.experiment.problem, folds))
    return 1 if faults else 0


def find_pictures(names: Sequence[str]) -> tuple[list[Path], list[FailedPicture]]:
    """The files that are named, those of folders and of a list on stdin among them; and faults."""
    paths: list[Path] = []
    faults: list[FailedPicture] = []
    for name in _names(names):
        path, found = Path(name), [Path(name)]
        if os.path.isdir(path):  # unlike Path.is_dir, it does not raise for a name that is too long
            found = sorted(each for each in path.rglob("*") if each.suffix.lower() in SUFFIXES)
        paths += found
        if not found:
            faults.append(FailedPicture(path, f"the folder has no {FORMATS_IN_WORDS} file"))
            say(f"{path}: {faults[-1].fault}")
    if not paths and not faults:
        raise UnseenError("name a picture, a folder of pictures, or - for a list on stdin")
    return paths, faults


def _names(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        if name.startswith("-") and name != "-" and not os.path.exists(name):
            raise UnseenError(f"unknown option {name!r}; unseen predict --help lists them")
        if name == "-":
            yield from filter(str.strip, sys.stdin.read().splitlines())
        else:
            yield name

"""All combinations as grids of rows and columns, however many symbols they have."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from unseen.analysis.error_parts import mean_error_parts, parts_by_place, place_names
from unseen.analysis.scores import Score
from unseen.analysis.summary import Summary
from unseen.problem.operations import SIGNS
from unseen.report.symbol_words import SymbolWords, symbol_words
from unseen.report.words import (
    format_combination,
    format_decimal,
    format_percent,
)
from unseen.training.metrics import ERROR, HEADLINE


@dataclass(frozen=True)
class Cell:
    """One combination or several, when unseen."""

    rounded: float | None  # None if never unseen so far
    details: str  # shown when one points at the cell


@dataclass(frozen=True)
class Slice:
    """One grid; its title says what its combinations have in common."""

    title: str
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Grid:
    """Grids side by side, the names of their axes, and a note if a cell is several combinations."""

    slices: tuple[Slice, ...]
    row_place: str
    column_place: str
    note: str


def grid_of(summary: Summary) -> Grid:
    """One grid for pairs; for longer combinations, one for each first symbol or for each sign.

    With four symbols or more, a cell is the mean over all of them in the places between.
    """
    problem = summary.experiment.problem
    words = symbol_words(problem.symbols)
    axes = top, row, column = _axes(summary)
    grids, rows, columns = (
        (None,) if place is None else summary.places[place] for place in (top, row, column)
    )
    found: dict[tuple[int | None, ...], list[Score]] = {}
    for score in summary.scores:
        key = tuple(None if at is None else score.combination[at] for at in axes)
        found.setdefault(key, []).append(score)

    def cell(*key: int | None) -> Cell:
        known = dict(zip(axes, key, strict=True))
        name = format_combination([known.get(at) for at in range(len(summary.places))], words)
        return _cell(name, found.get(key, ()), summary)

    names = place_names(problem)
    between = [name for at, name in enumerate(names) if at not in axes]
    return Grid(
        slices=tuple(
            Slice(
                title=_title(value, words),
                row_names=tuple("" if left is None else str(left) for left in rows),
                column_names=tuple(map(str, columns)),
                cells=tuple(tuple(cell(value, left, right) for right in columns) for left in rows),
            )
            for value in grids
        ),
        row_place="" if row is None else names[row],
        column_place=names[column],
        note=f"Each cell is the mean over all {words.many} in {', '.join(between)}."
        if between
        else "",
    )


def _axes(summary: Summary) -> tuple[int | None, int | None, int]:
    """The places that make the grids, their rows and their columns."""
    count = len(summary.places)
    if count < 3:
        return None, (0 if count == 2 else None), count - 1
    if any(value in SIGNS for value in summary.places[1]):
        return 1, 0, 2
    return 0, count - 2, count - 1


def _cell(name: str, scores: Sequence[Score], summary: Summary) -> Cell:
    if not scores:
        return Cell(None, f"{name}: not unseen in any fold that is done")
    rounded, error = (
        fmean(score.measures[metric] for score in scores) for metric in (HEADLINE.name, ERROR.name)
    )
    right, mse = f"{format_percent(rounded)} right", f"MSE {format_decimal(error, 3)}"
    if len({score.row for score in scores}) > 1:
        return Cell(rounded, f"{name}: {right} over {len(scores)} combinations, {mse}")
    mean = fmean(score.mean for score in scores)
    folds = ", ".join(str(fold) for fold in sorted({score.fold for score in scores}))
    return Cell(
        rounded,
        f"{name} = {format_decimal(scores[0].answer, 0)}: {right}, "
        f"mean answer {format_decimal(mean)}, {mse}, unseen in fold {folds}"
        + _made_of(scores, summary),
    )


def _made_of(scores: Sequence[Score], summary: Summary) -> str:
    """The parts of a combination's error, the mean where it was unseen in several folds."""
    known = [score.error_parts for score in scores if score.error_parts is not None]
    if not known or summary.unsplit:
        return ""
    named = parts_by_place(summary.experiment.problem, mean_error_parts(known))
    said = ", ".join(f"{name} {format_decimal(part)}" for name, part in named.items())
    return f"; its error, on {summary.images_per_place} images in each place: {said}"


def _title(value: int | None, words: SymbolWords) -> str:
    if value is None:
        return ""
    if value in SIGNS:
        return f"left {SIGNS[value]} right"
    return f"first {words.one} {words.name(value)}"

"""All combinations as grids of rows and columns, however many digits they have."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from unseen.insight.error_parts import mean_error_parts
from unseen.insight.summary import Score, Summary
from unseen.problem.operations import SIGNS
from unseen.views.words import (
    format_combination,
    format_decimal,
    format_percent,
    named_parts_by_place,
    place_names,
)


@dataclass(frozen=True)
class Cell:
    """One combination or several, when unseen; without scores if never unseen so far."""

    name: str
    scores: tuple[Score, ...]
    made_of: str = ""  # what the error of a single combination is made of

    @property
    def rounded(self) -> float | None:
        return fmean(score.measures["rounded"] for score in self.scores) if self.scores else None

    @property
    def details(self) -> str:
        """The text that is shown when one points at the cell."""
        if not self.scores:
            return f"{self.name}: not unseen in any fold that is done"
        right = format_percent(fmean(score.measures["rounded"] for score in self.scores))
        mse = fmean(score.measures["test_mse"] for score in self.scores)
        folds = ", ".join(str(fold) for fold in sorted({score.fold for score in self.scores}))
        if len({score.row for score in self.scores}) > 1:
            mean_of = f"over {len(self.scores)} combinations, MSE {format_decimal(mse, 3)}"
            return f"{self.name}: {right} right {mean_of}"
        mean = fmean(score.mean for score in self.scores)
        return (
            f"{self.name} = {format_decimal(self.scores[0].answer, 0)}: {right} right, "
            f"mean answer {format_decimal(mean)}, "
            f"MSE {format_decimal(mse, 3)}, unseen in fold {folds}{self.made_of}"
        )


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
    """One grid for pairs; for longer combinations, one for each first digit or for each sign.

    With four digits or more, a cell is the mean over all digits in the places between.
    """
    top, row, column = _axes(summary)
    found: dict[tuple[int | None, ...], list[Score]] = {}
    for score in summary.scores:
        key = tuple(None if at is None else score.combination[at] for at in (top, row, column))
        found.setdefault(key, []).append(score)
    names = place_names(summary.experiment.problem)
    between = [name for at, name in enumerate(names) if at not in (top, row, column)]
    note = f"Each cell is the mean over all digits in {', '.join(between)}." if between else ""
    return Grid(
        tuple(_slice(value, (top, row, column), found, summary) for value in _values(summary, top)),
        "" if row is None else names[row],
        names[column],
        note,
    )


def _axes(summary: Summary) -> tuple[int | None, int | None, int]:
    """The places that make the grids, their rows and their columns."""
    count = len(summary.places)
    if count < 3:
        return None, (0 if count == 2 else None), count - 1
    if any(value in SIGNS for value in summary.places[1]):
        return 1, 0, 2
    return 0, count - 2, count - 1


def _values(summary: Summary, place: int | None) -> tuple[int | None, ...]:
    return (None,) if place is None else summary.places[place]


def _slice(
    value: int | None,
    axes: tuple[int | None, int | None, int],
    found: dict[tuple[int | None, ...], list[Score]],
    summary: Summary,
) -> Slice:
    top, row, column = axes
    rows, columns = _values(summary, row), _values(summary, column)

    def cell(left: int | None, right: int | None) -> Cell:
        known = {top: value, row: left, column: right}
        name = format_combination([known.get(at) for at in range(len(summary.places))])
        scores = tuple(found.get((value, left, right), ()))
        return Cell(name, scores, _made_of(scores, summary))

    return Slice(
        _title(value),
        tuple("" if left is None else str(left) for left in rows),
        tuple(str(right) for right in columns),
        tuple(tuple(cell(left, right) for right in columns) for left in rows),
    )


def _made_of(scores: Sequence[Score], summary: Summary) -> str:
    """The parts of a combination's error, the mean where it was unseen in several folds."""
    units = [(score.fold, score.row) for score in scores]
    known = [summary.error_parts_by_unit.get(unit) for unit in units]
    parts = [each for each in known if each is not None]
    if not parts or len({row for _, row in units}) > 1:
        return ""
    mean = mean_error_parts(parts)
    if not math.isfinite(mean.mse):
        return ""
    named = named_parts_by_place(summary.experiment, mean)
    said = ", ".join(f"{name} {format_decimal(part)}" for name, part in named.items())
    return f"; its error: {said}"


def _title(value: int | None) -> str:
    if value is None:
        return ""
    return f"left {SIGNS[value]} right" if value in SIGNS else f"first digit {value}"

"""All combinations as grids of rows and columns, however many symbols they have."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from unseen.analysis.error_parts import mean_error_parts, parts_by_place, place_names
from unseen.analysis.scores import Score
from unseen.analysis.summary import Summary
from unseen.problem.operations import SIGNS
from unseen.report.symbol_words import SymbolWords, symbol_words
from unseen.report.verdict_text import unsplit_words
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
    """Grids side by side, what their axes are, and a note if a cell is several combinations."""

    slices: tuple[Slice, ...]
    row_label: str
    column_label: str
    note: str


def grid_of(summary: Summary) -> Grid:
    """One grid for pairs; for longer combinations, one for each first symbol or for each sign.

    With four symbols or more, a cell is the mean over all of them in the positions between.
    """
    problem = summary.experiment.problem
    words, labels = symbol_words(problem.symbols), place_names(problem)
    axes = top, row, column = _axes(summary)
    grids, rows, columns = (
        (None,) if axis is None else summary.places[axis] for axis in (top, row, column)
    )
    found: defaultdict[tuple[int | None, ...], list[Score]] = defaultdict(list)
    for score in summary.scores:
        found[tuple(None if at is None else score.combination[at] for at in axes)].append(score)

    def cell(*key: int | None) -> Cell:
        known = dict(zip(axes, key, strict=True))
        name = format_combination([known.get(at) for at in range(len(labels))], words)
        return _cell(name, found[key], summary, with_parts=with_parts)

    with_parts = not unsplit_words(summary)
    between = ", ".join(label for at, label in enumerate(labels) if at not in axes)
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
        row_label="" if row is None else labels[row],
        column_label=labels[column],
        note=f"Each cell is the mean over all {words.many} in {between}." if between else "",
    )


def _axes(summary: Summary) -> tuple[int | None, int | None, int]:
    """The positions that make the grids, their rows and their columns."""
    count = len(summary.places)
    if count < 3:
        return None, (0 if count == 2 else None), count - 1
    if any(value in SIGNS for value in summary.places[1]):
        return 1, 0, 2
    return 0, count - 2, count - 1


def _cell(name: str, scores: Sequence[Score], summary: Summary, *, with_parts: bool) -> Cell:
    if not scores:
        return Cell(None, f"{name}: not unseen in any fold that is done")
    rounded, error = (
        fmean(score.measures[metric] for score in scores) for metric in (HEADLINE.name, ERROR.name)
    )
    right, mse = f"{format_percent(rounded)} right", f"MSE {format_decimal(error, 3)}"
    if len({score.row for score in scores}) > 1:
        return Cell(rounded, f"{name}: {right} over {len(scores)} combinations, {mse}")
    mean = format_decimal(fmean(score.mean for score in scores))
    folds = ", ".join(str(fold) for fold in sorted({score.fold for score in scores}))
    details = (
        f"{name} = {format_decimal(scores[0].answer, 0)}: {right}, "
        f"mean answer {mean}, {mse}, unseen in fold {folds}"
    )
    split = [score.error_parts for score in scores if score.error_parts is not None]
    if split and with_parts:
        named = parts_by_place(summary.experiment.problem, mean_error_parts(split))
        parts = ", ".join(f"{name} {format_decimal(part)}" for name, part in named.items())
        images = summary.images_per_place
        details += f"; its error, on {images} images in each place: {parts}"
    return Cell(rounded, details)


def _title(value: int | None, words: SymbolWords) -> str:
    if value is None:
        return ""
    if value in SIGNS:
        return f"left {SIGNS[value]} right"
    return f"first {words.one} {words.name(value)}"

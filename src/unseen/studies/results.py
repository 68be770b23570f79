"""The results of a study as one tidy file: a row a fold, a column a setting or a metric."""

import csv
import importlib.util
import io
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from unseen.analysis.statistics import measures_of
from unseen.errors import UnseenError, printable, without_paths
from unseen.files import append_line, write_whole
from unseen.locks import locked
from unseen.runs.experiment import SETTINGS, setting_value
from unseen.studies.study import setting_kind
from unseen.studies.sweep import StudyFold
from unseen.training.metrics import METRICS

BEFORE = ("run", "preset", *SETTINGS, "fold", "state")
AFTER = (*METRICS, "seconds", "parameters", "error")
COLUMNS = (*BEFORE, *AFTER)
ARROW_NAMES = {bool: "bool", int: "int64", float: "double", str: "string"}
ARROW_TYPES = (
    dict.fromkeys(COLUMNS, "string")
    | {name: ARROW_NAMES[setting_kind(name)] for name in SETTINGS}
    | dict.fromkeys((*METRICS, "seconds"), "double")
    | dict.fromkeys(("fold", "parameters"), "int64")
)


def tidy_row(fold: StudyFold) -> dict[str, Any]:
    """A fold of a study as a row; what it has no value for is None."""
    experiment = fold.run.experiment
    settings = {name: setting_value(experiment, name) for name in SETTINGS}
    settings |= {name: without_paths(str(settings[name])) for name in ("symbols", "model")}
    row = {"run": fold.folder.path.name, "preset": experiment.name, **settings, "fold": fold.fold}
    if fold.result is None:
        return row | {
            "state": "failed" if fold.error else "elsewhere",
            "error": without_paths(fold.error) or None,
        }
    measured = {**measures_of(fold.result), "parameters": fold.result.parameters}
    return row | {"state": "done", **measured}


class TidyFile:
    """A CSV file that grows with a study; it is written anew by each sweep of the study.

    Of several sweeps at once, the first adds to it, and the others do no more than `settle` it.
    """

    def __init__(self, path: Path, rows: Iterable[Mapping[str, Any]] = ()) -> None:
        self.path, self._lock = path, ExitStack()
        self._is_ours = self.is_whole = self._take()
        if self._is_ours:
            self._write(rows)

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row; where that is not possible, the file is no longer whole."""
        if self.is_whole:
            try:
                append_line(self.path, csv_lines([row]))
            except UnseenError:  # a disk that is full, which need not be so at the end
                self.is_whole = False

    def settle(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write all rows anew, if no other sweep adds to the file: that one does it at its end."""
        if self._is_ours or self._take():
            self._write(rows)

    def close(self) -> None:
        self._lock.close()

    def _take(self) -> bool:
        lock = self.path.with_name(f".{self.path.name}.lock")
        return self._lock.enter_context(locked(lock, whole_folder=False))

    def _write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        write_whole(self.path, csv_lines([dict(zip(COLUMNS, COLUMNS, strict=True)), *rows]))

    def as_parquet(self) -> Path | None:
        """Write the same as Parquet, where pyarrow is installed; returns where it is."""
        if importlib.util.find_spec("pyarrow") is None:
            return None
        parquet, read = (importlib.import_module(f"pyarrow.{name}") for name in ("parquet", "csv"))
        # an empty column has no type that could be guessed, and NaN is not nothing
        options = read.ConvertOptions(
            column_types=ARROW_TYPES, null_values=[""], strings_can_be_null=True
        )
        path, content = self.path.with_suffix(".parquet"), io.BytesIO()
        parquet.write_table(read.read_csv(self.path, convert_options=options), content)
        write_whole(path, content.getvalue())
        return path


def csv_lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    for row in rows:
        cells = (row.get(name) for name in COLUMNS)
        writer.writerow([printable(each) if isinstance(each, str) else each for each in cells])
    return file.getvalue().encode()

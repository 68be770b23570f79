"""The results of a study as one tidy file: a row a fold, a column a setting or a metric."""

import csv
import importlib.util
import io
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

from unseen.analysis.statistics import measures_of
from unseen.errors import UnseenError, printable, without_paths
from unseen.files import make_folder, write_whole
from unseen.runs.experiment import SETTINGS, setting_value
from unseen.studies.sweep import StudyFold
from unseen.training.metrics import METRICS

COLUMNS = ("run", "preset", *SETTINGS, "fold", "state")
COLUMNS += (*METRICS, "seconds", "parameters", "error")
SECONDS_BETWEEN_WRITES = 10.0
ARROW_TYPES = {bool: "bool", int: "int64", float: "double", str: "string"}


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
    """A CSV file that grows with a study: each sweep of the study writes all of its rows anew."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines = [",".join(COLUMNS) + "\n"]  # rows as text take the least memory
        self._written = time.monotonic()

    def add(self, fold: StudyFold) -> None:
        """Add a row; the file has it some seconds later, or when it is written."""
        row, line = tidy_row(fold), io.StringIO()
        cells = (row.get(name) for name in COLUMNS)
        csv.writer(line, lineterminator="\n").writerow(
            [printable(each) if isinstance(each, str) else each for each in cells]
        )
        self._lines.append(line.getvalue())
        if time.monotonic() - self._written > SECONDS_BETWEEN_WRITES:
            with suppress(UnseenError):  # a disk that is full, which need not be so at the end
                self.write()

    def write(self) -> None:
        make_folder(self.path.parent)
        write_whole(self.path, "".join(self._lines).encode())
        self._written = time.monotonic()

    def as_parquet(self) -> Path | None:
        """Write the same as Parquet, where pyarrow is installed; returns where it is."""
        if importlib.util.find_spec("pyarrow") is None:
            return None
        parquet, read = (importlib.import_module(f"pyarrow.{name}") for name in ("parquet", "csv"))
        # an empty column has no type that could be inferred, and NaN is not nothing
        options = read.ConvertOptions(
            column_types={name: _arrow_type(name) for name in COLUMNS},
            null_values=[""],
            strings_can_be_null=True,
        )
        path, content = self.path.with_suffix(".parquet"), io.BytesIO()
        parquet.write_table(read.read_csv(self.path, convert_options=options), content)
        write_whole(path, content.getvalue())
        return path


def _arrow_type(column: str) -> str:
    if column in SETTINGS:
        annotation = SETTINGS[column].annotation
        kinds = {annotation, *get_args(annotation)}
        return next((ARROW_TYPES[kind] for kind in ARROW_TYPES if kind in kinds), "string")
    if column in ("fold", "parameters"):
        return "int64"
    return "double" if column in (*METRICS, "seconds") else "string"

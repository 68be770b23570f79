"""What a finished fold's files must be, given its experiment: checked before they are used.

A right hash only says that a file is as somebody wrote it. What does not follow from the
experiment is damage, and never more is read than it implies.
"""

import io
import math
import zipfile
from dataclasses import fields
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError
from unseen.files import DamagedFileError, open_recorded, read_file
from unseen.problem.operations import spelled
from unseen.problem.problem import Problem
from unseen.problem.task import QUADRANTS, make_task
from unseen.runs.fold import FoldArrays, FoldResult, table_predictions
from unseen.runs.measuring import GROUP_MEASURES, MOST_TABLES, images_per_place
from unseen.training.metrics import METRICS

ZIP_BYTES = 1024**2  # of an archive, beyond its arrays

Expected = tuple[np.dtype[Any], tuple[int, ...]]


def fold_count(problem: Problem) -> float:
    """How many folds a problem has, without its symbols where that can be; inf if not known."""
    if problem.split == "corner":
        return 1
    if problem.unseen_list:
        return len(problem.unseen_list)
    if problem.split in ("random", "mirror") and problem.unseen is None:
        return 10
    try:
        return len(make_task(problem).folds)
    except UnseenError:  # its symbols are gone
        return math.inf


def check_result(path: Path, result: FoldResult, problem: Problem) -> None:
    """Refuse a result with figures that no fold of the problem can have."""
    if not 1 <= result.fold <= fold_count(problem):
        raise DamagedFileError(path, f"there is no fold {result.fold} in this split")
    for name, value in result.measures.items():
        is_share = name in METRICS and METRICS[name].is_share
        if is_share and not (math.isnan(value) or 0 <= value <= 1):
            raise DamagedFileError(path, f"{name} cannot be {value}")
    if not (0 <= result.seconds < math.inf and result.parameters >= 0):
        raise DamagedFileError(path, "its seconds or its number of parameters are impossible")
    measured = [result.quadrants.get(name, {}) for name in QUADRANTS]
    if result.quadrants and not all(GROUP_MEASURES.keys() <= each.keys() for each in measured):
        raise DamagedFileError(path, "its quadrants are incomplete")


def check_unseen(path: Path, result: FoldResult, problem: Problem) -> None:
    """Refuse a result of other unseen combinations than the fold has."""
    task = make_task(problem)
    unseen = [spelled(task.combinations.digits[row]) for row in task.unseen(result.fold)]
    if result.unseen != unseen:
        raise DamagedFileError(path, f"it is about other combinations than fold {result.fold}")


def check_weights(path: Path) -> None:
    """Refuse a file of weights whose header lies; nothing else of it is read."""
    import safetensors

    file = open_recorded(path)
    if file is not None:
        file.close()
    try:
        with safetensors.safe_open(path, framework="numpy"):
            pass
    except (OSError, ValueError, safetensors.SafetensorError) as error:
        raise DamagedFileError(path, "it holds no weights") from error


def read_arrays(path: Path, problem: Problem, fold: int) -> FoldArrays:
    """The arrays that a finished fold left; damaged where they are not what the problem implies."""
    expected = _expected(problem, fold)
    largest = sum(dtype.itemsize * math.prod(shape) for dtype, shape in expected.values())
    content = read_file(path, largest + ZIP_BYTES) or b""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = {name: f"{name}.npy" for name in expected}
            arrays = FoldArrays(
                **{
                    name: _read_array(archive.open(file), *expected[name])
                    for name, file in files.items()
                    if file in archive.namelist()
                }
            )
        _check_rows(arrays, problem, fold)
    except Exception as error:  # archives and headers that lie do so in many ways
        raise DamagedFileError(path, "its arrays are not those of this fold") from error
    return arrays


def _expected(problem: Problem, fold: int) -> dict[str, Expected]:
    """Each array of a fold, with its type and its shape."""
    task = make_task(problem)
    combinations, places = task.combinations.digits.shape
    unseen = len(task.unseen(fold))
    samples, tables = unseen * problem.test_samples_per_combination, min(unseen, MOST_TABLES)
    images = images_per_place(table_predictions(problem), places)
    shapes: dict[str, tuple[type[np.generic], tuple[int, ...]]] = {
        "prediction": (np.float32, (samples,)),
        "answer": (np.int32, (samples,)),
        "combination": (np.int32, (samples,)),
        "images": (np.int32, (samples, places)),
        "means": (np.float64, (combinations,)),
        "table_rows": (np.intp, (tables,)),
        "tables": (np.float32, (tables, *[images] * places)),
    }
    assert shapes.keys() == {field.name for field in fields(FoldArrays)}
    return {name: (np.dtype(kind), shape) for name, (kind, shape) in shapes.items()}


def _read_array(file: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """An array of this type and shape; its header is read first, and then no more than these."""
    with file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError("another version of the format")
        header = np.lib.format.read_array_header_1_0(file)
        size = dtype.itemsize * math.prod(shape)
        if header != (shape, False, dtype) or len(body := file.read(size + 1)) != size:
            raise ValueError(f"{header} where {dtype} of {shape} was expected")
    return np.frombuffer(body, dtype).reshape(shape)


def _check_rows(arrays: FoldArrays, problem: Problem, fold: int) -> None:
    """Refuse samples of other combinations than the fold's unseen ones."""
    task = make_task(problem)
    unseen, table = task.unseen(fold), task.combinations
    rows = np.repeat(unseen, problem.test_samples_per_combination)
    if not (
        np.array_equal(arrays.combination, rows)
        and np.array_equal(arrays.answer, table.answers[rows])
        and 0 <= arrays.images.min() <= arrays.images.max() < len(task.bank.test.labels)
        and np.array_equal(task.bank.test.labels[arrays.images], table.digits[rows])
        and (arrays.table_rows is None or np.isin(arrays.table_rows, unseen).all())
        and (arrays.tables is None) == (arrays.table_rows is None)
    ):
        raise ValueError("other samples than the fold's")

"""The samples of a fold as files for elsewhere: Parquet, .npz or a folder of PNGs."""

import csv
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unseen.errors import UnseenError, printable
from unseen.files import file_sha256, make_folder, write_whole
from unseen.problem.operations import spelled
from unseen.problem.problem import Problem
from unseen.problem.randomness import Streams
from unseen.problem.samples import Samples, batches, render_pictures
from unseen.problem.task import Task, fold_samples, make_task
from unseen.report.json_view import jsonable
from unseen.report.report import page_environment
from unseen.report.words import combinations_word
from unseen.runs.experiment import SETTINGS, Experiment, setting_value

AT_ONCE = 1_000  # pictures
MOST_NAMED = 100  # unseen combinations, in the card of a data set


@dataclass(frozen=True)
class FoldData:
    """The samples of one fold: seen combinations to train with, unseen ones to test with."""

    experiment: Experiment
    fold: int
    task: Task
    halves: dict[str, Samples]  # train and test

    def batches(self, half: str) -> Iterator[tuple[NDArray[np.uint8], list[Any], list[int]]]:
        """Pictures, the symbols in each, and the answers, some at a time."""
        samples = self.halves[half]
        for here in batches(len(samples), AT_ONCE):
            digits = self.task.combinations.digits[samples.combinations[here]]
            answers = samples.answers[here].tolist()
            yield render_pictures(samples, here), [*map(spelled, digits)], answers

    @property
    def unseen(self) -> list[list[int | str]]:
        return [*map(spelled, self.task.combinations.digits[self.task.unseen(self.fold)])]


def fold_data(experiment: Experiment, fold: int) -> FoldData:
    """The samples that a fold of an experiment draws."""
    task = make_task(experiment.problem)
    if not 1 <= fold <= len(task.folds):
        raise UnseenError(
            f"fold {fold} does not exist; this split has folds 1 to {len(task.folds)}"
        )
    train, test = fold_samples(experiment.problem, Streams(experiment.seed, fold))
    return FoldData(experiment, fold, task, {"train": train, "test": test})


def png(pixels: NDArray[np.uint8]) -> bytes:
    with BytesIO() as file:
        Image.fromarray(pixels).save(file, "PNG")
        return file.getvalue()


def write_parquet(data: FoldData, folder: Path) -> None:
    """Parquet files that Hugging Face's `datasets` reads without a script, and a dataset card."""
    try:
        arrow, parquet = (import_module(name) for name in ("pyarrow", "pyarrow.parquet"))
    except ImportError as error:
        raise UnseenError("Parquet needs pyarrow: pip install pyarrow") from error
    signs = data.experiment.problem.operation.startswith("shown:")
    digit = "string" if signs else "int64"
    features = {
        "image": {"_type": "Image"},
        "digits": {"_type": "List", "feature": {"_type": "Value", "dtype": digit}},
        "answer": {"_type": "Value", "dtype": "int64"},
        "seen": {"_type": "Value", "dtype": "bool"},
    }
    schema = arrow.schema(
        {
            "image": arrow.struct({"bytes": arrow.binary(), "path": arrow.string()}),
            "digits": arrow.list_(arrow.string() if signs else arrow.int64()),
            "answer": arrow.int64(),
            "seen": arrow.bool_(),
        },
        metadata={"huggingface": json.dumps({"info": {"features": features}})},
    )
    make_folder(folder / "data")
    for half in data.halves:
        with BytesIO() as file:
            with parquet.ParquetWriter(file, schema) as writer:
                for pictures, digits, answers in data.batches(half):
                    columns = {
                        "image": [{"bytes": png(each), "path": None} for each in pictures],
                        "digits": [[*map(str, each)] for each in digits] if signs else digits,
                        "answer": answers,
                        "seen": [half == "train"] * len(pictures),
                    }
                    writer.write_table(arrow.table(columns, schema))
            write_whole(folder / f"data/{half}-00000-of-00001.parquet", file.getvalue())
    write_whole(folder / "README.md", dataset_card(data, digit).encode())
    _write_manifest(data, folder / "manifest.json", sorted(folder.glob("data/*.parquet")))


def write_npz(data: FoldData, path: Path) -> None:
    """One .npz file of arrays: train_images, train_digits, train_answers and the same of test."""
    arrays: dict[str, Any] = {}
    for half, samples in data.halves.items():
        arrays[f"{half}_images"] = np.concatenate([each for each, _, _ in data.batches(half)])
        arrays[f"{half}_digits"] = data.task.combinations.digits[samples.combinations]
        arrays[f"{half}_answers"] = samples.answers
    with BytesIO() as file:
        np.savez_compressed(file, **arrays)
        write_whole(path, file.getvalue())
    _write_manifest(data, path.with_suffix(".json"), [path])


def write_pngs(data: FoldData, folder: Path) -> None:
    """A folder of PNGs, train/ and test/, and labels.csv."""
    rows = StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    writer.writerow(["file", "split", "digits", "answer", "seen"])
    for half in data.halves:
        make_folder(folder / half)
        samples = (each for batch in data.batches(half) for each in zip(*batch, strict=True))
        for number, (pixels, digits, answer) in enumerate(samples):
            name = f"{half}/{number:07}.png"
            write_whole(folder / name, png(pixels), sync=False)
            writer.writerow([name, half, " ".join(map(str, digits)), answer, half == "train"])
    write_whole(folder / "labels.csv", rows.getvalue().encode())
    _write_manifest(data, folder / "manifest.json", [folder / "labels.csv"])


def _write_manifest(data: FoldData, path: Path, files: list[Path]) -> None:
    """Seeds, hashes, and which images of the symbol set stand in each sample."""
    experiment = data.experiment
    of_problem = {info.title or name for name, info in Problem.model_fields.items()}
    settings = {name: setting_value(experiment, name) for name in SETTINGS if name in of_problem}
    settings["symbols"] = printable(Path(experiment.problem.symbols).name)
    document = {
        "unseen_version": version("unseen"),
        "settings": settings,
        "seed": experiment.seed,
        "fold": data.fold,
        "symbols_sha256": data.task.bank.sha256,
        "unseen": data.unseen,
        "halves": {half: _half(data, half) for half in data.halves},
        "files": {str(each.relative_to(path.parent)): file_sha256(each) for each in files},
    }
    write_whole(path, json.dumps(jsonable(document)).encode())


def _half(data: FoldData, half: str) -> dict[str, Any]:
    """How many samples, the hash of their pixels in order, and the numbers of their images."""
    samples, pixels = data.halves[half], hashlib.sha256()
    for pictures, _, _ in data.batches(half):
        pixels.update(pictures.tobytes())
    return {
        "samples": len(samples),
        "pixels_sha256": pixels.hexdigest(),
        "images": samples.symbols.numbers[samples.images].tolist(),
    }


def dataset_card(data: FoldData, digit: str) -> str:
    """A README that Hugging Face reads: which files are what, and where the data come from."""
    problem = data.experiment.problem
    named = data.unseen[:MOST_NAMED]
    return (
        page_environment("unseen.use")
        .get_template("dataset_card.md.jinja")
        .render(
            fold=data.fold,
            operation=printable(problem.operation),
            symbols=printable(Path(problem.symbols).name),
            licence="cc-by-sa-3.0" if problem.symbols == "mnist" else "other",
            split=printable(problem.split),
            length=data.task.combinations.digits.shape[1],
            counts={half: f"{len(samples):,}" for half, samples in data.halves.items()},
            things=combinations_word(problem),
            digit=digit,
            unseen=", ".join(" ".join(map(str, each)) for each in named),
            version=version("unseen"),
        )
    )


WRITERS: dict[str, Callable[[FoldData, Path], None]] = {
    "parquet": write_parquet,
    "npz": write_npz,
    "png": write_pngs,
}

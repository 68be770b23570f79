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
from PIL import Image

from unseen.errors import UnseenError, printable
from unseen.files import file_sha256, make_folder, write_whole
from unseen.problem.operations import spelled
from unseen.problem.problem import Problem
from unseen.problem.randomness import Streams
from unseen.problem.samples import Samples, batches, render_pictures
from unseen.problem.symbol_bank import SymbolImages
from unseen.problem.task import Task, fold_samples, make_task
from unseen.report.json_view import jsonable
from unseen.report.words import combinations_word
from unseen.runs.experiment import SETTINGS, Experiment, setting_value

AT_ONCE = 1_000  # pictures


@dataclass(frozen=True)
class FoldData:
    """The samples of one fold: seen combinations to train with, unseen ones to test with."""

    experiment: Experiment
    fold: int
    task: Task
    halves: dict[str, Samples]  # train and test

    def digits(self, samples: Samples) -> list[list[int | str]]:
        return [spelled(each) for each in self.task.combinations.digits[samples.combinations]]


def fold_data(experiment: Experiment, fold: int) -> FoldData:
    """The samples that a fold of an experiment draws."""
    task = make_task(experiment.problem)
    if not 1 <= fold <= len(task.folds):
        raise UnseenError(
            f"fold {fold} does not exist; this split has folds 1 to {len(task.folds)}"
        )
    train, test = fold_samples(experiment.problem, Streams(experiment.seed, fold))
    return FoldData(experiment, fold, task, {"train": train, "test": test})


def pictures_of(samples: Samples) -> Iterator[tuple[slice, Any]]:
    """The pictures of samples, some at a time."""
    return ((here, render_pictures(samples, here)) for here in batches(len(samples), AT_ONCE))


def png(pixels: Any) -> bytes:
    with BytesIO() as file:
        Image.fromarray(pixels).save(file, "PNG")
        return file.getvalue()


def write_parquet(data: FoldData, folder: Path) -> None:
    """Parquet files that Hugging Face's `datasets` reads without a script, and a dataset card."""
    try:
        arrow, parquet = (import_module(name) for name in ("pyarrow", "pyarrow.parquet"))
    except ImportError as error:
        raise UnseenError("Parquet needs pyarrow: pip install pyarrow") from error
    signs = any(
        isinstance(each, str) for each in data.digits(data.halves["test"].some(np.arange(1)))[0]
    )
    digit = ("string", arrow.string()) if signs else ("int64", arrow.int64())
    features = {
        "image": {"_type": "Image"},
        "digits": {"_type": "List", "feature": {"_type": "Value", "dtype": digit[0]}},
        "answer": {"_type": "Value", "dtype": "int64"},
        "seen": {"_type": "Value", "dtype": "bool"},
    }
    image = arrow.struct({"bytes": arrow.binary(), "path": arrow.string()})
    schema = arrow.schema(
        {
            "image": image,
            "digits": arrow.list_(digit[1]),
            "answer": arrow.int64(),
            "seen": arrow.bool_(),
        },
        metadata={"huggingface": json.dumps({"info": {"features": features}})},
    )
    make_folder(folder / "data")
    for half, samples in data.halves.items():
        with BytesIO() as file:
            with parquet.ParquetWriter(file, schema) as writer:
                for here, pictures in pictures_of(samples):
                    digits = data.digits(samples.some(np.arange(here.start, here.stop)))
                    columns = {
                        "image": [{"bytes": png(each), "path": None} for each in pictures],
                        "digits": [[*map(str, each)] for each in digits] if signs else digits,
                        "answer": samples.answers[here].tolist(),
                        "seen": [half == "train"] * len(pictures),
                    }
                    writer.write_table(arrow.table(columns, schema))
            name = f"data/{half}-00000-of-00001.parquet"
            write_whole(folder / name, file.getvalue())
    write_whole(folder / "README.md", dataset_card(data, digit[0]).encode())
    _write_manifest(data, folder / "manifest.json", sorted(folder.glob("data/*.parquet")))


def write_npz(data: FoldData, path: Path) -> None:
    """One .npz file of arrays: train_images, train_digits, train_answers and the same of test."""
    arrays: dict[str, Any] = {}
    for half, samples in data.halves.items():
        arrays[f"{half}_images"] = np.concatenate([each for _, each in pictures_of(samples)])
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
    for half, samples in data.halves.items():
        make_folder(folder / half)
        for here, pictures in pictures_of(samples):
            digits = data.digits(samples.some(np.arange(here.start, here.stop)))
            answers = samples.answers[here].tolist()
            for at, (pixels, each, answer) in enumerate(
                zip(pictures, digits, answers, strict=True)
            ):
                name = f"{half}/{here.start + at:07}.png"
                write_whole(folder / name, png(pixels), sync=False)
                writer.writerow([name, half, " ".join(map(str, each)), answer, half == "train"])
    write_whole(folder / "labels.csv", rows.getvalue().encode())
    _write_manifest(data, folder / "manifest.json", [folder / "labels.csv"])


def _write_manifest(data: FoldData, path: Path, files: list[Path]) -> None:
    """Seeds, hashes, and which images of the symbol set stand in each sample."""
    experiment = data.experiment
    settings = {name: setting_value(experiment, name) for name in _problem_settings()}
    settings["symbols"] = printable(Path(experiment.problem.symbols).name)
    document = {
        "unseen_version": version("unseen"),
        "settings": settings,
        "seed": experiment.seed,
        "fold": data.fold,
        "symbols_sha256": data.task.bank.sha256,
        "unseen": [spelled(each) for each in _unseen(data)],
        "halves": {half: _half(samples) for half, samples in data.halves.items()},
        "files": {str(each.relative_to(path.parent)): file_sha256(each) for each in files},
    }
    write_whole(path, json.dumps(jsonable(document)).encode())


def _problem_settings() -> list[str]:
    fields = {info.title or name for name, info in Problem.model_fields.items()}
    return [name for name in SETTINGS if name in fields]


def _unseen(data: FoldData) -> list[list[int]]:
    rows = data.task.unseen(data.fold)
    return [[*map(int, each)] for each in data.task.combinations.digits[rows]]


def _half(samples: Samples) -> dict[str, Any]:
    """How many samples, the hash of their pixels in order, and the numbers of their images."""
    pixels = hashlib.sha256()
    for _, pictures in pictures_of(samples):
        pixels.update(pictures.tobytes())
    symbols: SymbolImages = samples.symbols
    return {
        "samples": len(samples),
        "pixels_sha256": pixels.hexdigest(),
        "images": symbols.numbers[samples.images].tolist(),
    }


def dataset_card(data: FoldData, digit: str) -> str:
    """A README that Hugging Face reads: which files are what, and where the data come from."""
    problem = data.experiment.problem
    things = combinations_word(problem)
    licence = "cc-by-sa-3.0" if problem.symbols == "mnist" else "other"
    counts = {half: len(samples) for half, samples in data.halves.items()}
    splits = "\n".join(
        f"    - split: {half}\n      path: data/{half}-*.parquet" for half in data.halves
    )
    unseen = ", ".join(" ".join(map(str, spelled(each))) for each in _unseen(data)[:100])
    return f"""---
license: {licence}
configs:
  - config_name: default
    data_files:
{splits}
dataset_info:
  features:
    - name: image
      dtype: image
    - name: digits
      list: {digit}
    - name: answer
      dtype: int64
    - name: seen
      dtype: bool
---
# Fold {data.fold} of {printable(problem.operation)} on {printable(Path(problem.symbols).name)}, \
split {printable(problem.split)}

Pictures of {data.task.combinations.digits.shape[1]} symbols side by side, labelled with their \
answer. `train` has {counts["train"]:,} pictures of {things} that may be seen, in training \
handwriting; `test` has {counts["test"]:,} of {things} that are never seen, in test handwriting. \
`manifest.json` has the seeds, the hashes and the images that stand in each picture.

Unseen: {unseen}

Made by `unseen export data` {version("unseen")}, after Bloice, Roth and Holzinger, “Performing \
Arithmetic Using a Neural Network Trained on Digit Permutation Pairs” (ISMIS 2020). MNIST: Yann \
LeCun, Corinna Cortes and Christopher J. C. Burges.
"""


WRITERS: dict[str, Callable[[FoldData, Path], None]] = {
    "parquet": write_parquet,
    "npz": write_npz,
    "png": write_pngs,
}

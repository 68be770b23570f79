"""Networks asked: about one combination, and about drawn pictures."""

import base64
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen.analysis.error_parts import error_parts_by_row, parts_by_place, split_error
from unseen.errors import UnseenError
from unseen.lab.choices import Setup
from unseen.networks.own_files import is_own
from unseen.problem.operations import spelled
from unseen.problem.randomness import Streams
from unseen.problem.samples import Samples, draw_samples, render_pictures, side_by_side
from unseen.report.report import as_data_uri
from unseen.report.symbol_words import symbol_words
from unseen.report.words import format_combination
from unseen.runs.fold import torch_threads
from unseen.runs.measuring import all_of
from unseen.runs.run_folder import RunFolder
from unseen.runs.trained_networks import load_network
from unseen.training.metrics import rounds_to_answer

if TYPE_CHECKING:
    from unseen.networks.modules import RescaledOutput

ASKED = 200  # pictures of a combination whose answers are not on record
IMAGES = 14  # in each position, to split the error by
MOST_PICTURES = 8  # right ones, and wrong ones
MOST_BARS = 60  # of a histogram
BAR_WIDTHS = (0.1, 0.25, 0.5, *(2.0**power for power in range(40)))
MOST_NETWORKS = 4  # in memory

Answered = tuple[Samples, NDArray[np.float32], dict[str, float]]  # with the parts of the error


@dataclass
class Networks:
    """The networks that were asked last, by run and fold, each with the weights that it has."""

    own: str | None  # file.py:Class, if the lab was given one
    _kept: dict[tuple[str, int], tuple[bytes | None, "RescaledOutput"]] = field(
        default_factory=dict
    )

    def network(self, folder: RunFolder, setup: Setup) -> "RescaledOutput":
        """The network of a fold: as it ended, or as it was last measured."""
        if is_own(setup.experiment.training.model) and self.own is None:
            raise UnseenError(
                "its network is a file that the lab was not given: "
                "unseen lab --model file.py:Class runs it"
            )
        so_far = folder.weights_so_far(setup.fold)
        if so_far is None and folder.result(setup.fold, thorough=False) is None:
            raise UnseenError(
                "nothing that it has learnt is saved yet; start it or wait until it is done"
            )
        key = str(folder.path), setup.fold
        if key not in self._kept or self._kept[key][0] != so_far:
            network = load_network(folder, setup.experiment, setup.fold, self.own, so_far=True)
            self._kept.pop(key, None)
            self._kept[key] = so_far, network
            for oldest in [*self._kept][:-MOST_NETWORKS]:
                del self._kept[oldest]
        return self._kept[key][1]

    def answers(
        self, folder: RunFolder, setup: Setup, pictures: NDArray[np.uint8]
    ) -> NDArray[np.float32]:
        """The answer to each picture, (n, height, width) -> (n,)."""
        import torch

        from unseen.training.evaluation import predict_pictures

        network = self.network(folder, setup)
        with torch_threads(setup.experiment.threads):
            return predict_pictures(network, pictures, torch.device("cpu"))


def picture_of(panels: Any, setup: Setup) -> NDArray[np.uint8]:
    """A picture from its symbols, each as base64 of its grey values: (1, height, width)."""
    height, width = setup.task.bank.test.images.shape[1:]
    length = setup.task.combinations.digits.shape[1]
    fault = f"panels must be {length} texts, each {height} × {width} grey values in base64"
    if not (isinstance(panels, list) and all(isinstance(each, str) for each in panels)):
        raise UnseenError(fault)
    try:
        grey = [base64.b64decode(each, validate=True) for each in panels]
    except ValueError as error:
        raise UnseenError(fault) from error
    if [len(each) for each in grey] != [height * width] * length:
        raise UnseenError(fault)
    symbols = np.frombuffer(b"".join(grey), np.uint8).reshape(1, length, height, width)
    return np.asarray(side_by_side(symbols))


def cell_json(networks: Networks, folder: RunFolder, setup: Setup, row: int) -> dict[str, Any]:
    """What the network of a fold answers for one combination, seen or not."""
    task, problem = setup.task, setup.experiment.problem
    digits, answer = task.combinations.digits[row], int(task.combinations.answers[row])
    is_unseen = row in task.unseen(setup.fold)
    recorded = _on_record(folder, setup, row) if is_unseen else None
    samples, predictions, parts = recorded or _asked(networks, folder, setup, row)
    right = rounds_to_answer(predictions, samples.answers)
    finite = predictions[np.isfinite(predictions)]
    return {
        "combination": spelled(digits),
        "title": format_combination(digits.tolist(), symbol_words(problem.symbols)),
        "answer": answer,
        "unseen": is_unseen,
        "recorded": recorded is not None,
        "samples": len(samples),
        "right": float(np.mean(right)),
        "mean": float(finite.mean()) if len(finite) else None,
        "histogram": _histogram(finite, answer),
        "parts": parts,
        "mse": float(np.mean((predictions - answer) ** 2)),
        "pictures": {
            "right": _pictures(samples, predictions, np.flatnonzero(right)),
            "wrong": _pictures(samples, predictions, np.flatnonzero(~right)),
        },
    }


def _on_record(folder: RunFolder, setup: Setup, row: int) -> Answered | None:
    """The test samples of an unseen combination and their answers, where its fold is done."""
    task, experiment = setup.task, setup.experiment
    if folder.result(setup.fold, thorough=False) is None:
        return None
    arrays = folder.arrays(setup.fold, experiment)
    of = arrays.combination == row
    samples = Samples(task.bank.test, arrays.images[of], arrays.combination[of], arrays.answer[of])
    parts: dict[str, float] = {}
    rows, tables, means = arrays.table_rows, arrays.tables, arrays.means
    if rows is not None and tables is not None and means is not None and row in rows:
        seen = np.ones(len(task.combinations.digits), np.bool_)
        seen[task.unseen(setup.fold)] = False
        which = rows == row
        found = error_parts_by_row(task.combinations, seen, means, rows[which], tables[which])
        parts = parts_by_place(experiment.problem, found[row])
    return samples, arrays.prediction[of], parts


def _asked(networks: Networks, folder: RunFolder, setup: Setup, row: int) -> Answered:
    """Test pictures of any combination, answered now; the error split by position."""
    task, experiment = setup.task, setup.experiment
    table = task.combinations
    rng = Streams(experiment.seed, setup.fold).numpy("asked in the lab", row)
    samples = draw_samples(table, np.asarray([row]), task.bank.test, ASKED, rng)
    predictions = networks.answers(folder, setup, render_pictures(samples, slice(None)))
    length = table.digits.shape[1]
    images = max(2, math.floor(IMAGES ** (2 / length)))
    shown = all_of(task, row, images, rng)
    answers = networks.answers(folder, setup, render_pictures(shown, slice(None)))
    split = split_error(answers.reshape((images,) * length), float(table.answers[row]))
    parts = parts_by_place(experiment.problem, split)
    del parts["shift"], parts["misvalued"]  # not known without seen combinations
    return samples, predictions, parts


def _histogram(predictions: NDArray[np.float32], answer: int) -> dict[str, Any]:
    """How many answers there are in each bar, around the right one."""
    if not len(predictions):
        return {"start": answer - 0.5, "width": 1.0, "counts": [0]}
    low, high = np.quantile(predictions, [0.005, 0.995])
    low, high = min(low, answer) - 0.75, max(high, answer) + 0.75
    width = next(each for each in BAR_WIDTHS if (high - low) / each <= MOST_BARS)
    start = math.floor(low / width) * width
    edges = start + width * np.arange(math.ceil((high - start) / width) + 1)
    counts = np.histogram(np.clip(predictions, edges[0], edges[-1]), edges)[0]
    return {"start": start, "width": width, "counts": counts.tolist()}


def _pictures(
    samples: Samples, predictions: NDArray[np.float32], rows: NDArray[np.intp]
) -> list[dict[str, Any]]:
    """Some samples, evenly taken from the least answer to the largest."""
    ordered = rows[np.argsort(predictions[rows], kind="stable")]
    count = min(MOST_PICTURES, len(ordered))
    some = ordered[np.linspace(0, len(ordered) - 1, count).round().astype(np.intp)]
    pictures = render_pictures(samples, some) if count else ()
    return [
        {"picture": as_data_uri(picture), "prediction": float(predictions[row])}
        for row, picture in zip(some, pictures, strict=True)
    ]

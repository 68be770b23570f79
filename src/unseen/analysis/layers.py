"""What each layer of a run's networks still tells of the symbols: takes minutes, so on demand."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unseen.analysis.error_parts import error_parts_by_row
from unseen.analysis.run_data import DEEP_FILE, DeepFold, RunData, load_run_data
from unseen.analysis.statistics import Spread, spread
from unseen.errors import SettingError, UnseenError
from unseen.networks.own_files import is_own
from unseen.problem.identifiability import Digits
from unseen.problem.randomness import Streams
from unseen.problem.samples import Samples, batches, draw_samples, render_pictures
from unseen.problem.task import Task
from unseen.runs.fold import own_faults_told, torch_threads
from unseen.runs.local_workers import LocalWorkers
from unseen.runs.measuring import prediction_tables
from unseen.runs.run_folder import RunFolder
from unseen.runs.trained_networks import load_network
from unseen.training.baselines import BASELINES

if TYPE_CHECKING:
    from torch import Tensor, nn

    from unseen.networks.modules import RescaledOutput

Activations = NDArray[np.floating]  # (n, features)

TABLE_PREDICTIONS = 10_000  # 100 × 100 images for a pair
PROBE_TRAIN_SAMPLES, PROBE_TEST_SAMPLES = 2_000, 1_000
PICTURES_AT_ONCE = 125
MOST_FEATURES = 1_024
# on pixels and random layers, 1,000 and 3,000 samples: within 2 % of the best from 0.0001 to 10
PENALTY_PER_SAMPLE = 0.3
UNCHANGING = ("Flatten", "FlattenLast", "Dropout", "Identity")


def mean_probes(folds: Sequence[DeepFold | None]) -> dict[str, tuple[Spread, ...]]:
    """By layer and place, how well digits are read over folds; empty if folds differ in layers."""
    probes = [fold.probes if fold else {} for fold in folds]
    if any(each.keys() != probes[0].keys() for each in probes):
        return {}
    return {
        layer: tuple(map(spread, zip(*(each[layer] for each in probes), strict=True)))
        for layer in probes[0]
    }


def analyse_layers(data: RunData, own: str | None = None) -> Iterator[int]:
    """Analyse every fold that was not analysed yet, and keep what is found in its folder.

    Yields each fold's number before its turn. A saved run never executes a file by itself: the
    file of a network of the user's own has to be named again.
    """
    model = data.experiment.training.model
    if model in BASELINES:
        raise UnseenError("a baseline has no layers to look into")
    if is_own(model) and own is None:
        raise SettingError("model", model, "is never run unasked; name its file.py:Class again")
    with LocalWorkers(1, data.experiment.problem.symbols) as engine:
        for fold in data.folds:
            if fold.deep is None:
                yield fold.result.fold
                engine.submit(analyse_fold, data.folder, fold.result.fold, own).result()


def analyse_fold(folder: RunFolder, number: int, own: str | None) -> None:
    """Analyse one fold, in a worker: a network of the user's own may end its process."""
    import torch

    from unseen.training.evaluation import predict

    experiment, result = folder.experiment(), folder.result(number)
    data = load_run_data(folder, experiment, [result] if result else [])
    (fold,), task = data.folds, data.task

    def answer(samples: Samples) -> NDArray[np.float32]:
        return predict(network, samples, torch.device("cpu"))

    with torch_threads(experiment.threads), own_faults_told(experiment.training.model):
        network = load_network(folder, experiment, number, own)
        arrays, some = fold.arrays, slice(0, PICTURES_AT_ONCE)
        tested = (each[some] for each in (arrays.images, arrays.combination, arrays.answer))
        again = answer(Samples(task.bank.test, *tested))
        if not np.allclose(again, arrays.prediction[some], 1e-2, 1e-2, equal_nan=True):
            model = own or experiment.training.model
            raise UnseenError(f"{model} no longer answers as it did when this was run")
        streams = Streams(experiment.seed, number)
        rows, tables = prediction_tables(answer, task, streams, TABLE_PREDICTIONS)
        assert arrays.means is not None  # which only slow baselines lack
        found = DeepFold(
            images=tables.shape[1],
            by_row=error_parts_by_row(task.combinations, fold.seen, arrays.means, rows, tables),
            probes=probe_layers(network, task, fold.seen, streams),
        )
    folder.save_derived(number, DEEP_FILE, found.model_dump_json().encode())


def probe_layers(
    network: "RescaledOutput", task: Task, seen: NDArray[np.bool_], streams: Streams
) -> dict[str, tuple[float, ...]]:
    """By layer and place, how well a linear classifier reads the digit; the picture is first.

    It is trained on seen combinations in training handwriting and tested on unseen ones in test
    handwriting.
    """
    rng, table = streams.numpy("probes"), task.combinations
    drawn = []
    for mask, handwriting, count in (
        (seen, task.bank.train, PROBE_TRAIN_SAMPLES),
        (~seen, task.bank.test, PROBE_TEST_SAMPLES),
    ):
        rows = np.sort(rng.permutation(np.flatnonzero(mask))[:count])
        samples = draw_samples(table, rows, handwriting, max(1, count // len(rows)), rng)
        drawn.append((activations(network, samples), table.digits[samples.combinations]))
    (train, train_digits), (test, test_digits) = drawn
    return {layer: probe(train[layer], train_digits, test[layer], test_digits) for layer in train}


def probe(
    train: Activations, train_digits: Digits, test: Activations, test_digits: Digits
) -> tuple[float, ...]:
    """By place, the share of test samples whose digit a linear classifier reads from a layer.

    It is scikit-learn's ridge classifier on standardised features, written here because importing
    scikit-learn takes a second.
    """
    with np.errstate(all="ignore"):
        middle, scale = train.mean(axis=0, dtype=np.float64), train.std(axis=0, dtype=np.float64)
        # a feature that never varies says nothing
        scale = np.where(scale <= 1e-9 * np.abs(middle), np.inf, scale)
        features, tested = (train - middle) / scale, (test - middle) / scale
    if not (np.isfinite(features).all() and np.isfinite(tested).all()):
        return tuple(float("nan") for _ in train_digits.T)
    classes = np.unique(train_digits)
    targets = 2.0 * (train_digits[:, :, None] == classes) - 1  # (n, places, classes)
    penalty = PENALTY_PER_SAMPLE * len(features) * np.eye(features.shape[1])
    sides = features.T @ targets.reshape(len(features), -1)
    read = tested @ np.linalg.solve(features.T @ features + penalty, sides)
    scores = read.reshape(len(tested), *targets.shape[1:]) + targets.mean(axis=0)
    return tuple(np.mean(classes[scores.argmax(axis=2)] == test_digits, axis=0).tolist())


def narrowed(activations: Activations) -> Activations:
    """At most 1,024 features: of more, random sums, each feature in one sum with a random sign."""
    count = activations.shape[1]
    if count <= MOST_FEATURES:
        return activations
    rng = np.random.default_rng(0)
    order, signs = rng.permutation(count), rng.choice(np.asarray([-1, 1], np.float32), count)
    starts = np.arange(MOST_FEATURES) * count // MOST_FEATURES
    with np.errstate(all="ignore"):
        return np.add.reduceat(activations[:, order] * signs, starts, axis=1)


def activations(network: "RescaledOutput", samples: Samples) -> dict[str, NDArray[np.float32]]:
    """The outputs of every layer for each sample, very wide layers narrowed: (n, features)."""
    import torch

    from unseen.training.evaluation import to_input

    caught: defaultdict[str, list[Tensor]] = defaultdict(list)  # one for each call of the layer
    names = layer_names(network)

    def catch(module: torch.nn.Module, _: object, output: object) -> None:
        if isinstance(output, torch.Tensor):
            # a copy: the next layer may work in place
            caught[names[module]].append(output.detach().float().clone())

    hooks = [module.register_forward_hook(catch) for module in names]
    found: defaultdict[str, list[Activations]] = defaultdict(list)
    try:
        with torch.inference_mode():
            for batch in batches(len(samples), PICTURES_AT_ONCE):
                caught.clear()
                pictures = to_input(render_pictures(samples, batch), torch.device("cpu"))
                network(pictures)
                for name, outputs in {"picture": [pictures], **caught}.items():
                    # a layer that looks at each symbol by itself has several rows a sample
                    wide = torch.cat([each.reshape(len(pictures), -1) for each in outputs], 1)
                    found[name].append(narrowed(wide.numpy()))
    finally:
        for hook in hooks:
            hook.remove()
    return {name: np.concatenate(parts).astype(np.float32) for name, parts in found.items()}


def layer_names(network: "RescaledOutput") -> "dict[nn.Module, str]":
    """Every layer that changes what it is given, numbered by its kind."""
    counts: Counter[str] = Counter()
    names = {}
    for module in network.modules():
        kind = type(module).__name__
        if kind not in UNCHANGING and not [*module.children()]:
            counts[kind] += 1
            names[module] = f"{kind} {counts[kind]}"
    return names

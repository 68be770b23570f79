"""`unseen export`: what a run has learnt, or what it learnt from, for use elsewhere."""

from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import App, Parameter

from unseen.api import load
from unseen.commands.output import RunsDir, emit, say
from unseen.commands.parameters import DEFAULT_PRESET, RUN, WHOLE, RunSettings, Settings, given
from unseen.commands.show import RunName, warn_of_damages
from unseen.errors import UnseenError
from unseen.networks.own_files import is_own
from unseen.problem.samples import side_by_side
from unseen.problem.task import make_task
from unseen.runs.fold import torch_threads
from unseen.runs.presets import PRESETS
from unseen.runs.session import find_experiment
from unseen.use.data_files import WRITERS, fold_data

CHECKED_PICTURES = 1_000  # by which an ONNX file is compared with torch

app = App(name="export", help_format="plaintext", default_parameter=Parameter(show_default=False))


@app.default
def export(
    run: RunName,
    /,
    *,
    page: Annotated[
        Path | None,
        Parameter(
            help="Write one HTML file to draw in, with the run's networks inside it. A network of "
            "your own has to be named again, as --model file.py:Class."
        ),
    ] = None,
    onnx: Annotated[
        Path | None,
        Parameter(
            help="Write one ONNX file: image, (batch, height, width) in 0 to 255, to answer. It is "
            "compared with torch first. Needs unseen[onnx]."
        ),
    ] = None,
    safetensors: Annotated[
        Path | None, Parameter(help="Write a folder of weights with a model card.")
    ] = None,
    fold: Annotated[
        int | None,
        WHOLE,
        Parameter(help="The network of this fold alone; by default those of all finished folds."),
    ] = None,
    settings: RunSettings = None,
    runs_dir: RunsDir = Path("runs"),
) -> None:
    """Write a run's networks: a page to draw in, ONNX, or safetensors."""
    if [page, onnx, safetensors].count(None) != 2:
        raise UnseenError("name one of --page FILE, --onnx FILE and --safetensors FOLDER")
    if onnx is not None:
        from unseen.use.network_files import onnx_runtime

        onnx_runtime()  # before a run is loaded
    named = given(settings)
    model = named.pop("model") if is_own(named.get("model", "")) else None
    exported = load(run, runs_dir, **named)
    warn_of_damages(exported)
    from unseen.use.network_files import OPSET, refuse_diverged, write_onnx, write_safetensors

    networks = exported.networks(fold, model)
    refuse_diverged(networks)
    if page is not None:
        from unseen.use.page import write_page

        with torch_threads(exported.experiment.threads):
            held = write_page(exported, networks, page)
        if held < len(networks):
            say(f"the page has room for {held} of {len(networks)} folds")
        emit(f"Page: {page}")
        return
    if safetensors is not None:
        written = write_safetensors(exported.summary, networks, safetensors)
        emit(f"Weights: {safetensors} ({len(written)} files)")
        return
    assert onnx is not None
    task = make_task(exported.experiment.problem)
    images, length = task.bank.test.images, task.combinations.digits.shape[1]
    chosen = np.random.default_rng(0).integers(0, len(images), (CHECKED_PICTURES, length))
    with torch_threads(exported.experiment.threads):
        difference = write_onnx(networks, side_by_side(images[chosen]), onnx)
    emit(
        f"ONNX: {onnx} (opset {OPSET}; on {CHECKED_PICTURES:,} pictures, onnxruntime's answers "
        f"differ from torch's by up to {difference:.1g})"
    )


@app.command
def data(
    preset: Annotated[
        str, Parameter(help=f"Whose problem: {', '.join(PRESETS)} [{DEFAULT_PRESET}]")
    ] = DEFAULT_PRESET,
    /,
    *,
    fold: Annotated[int, WHOLE, Parameter(group=RUN, help="Which fold [1]")] = 1,
    parquet: Annotated[
        Path | None,
        Parameter(group=RUN, help="A folder as Hugging Face's datasets reads it. Needs pyarrow."),
    ] = None,
    npz: Annotated[Path | None, Parameter(group=RUN, help="A file of numpy arrays.")] = None,
    png: Annotated[
        Path | None, Parameter(group=RUN, help="A folder of PNGs with labels.csv.")
    ] = None,
    settings: Annotated[Settings | None, Parameter(name="*")] = None,
) -> None:
    """Write the samples of a fold, with a manifest of seeds, hashes and images."""
    wanted = {"parquet": parquet, "npz": npz, "png": png}
    named = {name: path for name, path in wanted.items() if path is not None}
    if len(named) != 1:
        raise UnseenError("name one of --parquet FOLDER, --npz FILE and --png FOLDER")
    ((name, path),) = named.items()
    samples = fold_data(find_experiment(preset).vary(**given(settings)), fold)
    WRITERS[name](samples, path)
    counts = ", ".join(f"{len(each):,} to {half}" for half, each in samples.halves.items())
    emit(f"Data: {path} ({counts})")

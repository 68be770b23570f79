"""Trained networks as files for elsewhere: ONNX, and safetensors with a model card."""

import copy
import json
import logging
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any
from warnings import catch_warnings

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from unseen.analysis.intervals import mean_interval
from unseen.analysis.summary import Summary
from unseen.errors import UnseenError, first_line, printable
from unseen.files import make_folder, write_whole
from unseen.networks.modules import RescaledOutput, saved_weights
from unseen.report.json_view import jsonable
from unseen.report.repeat_command import command_of, without_folders
from unseen.report.report import page_environment
from unseen.report.tables import describe
from unseen.report.verdict_text import verdict_text
from unseen.report.words import combinations_word, format_ends, format_percent
from unseen.runs.experiment import SETTINGS, setting_value
from unseen.training.metrics import HEADLINE
from unseen.use.predictions import answers_by_fold, combined

OPSET = 18
LARGEST_DIFFERENCE = 1e-4  # between torch and onnxruntime, of answers


class MedianOfNetworks(nn.Module):
    """Several networks as one: (n, height, width) grey values from 0 to 255 -> (n,) answers."""

    def __init__(self, networks: list[RescaledOutput]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(copy.deepcopy(each) for each in networks)

    def forward(self, image: Tensor) -> Tensor:
        pictures = image.unsqueeze(1) / 255.0
        answers = torch.stack([network(pictures) for network in self.networks])
        ordered = answers.sort(dim=0).values
        middle = len(self.networks) // 2
        return (ordered[middle] + ordered[-1 - middle]) / 2


def refuse_diverged(networks: Mapping[int, RescaledOutput]) -> None:
    """Raise an UnseenError if a network has weights that are NaN or infinite."""
    for fold, network in networks.items():
        if not all(bool(torch.isfinite(each).all()) for each in saved_weights(network).values()):
            raise UnseenError(
                f"the network of fold {fold} diverged: its weights are not finite, so nothing is "
                "written; --fold names another"
            )


def write_onnx(
    networks: Mapping[int, RescaledOutput], pictures: NDArray[np.uint8], path: Path
) -> float:
    """Write networks as one ONNX file; returns how far its answers are from torch's, at most."""
    content = _onnx(networks, *pictures.shape[1:])
    answers = combined(answers_by_fold(networks, pictures))
    session = onnx_runtime().InferenceSession(content, providers=["CPUExecutionProvider"])
    try:
        found = session.run(["answer"], {"image": pictures.astype(np.float32)})[0]
    except Exception as error:  # of onnxruntime's own kinds
        raise UnseenError(f"onnxruntime cannot run this network: {first_line(error)}") from error
    difference = float(np.abs(found - answers).max())
    if not difference <= LARGEST_DIFFERENCE:
        raise UnseenError(
            f"the answers of the ONNX file differ from torch's by up to {difference:.2g}; "
            "it is not written"
        )
    write_whole(path, content)
    return difference


def onnx_runtime() -> Any:
    """The package onnxruntime; an UnseenError says what to install where it is not there."""
    try:
        runtime = import_module("onnxruntime")
        import_module("onnxscript")
    except ImportError as error:
        raise UnseenError("ONNX needs more packages: pip install 'unseen[onnx]'") from error
    runtime.disable_telemetry_events()
    return runtime


def _onnx(networks: Mapping[int, RescaledOutput], height: int, width: int) -> bytes:
    model = MedianOfNetworks([*networks.values()]).eval()
    example = torch.linspace(0, 255, 2 * height * width).view(2, height, width)
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    silence = StringIO()
    try:
        with (
            catch_warnings(action="ignore"),
            redirect_stdout(silence),
            redirect_stderr(silence),
            torch.no_grad(),
        ):
            program = torch.onnx.export(
                model,
                (example,),
                input_names=["image"],
                output_names=["answer"],
                dynamic_shapes={"image": {0: torch.export.Dim("batch", min=1)}},
                opset_version=OPSET,
                external_data=False,
                dynamo=True,
                verbose=False,
            )
    except Exception as error:  # of a network of the user's
        raise UnseenError(f"this network cannot be exported: {first_line(error)}") from error
    finally:
        logger.setLevel(level)
    assert program is not None
    proto = program.model_proto
    graph = proto.graph
    parts = (*graph.node, *graph.value_info, *graph.initializer, *graph.input, *graph.output)
    functions = (each for function in proto.functions for each in (function, *function.node))
    for each in (graph, *parts, *functions):  # torch records where its code lies
        each.ClearField("metadata_props")
        each.ClearField("doc_string")
    proto.producer_name, proto.producer_version = "unseen", version("unseen")
    proto.doc_string = (
        "image: (batch, height, width) grey values from 0 to 255, light on dark; answer: (batch,). "
        f"The median of the networks of folds {', '.join(map(str, networks))}."
    )
    return bytes(proto.SerializeToString())


def write_safetensors(
    summary: Summary, networks: Mapping[int, RescaledOutput], folder: Path
) -> list[str]:
    """Write the weights of each fold, the settings and a model card; returns the files' names."""
    import safetensors.torch

    make_folder(folder)
    experiment = summary.experiment
    written = {
        f"fold-{fold:02}.safetensors": safetensors.torch.save(
            saved_weights(network), {"format": "pt", "fold": str(fold), "unseen": version("unseen")}
        )
        for fold, network in networks.items()
    }
    known = without_folders(experiment)
    settings = {name: setting_value(known, name) for name in SETTINGS}
    config = {"preset": experiment.name, "settings": settings, "folds": [*networks]}
    config["unseen"] = {
        str(each.fold): each.unseen for each in summary.results if each.fold in networks
    }
    written["config.json"] = json.dumps(jsonable(config), indent=1).encode()
    written["README.md"] = model_card(summary, [*networks]).encode()
    for name, content in written.items():
        write_whole(folder / name, content)
    return [*written]


def model_card(summary: Summary, folds: list[int]) -> str:
    """Trained on what, how well it does on seen and unseen combinations, and its limits."""
    summary = replace(summary, passed_on=True)
    experiment = summary.experiment
    things = combinations_word(experiment.problem)
    seen = [[each.quadrants["seen_test"][HEADLINE.name]] for each in summary.results]
    accuracies = {"unseen": summary.headline, "seen": mean_interval(seen, share=True)}
    return (
        page_environment("unseen.use")
        .get_template("model_card.md.jinja")
        .render(
            run=printable(summary.run),
            described=describe(experiment, summary.results),
            command=command_of(experiment, passed_on=True),
            length=len(summary.places),
            folds=", ".join(map(str, folds)),
            done=len(summary.results),
            things=things,
            rows=[
                (name, format_percent(each.mean), format_ends(each))
                for name, each in accuracies.items()
            ],
            verdict=verdict_text(summary).text.replace("`", ""),
        )
    )

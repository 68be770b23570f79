"""A run as one page: everything in a single HTML file that asks nothing of any network."""

import base64
import io
import math
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from numpy.typing import NDArray
from PIL import Image

from unseen.analysis.examples import Example, example_groups
from unseen.analysis.run_data import RunData
from unseen.analysis.summary import Summary
from unseen.errors import printable
from unseen.files import write_whole
from unseen.problem.problem import Problem
from unseen.report.drawing import share_colours
from unseen.report.figures import FIGURES, page_figure
from unseen.report.grid import Cell, grid_of
from unseen.report.repeat_command import repeat_command, without_folders
from unseen.report.result_figures import grid_caption
from unseen.report.symbol_words import symbol_words
from unseen.report.tables import describe, fold_tables, footnote, format_measure
from unseen.report.verdict_text import verdict_text
from unseen.report.words import (
    answers_word,
    combinations_word,
    format_combination,
    format_decimal,
)
from unseen.runs.run_folder import RunFolder
from unseen.training.metrics import ERROR, HEADLINE


def page_environment(package: str) -> Environment:
    """How the templates of a package become pages: nothing in them is markup by chance."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render_report(data: RunData, summary: Summary) -> str:
    """The page of a run."""
    environment = page_environment("unseen.report")
    environment.filters |= {
        "format_combination": partial(
            format_combination, words=symbol_words(summary.experiment.problem.symbols)
        ),
        "cell_style": cell_style,
        "png": as_data_uri,
        "number": format_decimal,
    }
    summary = replace(summary, passed_on=True)
    without, grid = without_folders(summary.experiment), grid_of(summary)
    return environment.get_template("report.html.jinja").render(
        summary=summary,
        question=question(summary.experiment.problem),
        verdict=verdict_text(summary),
        described=describe(summary.experiment, summary.results),
        tables=fold_tables(summary.experiment, summary.results),
        footnote=footnote(summary.experiment, summary.results),
        test_error=test_error_words(summary),
        grid=grid,
        grid_caption=grid_caption(summary, grid),
        figures=FIGURES,
        page_figure=page_figure,
        baselines=baseline_rows(summary),
        examples=titled_examples(data),
        facts=facts(data.folder, summary, data.task.bank.sha256),
        command=repeat_command(summary),
        # files that are not in the page
        needs_files=without != summary.experiment or bool(without.problem.unseen_list),
    )


def write_report(data: RunData, summary: Summary, output: Path | None = None) -> Path:
    """Write the page of a run, by default into its folder; returns where it is."""
    path = output or data.folder.report_file
    write_whole(path, printable(render_report(data, summary), but="\n").encode())
    return path


def question(problem: Problem) -> str:
    """What the page answers."""
    things, many = combinations_word(problem), symbol_words(problem.symbols).many
    shown = things if things == many else f"{things} of {many}"
    return (
        f"A network is shown pictures of some {shown} and only their "
        f"{answers_word(problem)}. Does it get the {things} it has never seen?"
    )


def test_error_words(summary: Summary) -> str:
    """The mean squared error over combinations; nothing where it has no interval."""
    if not math.isfinite(summary.error.low):
        return ""
    mse = summary.error
    mean, low, high = (format_decimal(each, 4) for each in (mse.mean, mse.low, mse.high))
    return f"Test MSE over combinations: {mean} (95 % interval {low} to {high})."


def baseline_rows(summary: Summary) -> list[tuple[str, ...]]:
    """This run among the baselines that were asked the same; nothing if there are none."""
    ours = summary.spreads
    named = {name: (each.spreads, each.folds) for name, each in summary.baselines.items()}
    if named:
        named["this run"] = (ours, len(summary.results))
    return [
        (
            name,
            *(format_measure(each, spreads[each.name].mean) for each in (HEADLINE, ERROR)),
            str(folds),
        )
        for name, (spreads, folds) in named.items()
    ]


def titled_examples(data: RunData) -> list[tuple[str, str, tuple[Example, ...]]]:
    """Groups of examples, each with its title and a caption."""
    problem = data.experiment.problem
    things, answer = combinations_word(problem), answers_word(problem).removesuffix("s")
    many = symbol_words(problem.symbols).many
    one_fold = "unseen in the same fold, so answered by one network; the first sample of each"
    same = f"with the same {answer}, {one_fold}."
    words = {
        "random": ("Samples", "Drawn at random from all test samples."),
        "two alike": (f"One {answer}, different {things}", f"Two {things} {same}"),
        "swapped": ("In another order", f"The same {many}, {one_fold}."),
        "three alike": (f"Three {things}, one {answer}", f"Three {things} {same}"),
        "worst": (
            "The worst mistakes",
            f"The samples with the largest errors, each of another {things.removesuffix('s')}.",
        ),
    }
    return [(*words[kind], examples) for kind, examples in example_groups(data).items()]


def facts(folder: RunFolder, summary: Summary, symbols_sha256: str) -> dict[str, str]:
    """What was run, on what, with which hashes."""
    # reports are passed on, without the name of the machine
    recorded = {name: value for name, value in folder.environment().items() if name != "host"}
    parts = {kind: held for kind, held in folder.recorded_sums().items() if kind != "symbols"}
    experiment = without_folders(summary.experiment)
    return {
        "run": folder.path.absolute().name,
        "seed": str(experiment.seed),
        "split seed": str(experiment.problem.split_seed),
        "symbols": experiment.problem.symbols,
        "symbols' SHA-256": symbols_sha256,
        **{f"{kind}'s SHA-256": held for kind, held in parts.items()},
        "folds done": f"{len(summary.results)} of {summary.fold_count}",
        "seconds a fold": format_decimal(summary.spreads["seconds"].mean, 1),
        "device, threads": f"{experiment.device}, {experiment.threads}",
        "settings": ", ".join(
            f"{name.replace('_', ' ')} {value}" for name, value in experiment.training
        ),
        **recorded,
    }


def cell_style(cell: Cell) -> str:
    """The colours of a cell of the grid."""
    if cell.rounded is None:
        return ""
    return "background:{};color:{}".format(*share_colours(cell.rounded))


def as_data_uri(picture: NDArray[np.uint8]) -> str:
    """A picture as a PNG within the page."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"

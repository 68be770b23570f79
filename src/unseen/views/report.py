"""A run as one page: everything in a single HTML file that asks nothing of any network."""

import base64
import io
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.experiments.run_folder import SYMBOLS_SUM, RunFolder
from unseen.files import write_whole
from unseen.insight.evidence import Evidence
from unseen.insight.examples import Example, example_groups
from unseen.insight.summary import Summary
from unseen.learning.metrics import METRICS
from unseen.views.grid import Cell, grid_of
from unseen.views.repeat_command import command_of
from unseen.views.tables import describe, fold_tables, footnote, format_measure
from unseen.views.verdict_text import verdict_text
from unseen.views.words import (
    answers_word,
    combinations_word,
    format_combination,
    format_decimal,
    format_percent,
)

TEMPLATE = "report.html.jinja"
PRIVATE = ("host",)  # a report is passed on; whose machine it was is nobody's business


def render_report(evidence: Evidence, summary: Summary) -> str:
    """The page of a run."""
    from unseen.views.figures import FIGURES, page_figure

    page: str = _template().render(
        summary=summary,
        question=question(summary),
        verdict=verdict_text(summary),
        described=describe(summary.experiment, summary.results),
        done=done_words(summary),
        tables=fold_tables(summary.experiment, summary.results),
        footnote=footnote(summary.experiment),
        test_error=test_error_words(summary),
        grid=grid_of(summary),
        figures=FIGURES,
        page_figure=page_figure,
        baselines=baseline_rows(summary),
        examples=titled_examples(evidence),
        facts=facts(evidence.folder, summary, evidence.posed.bank.sha256),
        command=command_of(summary.experiment, partial_folds(summary)),
    )
    return page


def write_report(evidence: Evidence, summary: Summary, output: Path | None = None) -> Path:
    """Write the page of a run, by default into its folder; returns where it is."""
    path = output or evidence.folder.report_file
    write_whole(path, render_report(evidence, summary).encode())
    return path


def _template() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("unseen.views"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": format_percent,
        "format_combination": format_combination,
        "cell_style": cell_style,
        "png": as_data_uri,
        "number": format_decimal,
    }
    return environment.get_template(TEMPLATE)


def question(summary: Summary) -> str:
    """What the page answers."""
    problem = summary.experiment.problem
    things = combinations_word(problem)
    return (
        f"A network is shown pictures of some {things} of digits and only "
        f"their {answers_word(problem)}. "
        f"Does it get the {things} it has never seen?"
    ).replace("digits of digits", "digits")


def done_words(summary: Summary) -> str:
    """A warning where not all folds are done."""
    done, whole = len(summary.results), summary.fold_count
    if done == whole:
        return ""
    folds = "fold" if done == 1 else "folds"
    return (
        f"{done} of {whole} {folds if whole == 1 else 'folds'} done: what is said here is about "
        "the combinations that were unseen in them."
    )


def test_error_words(summary: Summary) -> str:
    """The mean squared error over combinations; nothing where it has no interval."""
    mean, low, high = (
        format_decimal(value, 4) for value in (summary.mse.mean, summary.mse.low, summary.mse.high)
    )
    if not math.isfinite(summary.mse.low):
        return ""
    return f"Test MSE over combinations: {mean} (95 % interval {low} to {high})."


def partial_folds(summary: Summary) -> list[int]:
    """The folds to name in a command; none where all are done."""
    folds = [result.fold for result in summary.results]
    return [] if len(folds) == summary.fold_count else folds


def baseline_rows(summary: Summary) -> list[tuple[str, str, str, str]]:
    """This run among the baselines that were asked the same."""
    rows = [
        (
            name,
            format_measure(METRICS["rounded"], reference.rounded.mean),
            format_decimal(reference.test_mse.mean, 4),
            str(reference.folds),
        )
        for name, reference in summary.baselines.items()
    ]
    ours = (
        "this run",
        format_measure(METRICS["rounded"], summary.spreads["rounded"].mean),
        format_decimal(summary.spreads["test_mse"].mean, 4),
        str(len(summary.results)),
    )
    return [*rows, ours] if rows else []


def titled_examples(evidence: Evidence) -> list[tuple[str, str, tuple[Example, ...]]]:
    """Groups of examples, each with its title and a caption."""
    problem = evidence.experiment.problem
    things, answer = combinations_word(problem), answers_word(problem).removesuffix("s")
    one_fold = "unseen in the same fold, so answered by one network; the first sample of each"
    words = {
        "random": ("Samples", "Drawn at random from all test samples."),
        "two alike": (
            f"One {answer}, different {things}",
            f"Two {things} with the same {answer}, {one_fold}.",
        ),
        "swapped": ("Swapped digits", f"The same digits in another order, {one_fold}."),
        "three alike": (
            f"Three {things}, one {answer}",
            f"Three {things} with the same {answer}, {one_fold}.",
        ),
        "worst": (
            "The worst mistakes",
            f"The samples with the largest errors, each of another {things.removesuffix('s')}.",
        ),
    }
    return [(*words[kind], examples) for kind, examples in example_groups(evidence).items()]


def facts(folder: RunFolder, summary: Summary, symbols_sha256: str) -> dict[str, str]:
    """What was run, on what, with which hashes."""
    recorded = {name: said for name, said in folder.environment().items() if name not in PRIVATE}
    experiment = summary.experiment
    return {
        "run": summary.run,
        "seed": str(experiment.seed),
        "split seed": str(experiment.problem.split_seed),
        "symbols": experiment.problem.symbols,
        SYMBOLS_SUM: symbols_sha256,
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
    from unseen.views.drawing import share_colours

    if cell.rounded is None:
        return ""
    return "background:{};color:{}".format(*share_colours(cell.rounded))


def as_data_uri(picture: NDArray[np.uint8]) -> str:
    """A picture as a PNG within the page."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"

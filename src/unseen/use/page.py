"""A page without a server: draw symbols, and the networks of a run inside the page answer.

One HTML file that asks nothing of any other: it works from a USB stick and on any static host.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unseen.analysis.error_parts import place_names
from unseen.errors import UnseenError, printable
from unseen.files import write_whole
from unseen.networks.models import parameter_count
from unseen.problem.operations import SIGNS
from unseen.problem.task import Task, make_task
from unseen.report.report import page_environment, question
from unseen.report.symbol_words import symbol_words
from unseen.report.words import (
    answers_word,
    combinations_word,
    format_combination,
    format_decimal,
    format_percent,
)
from unseen.training.metrics import HEADLINE
from unseen.use.graph import record

if TYPE_CHECKING:
    from unseen.api import Run
    from unseen.networks.modules import RescaledOutput

LARGEST_PAGE_BYTES = 2_500_000
SIDE = 28  # of the pictures that static/prepare.js makes
MOST_COLUMNS = 20  # of the grid

Networks = Mapping[int, "RescaledOutput"]  # by fold


def write_page(run: "Run", networks: Networks, path: Path) -> int:
    """Write the page of a run; returns how many of the networks it has room for."""
    html, held = render_page(run, networks)
    write_whole(path, html)
    return held


def render_page(run: "Run", networks: Networks) -> tuple[bytes, int]:
    """The page of a run, with as many of the networks in it as there is room for."""
    task = make_task(run.experiment.problem)
    height, width = task.bank.test.images.shape[1:]
    if (height, width) != (SIDE, SIDE):
        raise UnseenError(
            f"a page prepares drawings of {SIDE} × {SIDE} pixels; these symbols have "
            f"{height} × {width}"
        )
    folds = [_fold(run, task, fold, network) for fold, network in networks.items()]
    context = _context(run, task, networks)
    room = LARGEST_PAGE_BYTES - len(_html(context, []))
    held = sum(used <= room for used in accumulate(len(json.dumps(fold)) + 2 for fold in folds))
    if not held:
        raise UnseenError(
            f"a network of {context['parameters']} parameters and {context['all']} "
            f"{context['things']} does not fit into a page of {LARGEST_PAGE_BYTES:,} bytes"
        )
    return _html(context, folds[:held]), held


def _fold(run: "Run", task: Task, fold: int, network: "RescaledOutput") -> dict[str, Any]:
    """All that the page knows about a fold."""
    height, width = SIDE, SIDE * task.combinations.digits.shape[1]
    unseen, whole = task.unseen(fold), len(task.combinations.answers)
    (result,) = (each for each in run.results if each.fold == fold)
    share = format_percent(result.measures[HEADLINE.name]).replace(" ", "\u00a0")
    return {
        "fold": fold,
        "unseen": unseen.tolist(),
        "about": (
            f"This network was shown {whole - len(unseen):,} of {whole:,} "
            f"{combinations_word(run.experiment.problem)}. Of test pictures of the other "
            f"{len(unseen):,}, it rounds {share} to the right answer."
        ),
        "graph": {
            "picture": [1, 1, height, width],
            "values": record(network, height, width),
        },
    }


def _context(run: "Run", task: Task, networks: Networks) -> dict[str, Any]:
    """What the template says beside the networks."""
    problem = run.experiment.problem
    words, things = symbol_words(problem.symbols), combinations_word(problem)
    digits, answers = task.combinations.digits, task.combinations.answers
    positions = [list(dict.fromkeys(column)) for column in digits.T.tolist()]
    names = [
        [printable(SIGNS.get(each) or words.name(each)) for each in some] for some in positions
    ]
    cells = [
        {"title": printable(format_combination(each, words)), "answer": format_decimal(answer, 0)}
        for each, answer in zip(digits.tolist(), answers, strict=True)
    ]
    first, network = next(iter(networks.items()))
    return {
        "question": question(problem),
        "words": words,
        "things": things,
        "answers": answers_word(problem),
        "signs": sum(any(value in SIGNS for value in some) for some in positions),
        "length": len(positions),
        "all": f"{len(cells):,}",
        "shown": f"{len(cells) - len(task.unseen(first)):,}",
        "names": names,
        "cells": cells if len(positions) <= 2 and len(names[-1]) <= MOST_COLUMNS else [],
        "networks": len(networks),
        "parameters": f"{parameter_count(network):,}",
        "megabytes": LARGEST_PAGE_BYTES / 1e6,
        "preset": run.experiment.name,
        "model": printable(Path(run.experiment.training.model).name),
        "data": {
            "symbolNames": names,
            "placeNames": place_names(problem),
            "symbol": words.one,
            "combination": things.removesuffix("s"),
            "answers": answers.tolist(),
        },
    }


def _html(context: dict[str, Any], folds: list[dict[str, Any]]) -> bytes:
    script, style = bundled_script("page.js"), page_style()
    template = page_environment("unseen.use").get_template("page.html.jinja")
    html = template.render(
        context,
        folds=folds,
        script=script,
        style=style,
        script_hash=content_hash(script),
        style_hash=content_hash(style),
    )
    return html.encode()


def page_style() -> str:
    """What the report looks like, and what is added to it."""
    report_css = files("unseen.report").joinpath("templates/report.css").read_text("utf-8")
    return "\n".join([report_css, _static("try.css"), _static("page.css")])


def bundled_script(name: str) -> str:
    """A module of static/ and all that it imports, as one script; names of modules stay apart."""
    made: dict[str, str] = {}

    def add(module: str) -> None:
        source = _static(module)
        for imported in re.findall(r'^import .* from "\./(.*)";$', source, re.MULTILINE):
            if imported not in made:
                add(imported)
        body = re.sub(r"^(import .*\n|export )", "", source, flags=re.MULTILINE)
        exports = re.findall(r"^export (?:async )?(?:const|function|class) (\w+)", source, re.M)
        names = ", ".join(exports)
        made[module] = f"const {{ {names} }} = (() => {{\n{body}return {{ {names} }};\n}})();\n"

    add(name)
    return "\n" + "".join(made.values())


def _static(name: str) -> str:
    return files("unseen.lab").joinpath("static", name).read_text("utf-8")


def content_hash(text: str) -> str:
    """What a Content-Security-Policy knows an inline script or style by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"

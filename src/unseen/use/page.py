"""A page without a server: draw symbols, and the networks of a run inside the page answer.

One HTML file that asks nothing of any other: it works from a USB stick and on any static host.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from unseen.analysis.error_parts import place_names
from unseen.errors import UnseenError, printable
from unseen.files import write_whole
from unseen.networks.models import parameter_count
from unseen.problem.operations import SIGNS
from unseen.problem.samples import side_by_side
from unseen.problem.task import Task, make_task
from unseen.report.report import page_environment, question
from unseen.report.symbol_words import symbol_words
from unseen.report.words import (
    answers_word,
    combinations_word,
    format_combination,
    format_count,
    format_decimal,
    format_percent,
)
from unseen.runs.fold import torch_threads
from unseen.training.evaluation import predict_pictures
from unseen.training.metrics import HEADLINE
from unseen.use.bundling import bundled, content_hash, page_style
from unseen.use.graph import Graph, Numbers, record
from unseen.use.packing import WHOLE_PRECISION, Packed, pack

if TYPE_CHECKING:
    from unseen.api import Run

LARGEST_PAGE_BYTES = 2_000_000
MOST_PARAMETERS = 900_000  # which would take all of them
MOST_COMBINATIONS = 10_000
SIDE = 28  # of the pictures that static/prepare.js makes
PRECISIONS = (WHOLE_PRECISION, 16, 15, 14)  # bits of a weight
LARGEST_DIFFERENCE = 5e-4  # from torch's answers, on this many pictures
CHECKED_PICTURES = 20


@dataclass(frozen=True)
class PageNetwork:
    """The network of a fold, as it was recorded; and what torch answers to some pictures."""

    fold: int
    rounded: float  # share of unseen samples that it rounds to the right answer
    parameters: int
    graph: Graph
    pictures: Numbers  # (n, height, width) in 0 to 1
    answers: NDArray[np.float32]  # (n,)

    def difference(self, packed: Packed) -> float:
        """The largest difference from torch's answers that packing makes."""
        answers = [self.graph.answer(each, [*packed.unpacked]) for each in self.pictures]
        return float(np.abs(np.array(answers) - self.answers).max())


@dataclass(frozen=True)
class Page:
    """A page, with as many folds of the run as it has room for."""

    html: bytes
    folds: int
    folds_done: int
    difference: float  # the largest from torch's answers, on CHECKED_PICTURES of each fold


def write_page(run: "Run", path: Path, model: str | None = None) -> Page:
    """Write the page of a run; `model` names a network of one's own again."""
    page = render_page(run, model)
    write_whole(path, page.html)
    return page


def render_page(run: "Run", model: str | None = None) -> Page:
    """The page of a run: its networks, and which combinations each has seen."""
    task = make_task(run.experiment.problem)
    _refuse_what_cannot_be_drawn(task)
    with torch_threads(run.experiment.threads):
        networks = _recorded(run, task, model)
        page = _without_networks(run, task, networks)
        room = LARGEST_PAGE_BYTES - len(_html(page, []))
        things = combinations_word(run.experiment.problem)
        entries, difference = _entries_that_fit(task, things, networks, room)
    page["explained"].append(_networks_words(networks, len(entries)))
    page["folds"] = page["folds"][: len(entries)]
    return Page(_html(page, entries), len(entries), len(networks), difference)


def _refuse_what_cannot_be_drawn(task: Task) -> None:
    height, width = task.bank.test.images.shape[1:]
    if (height, width) != (SIDE, SIDE):
        raise UnseenError(
            f"a page prepares drawings of {SIDE} × {SIDE} pixels; these symbols have "
            f"{height} × {width}"
        )
    if len(task.combinations.answers) > MOST_COMBINATIONS:
        raise UnseenError(
            f"a page has room for {MOST_COMBINATIONS:,} combinations; "
            f"these are {len(task.combinations.answers):,}"
        )


def _recorded(run: "Run", task: Task, model: str | None) -> list[PageNetwork]:
    """The networks of all finished folds, with what torch answers to the same few pictures."""
    if not run.results:
        raise UnseenError(f"no fold of {run.name} is done; there is no network for a page")
    length = task.combinations.digits.shape[1]
    rng = np.random.default_rng(0)
    images = task.bank.test.images
    chosen = rng.integers(0, len(images), (CHECKED_PICTURES, length))
    pictures = side_by_side(images[chosen])  # (n, height, length · width)
    networks = []
    for result in run.results:
        network = run.network(result.fold, model)
        if (parameters := parameter_count(network)) > MOST_PARAMETERS:
            raise UnseenError(
                f"a page has room for networks of {MOST_PARAMETERS:,} parameters; "
                f"{run.experiment.training.model} has {parameters:,}"
            )
        graph = record(network, *pictures.shape[1:])
        answers = predict_pictures(network, pictures, torch.device("cpu"))
        if not np.isfinite(answers).all():
            raise UnseenError(f"the network of fold {result.fold} answers NaN; it has no page")
        scaled = pictures.astype(np.float32) / np.float32(255)
        rounded = result.measures[HEADLINE.name]
        networks.append(PageNetwork(result.fold, rounded, parameters, graph, scaled, answers))
    return networks


def _entries_that_fit(
    task: Task, things: str, networks: list[PageNetwork], room: int
) -> tuple[list[str], float]:
    """The networks as JSON, as many as fit, in the finest precision in which as many do."""
    best: list[str] = []
    difference = 0.0
    for bits in PRECISIONS:
        packs = [pack(network.graph.constants, bits) for network in networks]
        entries = [_entry(task, things, *each) for each in zip(networks, packs, strict=True)]
        lengths = np.cumsum([len(entry) + 1 for entry in entries])
        fitting = int((lengths <= room).sum())
        if fitting <= len(best):
            continue
        worst = max(network.difference(each) for network, each in zip(networks, packs, strict=True))
        if bits == WHOLE_PRECISION or worst <= LARGEST_DIFFERENCE:
            best, difference = entries[:fitting], worst
        if fitting == len(networks):
            break
    if not best:
        raise UnseenError(
            f"a network of {networks[0].parameters:,} parameters does not fit into a page of "
            f"{LARGEST_PAGE_BYTES:,} bytes"
        )
    return best, difference


def _entry(task: Task, things: str, network: PageNetwork, packed: Packed) -> str:
    """All that the page knows about a fold, as JSON."""
    unseen = task.unseen(network.fold)
    count, all_of_them = len(unseen), len(task.combinations.answers)
    entry = {
        "fold": network.fold,
        "unseen": unseen.tolist(),
        "about": (
            f"This network was shown {all_of_them - count:,} of {all_of_them:,} {things}. Of test "
            f"pictures of the other {count:,}, it rounds {format_percent(network.rounded)} to the "
            "right answer."
        ).replace(" %", "\u00a0%"),
        "graph": {
            "picture": list(network.graph.picture.shape),
            "shapes": [list(constant.shape) for constant in network.graph.constants],
            "steps": network.graph.steps,
        },
        "packed": {
            "floats": packed.floats,
            "integers": packed.integers,
            "isScaled": packed.is_scaled,
        },
    }
    return _as_json(entry)


def _without_networks(run: "Run", task: Task, networks: list[PageNetwork]) -> dict[str, Any]:
    """What is on the page beside the networks."""
    problem = run.experiment.problem
    words = symbol_words(problem.symbols)
    digits, answers = task.combinations.digits, task.combinations.answers
    places = [list(dict.fromkeys(column)) for column in digits.T.tolist()]
    names = [[printable(SIGNS.get(each) or words.name(each)) for each in place] for place in places]
    length, things = len(places), combinations_word(problem)
    cells = [
        {
            "row": row,
            "title": printable(format_combination(each, words)),
            "answer": format_decimal(answer, 0),
        }
        for row, (each, answer) in enumerate(zip(digits.tolist(), answers, strict=True))
    ]
    columns = len(names[-1])
    has_grid = length <= 2 and columns <= 20
    signs = sum(any(value in SIGNS for value in place) for place in places)
    count = {1: "a", 2: "two", 3: "three", 4: "four"}.get(length - signs, str(length))
    hint = f"Draw {count} {words.one if length == 1 else words.many}"
    hint += " and the sign between them." if signs else "."
    unseen = len(task.unseen(networks[0].fold))
    return {
        "title": f"Draw {words.many}",
        "question": question(problem),
        "headline": hint,
        "lead": (
            f"The network in this page was shown {len(cells) - unseen:,} of {len(cells):,} "
            f"{things} and only their {answers_word(problem)}. Try those that it has never seen."
        ),
        "folds": [network.fold for network in networks],
        "columns": names[-1] if has_grid else [],
        "rows": [
            {"name": names[0][at] if length == 2 else "", "cells": cells[start : start + columns]}
            for at, start in enumerate(range(0, len(cells), columns))
        ]
        if has_grid
        else [],
        "explained": [
            "What you draw is prepared as MNIST’s digits were: cropped to its ink, scaled into "
            "20 × 20 pixels, centred by mass in 28 × 28, with strokes as wide as MNIST’s are. "
            "Beside each square is what the network gets. You can also drop a picture.",
            "A network gives one number for the whole picture and does not say which "
            f"{words.many} it sees. So you say what you drew.",
        ],
        "made": (
            f"Made by unseen export from a run of {run.experiment.name}, with the network "
            f"{printable(Path(run.experiment.training.model).name)}. Nothing that you draw leaves "
            "this page. After Bloice, Roth and Holzinger, “Performing Arithmetic Using a Neural "
            "Network Trained on Digit Permutation Pairs” (ISMIS 2020)."
        ),
        "data": {
            "symbolNames": names,
            "placeNames": list(place_names(problem)),
            "symbol": words.one,
            "combination": things.removesuffix("s"),
            "hint": hint,
            "answers": answers.tolist(),
        },
    }


def _networks_words(networks: list[PageNetwork], held: int) -> str:
    """How many networks are in the page, and why not more."""
    said = f"{format_count(held, 'network')} of {networks[0].parameters:,} parameters"
    if held < len(networks):
        return (
            f"The page holds {said}, of {format_count(len(networks), 'fold')} that are done: "
            f"there is no room for more in {LARGEST_PAGE_BYTES // 1_000_000} MB."
        )
    if held == 1:
        return f"The page holds {said}."
    return f"The page holds {said}, one for each fold."


def _html(page: dict[str, Any], entries: list[str]) -> bytes:
    script = bundled("page.js")
    style = page_style()
    data = _as_json(page["data"]).removesuffix("}") + f',"folds":[{",".join(entries)}]}}'
    html = (
        page_environment("unseen.use")
        .get_template("page.html.jinja")
        .render(
            **page | {"data": data},
            script=script,
            style=style,
            script_hash=content_hash(script),
            style_hash=content_hash(style),
        )
    )
    return html.encode()


def _as_json(value: Any) -> str:
    """JSON that can stand in a page."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")

"""The network of a page answers in a real browser as torch does, and to what people draw."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from drawings import drawings
from pages import EARLIER, PUBLISHED, data_of, font_picture

import unseen
from unseen.cli import command
from unseen.networks.models import MODELS
from unseen.networks.modules import RescaledOutput
from unseen.problem.symbols import load_symbols
from unseen.report.words import format_percent
from unseen.training.evaluation import predict_pictures
from unseen.use.graph import record
from unseen.use.ink import PictureError
from unseen.use.page import bundled_script as bundled
from unseen.use.pictures import SymbolShape, prepare

PAIR = SymbolShape(length=2, height=28, width=28, is_mnist_like=True)
DRAWN = drawings()
RNG = np.random.default_rng(7)

# Each takes JSON and gives JSON, which is faster than values; the modules are those of the page.
MODULES = f"""
  {bundled("network.js")}
  {bundled("prepare.js")}
  const bytesOf = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const pictureOf = ({{ width, height, grey }}) => {{
    const data = new Uint8ClampedArray(4 * width * height);
    bytesOf(grey).forEach((each, at) => data.set([each, each, each, 255], 4 * at));
    return {{ width, height, data }};
  }};
"""
ANSWERS = f"""async (given) => {{
  {MODULES}
  const {{ folds, panels }} = JSON.parse(given);
  return JSON.stringify(folds.map(({{ graph }}, at) => {{
    const ask = openNetwork(graph);
    return panels[at].map((some) => ask(some.map(bytesOf)));
  }}));
}}"""
TRIED = f"""async (given) => {{
  {MODULES}
  const {{ fold, ways, pairs }} = JSON.parse(given);
  const ask = openNetwork(fold.graph);
  const points = (strokes) => strokes.map((line) => line.map(([x, y]) => ({{ x, y }})));
  const found = {{}}, pixels = {{}};
  for (const [name, {{ pen, drawings }}] of Object.entries(ways)) {{
    const prepared = drawings.map((strokes) => prepareStrokes(points(strokes), pen));
    found[name] = pairs.map((pair) => ask(pair.map((at) => prepared[at])));
    pixels[name] = prepared.map((each) => [...each]);
  }}
  const times = [];
  for (let time = 0; time < 21; time++) {{
    const start = performance.now();
    ask(pairs[time].map((at) => prepareStrokes(points(ways.usual.drawings[at]), 0.08)));
    times.push(performance.now() - start);
  }}
  return JSON.stringify({{ found, pixels, milliseconds: times.sort((a, b) => a - b)[10] }});
}}"""
OF_PICTURES = f"""async (given) => {{
  {MODULES}
  const {{ fold, pictures, pairs }} = JSON.parse(given);
  const ask = openNetwork(fold.graph);
  const prepared = pictures.map((picture) => prepare(pictureOf(picture)).pixels);
  return JSON.stringify(pairs.map((pair) => ask(pair.map((at) => prepared[at]))));
}}"""
FOUND_IN_ROWS = f"""async (given) => {{
  {MODULES}
  return JSON.stringify(JSON.parse(given).pictures.map((picture) =>
    prepareRow(pictureOf(picture), 2).filter((pixels) => pixels !== null).length));
}}"""
PERCENTAGES = f"""async (given) => {{
  {bundled("dom.js")}
  const {{ shares, digits }} = JSON.parse(given);
  return JSON.stringify(shares.map((share) => percent(share, digits)));
}}"""


@pytest.fixture
def ask(browser) -> Callable[..., Any]:
    """What a script gives for some values, in an empty page."""
    page = browser.new_page()
    return lambda script, **given: json.loads(page.evaluate(script, json.dumps(given)))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of an earlier run, by the command."""
    path = tmp_path_factory.mktemp("page") / "draw here.html"
    assert command(["export", str(EARLIER), "--page", str(path)]) == 0
    return path


def as_text(values: np.ndarray) -> str:
    return base64.b64encode(values.astype(np.uint8).tobytes()).decode()


def panels_of(length: int, count: int) -> tuple[np.ndarray, list[list[str]]]:
    """Pictures of MNIST's test digits side by side, and their panels as text."""
    images = load_symbols("mnist").test.images[RNG.integers(0, 10_000, (count, length))]
    pictures = np.concatenate(list(images.swapaxes(0, 1)), axis=2)
    return pictures, [[as_text(each) for each in some] for some in images]


def test_a_page_answers_a_thousand_pairs_as_torch_does(made: Path, ask):
    run, data = unseen.load(EARLIER), data_of(made)
    pictures, panels = panels_of(2, 1_000)
    answered = ask(ANSWERS, folds=data["folds"][:1], panels=[panels])
    assert np.abs(answered[0] - run.predict(pictures, fold=1)).max() < 1e-3


def test_every_registered_network_answers_in_a_page_as_torch_does(ask):
    folds, expected, panels = [], [], []
    for name, network in MODELS.items():
        if name.startswith("paper"):  # too large for a page
            continue
        for length in (2, 3) if "latent" in name else (2,):
            torch.manual_seed(length)
            model = RescaledOutput(network.build(length, 28, 28 * length), 9.0, 4.0)
            values = record(model, 28, 28 * length)
            folds.append({"graph": {"picture": [1, 1, 28, 28 * length], "values": values}})
            pictures, some = panels_of(length, 4)
            panels.append(some)
            expected.append(predict_pictures(model, pictures, torch.device("cpu")))
    answered = ask(ANSWERS, folds=folds, panels=panels)
    differences = np.abs(np.array(answered) - np.array(expected))
    assert differences.max() < 1e-3  # of weights in 16 bits; of trained ones up to 0.01


def moved(scale: float, x: float, y: float) -> list[Any]:
    return [
        [[(scale * a + x, scale * b + y) for a, b in stroke] for stroke in strokes]
        for _, strokes in DRAWN
    ]


def shaken() -> list[Any]:
    """All drawings by a hand that trembles, each turned a little."""

    def shake(stroke: list[tuple[float, float]], turn: float) -> list[list[float]]:
        points = np.array(stroke) @ [[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]
        waves = 0.02 * np.sin(9 * points[:, ::-1] + RNG.random(2) * 7)
        return (points + waves + RNG.normal(0, 0.006, points.shape)).tolist()

    turns = RNG.normal(0, 0.1, len(DRAWN))
    return [
        [shake(stroke, turn) for stroke in strokes]
        for turn, (_, strokes) in zip(turns, DRAWN, strict=True)
    ]


# how a hand may draw: pen, and all drawings
WAYS = {
    "usual": (0.08, moved(1, 0, 0)),
    "off-centre": (0.08, moved(0.5, 0.45, 0.02)),
    "small": (0.05, moved(0.2, 0.3, 0.5)),
    "large": (0.08, moved(1.15, -0.07, -0.07)),
    "thin pen": (0.03, moved(1, 0, 0)),
    "thick pen": (0.15, moved(1, 0, 0)),
    "shaken": (0.08, shaken()),
}


def shares(answers: list[float], digits: list[int], pairs: list[tuple[int, int]]) -> np.ndarray:
    """Shares of pairs that round to the right answer, and to at most one beside it."""
    right = np.array([digits[one] + digits[other] for one, other in pairs])
    beside = np.abs(np.rint(answers) - right)
    return np.array([(beside == 0).mean(), (beside <= 1).mean()])


def test_drawn_pairs_are_answered_whatever_the_pen_the_size_and_the_place(ask):
    assert len(DRAWN) >= 60
    digits = [digit for digit, _ in DRAWN]
    pairs = [(at, int(other)) for at, other in enumerate(RNG.permutation(len(DRAWN)))]
    ways = {name: {"pen": pen, "drawings": drawn} for name, (pen, drawn) in WAYS.items()}
    fold = data_of(PUBLISHED)["folds"][0]
    tried = ask(TRIED, fold=fold, ways=ways, pairs=pairs)
    found = {name: shares(answers, digits, pairs) for name, answers in tried["found"].items()}
    for name, each in found.items():
        least = (0.85, 0.95) if name in ("usual", "shaken") else found["usual"] - 0.05
        assert (each >= least).all(), (name, each)
    assert tried["milliseconds"] < 50  # the fastest: others may use the machine, too
    pixels = {name: np.array(each).reshape(-1, 28, 28) for name, each in tried["pixels"].items()}
    usual = pixels["usual"].sum(axis=(1, 2))
    for prepared in pixels.values():
        check_as_mnist(prepared)
        ink = prepared.sum(axis=(1, 2)) / usual  # by the widths of strokes
        assert ink.min() > 0.8
        assert ink.max() < 1.9


def check_as_mnist(prepared: np.ndarray) -> None:
    """Cropped into 20 × 20 and centred by mass."""
    along = np.arange(28)
    for axis in (1, 2):
        marginal = prepared.sum(axis=axis)
        centres = (marginal * along).sum(axis=1) / marginal.sum(axis=1)
        assert np.abs(centres - 14).max() < 0.3
        reach = (prepared.max(axis=axis) > 127).sum(axis=1)
        assert reach.max() <= 21
    longer = np.maximum(*((prepared.max(axis=axis) > 127).sum(axis=1) for axis in (1, 2)))
    assert longer.min() >= 19


def test_printed_digits_are_answered_too(ask):
    fonts = ("DejaVuSans", "DejaVuSerif-Italic", "cmss10", "STIXGeneral", "DejaVuSansMono-Bold")
    digits = [digit for _ in fonts for digit in range(10)]
    pictures = [font_picture(digit, font) for font in fonts for digit in range(10)]
    pairs = [(at, int(other)) for at, other in enumerate(RNG.permutation(50))]
    given = [{"width": 120, "height": 120, "grey": as_text(each)} for each in pictures]
    fold = data_of(PUBLISHED)["folds"][0]
    answers = ask(OF_PICTURES, fold=fold, pictures=given, pairs=pairs)
    found = shares(answers, digits, pairs)
    assert (found >= (0.85, 0.95)).all()


def written(*digits: int, which: int, apart: int = 0, pen_lifted: bool = False) -> np.ndarray:
    """Test digits side by side, dark on light, with these many pixels between their ink."""
    bank = load_symbols("mnist").test
    images = [bank.images[bank.pools[digit][which]] for digit in digits]
    inks = [each[:, (each > 127).any(axis=0)] for each in images]
    if pen_lifted:  # a line of the paper is left out, and the digit is in two pieces
        for ink in inks:
            ink[13:15] = 0
    gap = np.zeros((28, apart), np.uint8)
    row = np.concatenate([part for ink in inks for part in (ink, gap)][:-1], axis=1)
    return 255 - np.kron(np.pad(row, 9), np.ones((4, 4), np.uint8))


def symbols_found(picture: np.ndarray) -> int:
    """How many of two symbols `unseen predict` finds."""
    try:
        return prepare(picture, PAIR).pixels.shape[1] // 28
    except PictureError as error:
        return 1 if "only 1 of 2 symbols" in str(error) else 0


def test_one_digit_is_not_taken_for_two_by_the_page_nor_by_the_command(ask):
    singles = [written(digit, which=which) for digit in range(10) for which in (0, 1)]
    # in pieces: what is also as wide as two digits could be two
    singles += [written(digit, which=2, pen_lifted=True) for digit in (1, 3, 6, 7, 8, 9)]
    rows = [written(one, other, which=other, apart=6) for one in range(10) for other in (1, 3, 8)]
    found = [symbols_found(each) for each in (*singles, *rows)]
    pictures = [
        {"width": each.shape[1], "height": each.shape[0], "grey": as_text(each)}
        for each in (*singles, *rows)
    ]
    assert found == [1] * len(singles) + [2] * len(rows)
    assert ask(FOUND_IN_ROWS, pictures=pictures) == found


@pytest.mark.parametrize("digits", [0, 1])
def test_the_page_rounds_a_share_as_the_texts_of_the_server_do(ask, digits: int):
    exact = np.arange(20_001) / 20_000  # of ten pairs with 2,000 test pictures each
    expected = [format_percent(share, digits) for share in exact]
    for shares in (exact, np.nextafter(exact, 0), np.nextafter(exact, 1)):  # as sums come out
        assert [format_percent(share, digits) for share in shares] == expected
        assert ask(PERCENTAGES, shares=shares.tolist(), digits=digits) == expected
    assert format_percent(0.9255) == "92.6 %"

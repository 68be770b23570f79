"""The pictures of docs/experiment.md, from the samples and folds that `unseen run fast` has.

python scripts/draw_experiment.py
"""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

import unseen
from unseen.problem.randomness import Streams
from unseen.problem.samples import Samples
from unseen.problem.task import Task, quadrant_samples
from unseen.report.drawing import BLUE, INK, ORANGE, in_our_style

DOCS = Path(__file__).parents[1] / "docs"
FOLD = 1


def draw_samples(place: Axes, samples: Samples, rows: np.ndarray, titles: list[str]) -> None:
    """Pictures side by side, each with its title above it."""
    pictures = unseen.render_pictures(samples, rows)  # (n, 28, 56)
    gap = np.full((28, 8), 255, np.uint8)
    strip = np.concatenate([part for each in pictures for part in (each, gap)][:-1], axis=1)
    place.imshow(strip, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
    place.set_axis_off()
    for at, title in enumerate(titles):
        place.text(28 + 64 * at, -4, title, ha="center", fontsize=9, color=INK)


def draw_pairs() -> Figure:
    """What the network is given: pictures, and one number for each."""
    samples = unseen.FoldDataset("fast", FOLD).samples
    rows = np.random.default_rng(2).choice(len(samples), (2, 5))
    figure = Figure(figsize=(6.4, 1.75), layout="constrained")
    for place, some in zip(figure.subplots(2, 1), rows, strict=True):
        draw_samples(place, samples, some, [str(each) for each in samples.answers[some]])
    return figure


def draw_grid(place: Axes, task: Task, fold: int, *, with_sums: bool) -> None:
    """All pairs, those that are unseen in a fold in another colour."""
    is_unseen = np.zeros(100, bool)
    is_unseen[task.unseen(fold)] = True
    place.set(xlim=(0, 10), ylim=(10, 0), aspect="equal")
    for (left, right), answer, other in zip(
        task.combinations.digits, task.combinations.answers, is_unseen, strict=True
    ):
        colour = ORANGE if other else "#dcebf4"
        place.fill_between([right, right + 1], left, left + 1, color=colour, ec="white", lw=0.8)
        if with_sums:
            shade = "white" if other else INK
            middle = (right + 0.5, left + 0.5)
            place.text(*middle, str(answer), ha="center", va="center", fontsize=8, color=shade)
    place.spines[:].set_visible(False)
    place.tick_params(length=0)
    digits = [*map(str, range(10))] if with_sums else []
    middles = np.arange(len(digits)) + 0.5
    place.set_xticks(middles, digits)
    place.set_yticks(middles, digits)


def draw_fold(task: Task) -> Figure:
    figure = Figure(figsize=(3.6, 3.6), layout="constrained")
    place = figure.subplots()
    draw_grid(place, task, FOLD, with_sums=True)
    place.set(xlabel="right digit", ylabel="left digit")
    return figure


def draw_folds(task: Task) -> Figure:
    figure = Figure(figsize=(6.4, 2.8), layout="constrained")
    for fold, place in enumerate(figure.subplots(2, 5).ravel(), 1):
        draw_grid(place, task, fold, with_sums=False)
        place.set_title(f"fold {fold}", fontsize=9)
    return figure


def draw_quadrants(task: Task) -> Figure:
    """Seen and unseen pairs, in the handwriting that training has and in the test's."""
    experiment = unseen.PRESETS["fast"]()
    quadrants = quadrant_samples(experiment.problem, Streams(experiment.seed, FOLD))
    figure = Figure(figsize=(6.4, 1.9), layout=ConstrainedLayoutEngine(wspace=0.08))
    for place, (name, samples) in zip(
        figure.subplots(2, 2).ravel(), quadrants.items(), strict=True
    ):
        pairs, handwriting = name.split("_")
        rows = np.random.default_rng(0).choice(len(samples), 3, replace=False)
        digits = task.combinations.digits[samples.combinations[rows]]
        draw_samples(place, samples, rows, [f"{left} + {right}" for left, right in digits])
        use = {"seen_train": ": training", "unseen_test": ": test"}.get(name, "")
        colour = {"seen_train": BLUE, "unseen_test": ORANGE}.get(name, INK)
        title = f"{pairs} pairs, {handwriting} handwriting{use}"
        place.set_title(title, fontsize=9, color=colour, pad=14)
    return figure


def main() -> None:
    task = unseen.make_task(unseen.Problem())
    with in_our_style():
        for name, figure in (
            ("pairs", draw_pairs()),
            ("fold", draw_fold(task)),
            ("folds", draw_folds(task)),
            ("quadrants", draw_quadrants(task)),
        ):
            path = DOCS / f"experiment-{name}.png"
            # without matplotlib's version in it, the same bytes each time
            figure.savefig(path, dpi=150, facecolor="white", metadata={"Software": None})
            print(path)


if __name__ == "__main__":
    main()

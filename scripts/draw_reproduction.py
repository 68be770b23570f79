"""docs/reproduction.png: how the authors' recipe goes, epoch by epoch, with dropout and without.

python scripts/draw_reproduction.py WITH_DROPOUT WITHOUT RUNS_DIR
"""

import math
import sys
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

import unseen
from unseen.experiments.measuring import Measurement
from unseen.learning.metrics import PAPER
from unseen.views.drawing import BLUE, FAINT, ORANGE, in_our_style, scale_by_factors

PICTURE = Path(__file__).parents[1] / "docs" / "reproduction.png"
FOLD = 1

Curve = list[Measurement]


def curve_of(run: str, runs_dir: Path) -> Curve:
    """What was measured of the first fold of a run."""
    curve = unseen.load(run, runs_dir).measurements(FOLD)
    return curve or sys.exit(f"{run}: fold {FOLD} was not measured while it learnt")


def draw(curves: dict[str, Curve]) -> Figure:
    """Errors above, their means below; a colour for each run, unseen pairs drawn heavier."""
    figure = Figure(figsize=(6.4, 5.6), layout="constrained")
    errors, shifts = figure.subplots(2, 1, sharex=True)
    for (name, curve), colour in zip(curves.items(), (BLUE, ORANGE), strict=True):
        draw_measure(errors, name, colour, curve, "mse")
        draw_measure(shifts, name, colour, curve, "mean_error")
    paper = PAPER["test_mse"].by_fold[FOLD - 1]
    errors.axhline(paper, color=FAINT, linestyle="--", linewidth=1, label="paper, unseen pairs")
    errors.set_ylabel("mean squared error")
    scale_by_factors(errors)
    errors.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=8)
    shifts.axhline(0, color=FAINT, linestyle="--", linewidth=1)
    shifts.set(ylabel="mean error", xlabel="epoch")
    for place in (errors, shifts):
        place.spines[["top", "right"]].set_visible(False)
    return figure


def draw_measure(place: Axes, name: str, colour: str, curve: Curve, measure: str) -> None:
    """A measure of unseen and of seen pairs, epoch by epoch."""
    epochs = [at.epochs for at in curve]
    for kind, width, alpha in (("unseen", 1.6, 1.0), ("seen", 0.8, 0.7)):
        values = [getattr(at, kind)[measure] or math.nan for at in curve]
        label = f"{name}, {kind} pairs"
        place.plot(epochs, values, color=colour, linewidth=width, alpha=alpha, label=label)


def main(dropped: str, undropped: str, runs_dir: str) -> None:
    runs = {"with dropout": dropped, "without": undropped}
    curves = {name: curve_of(run, Path(runs_dir)) for name, run in runs.items()}
    with in_our_style():
        draw(curves).savefig(PICTURE, dpi=150, facecolor="white")
    print(PICTURE)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(f"usage: {Path(sys.argv[0]).name} WITH_DROPOUT WITHOUT RUNS_DIR")
    main(*sys.argv[1:])

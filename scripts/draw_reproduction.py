"""docs/reproduction.png: how the authors' recipe goes, epoch by epoch, with dropout and without.

python scripts/draw_reproduction.py WITH_DROPOUT WITHOUT RUNS_DIR
"""

import sys
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unseen.experiments.fold import CurvePoint
from unseen.experiments.run_folder import find_run
from unseen.insight.paper_results import PAPER_BY_FOLD
from unseen.views.drawing import BLUE, FAINT, ORANGE, in_our_style, scale_by_factors

PICTURE = Path(__file__).parents[1] / "docs" / "reproduction.png"
FOLD = 1

Curve = tuple[CurvePoint, ...]


def curve_of(run: str, runs_dir: Path) -> Curve:
    """What a run watched after each epoch of the first fold."""
    result = find_run(run, runs_dir).result(FOLD)
    if result is None or not result.curve:
        sys.exit(f"{run}: fold {FOLD} is not done, or was not watched")
    return result.curve


def draw(curves: dict[str, Curve]) -> Figure:
    """Errors above, their means below; a colour for each run, unseen pairs drawn heavier."""
    figure = Figure(figsize=(6.4, 5.6), layout="constrained")
    errors, shifts = figure.subplots(2, 1, sharex=True)
    for (name, curve), colour in zip(curves.items(), (BLUE, ORANGE), strict=True):
        draw_measure(errors, name, colour, [(at.unseen_mse, at.seen_mse) for at in curve])
        means = [(at.unseen_mean_error, at.seen_mean_error) for at in curve]
        draw_measure(shifts, name, colour, means)
    paper = PAPER_BY_FOLD["test_mse"][FOLD]
    errors.axhline(paper, color=FAINT, linestyle="--", linewidth=1, label="paper, unseen pairs")
    errors.set_ylabel("mean squared error")
    scale_by_factors(errors)
    errors.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=8)
    shifts.axhline(0, color=FAINT, linestyle="--", linewidth=1)
    shifts.set(ylabel="mean error", xlabel="epoch")
    for place in (errors, shifts):
        place.spines[["top", "right"]].set_visible(False)
    return figure


def draw_measure(place: Axes, name: str, colour: str, values: list[tuple[float, float]]) -> None:
    """A measure of unseen and of seen pairs, epoch by epoch."""
    epochs = range(1, len(values) + 1)
    unseen, seen = zip(*values, strict=True)
    place.plot(epochs, unseen, color=colour, linewidth=1.6, label=f"{name}, unseen pairs")
    place.plot(epochs, seen, color=colour, linewidth=0.8, alpha=0.7, label=f"{name}, seen pairs")


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

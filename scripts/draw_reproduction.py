"""docs/reproduction.png: how the authors' recipe goes, theirs and ours, step by step.

python scripts/draw_reproduction.py RUN RUNS_DIR

Theirs is the one training that the first version of their notebook prints epoch by epoch, on a
random split with 1,000 samples a pair; docs/authors-curve.csv has it.
"""

import csv
import sys
from pathlib import Path

from matplotlib.figure import Figure

import unseen
from unseen.report.drawing import BLUE, FAINT, ORANGE, in_our_style, scale_by_factors

DOCS = Path(__file__).parents[1] / "docs"
BATCH = 128
SEEN_PAIRS = 90


def authors_curve() -> tuple[list[float], list[float]]:
    """Thousands of steps, and the test MSE after them."""
    with (DOCS / "authors-curve.csv").open(encoding="utf-8") as file:
        rows = [*csv.DictReader(file)]
    steps = -(-1_000 * SEEN_PAIRS // BATCH) / 1_000
    return [steps * int(row["epoch"]) for row in rows], [float(row["test_mse"]) for row in rows]


def draw(run: unseen.Run) -> Figure:
    """Errors above, their means below; a line for each fold of ours."""
    figure = Figure(figsize=(6.4, 5.6), layout="constrained")
    errors, shifts = figure.subplots(2, 1, sharex=True)
    samples = run.experiment.problem.samples_per_combination
    steps = -(-samples * SEEN_PAIRS // BATCH) / 1_000
    for place, result in enumerate(run.results):
        curve = run.measurements(result.fold)
        along = [steps * at.epochs for at in curve]
        for kind, colour in (("seen", FAINT), ("unseen", BLUE)):
            label = f"ours, {kind} pairs" if place == 0 else None
            for axes, measure in ((errors, "mse"), (shifts, "mean_error")):
                values = [getattr(at, kind)[measure] for at in curve]
                axes.plot(along, values, color=colour, linewidth=0.8, label=label)
    errors.plot(*authors_curve(), color=ORANGE, linewidth=1.6, label="the authors' own, unseen")
    errors.set_ylabel("mean squared error")
    scale_by_factors(errors)
    errors.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=8)
    shifts.axhline(0, color="black", linestyle="--", linewidth=0.8)
    shifts.set(ylabel="mean error", xlabel="thousands of steps")
    for axes in (errors, shifts):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def main(run: str, runs_dir: str) -> None:
    with in_our_style():
        figure = draw(unseen.load(run, runs_dir))
        figure.savefig(DOCS / "reproduction.png", dpi=150, facecolor="white")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"usage: {Path(sys.argv[0]).name} RUN RUNS_DIR")
    main(*sys.argv[1:])

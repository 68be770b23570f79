"""docs/coverage.png: how many pairs suffice, from docs/coverage.csv.

python scripts/coverage_figure.py

The file has a row for each network that `unseen sweep coverage` trains, from the tidy results of
its sweeps; for `fast`, which was run before the file was kept, a row for each number of seen pairs.
"""

import csv
from pathlib import Path

from matplotlib.figure import Figure

DOCS = Path(__file__).parents[1] / "docs"
SPREAD = 0.7  # pairs, between networks of one size


def main() -> None:
    with (DOCS / "coverage.csv").open(encoding="utf-8") as file:
        rows = [*csv.DictReader(file)]
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    axes = figure.add_subplot()
    for preset, colour in (("fast", "#b3541e"), ("good", "#1f5fa8")):
        by_size: dict[int, list[float]] = {}
        for row in rows:
            if row["preset"] == preset:
                by_size.setdefault(int(row["seen_pairs"]), []).append(100 * float(row["rounded"]))
        for size, values in by_size.items():
            places = [size + SPREAD * (place - len(values) / 2) / 4 for place in range(len(values))]
            axes.plot(places, values, "o", color=colour, markersize=4, alpha=0.5, mew=0)
        means = [sum(values) / len(values) for values in by_size.values()]
        axes.plot([*by_size], means, color=colour, label=f"{preset}: mean")
    axes.set(
        xlabel="seen pairs, of 100", ylabel="unseen sums right, %", ylim=(0, 102), xlim=(8, 101)
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(DOCS / "coverage.png", dpi=120)


if __name__ == "__main__":
    main()

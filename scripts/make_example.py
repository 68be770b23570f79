"""docs/example-report.html and docs/grid.png, from a finished run: make example."""

import sys
from pathlib import Path

import unseen
from unseen.report.drawing import in_our_style
from unseen.report.result_figures import grid

DOCS = Path(__file__).parents[1] / "docs"


def main(run: str, runs_dir: str) -> None:
    example = unseen.load(run, runs_dir)
    page = example.report(DOCS / "example-report.html")
    picture = DOCS / "grid.png"
    with in_our_style():
        figure, _ = grid(example.summary)
        figure.savefig(picture, dpi=150, facecolor="white")
    print(f"{page} ({page.stat().st_size:,} bytes)\n{picture}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"usage: {Path(sys.argv[0]).name} RUN RUNS_DIR")
    main(*sys.argv[1:])

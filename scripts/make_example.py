"""docs/example-report.html and docs/grid.png, from a finished run: make example."""

import sys
from pathlib import Path

from unseen.experiments.run_folder import find_run
from unseen.insight.evidence import gather
from unseen.insight.summary import sum_up
from unseen.views.drawing import in_our_style
from unseen.views.report import render_report
from unseen.views.result_figures import grid

DOCS = Path(__file__).parents[1] / "docs"


def main(run: str, runs_dir: str) -> None:
    folder = find_run(run, Path(runs_dir))
    evidence = gather(folder, folder.experiment(), folder.results()[0])
    summary = sum_up(evidence)
    page = DOCS / "example-report.html"
    page.write_text(render_report(evidence, summary), encoding="utf-8")
    picture = DOCS / "grid.png"
    with in_our_style():
        grid(summary).savefig(picture, dpi=150, facecolor="white")
    print(f"{page} ({page.stat().st_size:,} bytes)\n{picture}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"usage: {Path(sys.argv[0]).name} RUN RUNS_DIR")
    main(*sys.argv[1:])

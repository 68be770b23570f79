"""Make src/unseen/analysis/baselines.json from finished runs of the baselines.

unseen run nearest --runs-dir DIR && unseen run oracle --runs-dir DIR
python scripts/ship_baselines.py DIR
"""

import sys
from pathlib import Path

import unseen
from unseen.analysis.references import SHIPPED
from unseen.files import as_json, write_whole

TARGET = Path(__file__).parents[1] / "src/unseen/analysis" / SHIPPED


def main(runs_dir: str) -> None:
    shipped = {}
    for name in ("nearest", "oracle"):
        run = unseen.load(name, runs_dir)
        if len(run.results) != 10:
            sys.exit(f"{run.name} has {len(run.results)} of ten folds; finish it first")
        shipped[name] = {
            "command": f"unseen run {name}",
            "machine": {key: run.folder.environment()[key] for key in ("processor", "torch")},
            "folds": {
                str(row.fold): row.measures | {"seconds": round(row.seconds, 1)}
                for row in run.results
            },
        }
    write_whole(TARGET, as_json(shipped) + b"\n")
    print(TARGET)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {Path(sys.argv[0]).name} RUNS_DIR")
    main(sys.argv[1])

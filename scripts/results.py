"""`make results`: run every row of the tables of docs/results.md, and write its figures.

    python scripts/results.py [--write-only] [--only WORD] [--folds 1-5] [--runs-dir DIR]

The page itself says which rows there are: a row's last cell is the command that makes it. To add
one, write a row with its name, empty cells and its command. Every fold that is run is recorded in
docs/results.csv, so that rows can be completed later and on another machine; a row of which nothing
is recorded there stays as it is.
"""

import argparse
import csv
import io
import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from unseen import PRESETS
from unseen.analysis.statistics import spread
from unseen.files import write_whole
from unseen.runs.experiment import fingerprint

PAGE = Path(__file__).parents[1] / "docs" / "results.md"
RECORD = PAGE.with_suffix(".csv")
MEASURES = {"rounded": (100, 1), "within_one": (100, 1), "test_mse": (1, 3)}  # scale, places
COLUMNS = ("arguments", "run", "fold", *MEASURES, "seconds", "starts")
ROW = re.compile(r"\| (?P<name>.+?) \| .*\| `unseen run (?P<arguments>[^`]+)` \|")


@dataclass(frozen=True)
class Row:
    """A named result and the arguments of `unseen run` that make it."""

    name: str
    arguments: str


Folds = dict[int, dict[str, Any]]  # of a row: by number, its columns


def run_row(row: Row, runs_dir: Path, folds: str | None) -> Folds:
    """Run what is missing of a row; the folds that its run has then, none if it failed."""
    asked = [] if folds is None else ["--folds", folds]
    document = unseen("run", *shlex.split(row.arguments), *asked, "--runs-dir", str(runs_dir))
    document = document and unseen("show", str(document["run"]))
    if document is None:
        return {}
    run = {"arguments": row.arguments, "run": Path(document["run"]).name}
    return {
        fold["fold"]: run | {name: fold[name] for name in COLUMNS if name in fold}
        for fold in document["folds"]
    }


def unseen(*arguments: str) -> dict[str, Any] | None:
    """What a command prints as JSON; None if it failed, which it says on stderr."""
    command = [sys.executable, "-m", "unseen", *arguments, "--json"]
    ended = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    return json.loads(ended.stdout) if ended.returncode == 0 else None


def find_row(line: str) -> Row | None:
    """The row of a table that a line of the page is, if it is one."""
    found = ROW.fullmatch(line)
    return Row(**found.groupdict()) if found else None


def page(before: str, recorded: dict[str, Folds]) -> str:
    """The whole page, its rows with the figures of the record."""
    lines = []
    for line in before.splitlines():
        row = find_row(line)
        folds = recorded.get(row.arguments) if row else None
        lines.append(format_row(row, folds) if row and folds else line)
    return "\n".join(lines) + "\n"


def format_row(row: Row, folds: Folds) -> str:
    """A row of a table: mean and deviation over folds, and the command."""
    shown = [
        format_measure([fold[measure] for fold in folds.values()], scale, places)
        for measure, (scale, places) in MEASURES.items()
    ]
    seconds = [fold["seconds"] for fold in folds.values() if fold["seconds"] is not None]
    took = f", {spread(seconds).mean:,.0f} s{' each' * (len(folds) > 1)}" if seconds else ""
    of_now = all(fold["run"] == present_run(row.arguments) for fold in folds.values())
    form = "" if of_now else ", of an earlier form"
    shown.append(format_folds(sorted(folds)) + took + form)
    return f"| {row.name} | {' | '.join(shown)} | `unseen run {row.arguments}` |"


def present_run(arguments: str) -> str:
    """The name of the run that these arguments of `unseen run` make with the present networks."""
    preset, *options = shlex.split(arguments)
    names = [option.removeprefix("--").replace("-", "_") for option in options[::2]]
    settings: dict[str, Any] = dict(zip(names, options[1::2], strict=True))
    return f"{preset}-{fingerprint(PRESETS[preset]().vary(**settings))}"


def format_folds(folds: list[int]) -> str:
    """Which folds there are: all ten, or some by number."""
    if folds == [*range(1, 11)]:
        return "10 folds"
    if len(folds) == 1:
        return f"fold {folds[0]}"
    is_run = len(folds) > 2 and all(later - fold == 1 for fold, later in pairwise(folds))
    return f"folds {folds[0]} to {folds[-1]}" if is_run else f"folds {', '.join(map(str, folds))}"


def format_measure(values: list[float | None], scale: float, places: int) -> str:
    """Mean ± deviation, or that it went astray."""
    if None in values:
        return "astray"
    figures = spread([scale * value for value in values if value is not None])
    deviation = "" if figures.deviation is None else f" ± {figures.deviation:.{places}f}"
    return f"{figures.mean:.{places}f}{deviation}"


def read_record() -> dict[str, Folds]:
    """Every recorded fold, by the arguments of its row."""
    rows: dict[str, Folds] = {}
    if RECORD.is_file():
        for row in csv.DictReader(RECORD.read_text(encoding="utf-8").splitlines()):
            figures = {
                name: float(row[name]) if row[name] else None for name in (*MEASURES, "seconds")
            }
            rows.setdefault(row["arguments"], {})[int(row["fold"])] = row | figures
    return rows


def write_record(rows: dict[str, Folds]) -> None:
    written = csv.DictWriter(text := io.StringIO(), COLUMNS, lineterminator="\n")
    written.writeheader()
    for folds in rows.values():
        for fold in sorted(folds):
            written.writerow({name: folds[fold].get(name) for name in COLUMNS} | {"fold": fold})
    write_whole(RECORD, text.getvalue().encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write-only", action="store_true", help="run nothing")
    parser.add_argument("--only", default="", help="only rows whose command has this in it")
    parser.add_argument("--folds", help="only these folds, as 1-5")
    parser.add_argument("--runs-dir", type=Path, default=Path("runs"))
    options = parser.parse_args()
    rows = filter(None, map(find_row, PAGE.read_text(encoding="utf-8").splitlines()))
    for row in dict.fromkeys(rows):
        if options.write_only or options.only not in row.arguments:
            continue
        print(f"unseen run {row.arguments}", flush=True)
        if folds := run_row(row, options.runs_dir, options.folds):
            recorded = read_record()  # anew: another process may run other rows
            run = next(iter(folds.values()))["run"]
            known = recorded.get(row.arguments, {})  # of an earlier recipe where the run differs
            kept = {fold: each for fold, each in known.items() if each["run"] == run}
            write_record(recorded | {row.arguments: kept | folds})
    before = PAGE.read_text(encoding="utf-8")  # anew: it may have been edited meanwhile
    write_whole(PAGE, page(before, read_record()).encode())


if __name__ == "__main__":
    main()

"""A run for a paper: LaTeX, Markdown and CSV."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from string import Template
from typing import Any

from unseen.analysis.statistics import measures_of
from unseen.analysis.summary import Summary
from unseen.errors import printable
from unseen.problem.operations import SIGN_LABELS
from unseen.report.json_view import paper_json
from unseen.report.tables import TextTable, describe, fold_tables, footnote
from unseen.report.verdict_text import verdict_text
from unseen.report.words import format_combination

LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
        "±": r"$\pm$", "×": r"$\times$", "−": r"$-$", "…": r"\dots{}", "·": r"$\cdot$",
        **{sign: rf"\{sign}" for sign in "&%$#_{}"},
    }
)  # fmt: skip
LATEX_TABLE = Template(r"""\begin{table}
\caption{$title}
\label{tab:$label}
\begin{tabular}{$sides}
\toprule
$rows\bottomrule
\end{tabular}
\end{table}""")
MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|])")
CSV_HEADINGS = ("about", "fold", "name", "measure", "value", "low", "high")
NAMED_BY = ("name", "combination", "layer", "place", "digit")  # an entry of a list


def as_latex(summary: Summary) -> str:
    """The verdict and two tables for the booktabs package."""
    return latex_document(*_parts(summary), label=summary.run)


def as_markdown(summary: Summary) -> str:
    """The verdict and the tables."""
    before, tables, after = _parts(summary)
    texts = [*map(markdown_escaped, before), *map(_markdown_table, tables)]
    return "\n\n".join([*texts, *map(markdown_escaped, after)]) + "\n"


def _parts(summary: Summary) -> tuple[list[str], list[TextTable], list[str]]:
    """What stands before the tables, the tables, and what stands after them."""
    run = summary.experiment, summary.results
    verdict = verdict_text(replace(summary, passed_on=True)).text
    return [verdict, describe(*run)], fold_tables(*run), [footnote(*run)]


def latex_document(
    before: Sequence[str], tables: Sequence[TextTable], after: Sequence[str], *, label: str
) -> str:
    """Tables with text before and after them."""
    parts = [
        *map(latex_escaped, before),
        *(_latex_table(table, label) for table in tables),
        *map(latex_escaped, after),
    ]
    return "% needs \\usepackage{booktabs} in the preamble\n" + "\n\n".join(parts) + "\n"


def _latex_table(table: TextTable, run: str) -> str:
    title = table.title or ""
    groups = (
        "".join(" & ".join(map(latex_escaped, row)) + " \\\\\n" for row in rows)
        for rows in ([table.headings], *table.groups)
    )
    return LATEX_TABLE.substitute(
        title=latex_escaped(title),
        label=re.sub("[^a-zA-Z0-9.-]", "-", f"{run}-{re.split('[ ,]', title.lower())[0]}"),
        sides="l" * table.texts + "r" * (len(table.headings) - table.texts),
        rows="\\midrule\n".join(groups),
    )


def latex_escaped(text: str) -> str:
    """A text that LaTeX prints as it is."""
    return _one_line(text).translate(LATEX)


def _markdown_table(table: TextTable) -> str:
    headings, *rows = (tuple(map(markdown_escaped, row)) for row in (table.headings, *table.rows))
    lines = [headings, ("---:",) * len(headings), *rows]
    title = markdown_escaped(table.title or "")
    return f"**{title}**\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def markdown_escaped(text: str) -> str:
    return MARKDOWN.sub(r"\\\1", _one_line(text))


def as_csv(summary: Summary) -> str:
    """Every figure in full, a row each, under the names that JSON has."""
    document = {
        "folds": [{"fold": each.fold, **measures_of(each)} for each in summary.results],
        "mean": {name: each.mean for name, each in summary.spreads.items()},
        "deviation": {name: each.deviation for name, each in summary.spreads.items()},
        "paper": paper_json(summary.experiment),
        **summary.to_dict(),
    }
    rows = (row for about, value in document.items() for row in _rows(value, about))
    named = ((about, fold, name or summary.run, *figures) for about, fold, name, *figures in rows)
    return csv_text([CSV_HEADINGS, *named])


def _rows(
    value: Any, about: str, fold: int | str = "", path: tuple[str, ...] = ()
) -> Iterator[tuple[object, ...]]:
    """A row for each number in a document; a mean with its interval or deviation is one."""
    name, measure = " ".join(path[:-1]), path[-1] if path else ""
    match value:
        case {"mean": mean, "low": low, "high": high}:
            yield about, fold, name, measure, mean, low, high
        case {"mean": mean, "deviation": _}:
            yield about, fold, name, measure, mean, "", ""
        case dict():
            path = (*path, *(_name(key, value[key]) for key in NAMED_BY if key in value))
            for key in (each for each in value if each not in ("fold", *NAMED_BY)):
                yield from _rows(value[key], about, value.get("fold", fold), (*path, key))
        case list() | tuple():
            for number, each in enumerate(value, start=1):
                path_there = path if isinstance(each, dict) else (*path, str(number))
                yield from _rows(each, about, fold, path_there)
        case int() | float():
            yield about, fold, name, measure, value, "", ""


def _name(key: str, value: Any) -> str:
    """What an entry of a list is called."""
    if key == "combination":
        return format_combination([SIGN_LABELS.get(each, each) for each in value])
    return value if isinstance(value, str) else f"{key} {value}"


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Rows as CSV, with nothing in them that a terminal would take for a command."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(
        [printable(cell) if isinstance(cell, str) else cell for cell in row] for row in rows
    )
    return file.getvalue()


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))

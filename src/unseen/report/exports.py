"""A run for a paper: LaTeX, Markdown and CSV."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from unseen.analysis.published import published_beside
from unseen.analysis.statistics import measures_of
from unseen.analysis.summary import Summary
from unseen.errors import printable
from unseen.report.tables import FoldTable, describe, fold_tables, footnote
from unseen.report.verdict_text import verdict_text
from unseen.report.words import format_combination, named_parts_by_place, place_names
from unseen.training.metrics import HEADLINE

LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    "±": r"$\pm$", "×": r"$\times$", "−": r"$-$", "…": r"\dots{}", "·": r"$\cdot$",
}  # fmt: skip
MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|])")
CSV_HEADINGS = ("about", "fold", "name", "measure", "value", "low", "high")

Row = tuple[object, ...]


def as_latex(summary: Summary) -> str:
    """Two tables for the booktabs package, and the verdict."""
    experiment, results = summary.experiment, summary.results
    text = latex_document(
        [verdict_text(replace(summary, passed_on=True)).text],
        fold_tables(experiment, results),
        [footnote(experiment, results)],
        label=summary.run,
    )
    return f"% {_one_line(describe(experiment, results))}\n{text}"


def latex_document(
    before: Sequence[str], tables: Sequence[FoldTable], after: Sequence[str], *, label: str
) -> str:
    """Tables with text before and after them."""
    parts = [
        *map(latex_escaped, before),
        *(_latex_table(table, label) for table in tables),
        *map(latex_escaped, after),
    ]
    return "% needs \\usepackage{booktabs} in the preamble\n" + "\n\n".join(parts) + "\n"


def _latex_table(table: FoldTable, run: str) -> str:
    headings, *groups = (
        [" & ".join(map(latex_escaped, row)) + r" \\" for row in rows]
        for rows in ([table.headings], *table.groups)
    )
    lines = [
        r"\begin{table}",
        rf"\caption{{{latex_escaped(table.title)}}}",
        rf"\label{{tab:{_label(run)}-{_label(table.title.split(',')[0].split()[0].lower())}}}",
        rf"\begin{{tabular}}{{{_alignment(table)}}}",
        *(r"\toprule", *headings),
        *(line for rows in groups for line in (r"\midrule", *rows)),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _alignment(table: FoldTable) -> str:
    """Figures and numbers of folds on the right, names on the left."""
    return ("r" if table.headings[0] == "fold" else "l") + "r" * (len(table.headings) - 1)


def _label(text: str) -> str:
    return re.sub("[^a-zA-Z0-9.-]", "-", text)


def latex_escaped(text: str) -> str:
    """A text that LaTeX prints as it is."""
    return "".join(LATEX.get(sign, sign) for sign in _one_line(text))


def as_markdown(summary: Summary) -> str:
    """The verdict and the tables."""
    verdict = verdict_text(replace(summary, passed_on=True))
    sentences = markdown_escaped(" ".join(verdict.sentences))
    parts = [
        f"**{markdown_escaped(verdict.headline)}.** {sentences}",
        markdown_escaped(describe(summary.experiment, summary.results)),
        *map(_markdown_table, fold_tables(summary.experiment, summary.results)),
        markdown_escaped(footnote(summary.experiment, summary.results)),
    ]
    return "\n\n".join(parts) + "\n"


def _markdown_table(table: FoldTable) -> str:
    headings, *rows = (tuple(map(markdown_escaped, row)) for row in (table.headings, *table.rows))
    lines = [headings, ("---:",) * len(headings), *rows]
    title = markdown_escaped(table.title)
    return f"**{title}**\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def markdown_escaped(text: str) -> str:
    return MARKDOWN.sub(r"\\\1", _one_line(text))


def as_csv(summary: Summary) -> str:
    """Every figure in full, a row each."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_HEADINGS)
    for row in (*_results(summary), *_insights(summary), *_structure(summary)):
        cells = (printable(cell) if isinstance(cell, str) else cell for cell in row)
        writer.writerow([*cells, *[""] * (len(CSV_HEADINGS) - len(row))])
    return file.getvalue()


def _results(summary: Summary) -> Iterator[Row]:
    for name, interval in summary.intervals.items():
        yield "run", "", summary.run, name, interval.mean, interval.low, interval.high
    yield "one answer", "", "best_constant", HEADLINE.name, summary.constant
    for name, spread in summary.spreads.items():
        yield "mean over folds", "", summary.run, name, spread.mean
        yield "deviation between folds", "", summary.run, name, spread.deviation
    for result in summary.results:
        for name, value in measures_of(result).items():
            yield "fold", result.fold, summary.run, name, value
    problem = summary.experiment.problem
    for published in published_beside(problem):
        who = f"paper, trained on {published.samples} samples of each"
        for name, over in published.over_folds().items():
            yield "paper, mean over folds", "", who, name, over.mean
        for name, values in published.by_fold.items():
            for fold, value in enumerate(values, start=1):
                if published.has_folds_of(problem):
                    yield "paper, fold", fold, who, name, value
    for score in summary.scores:
        combination = format_combination(score.combination)
        for name, value in {"mean_answer": score.mean, **score.measures}.items():
            yield "combination", score.fold, combination, name, value


def _insights(summary: Summary) -> Iterator[Row]:
    for quadrant, measures in summary.quadrants.items():
        for name, spread in measures.items():
            yield "quadrant", "", quadrant, name, spread.mean
    for name, spread in summary.unshifted.items():
        yield "without shift", "", summary.run, name, spread.mean
    for part, value in named_parts_by_place(summary.experiment, summary.error_parts).items():
        yield "error", "", part, "mse", value
    for score in summary.scores:
        combination = format_combination(score.combination)
        for part, value in named_parts_by_place(summary.experiment, score.error_parts).items():
            yield "error of a combination", score.fold, combination, part, value
    for baseline, reference in summary.baselines.items():
        for name, spread in reference.spreads.items():
            yield "baseline", "", baseline, name, spread.mean


def _structure(summary: Summary) -> Iterator[Row]:
    if summary.structure is not None:
        for (place, digit), worth in summary.structure.values.items():
            yield "digit", "", f"{digit} in place {place + 1}", "worth", worth.mean
        for name, value in summary.structure.figures.items():
            yield "structure", "", name, "", value.mean
    for probe in summary.probes:
        for where, read in zip(place_names(summary.experiment.problem), probe.places, strict=True):
            yield "probe", "", probe.layer, where, read.mean


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))

"""A study as tables: what it runs, and what came out."""

from rich.console import Group, RenderableType
from rich.text import Text

from unseen.report.study_progress import run_names
from unseen.report.tables import console_table
from unseen.report.words import format_count
from unseen.studies.sweep import Plan

MOST_SHOWN = 1_000  # runs


def plan_table(plan: Plan) -> RenderableType:
    """Every run of a study with its folds, and how many of them are done."""
    table = console_table()
    for heading in ("run", "folds", "done"):
        table.add_column(heading, justify="left" if heading == "run" else "right", overflow="fold")
    for folder, name in run_names(plan, MOST_SHOWN).items():
        table.add_row(Text(name), str(len(plan.runs[folder].folds)), str(len(plan.done[folder])))
    if (more := len(plan.runs) - MOST_SHOWN) > 0:
        table.add_row(Text(f"… and {format_count(more, 'run')} more"))
    counts = f"{format_count(len(plan.runs), 'run')}, {format_count(plan.fold_count, 'fold')}"
    about = [Text(plan.study.about)] if plan.study.about else []
    return Group(*about, table, Text(f"{counts}; {plan.done_count} done."))

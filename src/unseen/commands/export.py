"""`unseen export`: what a run has learnt, in a form that works elsewhere."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unseen.api import load
from unseen.commands.output import RunsDir, emit, say
from unseen.commands.settings import RunSettings, given
from unseen.commands.show import RunName, tell_damages
from unseen.learning.models import is_own


def export(
    run: RunName,
    /,
    *,
    page: Annotated[
        Path,
        Parameter(
            help="Write one HTML file to draw in, with the run's networks inside it. A network of "
            "your own has to be named again, as --model file.py:Class."
        ),
    ],
    settings: RunSettings = None,
    runs_dir: RunsDir = Path("runs"),
) -> None:
    from unseen.lab.page import write_page

    named = given(settings)
    model = named.pop("model") if is_own(named.get("model", "")) else None
    exported = load(run, runs_dir, **named)
    tell_damages(exported)
    made = write_page(exported, page, model)
    if made.folds < made.folds_done:
        say(f"the page has room for {made.folds} of {made.folds_done} folds")
    emit(f"Page: {page}")

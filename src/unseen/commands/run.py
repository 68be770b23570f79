"""`unseen run`: an experiment from its preset to its tables."""

import re
import signal
from collections.abc import Sequence
from dataclasses import make_dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, get_args

from cyclopts import Group, Parameter, Token
from pydantic.fields import FieldInfo

from unseen.api import Run
from unseen.commands.output import AsJson, RunsDir, emit, say, stderr_console
from unseen.commands.show import print_run
from unseen.experiments.events import Started
from unseen.experiments.experiment import SETTINGS, Experiment, setting_value
from unseen.experiments.presets import PRESETS
from unseen.experiments.run_folder import RunFolder
from unseen.experiments.session import find_experiment, session
from unseen.learning.settings import Training
from unseen.problem.settings import Problem
from unseen.settings import setting_names, without_none
from unseen.views.progress import watch

DEFAULT_PRESET = "fast"
PROBLEM, TRAINING, RUN = (Group.create_ordered(name) for name in ("Problem", "Training", "Run"))


def _whole(_: type, tokens: Sequence[Token]) -> int:
    text = tokens[0].value
    if not re.fullmatch("[+-]?[0-9]{1,4000}", text):  # and 2.5 is not rounded
        raise ValueError(f"{text[:40]!r} is no whole number.")
    return int(text)


WHOLE = Parameter(converter=_whole)


def _option(name: str, info: FieldInfo) -> Any:
    """A setting as an option of the command line; not given, it stays as the preset has it."""
    kinds = {*get_args(info.annotation), info.annotation}
    kind: Any = next((each for each in (bool, int, float) if each in kinds), str)
    default = setting_value(PRESETS[DEFAULT_PRESET](), name)
    shown = ("no", "yes")[default] if kind is bool else default
    models = ((PROBLEM, Problem), (TRAINING, Training), (RUN, Experiment))
    parameter = Parameter(
        help=f"{info.description}" + ("" if default is None else f" [{shown}]"),
        group=next(group for group, model in models if name in setting_names(model)),
        allow_leading_hyphen=kind is str,  # "-a + b" is an expression
    )
    return Annotated[(kind | None, parameter, *([WHOLE] if kind is int else []))]


if TYPE_CHECKING:
    Settings = Any
else:
    Settings = make_dataclass(
        "Settings", [(name, _option(name, info), None) for name, info in SETTINGS.items()]
    )
    Settings.__module__ = __name__  # where cyclopts looks for its annotations


def run(
    preset: Annotated[
        str, Parameter(help=f"A recipe: {', '.join(PRESETS)} [{DEFAULT_PRESET}]")
    ] = DEFAULT_PRESET,
    /,
    *,
    settings: Annotated[Settings | None, Parameter(name="*")] = None,
    folds: Annotated[
        str | None, Parameter(group=RUN, help="Folds to run, as 1,3-5; by default all")
    ] = None,
    jobs: Annotated[
        int | None, WHOLE, Parameter(group=RUN, help="Folds at a time; by default one per core")
    ] = None,
    runs_dir: Annotated[RunsDir, Parameter(group=RUN)] = Path("runs"),
    restart: Annotated[
        bool, Parameter(group=RUN, negative="", help="Discard these folds, run them again")
    ] = False,
    fresh: Annotated[bool, Parameter(show=False, negative="")] = False,
    report: Annotated[
        bool, Parameter(group=RUN, help="Write a page of what it shows [yes]")
    ] = True,
    json: Annotated[AsJson, Parameter(group=RUN)] = False,
    quiet: Annotated[bool, Parameter(group=RUN, negative="", help="Show no progress")] = False,
) -> None:
    if fresh:
        say("--fresh is now called --restart")
    experiment = find_experiment(preset).vary(**without_none(vars(settings) if settings else {}))
    signal.signal(signal.SIGTERM, _stop)
    restart = restart or fresh
    started: list[Started] = []
    events = session(experiment, folds, runs_dir, jobs=jobs, restart=restart)
    try:
        watch(events, stderr_console, quiet=quiet, started=started.append)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if started:
            say(stopped_words(started[0], restarted=restart))
        raise
    finished = Run(RunFolder(Path(started[0].run)))
    print_run(finished, json=json)
    if report:
        _end_with_report(finished, silent=json)


def _end_with_report(run: Run, *, silent: bool) -> None:
    """Write the page of a run; that it cannot be written is no fault of the run."""
    try:
        path = run.report()
    except Exception as error:
        say(f"the run is done, but its report is not: {error}")
        return
    if not silent:
        emit(f"Report: {path}")


class Terminated(KeyboardInterrupt):
    """The system asked the process to end, as Ctrl-C asks it."""

    exit_code = 143


def _stop(signal_number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated


def stopped_words(started: Started, *, restarted: bool) -> str:
    """What an interrupted run has saved, and how to go on."""
    folder, folds = RunFolder(Path(started.run)), started.folds
    done = {result.fold for result in folder.results(thorough=False)[0]}
    saved = {
        fold: progress.epochs_done
        for fold in folds
        if fold not in done and (progress := folder.progress(fold)) and progress.epochs_done
    }
    words = [f"stopped; {len(done & {*folds})} of {len(folds)} folds are done"]
    words += [f"fold {fold} is saved up to epoch {epoch}" for fold, epoch in saved.items()]
    command = "The same command without --restart" if restarted else "The same command"
    return f"{', '.join(words)} in {folder.path}. {command} goes on from there."

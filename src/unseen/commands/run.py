"""`unseen run`: an experiment from its preset to its tables."""

import signal
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

from cyclopts import Parameter

from unseen.api import Run
from unseen.commands.output import AsJson, RunsDir, emit, say, stderr_console
from unseen.commands.parameters import DEFAULT_PRESET, RUN, WHOLE, Settings, given
from unseen.commands.show import print_run
from unseen.report.progress import watch
from unseen.report.tensorboard import TensorBoardCurves
from unseen.runs.checks import parse_folds
from unseen.runs.events import Started
from unseen.runs.presets import PRESETS
from unseen.runs.run_folder import RunFolder
from unseen.runs.session import find_experiment, session


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
    name: Annotated[
        str | None, Parameter(group=RUN, help="A name to find the run by, as 'unseen show NAME'")
    ] = None,
    restart: Annotated[
        bool, Parameter(group=RUN, negative="", help="Discard these folds, run them again")
    ] = False,
    report: Annotated[
        bool, Parameter(group=RUN, help="Write a report page of the results [yes]")
    ] = True,
    tensorboard: Annotated[
        bool, Parameter(group=RUN, negative="", help="Write curves for TensorBoard as well")
    ] = False,
    json: Annotated[AsJson, Parameter(group=RUN)] = False,
    quiet: Annotated[bool, Parameter(group=RUN, negative="", help="Show no progress")] = False,
) -> None:
    experiment = find_experiment(preset).vary(**given(settings))
    signal.signal(signal.SIGTERM, stop_as_interrupted)
    started: list[Started] = []
    events = session(experiment, folds, runs_dir, jobs=jobs, restart=restart, name=name)
    if tensorboard:
        events = TensorBoardCurves().follow(events)
    try:
        watch(events, stderr_console, quiet=quiet, started=started.append)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if started:
            say(stopped_words(started[0], restarted=restart))
        raise
    folder = RunFolder(Path(started[0].run))
    try:
        print_run(Run(folder, parse_folds(folds)), json=json)
    finally:  # also where stdout is closed
        whole = Run(folder)
        if report and whole.results:  # else other processes have all its folds
            _end_with_report(whole, silent=json)


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


def stop_as_interrupted(signal_number: int, frame: FrameType | None) -> NoReturn:
    """Answer a signal as Ctrl-C is answered."""
    raise Terminated


def stopped_words(started: Started, *, restarted: bool) -> str:
    """What an interrupted run has saved, and how to go on."""
    folder, folds = RunFolder(Path(started.run)), started.folds
    done = {result.fold for result in folder.results(thorough=False)[0]}
    text = [f"stopped; {len(done & {*folds})} of {len(folds)} folds are done"]
    for fold in folds:
        progress = None if fold in done else folder.progress(fold)
        if progress and progress.epochs_done:
            start = f" of start {progress.start}" if progress.start > 1 else ""
            text.append(f"fold {fold} is saved up to epoch {progress.epochs_done}{start}")
    command = "The same command without --restart" if restarted else "The same command"
    return f"{', '.join(text)} in {folder.path}. {command} goes on from there."

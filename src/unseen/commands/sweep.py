"""`unseen sweep`: a study of many runs."""

import signal
from collections import Counter
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from unseen.api import Run
from unseen.commands.output import RunsDir, emit, say, stderr_console
from unseen.commands.parameters import WHOLE
from unseen.commands.run import stop_as_interrupted
from unseen.errors import SettingError, UnseenError
from unseen.report.study_progress import StudyDisplay, plan_table
from unseen.report.tensorboard import TensorBoardCurves
from unseen.report.words import format_count, format_duration
from unseen.runs.local_workers import LocalWorkers, Workers, available_cores
from unseen.studies.results import TidyFile
from unseen.studies.study import find_study
from unseen.studies.sweep import Plan, StudyEvent, StudyFold, check_plan, plan_study
from unseen.studies.sweep import sweep as sweep_events


def sweep(
    study: Annotated[
        str,
        Parameter(
            help="A TOML file, or a study that comes with the package: coverage, operations, "
            "splits, networks, seeds."
        ),
    ],
    /,
    *,
    dry_run: Annotated[
        bool, Parameter(negative="", help="List runs, folds and hours; run nothing")
    ] = False,
    engine: Annotated[
        Literal["local", "dask"], Parameter(help="What runs the folds [local]")
    ] = "local",
    address: Annotated[
        str | None,
        Parameter(help="Dask scheduler, as tcp://host:8786; by default a cluster on this machine"),
    ] = None,
    jobs: Annotated[
        int | None,
        WHOLE,
        Parameter(help="Folds at a time on this machine; by default one per core"),
    ] = None,
    allow_versions: Annotated[
        bool, Parameter(negative="", help="Let workers have other versions of torch and numpy")
    ] = False,
    output: Annotated[
        Path | None,
        Parameter(help="Results, a row a fold; by default STUDY.csv in the runs folder"),
    ] = None,
    report: Annotated[
        bool, Parameter(negative="", help="Write a page of the study beside its results")
    ] = False,
    tensorboard: Annotated[
        bool, Parameter(negative="", help="Write curves for TensorBoard into the run folders")
    ] = False,
    runs_dir: RunsDir = Path("runs"),
    quiet: Annotated[bool, Parameter(negative="", help="Show no progress")] = False,
) -> int:
    _check(engine, address, jobs, output)
    plan = plan_study(find_study(study), runs_dir)
    if dry_run:
        _print_plan(plan, jobs or _folds_at_once(plan))
        return 0
    curves = TensorBoardCurves() if tensorboard else None
    file = TidyFile(output or runs_dir / f"{plan.study.name}.csv")
    signal.signal(signal.SIGTERM, stop_as_interrupted)
    if engine == "dask":
        workers = _dask(plan, runs_dir, address, jobs, allow_versions=allow_versions)
    else:
        symbols = next(iter(plan.runs.values())).experiment.problem.symbols
        workers = LocalWorkers(jobs or _folds_at_once(plan), symbols)
    try:
        check_plan(plan, workers)
        display = StudyDisplay(plan, stderr_console, quiet=quiet)
        without_result = _run(display, sweep_events(plan, workers), file, curves)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        workers.shutdown(wait=False)
        say(f"stopped; what was finished is in {runs_dir}. The same command goes on from there.")
        raise
    except BaseException:
        workers.shutdown(wait=False)
        raise
    workers.shutdown()
    lines = _lines_about(without_result)
    has_failed = any(fold.error for fold in without_result)
    try:
        file.write()
        emit(f"Results: {file.as_parquet() or file.path}")
        if report:
            emit(f"Report: {_report(plan, file.path.with_suffix('.html'), lines)}")
    except UnseenError as error:  # a disk that is full may be why folds failed: say that as well
        lines, has_failed = [*lines, str(error)], True
    for line in lines:
        say(line)
    return int(has_failed)


def _check(engine: str, address: str | None, jobs: int | None, output: Path | None) -> None:
    if address is not None and engine != "dask":
        raise SettingError("address", address, "is for a Dask scheduler; add --engine dask")
    if address is not None and jobs is not None:
        raise SettingError(
            "jobs", jobs, "counts folds on this machine; leave it out with --address"
        )
    if jobs is not None and jobs < 1:
        raise SettingError("jobs", jobs, "must be at least 1")
    if output is not None and output.suffix != ".csv":
        raise SettingError("output", output, "must be a .csv file")


def _print_plan(plan: Plan, at_once: int) -> None:
    emit(plan_table(plan))
    if plan.missing:
        seconds = format_duration(plan.seconds_left() / at_once)
        emit(f"Roughly {seconds} on this machine, {format_count(at_once, 'fold')} at a time.")


def _folds_at_once(plan: Plan) -> int:
    """How many folds have the cores of this machine to themselves."""
    return max(1, available_cores() // max(run.experiment.threads for run in plan.runs.values()))


def _dask(
    plan: Plan, runs_dir: Path, address: str | None, jobs: int | None, *, allow_versions: bool
) -> Workers:
    from unseen.runs.dask_workers import DaskWorkers

    symbols = next(iter(plan.runs.values())).experiment.problem.symbols
    workers = DaskWorkers(runs_dir, address, jobs, symbols=symbols, allow_versions=allow_versions)
    count, sharing = len(workers.shares_disk), sum(workers.shares_disk)
    all_share = "it shares" if count == 1 else "all share"
    shared = {0: "none shares", count: all_share}.get(sharing, f"{sharing} share")
    how = "folds keep no checkpoints" if sharing == 0 else "folds keep checkpoints there"
    say(f"{format_count(count, 'worker')}, {shared} the disk of {runs_dir}: {how}")
    return workers


def _run(
    display: StudyDisplay,
    events: Generator[StudyEvent, None, None],
    file: TidyFile,
    curves: TensorBoardCurves | None,
) -> list[StudyFold]:
    """Follow the study to its end; returns the folds that have no result."""
    without_result = []
    try:
        for fold in display.follow(events):
            file.add(fold)
            if fold.result is None:
                without_result.append(fold)
            elif curves is not None:
                curves.write(fold.folder, fold.run.experiment, fold.fold)
    except KeyboardInterrupt:
        with suppress(UnseenError):
            file.write()
        raise
    return without_result


def _lines_about(without_result: list[StudyFold]) -> list[str]:
    """What failed, and what was left to other processes, a line for each kind."""
    lines = []
    failed = [fold for fold in without_result if fold.error]
    if left := len(without_result) - len(failed):
        lines.append(f"run by other processes, and left to them: {format_count(left, 'fold')}")
    for error, count in Counter(fold.error for fold in failed).most_common():
        first = next(fold for fold in failed if fold.error == error)
        more = f" and {count - 1} more" if count > 1 else ""
        lines.append(f"{first.folder.path.name} fold {first.fold}{more} failed: {error}")
    if failed:
        lines.append(f"{format_count(len(failed), 'fold')} failed; the same command tries again")
    return lines


def _report(plan: Plan, path: Path, failed: list[str]) -> Path:
    """Write the page of a study, and those of its runs that have none of all their folds."""
    from unseen.report.study_report import write_study_report

    plan = plan_study(plan.study, next(iter(plan.runs)).path.parent)
    for folder in (folder for folder in plan.runs if plan.done[folder]):
        if folder.report_is_behind():
            try:
                Run(folder).report()
            except Exception as error:  # that it cannot be written is no fault of the study
                say(f"the report of {folder.label} is not written: {error}")
    return write_study_report(plan, path, failed)

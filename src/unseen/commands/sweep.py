"""`unseen sweep`: a study of many runs."""

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from unseen.commands.output import RunsDir, emit, say, stderr_console
from unseen.commands.parameters import WHOLE
from unseen.commands.run import stop_as_interrupted

if TYPE_CHECKING:
    from unseen.report.study_progress import StudyDisplay
    from unseen.report.tensorboard import TensorBoardCurves
    from unseen.runs.engine import Engine
    from unseen.studies.results import TidyFile
    from unseen.studies.sweep import Plan, Tally


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
    # not above: help needs none of it
    from unseen.errors import UnseenError
    from unseen.report.study_progress import StudyDisplay
    from unseen.studies.calibration import known_rates
    from unseen.studies.study import find_study
    from unseen.studies.sweep import check_plan, plan_study

    _check(engine, address, jobs, output)
    plan = plan_study(find_study(study), runs_dir)
    if dry_run:
        _foretell(plan, jobs)
        return 0
    curves = None
    if tensorboard:
        from unseen.report.tensorboard import TensorBoardCurves

        curves = TensorBoardCurves()
    path = output or runs_dir / f"{plan.study.name}.csv"
    signal.signal(signal.SIGTERM, stop_as_interrupted)
    workers = (
        _local(plan, jobs)
        if engine == "local"
        else _dask(plan, runs_dir, address, jobs, allow_versions=allow_versions)
    )
    try:
        check_plan(plan, workers)
        display = StudyDisplay(plan, known_rates(plan), workers, stderr_console, quiet=quiet)
        file = _write_results(plan, workers, display, path, curves)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        workers.shutdown(wait=False)
        say(f"stopped; what was finished is in {runs_dir}. The same command goes on from there.")
        raise
    except BaseException:
        workers.shutdown(wait=False)
        raise
    workers.shutdown()
    failed, has_failed = _failures(display.tally), bool(display.tally.failed)
    try:
        emit(f"Results: {_settle_results(plan, display.tally, file)}")
        if report:
            emit(f"Report: {_report(plan, path.with_suffix('.html'), failed)}")
    except UnseenError as error:  # a disk that is full may be why folds failed: say that as well
        failed, has_failed = [*failed, str(error)], True
    for line in failed:
        say(line)
    return int(has_failed)


def _check(engine: str, address: str | None, jobs: int | None, output: Path | None) -> None:
    from unseen.errors import SettingError

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


def _write_results(
    plan: "Plan",
    workers: "Engine",
    display: "StudyDisplay",
    path: Path,
    curves: "TensorBoardCurves | None",
) -> "TidyFile":
    """Run the study, and write a row for each fold as it ends."""
    from unseen.studies.results import TidyFile, tidy_row
    from unseen.studies.sweep import sweep as sweep_events

    file, before = None, []
    for fold in display.follow(sweep_events(plan, workers)):
        if curves is not None and fold.result is not None:
            curves.write(fold.folder, fold.run.experiment, fold.fold)
        if fold.was_done:
            before.append(tidy_row(fold))
            continue
        file = file or TidyFile(path, before)
        file.add(tidy_row(fold))
    return file or TidyFile(path, before)


def _settle_results(plan: "Plan", tally: "Tally", file: "TidyFile") -> Path:
    """Bring the results to their end, and say where they are."""
    from unseen.studies.results import tidy_row
    from unseen.studies.sweep import folds_as_they_are

    if tally.left or not file.is_whole:  # swept by others too, or a disk was full
        file.settle(map(tidy_row, folds_as_they_are(plan, tally)))
    file.close()
    return file.as_parquet() or file.path


def _local(plan: "Plan", jobs: int | None) -> "Engine":
    from unseen.runs.engine import LocalProcesses, available_cores

    runs = [*plan.runs.values()]
    threads = max(run.experiment.threads for run in runs)
    jobs = jobs or max(1, available_cores() // threads)
    return LocalProcesses(jobs, runs[0].experiment.problem.symbols)


def _dask(
    plan: "Plan", runs_dir: Path, address: str | None, jobs: int | None, *, allow_versions: bool
) -> "Engine":
    from unseen.report.words import format_count
    from unseen.runs.dask_engine import DaskWorkers

    symbols = next(iter(plan.runs.values())).experiment.problem.symbols
    workers = DaskWorkers(runs_dir, address, jobs, symbols=symbols, allow_versions=allow_versions)
    count, sharing = len(workers.shares_disk), sum(workers.shares_disk)
    all_share = "it shares" if count == 1 else "all share"
    shared = {0: "none shares", count: all_share}.get(sharing, f"{sharing} share")
    how = "folds keep no checkpoints" if sharing == 0 else "folds keep checkpoints there"
    say(f"{format_count(count, 'worker')}, {shared} the disk of {runs_dir}: {how}")
    return workers


def _foretell(plan: "Plan", jobs: int | None) -> None:
    """Say what a study would run, and how long that takes on this machine."""
    from unseen.report.study_progress import format_duration
    from unseen.report.study_tables import plan_table
    from unseen.report.words import format_count
    from unseen.studies.calibration import calibrate, known_rates

    emit(plan_table(plan))
    if plan.done_count == plan.fold_count:
        return
    rates = known_rates(plan)
    workers = _local(plan, jobs)
    try:
        for model in calibrate(plan, workers, rates):
            say(f"trying {model} for some seconds")
    except BaseException:
        workers.shutdown(wait=False)
        raise
    workers.shutdown()
    seconds = sum(rates.seconds(job) * count for job, count in plan.first_missing())
    at_once = format_count(workers.slots, "fold")
    emit(f"About {format_duration(seconds / workers.slots)} on this machine, {at_once} at a time.")


def _failures(tally: "Tally") -> list[str]:
    """What failed, and what was left to others, a line each."""
    from unseen.report.words import format_count
    from unseen.studies.sweep import failures

    lines = []
    if tally.left:
        lines.append(
            f"run by other processes, and left to them: {format_count(tally.left, 'fold')}"
        )
    for error, count in failures(tally):
        first = next(each for each in tally.failed if each.error == error)
        more = f" and {count - 1} more" if count > 1 else ""
        lines.append(f"{first.folder.path.name} fold {first.fold}{more} failed: {error}")
    if tally.failed:
        whole = format_count(len(tally.failed), "fold")
        lines.append(f"{whole} failed; the same command tries again")
    return lines


def _report(plan: "Plan", path: Path, failed: list[str]) -> Path:
    """Write the page of a study, and those of its runs that have none of all their folds."""
    from unseen.api import Run
    from unseen.report.study_report import write_study_report
    from unseen.studies.sweep import plan_study

    plan = plan_study(plan.study, next(iter(plan.runs)).path.parent)
    for folder in (folder for folder in plan.runs if plan.done[folder]):
        if folder.report_is_behind():
            try:
                Run(folder).report()
            except Exception as error:  # that it cannot be written is no fault of the study
                say(f"the report of {folder.label} is not written: {error}")
    return write_study_report(plan, path, failed)

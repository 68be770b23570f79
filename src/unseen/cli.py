"""The command line: parse, call one function, print."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import cyclopts
from cyclopts import App, Parameter
from rich.console import Console, RenderableType

from unseen.errors import UnseenError, unknown
from unseen.experiments.presets import PRESETS
from unseen.learning.models import MODELS
from unseen.learning.optimizers import OPTIMIZERS

if TYPE_CHECKING:
    from unseen.experiments.experiment import Experiment
    from unseen.experiments.run_folder import RunFolder


def _version() -> str:
    from importlib.metadata import version

    return version("unseen")


app = App(
    name="unseen",
    help="A network is shown some pairs of digits and only their sums. "
    "Does it get the pairs it has never seen?",
    help_format="plaintext",
    version=_version,
    suppress_keyboard_interrupt=False,
)
errors = Console(stderr=True)

RunsDir = Annotated[Path, Parameter(help="Folder of the run folders.")]


def _choices(about: dict[str, str]) -> str:
    return "; ".join(f"{name}: {text}" for name, text in about.items())


def _first_line(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").splitlines()[0].rstrip(".")


@app.command
def run(
    preset: Annotated[
        str, Parameter(help=_choices({name: _first_line(make) for name, make in PRESETS.items()}))
    ] = "fast",
    /,
    *,
    model: Annotated[
        str | None, Parameter(help=_choices({name: net.about for name, net in MODELS.items()}))
    ] = None,
    epochs: Annotated[int | None, Parameter(help="Passes over the training samples.")] = None,
    batch_size: Annotated[int | None, Parameter(help="Samples a step.")] = None,
    optimizer: Annotated[str | None, Parameter(help=", ".join(OPTIMIZERS))] = None,
    learning_rate: Annotated[float | None, Parameter(help="Its step size, or its peak.")] = None,
    precision: Annotated[
        str | None, Parameter(help="Of the arithmetic in training: fp32, or bf16.")
    ] = None,
    averaged_epochs: Annotated[
        int | None, Parameter(help="Average the weights at the ends of so many last epochs.")
    ] = None,
    watched_samples: Annotated[
        int | None,
        Parameter(help="After each epoch, measure on so many samples: the learning curve."),
    ] = None,
    samples: Annotated[int | None, Parameter(help="Training samples a combination.")] = None,
    test_samples: Annotated[int | None, Parameter(help="Test samples a combination.")] = None,
    length: Annotated[int | None, Parameter(help="Symbols side by side in a picture.")] = None,
    symbols: Annotated[
        str | None, Parameter(help="mnist, or a folder of four IDX files, raw or .gz.")
    ] = None,
    seed: Annotated[int | None, Parameter(help="Of samples, weights and batches.")] = None,
    split_seed: Annotated[int | None, Parameter(help="Of the folds, and of nothing else.")] = None,
    development: Annotated[
        bool,
        Parameter(
            negative="",
            help="Development folds, to choose settings on: another split seed, "
            "and held-out training handwriting in place of the test handwriting.",
        ),
    ] = False,
    folds: Annotated[str | None, Parameter(help="Which folds, as 1,3-5; all by default.")] = None,
    jobs: Annotated[
        int | None, Parameter(help="Folds at once; by default, as the cores allow.")
    ] = None,
    threads: Annotated[int | None, Parameter(help="Threads a fold.")] = None,
    device: Annotated[str | None, Parameter(help="cpu, cuda, cuda:1, mps.")] = None,
    runs_dir: RunsDir = Path("runs"),
    fresh: Annotated[bool, Parameter(negative="", help="Forget what was run before.")] = False,
    json: Annotated[bool, Parameter(negative="", help="One JSON object on stdout.")] = False,
    quiet: Annotated[bool, Parameter(negative="", help="No progress display.")] = False,
) -> None:
    """Run an experiment, or finish one: its folds in parallel, then its tables."""
    from unseen.experiments.experiment import DEVELOPMENT_SPLIT_SEED
    from unseen.options import varied

    if preset not in PRESETS:
        raise unknown("preset", preset, PRESETS)
    if development and split_seed is None:
        split_seed = DEVELOPMENT_SPLIT_SEED
    experiment = varied(
        PRESETS[preset](),
        problem={
            "length": length,
            "symbols": symbols,
            "split_seed": split_seed,
            "samples_per_combination": samples,
            "test_samples_per_combination": test_samples,
            "development": development or None,
        },
        training={
            "model": model,
            "epochs": epochs,
            "batch_size": batch_size,
            "optimizer": optimizer,
            "learning_rate": learning_rate,
            "precision": precision,
            "averaged_epochs": averaged_epochs,
            "watched_samples": watched_samples,
        },
        seed=seed,
        device=device,
        threads=threads,
    )
    _run(experiment, folds, jobs, runs_dir, fresh=fresh, json=json, quiet=quiet)


@app.command
def runs(*, runs_dir: RunsDir = Path("runs")) -> None:
    """List what was run."""
    from unseen.experiments.run_folder import list_runs
    from unseen.views.tables import list_table

    emit(list_table(list_runs(runs_dir), runs_dir))


@app.command
def show(
    run: Annotated[str, Parameter(help="A run folder: its path, its name, or its beginning.")],
    /,
    *,
    runs_dir: RunsDir = Path("runs"),
    json: Annotated[bool, Parameter(negative="", help="One JSON object on stdout.")] = False,
) -> None:
    """Print the tables of a run again."""
    from unseen.experiments.run_folder import find_run

    _print_run(find_run(run, runs_dir), json=json)


def _run(
    experiment: Experiment,
    folds: str | None,
    jobs: int | None,
    runs_dir: Path,
    *,
    fresh: bool,
    json: bool,
    quiet: bool,
) -> None:
    from unseen.experiments.cross_validation import cross_validate
    from unseen.experiments.engine import LocalProcesses, available_cores
    from unseen.experiments.experiment import check_device
    from unseen.experiments.fold import pose
    from unseen.experiments.run_folder import RunFolder
    from unseen.options import parse_folds
    from unseen.views.progress import watch

    check_device(experiment.device)
    if jobs is not None and jobs < 1:
        raise UnseenError(f"--jobs must be at least 1, not {jobs}")
    chosen = parse_folds(folds, count=len(pose(experiment.problem).folds))
    folder = RunFolder.of(experiment, runs_dir)
    executor = LocalProcesses(jobs or max(1, available_cores() // experiment.threads))
    signal.signal(signal.SIGTERM, _stop)
    try:
        events = cross_validate(experiment, folder, chosen, executor, fresh=fresh)
        watch(events, len(chosen), experiment.training.epochs, errors, quiet=quiet)
    except BaseException as stop:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        executor.shutdown(wait=False)
        sweep(folder, chosen)
        if isinstance(stop, KeyboardInterrupt):
            say(stopped_words(folder, chosen, fresh=fresh))
        raise
    executor.shutdown()
    _print_run(folder, chosen, json=json)


def sweep(folder: RunFolder, folds: list[int]) -> None:
    """Remove what killed workers left half-written; as soon as they are dead, but soon."""
    patience = time.monotonic() + 0.5
    while folder.has_leftovers() and time.monotonic() < patience:
        for fold in folds:
            with folder.hold(fold):  # which sweeps
                pass
        time.sleep(0.02)


class Terminated(KeyboardInterrupt):
    """The system asked the process to end, as Ctrl-C asks it."""

    exit_code = 143


def _stop(signal_number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated


def stopped_words(folder: RunFolder, folds: list[int], *, fresh: bool) -> str:
    """What an interrupted run has saved, and how to go on."""
    done = {result.fold for result in folder.results()[0]}
    saved = {
        fold: standing.epochs_done
        for fold in folds
        if fold not in done and (standing := folder.standing(fold)) and standing.epochs_done
    }
    words = [f"stopped; {len(done & {*folds})} of {len(folds)} folds are done"]
    words += [f"fold {fold} is saved up to epoch {epoch}" for fold, epoch in saved.items()]
    command = "The same command without --fresh" if fresh else "The same command"
    return f"{', '.join(words)} in {folder.path}. {command} goes on from there."


def _print_run(folder: RunFolder, folds: list[int] | None = None, *, json: bool) -> None:
    from unseen.views.json_view import run_json
    from unseen.views.tables import run_tables

    experiment = folder.experiment()
    results, damages = folder.results()
    for damage in damages:
        say(f"{damage}; its fold is left out, and 'unseen run' runs it again")
    if folds is not None:
        results = [result for result in results if result.fold in folds]
    if json:
        emit(run_json(folder.path, experiment, results))
    else:
        emit(run_tables(experiment, results))
        emit(f"Run folder: {folder.path}")


def emit(what: RenderableType) -> None:
    """Print on stdout: a plain text as it is, all else as wide as the terminal."""
    if not isinstance(what, str):
        console = Console()
        with console.capture() as rendered:
            console.print(what)
        what = rendered.get().removesuffix("\n")
    print(what, flush=True)


def say(text: str) -> None:
    """One line on stderr, for a person."""
    if sys.stderr is not None:
        print("unseen:", " ".join(text.split()), file=sys.stderr, flush=True)


def command(arguments: list[str] | None = None) -> int:
    """Run one command line; returns its exit code."""
    try:
        app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        return 0
    except (UnseenError, cyclopts.CycloptsError) as error:
        say(str(error))
    except BrokenPipeError:
        raise
    except OSError as error:
        say(f"cannot use {error.filename or 'the output'}: {error.strerror}")
    return 2

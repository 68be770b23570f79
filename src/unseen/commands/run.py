"""`unseen run`: an experiment from its preset to its tables."""

import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn

from cyclopts import Parameter, Token

from unseen.commands.output import AsJson, RunsDir, emit, say, stderr_console
from unseen.commands.show import print_run
from unseen.errors import UnseenError, unknown
from unseen.experiments.cross_validation import cross_validate
from unseen.experiments.engine import LocalProcesses, available_cores
from unseen.experiments.experiment import DEVELOPMENT_SPLIT_SEED, Experiment, check_device
from unseen.experiments.posing import PosedProblem, pose
from unseen.experiments.presets import PRESETS
from unseen.experiments.run_folder import RunFolder
from unseen.learning.baselines import BASELINES
from unseen.learning.losses import LOSSES
from unseen.learning.models import MODELS, find_network, is_own
from unseen.learning.optimizers import OPTIMIZERS
from unseen.options import parse_folds, varied
from unseen.problem.fashion import fetch_fashion_mnist, find_fashion_mnist
from unseen.problem.operations import OPERATIONS
from unseen.problem.splits import SPLITS, Fold
from unseen.problem.symbols import SYMBOLS
from unseen.views.progress import show_download, watch

# Pictures of MNIST's size suit every network here. Smaller ones are tried, which takes torch.
LARGE_ENOUGH = 28


def _whole(_: type, tokens: Sequence[Token]) -> int:
    text = tokens[0].value
    if not re.fullmatch("[+-]?[0-9]{1,4000}", text):  # and 2.5 is not rounded
        raise ValueError(f"{text[:40]!r} is no whole number.")
    return int(text)


WHOLE = Parameter(converter=_whole)


def _choices(about: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {text}" for name, text in about.items())


def _first_lines(functions: Mapping[str, Callable[..., Any]]) -> dict[str, str]:
    return {
        name: (function.__doc__ or "").splitlines()[0].rstrip(".")
        for name, function in functions.items()
    }


def run(
    preset: Annotated[str, Parameter(help=_choices(_first_lines(PRESETS)))] = "fast",
    /,
    *,
    operation: Annotated[
        str | None,
        Parameter(
            allow_leading_hyphen=True,  # "-a + b" is an expression
            help=_choices(
                _first_lines(OPERATIONS)
                | {
                    '"a*b + c"': "an expression in the places' letters, with abs, min, max",
                    "shown:+,-,*": "a sign stands between two digits",
                    "table:SEED": "random answers, as a control",
                }
            ),
        ),
    ] = None,
    split: Annotated[
        str | None,
        Parameter(
            help=_choices(_first_lines(SPLITS) | {"FILE": "one fold; its combinations are unseen"})
        ),
    ] = None,
    unseen: Annotated[
        int | None,
        WHOLE,
        Parameter(help="Combinations that are unseen in a fold; a tenth by default."),
    ] = None,
    model: Annotated[
        str | None,
        Parameter(
            help=_choices(
                {name: network.about for name, network in MODELS.items()}
                | {name: baseline.about for name, baseline in BASELINES.items()}
                | {"file.py:Class": "your own, built with (length, height, width)"}
            )
        ),
    ] = None,
    epochs: Annotated[
        int | None, WHOLE, Parameter(help="Passes over the training samples.")
    ] = None,
    batch_size: Annotated[int | None, WHOLE, Parameter(help="Samples a step.")] = None,
    loss: Annotated[str | None, Parameter(help=_choices(_first_lines(LOSSES)))] = None,
    optimizer: Annotated[str | None, Parameter(help=", ".join(OPTIMIZERS))] = None,
    learning_rate: Annotated[float | None, Parameter(help="Its step size, or its peak.")] = None,
    precision: Annotated[
        str | None, Parameter(help="Of the arithmetic in training: fp32, or bf16.")
    ] = None,
    averaged_epochs: Annotated[
        int | None, WHOLE, Parameter(help="Average the weights at the ends of so many last epochs.")
    ] = None,
    watched_samples: Annotated[
        int | None,
        WHOLE,
        Parameter(help="After each epoch, measure on so many samples: the learning curve."),
    ] = None,
    fresh_draws: Annotated[
        bool | None, Parameter(help="Draw other training samples for every epoch.")
    ] = None,
    distortion: Annotated[
        float | None, Parameter(help="Distort every training symbol a little: 0 not, 1 as usual.")
    ] = None,
    samples: Annotated[int | None, WHOLE, Parameter(help="Training samples a combination.")] = None,
    test_samples: Annotated[
        int | None, WHOLE, Parameter(help="Test samples a combination.")
    ] = None,
    length: Annotated[
        int | None, WHOLE, Parameter(help="Symbols side by side in a picture.")
    ] = None,
    symbols: Annotated[
        str | None,
        Parameter(
            help=_choices(_first_lines(SYMBOLS) | {"DIR": "a folder of four IDX files, raw or .gz"})
        ),
    ] = None,
    seed: Annotated[int | None, WHOLE, Parameter(help="Of samples, weights and batches.")] = None,
    split_seed: Annotated[
        int | None, WHOLE, Parameter(help="Of the folds, and of nothing else.")
    ] = None,
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
        int | None, WHOLE, Parameter(help="Folds at once; by default, as the cores allow.")
    ] = None,
    threads: Annotated[int | None, WHOLE, Parameter(help="Threads a fold.")] = None,
    device: Annotated[str | None, Parameter(help="cpu, cuda, cuda:1, mps.")] = None,
    runs_dir: RunsDir = Path("runs"),
    fresh: Annotated[bool, Parameter(negative="", help="Forget what was run before.")] = False,
    report: Annotated[bool, Parameter(help="End with a page of what it shows.")] = True,
    json: AsJson = False,
    quiet: Annotated[bool, Parameter(negative="", help="No progress display.")] = False,
) -> None:
    """Run an experiment, or finish one: its folds in parallel, then its tables."""
    if preset not in PRESETS:
        raise unknown("preset", preset, PRESETS)
    if development and split_seed is None:
        split_seed = DEVELOPMENT_SPLIT_SEED
    experiment = varied(
        PRESETS[preset](),
        problem={
            "operation": operation,
            "split": split,
            "unseen": unseen,
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
            "loss": loss,
            "optimizer": optimizer,
            "learning_rate": learning_rate,
            "precision": precision,
            "averaged_epochs": averaged_epochs,
            "watched_samples": watched_samples,
            "fresh_draws": fresh_draws,
            "distortion": distortion,
        },
        seed=seed,
        device=device,
        threads=threads,
    )
    folder = _run(experiment, folds, jobs, runs_dir, fresh=fresh, json=json, quiet=quiet)
    if report:
        end_with_report(folder, silent=json)


def _run(
    experiment: Experiment,
    folds: str | None,
    jobs: int | None,
    runs_dir: Path,
    *,
    fresh: bool,
    json: bool,
    quiet: bool,
) -> RunFolder:
    check_device(experiment.device)
    if experiment.problem.symbols == "fashion-mnist" and find_fashion_mnist() is None:
        show_download(fetch_fashion_mnist, stderr_console, quiet=quiet)
    if jobs is not None and jobs < 1:
        raise UnseenError(f"--jobs must be at least 1, not {jobs}")
    posed = pose(experiment.problem)
    chosen = parse_folds(folds, count=len(posed.folds))
    check_network(experiment, posed, chosen)
    folder = RunFolder.of(experiment, runs_dir)
    executor = LocalProcesses(jobs or max(1, available_cores() // experiment.threads))
    signal.signal(signal.SIGTERM, _stop)
    try:
        events = cross_validate(experiment, folder, chosen, executor, fresh=fresh)
        watch(events, len(chosen), experiment.training.epochs, stderr_console, quiet=quiet)
    except BaseException as stop:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        executor.shutdown(wait=False)
        sweep(folder, chosen)
        if isinstance(stop, KeyboardInterrupt):
            say(stopped_words(folder, chosen, fresh=fresh))
        raise
    executor.shutdown()
    print_run(folder, chosen, json=json)
    return folder


def end_with_report(folder: RunFolder, *, silent: bool) -> None:
    """Write the page of a run; that it cannot be written is no fault of the run."""
    from unseen.commands.report import evidence_of, write_report
    from unseen.insight.summary import sum_up

    try:
        evidence = evidence_of(folder)
        path = write_report(evidence, sum_up(evidence))
    except Exception as error:
        say(f"the run is done, but its report is not: {error}")
        return
    if not silent:
        emit(f"Report: {path}")


def check_network(experiment: Experiment, posed: PosedProblem, folds: list[int]) -> None:
    """Refuse a network that cannot work with these pictures, before anything is run."""
    model = experiment.training.model
    if model in BASELINES and model != "oracle":
        return
    length = posed.combinations.digits.shape[1]
    height, width = posed.bank.train.images.shape[1:]
    if is_own(model):
        from unseen.learning.own_models import check_own

        sizes = batch_sizes(experiment, [posed.folds[fold - 1] for fold in folds])
        check_own(experiment.training, sizes, length, height, length * width)
    elif min(height, width) < LARGE_ENOUGH:
        # the oracle reads symbols with the encoder of towers
        network = find_network("towers" if model == "oracle" else model)
        network.build(length, height, length * width)


def batch_sizes(experiment: Experiment, folds: list[Fold]) -> set[int]:
    """How many pictures a step of training is shown: whole batches, and what is left of them."""
    each, whole = experiment.problem.samples_per_combination, experiment.training.batch_size
    counts = {(fold.combinations - len(fold.unseen)) * each for fold in folds}
    return {min(whole, count) for count in counts} | {count % whole or whole for count in counts}


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
        fold: progress.epochs_done
        for fold in folds
        if fold not in done and (progress := folder.progress(fold)) and progress.epochs_done
    }
    words = [f"stopped; {len(done & {*folds})} of {len(folds)} folds are done"]
    words += [f"fold {fold} is saved up to epoch {epoch}" for fold, epoch in saved.items()]
    command = "The same command without --fresh" if fresh else "The same command"
    return f"{', '.join(words)} in {folder.path}. {command} goes on from there."

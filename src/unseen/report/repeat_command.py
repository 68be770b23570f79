"""Commands and calls: what runs an experiment again, and what can be asked next."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from unseen.analysis.summary import Summary
from unseen.errors import as_called, printable, shortened
from unseen.networks.own_files import is_own
from unseen.problem.symbols import SYMBOLS
from unseen.runs.differences import changes, differences
from unseen.runs.experiment import Experiment
from unseen.runs.presets import PRESETS
from unseen.runs.run_folder import RunFolder

MOST_TYPED = 100  # combinations of a list in a command
MOST_SHOWN = 40  # characters of a list beside a run's name
RUNS_DIR = Path("runs")  # where runs are unless another folder is named

Writer = Callable[[str, Mapping[str, Any]], str]  # of a preset and settings


def as_command(preset: str, settings: Mapping[str, Any]) -> str:
    """How a preset with settings is run on the command line."""
    return printable(shlex.join(["unseen", "run", preset, *options_of(settings)]))


def as_call(preset: str, settings: Mapping[str, Any]) -> str:
    """How a preset with settings is run in Python."""
    return f"unseen.run({', '.join([repr(preset), *filter(None, [as_called(settings)])])})"


def option_of(setting: str) -> str:
    """What a setting is called on the command line."""
    return "--" + setting.replace("_", "-")


def options_of(settings: Mapping[str, Any]) -> list[str]:
    """Settings as the words of a command line."""
    words = []
    for name, value in settings.items():
        if isinstance(value, bool):
            words.append(option_of(name if value else f"no_{name}"))
        else:
            words += [option_of(name), str(value)]
    return words


def command_of(
    experiment: Experiment,
    folds: Sequence[int] = (),
    run: RunFolder | None = None,
    *,
    passed_on: bool = False,
    write: Writer = as_command,
) -> str | None:
    """What runs an experiment beside a run: its preset and all that differs from it.

    None where there is no such preset, or where a long list of combinations is in no file.
    One that is passed on names files and symbols, but not where they or the runs are.
    """
    if experiment.name not in PRESETS:
        return None
    settings = changes(without_folders(experiment) if passed_on else experiment)
    runs_dir = RUNS_DIR if run is None or passed_on else run.path.parent
    if experiment.problem.unseen_list:
        is_long = sum(map(len, experiment.problem.unseen_list)) > MOST_TYPED
        if run is not None and (is_long or not passed_on):
            settings["split"] = str(runs_dir / run.path.name / run.unseen_file.name)
        elif is_long:
            return None
    settings |= {"folds": format_folds(folds)} if folds else {}
    settings |= {"runs_dir": str(runs_dir)} if runs_dir != RUNS_DIR else {}
    return write(experiment.name, settings)


def repeat_command(
    summary: Summary, baseline: str | None = None, write: Writer = as_command
) -> str | None:
    """What runs the same problem, samples and folds again, or asks a baseline the same."""
    experiment = summary.experiment
    if baseline is not None:
        experiment = PRESETS[baseline]().change(problem=experiment.problem)
    done = [result.fold for result in summary.results]
    folds = done if len(done) < summary.fold_count else []
    return command_of(experiment, folds, summary.folder, passed_on=summary.passed_on, write=write)


def deep_command(summary: Summary) -> str:
    """The command that analyses the layers of a run's networks."""
    experiment, runs_dir = summary.experiment, summary.folder.path.parent
    if summary.passed_on:
        experiment, runs_dir = without_folders(experiment), RUNS_DIR
    model = experiment.training.model
    settings = {"model": model} if is_own(model) else {}
    settings |= {"runs_dir": str(runs_dir)} if runs_dir != RUNS_DIR else {}
    words = ["unseen", "report", summary.run, "--deep", *options_of(settings)]
    return printable(shlex.join(words))


def without_folders(experiment: Experiment) -> Experiment:
    """The same with its network's file and its symbols named, but not where they are."""
    problem, training = experiment.problem, experiment.training
    if problem.symbols not in SYMBOLS:
        name = Path(problem.symbols).name
        # a folder may be called as a known set is
        symbols = f"./{name}" if name in SYMBOLS else name
        problem = problem.model_copy(update={"symbols": symbols})
    if is_own(training.model):
        training = training.model_copy(update={"model": Path(training.model).name})
    return experiment.model_copy(update={"problem": problem, "training": training})


def side_by_side(experiments: Sequence[Experiment]) -> tuple[list[str], str]:
    """By experiment, the settings in which they differ, as they are typed; and what all share."""
    apart, shared = differences(experiments)
    settings = [*apart, shared]
    # paths are as short as tells them apart
    short = _shortened(
        {each[name] for each in settings for name in ("symbols", "model") if name in each}
    )
    *words, alike = (
        " ".join(_typed(name, short.get(value, value)) for name, value in each.items())
        for each in settings
    )
    return words, alike


def _typed(name: str, value: Any) -> str:
    if name == "split" and len(value) > MOST_SHOWN:
        return f"--split unseen.txt ({shortened(value, MOST_SHOWN)})"
    return shlex.join(options_of({name: value}))


def _shortened(paths: set[str]) -> dict[str, str]:
    """Each path by as few of its last parts as tell them apart; a plain name stays as it is."""
    short: dict[str, str] = {}
    for count in range(1, 1 + max((len(PurePath(path).parts) for path in paths), default=0)):
        short = {path: "/".join(PurePath(path).parts[-count:]) for path in paths}
        if len({*short.values()}) == len(paths):
            break
    return short


def format_folds(folds: Sequence[int]) -> str:
    """Fold numbers as they are typed: 1,3-5."""
    ordered = sorted(folds)
    starts = [fold for fold in ordered if fold - 1 not in ordered]
    ends = [fold for fold in ordered if fold + 1 not in ordered]
    return ",".join(
        str(start) if start == end else f"{start}-{end}"
        for start, end in zip(starts, ends, strict=True)
    )

"""The command that runs an experiment again."""

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise

from unseen.experiments.experiment import SETTINGS, Experiment, setting_value
from unseen.experiments.presets import PRESETS
from unseen.problem.settings import DEVELOPMENT_SPLIT_SEED, Problem


def option_of(setting: str) -> str:
    """What a setting is called on the command line."""
    return "--" + setting.replace("_", "-")


def command_of(experiment: Experiment, folds: Sequence[int] = ()) -> str | None:
    """The preset and all settings that differ from it; None where there is no such preset."""
    if experiment.name not in PRESETS:
        return None
    preset = PRESETS[experiment.name]()
    words = ["unseen", "run", experiment.name]
    for name in SETTINGS:
        value = setting_value(experiment, name)
        if value != setting_value(preset, name):
            words += _option(name, value, experiment.problem)
    return shlex.join([*words, *(["--folds", format_folds(folds)] if folds else [])])


def _option(name: str, value: object, problem: Problem) -> list[str]:
    if name == "split_seed" and problem.development and value == DEVELOPMENT_SPLIT_SEED:
        return []  # which --development brings
    if name == "split" and problem.unseen_list:
        return ["--split", "FILE"]
    if isinstance(value, bool):
        return [option_of(name if value else f"no_{name}")]
    return [option_of(name), str(value)]


def baseline_command(name: str, problem: Problem) -> str:
    """The command that asks a baseline the same question.

    How many samples it sees is its own matter, where there are few enough combinations.
    """
    preset = PRESETS[name]()
    if problem.length <= 2:
        own = ("samples_per_combination", "test_samples_per_combination")
        problem = problem.model_copy(update={each: getattr(preset.problem, each) for each in own})
    return command_of(preset.change(problem=problem)) or f"unseen run {name}"


def format_folds(folds: Sequence[int]) -> str:
    """Fold numbers as they are typed: 1,3-5."""
    ordered = sorted(folds)
    starts = [fold for fold in ordered if fold - 1 not in ordered]
    ends = [fold for fold in ordered if fold + 1 not in ordered]
    return ",".join(
        str(start) if start == end else f"{start}-{end}"
        for start, end in zip(starts, ends, strict=True)
    )


def commands_as_calls(text: str) -> str:
    """A text for Python users: 'unseen run fast --seed 3' becomes unseen.run('fast', seed=3)."""
    return re.sub(r"'unseen run [\w-]+( '[^']*'| [^' ]+)*'", lambda match: _call(match[0]), text)


def _call(quoted: str) -> str:
    preset, *words = shlex.split(quoted[1:-1])[2:]
    arguments = [repr(preset)]
    for word, following in pairwise([*words, "--"]):
        if word.startswith("--"):
            name = word[2:].replace("-", "_")
            if following.startswith("--"):
                arguments.append(f"{name.removeprefix('no_')}={not name.startswith('no_')}")
            else:
                is_number = re.fullmatch(r"[0-9.]+(e-?[0-9]+)?", following)
                arguments.append(f"{name}={following if is_number else repr(following)}")
    return f"unseen.run({', '.join(arguments)})"

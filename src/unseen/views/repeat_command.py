"""The command that runs an experiment again."""

import shlex
from collections.abc import Sequence

from unseen.experiments.experiment import DEVELOPMENT_SPLIT_SEED, Experiment, Problem
from unseen.experiments.presets import PRESETS

OPTION_OF_SETTING = {
    "samples_per_combination": "--samples",
    "test_samples_per_combination": "--test-samples",
}
# no option has them: a preset or a program does
WITHOUT_OPTION = {"schedule", "scale_answers"}


def option_of(setting: str) -> str:
    """What a setting is called on the command line."""
    return OPTION_OF_SETTING.get(setting, "--" + setting.replace("_", "-"))


def command_of(experiment: Experiment, folds: Sequence[int] = ()) -> str | None:
    """The preset and all settings that differ from it; None where no command line can say it."""
    if experiment.name not in PRESETS:
        return None
    preset = PRESETS[experiment.name]()
    changed = _changed(preset.problem, experiment.problem)
    changed |= _changed(preset.training, experiment.training)
    changed |= _changed(preset, experiment, leave_out={"problem", "training", "name"})
    if changed.keys() & WITHOUT_OPTION:
        return None
    words = ["unseen", "run", experiment.name, *_options(changed, experiment.problem)]
    return shlex.join([*words, *(["--folds", format_folds(folds)] if folds else [])])


def baseline_command(name: str, problem: Problem) -> str:
    """The command that asks a baseline the same question.

    How many samples it sees is its own matter, where there are few enough combinations.
    """
    preset = PRESETS[name]()
    if problem.length <= 2:
        own = ("samples_per_combination", "test_samples_per_combination")
        problem = problem.model_copy(update={each: getattr(preset.problem, each) for each in own})
    return command_of(preset.model_copy(update={"problem": problem})) or f"unseen run {name}"


def format_folds(folds: Sequence[int]) -> str:
    """Fold numbers as they are typed: 1,3-5."""
    ordered = sorted(folds)
    starts = [fold for fold in ordered if fold - 1 not in ordered]
    ends = [fold for fold in ordered if fold + 1 not in ordered]
    return ",".join(
        str(start) if start == end else f"{start}-{end}"
        for start, end in zip(starts, ends, strict=True)
    )


def _changed(
    preset: Problem | Experiment | object, ours: object, leave_out: set[str] | None = None
) -> dict[str, object]:
    names = set(type(ours).model_fields) - (leave_out or set())  # type: ignore[attr-defined]
    return {
        name: getattr(ours, name)
        for name in sorted(names)
        if getattr(ours, name) != getattr(preset, name)
    }


def _options(changed: dict[str, object], problem: Problem) -> list[str]:
    options = []
    for setting, value in changed.items():
        if setting == "split_seed" and problem.development and value == DEVELOPMENT_SPLIT_SEED:
            continue
        if setting == "unseen_list":
            continue
        if setting == "split" and problem.unseen_list:
            options += ["--split", "FILE"]
        elif isinstance(value, bool):
            option = option_of(setting)
            options.append(option if value else option.replace("--", "--no-", 1))
        else:
            options += [option_of(setting), str(value)]
    return options

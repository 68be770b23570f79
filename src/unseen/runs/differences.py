"""What sets experiments apart: the settings that they do not have from their presets."""

from collections.abc import Sequence
from typing import Any

from unseen.problem.problem import DEVELOPMENT_SPLIT_SEED
from unseen.runs.experiment import SETTINGS, Experiment, setting_value
from unseen.runs.presets import PRESETS


def changes(experiment: Experiment) -> dict[str, Any]:
    """The settings that differ from the preset: its `vary(**changes)` is the experiment again.

    A list of unseen combinations is the value of the split. Where there is no preset of its name,
    the defaults stand for it.
    """
    name = experiment.name
    preset = PRESETS[name]() if name in PRESETS else Experiment(name=name)
    changed = {
        setting: value
        for setting in SETTINGS
        if (value := setting_value(experiment, setting)) != setting_value(preset, setting)
    }
    if changed.get("development") and changed.get("split_seed") == DEVELOPMENT_SPLIT_SEED:
        del changed["split_seed"]  # which development brings
    return changed


def differences(
    experiments: Sequence[Experiment],
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """By experiment, its changes that not all of them have; and the changes that all have."""
    changed = [changes(experiment) for experiment in experiments]
    shared = {
        name: value
        for name, value in (changed[0] if changed else {}).items()
        if all(name in each and each[name] == value for each in changed)
    }
    return [
        {name: value for name, value in each.items() if name not in shared} for each in changed
    ], shared

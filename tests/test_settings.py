"""A setting is described once: model, command line, help and repeat command never disagree."""

import json
import shlex

import pytest
from conftest import unseen

from unseen.cli import app
from unseen.problem.problem import Problem
from unseen.report.catalogues import CATALOGUES, format_cell
from unseen.report.repeat_command import command_of, option_of
from unseen.runs.experiment import SETTINGS, Experiment, setting_value
from unseen.runs.presets import PRESETS, fast
from unseen.training.recipe import Training

# another value than fast's for every setting
OTHERS = {
    "operation": "-a*b + 2", "length": 3, "symbols": "dominoes", "split": "mirror", "split_seed": 5,
    "unseen": 7, "samples": 5, "test_samples": 6, "development": True,
    "model": "towers", "epochs": 3, "batch_size": 7, "loss": "mse", "optimizer": "sgd",
    "learning_rate": 0.25, "schedule": "constant", "scale_answers": False, "precision": "bf16",
    "averaged_epochs": 1, "fresh_draws": True, "distortion": 0.5, "starts": 2, "watched_samples": 9,
    "seed": 4, "device": "cuda", "threads": 2,
}  # fmt: skip


@pytest.fixture(scope="module")
def run_help(tmp_path_factory) -> str:
    return unseen("run", "--help", cwd=tmp_path_factory.mktemp("help")).stdout


def test_every_field_of_the_models_is_a_setting():
    fields = {
        info.title or name
        for model in (Problem, Training, Experiment)
        for name, info in model.model_fields.items()
    }
    # a list of combinations is given as the split
    assert fields - {"name", "problem", "training", "unseen_list"} == SETTINGS.keys()
    assert OTHERS.keys() == SETTINGS.keys()


def typed(command: str) -> Experiment:
    """The experiment that a command line asks for."""
    _, bound, _ = app.parse_args(shlex.split(command)[1:], exit_on_error=False, print_error=False)
    settings = bound.arguments.get("settings")
    given = {name: value for name, value in vars(settings).items() if value is not None}
    return PRESETS[bound.args[0]]().vary(**given)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_is_an_option_has_help_and_is_repeated(name, run_help):
    experiment = fast().vary(**{name: OTHERS[name]})
    assert setting_value(experiment, name) != setting_value(fast(), name)
    option = option_of(name)
    assert option in run_help
    assert " ".join(SETTINGS[name].description.split())[:30] in " ".join(run_help.split())
    command = command_of(experiment)
    assert option in command or option_of(f"no_{name}") in command
    assert typed(command) == experiment


@pytest.mark.parametrize(
    "settings",
    [OTHERS, {"split": [(8, 3), (0, 0)]}, {"split": [(3, "+", 4)], "operation": "shown:+,-"}],
    ids=["all", "a list", "a list with signs"],
)
def test_settings_are_repeated_together_and_lists_without_their_file(settings):
    experiment = fast().vary(**settings)
    assert typed(command_of(experiment)) == experiment


def test_help_is_short_and_shows_real_defaults_and_examples(run_help):
    lines = run_help.splitlines()
    assert len(lines) <= 70
    assert max(map(len, lines)) <= 100
    for words in ("[0.035]", "[lenet5-curved]", "[800]", "[376483]"):
        assert words in run_help
    for group in ("Problem", "Training", "Run", "Examples"):
        assert group in run_help
    examples = [line for line in lines if line.startswith("  unseen run")]
    assert len(examples) == 3
    assert max(map(len, examples)) < 80  # not broken in a narrow terminal


@pytest.mark.parametrize("name", CATALOGUES)
def test_a_catalogue_lists_all_that_can_be_chosen(name, tmp_path):
    shown = unseen("list", name, cwd=tmp_path)
    assert shown.returncode == 0
    (rows,) = json.loads(unseen("list", name, "--json", cwd=tmp_path).stdout).values()
    assert rows == CATALOGUES[name]()
    for row in rows:
        assert row["name"] in shown.stdout
        assert row["about"]


def test_catalogues_are_data_that_tables_format():
    presets = {row["name"]: row for row in CATALOGUES["presets"]()}
    assert presets["best-blind"]["layout"] == "place-blind"
    assert presets["best"]["layout"] == "panel-aware"
    assert presets["oracle"]["layout"] is None
    times = [row["seconds_per_fold"] for row in (*presets.values(), *CATALOGUES["baselines"]())]
    assert min(times) > 0
    cells = {9: "9 s", 55: "55 s", 660: "11 min", 16_500: "4.6 h", 900_000: "250 h", None: ""}
    for seconds, text in cells.items():
        assert format_cell("seconds_per_fold", seconds) == text


def test_an_unknown_catalogue_is_refused(tmp_path):
    ended = unseen("list", "network", cwd=tmp_path)
    assert ended.returncode == 2
    assert "unknown catalogue 'network' (did you mean 'networks'?)" in ended.stderr

from pathlib import Path

import pytest
from conftest import write_symbols

from unseen.errors import SettingError, UnseenError
from unseen.runs import experiment as module
from unseen.runs.experiment import SETTINGS, Experiment, fingerprint
from unseen.runs.presets import PRESETS, best_blind, fast, good, paper
from unseen.training.recipe import Training


def test_the_papers_recipe_is_the_notebooks():
    recipe = paper()
    assert recipe.training.model_dump() == {
        "model": "paper",
        "epochs": 100,
        "batch_size": 128,
        "optimizer": "adadelta",
        "learning_rate": 1.0,
        "schedule": "constant",
        "scale_answers": False,
        "precision": "fp32",
        "averaged_epochs": 0,
        "starts": 1,
        "watched_samples": 500,
        "fresh_draws": False,
        "distortion": 0.0,
        "loss": "mse",
    }
    assert recipe.problem.samples_per_combination == 1_000
    assert recipe.problem.test_samples_per_combination == 1_000
    assert recipe.problem.split_seed == 376483


@pytest.mark.parametrize("name", PRESETS)
def test_presets_go_by_their_name_and_survive_json(name):
    preset = PRESETS[name]()
    assert preset.name == name
    assert Experiment.model_validate_json(preset.model_dump_json()) == preset
    assert PRESETS[name].about
    assert PRESETS[name].seconds_per_fold


CHANGES = [
    {"seed": 1}, {"threads": 2}, {"device": "cuda"},
    {"length": 3}, {"split_seed": 1}, {"unseen": 9}, {"operation": "subtract"},
    {"split": "mirror"}, {"split": [(1, 2)]}, {"samples": 5}, {"test_samples": 5},
    {"development": True}, {"symbols": "dominoes"},
    {"model": "lenet5-dense"}, {"epochs": 2}, {"batch_size": 32}, {"optimizer": "sgd"},
    {"learning_rate": 0.1}, {"schedule": "constant"}, {"scale_answers": False},
    {"precision": "bf16"}, {"averaged_epochs": 1}, {"starts": 2}, {"fresh_draws": True},
    {"distortion": 0.5}, {"loss": "mse"},
]  # fmt: skip


def test_the_fingerprint_changes_with_every_setting_that_numbers_depend_on():
    prints = [fingerprint(fast()), *(fingerprint(fast().vary(**change)) for change in CHANGES)]
    assert len({*prints}) == len(prints)
    assert {name for change in CHANGES for name in change} == SETTINGS.keys() - {"watched_samples"}


def test_what_is_measured_on_the_way_is_no_other_experiment():
    assert fingerprint(fast().vary(watched_samples=7)) == fingerprint(fast())


# Folders are named by them: neither a new setting nor another spelling may move a run. Where a
# default changes, the results have another version.
NAMED = {
    "e2c56cbca7b8": fast(), "390a1224ef4a": PRESETS["mean"](),
    "79959eb195b0": paper(), "32bbcef9f37b": best_blind(),
    "3d26c133b677": good().vary(operation="max(a, b)", split=[(3, 8), (8, 3)], development=True),
}  # fmt: skip


@pytest.mark.parametrize("known", NAMED)
def test_runs_keep_their_names(known):
    assert fingerprint(NAMED[known]) == known


def test_defaults_are_those_of_the_preset_fast():
    assert Training() == fast().training


def test_a_setting_from_python_is_refused_as_an_unseen_error():
    for settings, words in {
        ("epochs", 0): "epochs=0 must be at least 1",
        ("samples", "many"): "samples='many' must be a whole number",
        ("learning_rate", float("nan")): "learning_rate=nan must be a finite number",
        ("model", "lenet"): "unknown model 'lenet'",
        ("epoch", 3): r"unknown setting 'epoch' \(did you mean 'epochs'\?\)",
    }.items():
        with pytest.raises(UnseenError, match=words):
            fast().vary(**dict([settings]))
    with pytest.raises(SettingError, match="batch_size=0 must be at least 1"):
        Training(batch_size=0)


def test_a_setting_at_its_default_leaves_the_fingerprint_as_it_was(monkeypatch):
    """So that a setting more, which old runs did not have, does not orphan them."""
    before = fingerprint(fast())
    monkeypatch.delitem(SETTINGS, "averaged_epochs")
    assert fingerprint(fast()) == before


def test_more_epochs_are_not_averaged_than_there_are():
    with pytest.raises(UnseenError, match="weights of 2 epochs: there are 1"):
        fast().vary(averaged_epochs=2)


def test_the_fingerprint_changes_with_the_codes_results(monkeypatch):
    before = fingerprint(fast())
    monkeypatch.setattr(module, "RESULTS_VERSION", module.RESULTS_VERSION + 1)
    assert fingerprint(fast()) != before


def test_symbols_count_by_what_they_hold(tmp_path: Path):
    folders = [
        write_symbols(tmp_path / "one"),
        write_symbols(tmp_path / "two"),
        write_symbols(tmp_path / "three", per_label=9),
    ]
    one, two, three = (fingerprint(fast().vary(symbols=str(f))) for f in folders)
    assert one == two
    assert len({one, three, fingerprint(fast())}) == 3


def test_development_never_uses_the_papers_folds():
    with pytest.raises(UnseenError, match="another split seed than the paper's"):
        paper().vary(development=True, split_seed=376483)
    assert paper().vary(development=True).problem.split_seed == 1
    assert paper().vary(development=True, split_seed=2).problem.split_seed == 2

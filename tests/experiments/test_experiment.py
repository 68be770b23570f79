import json
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import write_symbols
from pydantic import ValidationError

from unseen.experiments import experiment as module
from unseen.experiments.experiment import Experiment, fingerprint
from unseen.experiments.presets import PRESETS, fast, paper, paper_text
from unseen.learning.models import MODELS


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
        "watched_samples": 2_000,
        "fresh_draws": False,
        "distortion": 0.0,
        "loss": "mse",
    }
    assert recipe.problem.samples_per_combination == 1_000
    assert recipe.problem.test_samples_per_combination == 2_000
    assert recipe.problem.split_seed == 376483


def test_the_papers_text_is_its_recipe_with_lenet5():
    text = paper_text().training.model_dump()
    notebook = paper().training.model_dump()
    assert {name for name in text if text[name] != notebook[name]} == {"model", "epochs"}
    assert (text["model"], text["epochs"]) == ("lenet5", 20)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_go_by_their_name_and_survive_json(name):
    preset = PRESETS[name]()
    assert preset.name == name
    assert Experiment.model_validate_json(preset.model_dump_json()) == preset
    assert PRESETS[name].__doc__


CHANGES = [
    {"seed": 1},
    {"threads": 2},
    {"device": "cuda"},
    *({"problem": change} for change in (
        {"length": 3}, {"split_seed": 1}, {"unseen": 9}, {"operation": "subtract"},
        {"split": "mirror"}, {"split": "listed", "unseen_list": ((1, 2),)},
        {"samples_per_combination": 5}, {"test_samples_per_combination": 5},
        {"development": True, "split_seed": 1},
    )),
    *({"training": change} for change in (
        {"model": "lenet5-dense"}, {"epochs": 2}, {"batch_size": 32}, {"optimizer": "sgd"},
        {"learning_rate": 0.1}, {"schedule": "constant"}, {"scale_answers": False},
        {"precision": "bf16"}, {"averaged_epochs": 1}, {"watched_samples": 5},
        {"fresh_draws": True}, {"distortion": 0.5}, {"loss": "huber"},
    )),
]  # fmt: skip


def test_the_fingerprint_changes_with_every_setting():
    prints = [fingerprint(fast()), *(fingerprint(fast().vary(**change)) for change in CHANGES)]
    assert len({*prints}) == len(prints)
    settings = json.loads(fast().model_dump_json())
    varied = {name for change in CHANGES for name in change} | {"name"}
    assert varied == settings.keys()
    for part in ("problem", "training"):
        changed = {name for change in CHANGES for name in change.get(part, ())}
        assert settings[part].keys() - changed <= {"symbols"}  # told apart below


def test_a_setting_at_its_default_leaves_the_fingerprint_as_it_was():
    """So that a setting more, which old runs did not have, does not orphan them."""
    settings = json.loads(fast().model_dump_json())
    del settings["training"]["averaged_epochs"], settings["problem"]["development"]
    assert fingerprint(Experiment.model_validate(settings)) == fingerprint(fast())


def test_more_epochs_are_not_averaged_than_there_are():
    with pytest.raises(ValidationError, match="weights of 2 epochs: there are 1"):
        fast().vary(training={"averaged_epochs": 2})


def test_the_fingerprint_changes_when_a_name_builds_another_network(monkeypatch):
    before = fingerprint(fast())
    model = fast().training.model
    monkeypatch.setitem(MODELS, model, replace(MODELS[model], revision=2))
    assert fingerprint(fast()) != before


NUMBA_USERS = [name for name, network in MODELS.items() if network.uses_numba]


def test_only_the_authors_network_uses_numba():
    assert NUMBA_USERS == ["paper", "paper-undropped"]


@pytest.mark.parametrize("model", MODELS)
def test_the_fingerprint_tells_whether_a_network_that_uses_numba_has_it(
    model, without_numba, monkeypatch
):
    experiment = fast().vary(training={"model": model})
    elsewhere = experiment.vary(device="cuda")  # where numba computes nothing
    prints = fingerprint(experiment), fingerprint(elsewhere)
    monkeypatch.undo()
    assert (fingerprint(experiment) == prints[0]) == (model not in NUMBA_USERS)
    assert fingerprint(elsewhere) == prints[1]


@pytest.mark.parametrize("model", NUMBA_USERS)
def test_with_numba_the_fingerprint_is_that_of_earlier_versions_which_required_it(
    model, monkeypatch
):
    experiment = fast().vary(training={"model": model})
    with_numba = fingerprint(experiment)
    monkeypatch.setitem(MODELS, model, replace(MODELS[model], uses_numba=False))
    assert fingerprint(experiment) == with_numba


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
    one, two, three = (fingerprint(fast().vary(problem={"symbols": str(f)})) for f in folders)
    assert one == two
    assert len({one, three, fingerprint(fast())}) == 3


def test_settings_are_frozen():
    with pytest.raises(ValidationError):
        fast().seed = 3  # type: ignore[misc]


def test_development_never_uses_the_papers_folds():
    with pytest.raises(ValidationError, match="another split seed than the paper's"):
        paper().vary(problem={"development": True})
    assert paper().vary(problem={"development": True, "split_seed": 1}).problem.development

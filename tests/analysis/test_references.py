"""Which baselines a run is compared with: runs beside it, and those that the package brings."""

import json
import runpy
from pathlib import Path

import pytest
from made_up_runs import by_heart, exact, made_up_run, noisy, summary_of

from unseen.analysis.references import shipped
from unseen.api import Run
from unseen.commands.show import warn_of_damages
from unseen.runs.presets import PRESETS
from unseen.runs.records import FORMAT

SCRIPT = Path(__file__).parents[2] / "scripts/ship_baselines.py"


def few(name, **problem):
    """An experiment on the default problem, or nearly, with few samples."""
    return PRESETS[name]().change(problem={"test_samples_per_combination": 5, **problem})


def test_the_package_brings_all_folds_of_a_memory_and_of_perfect_composition():
    memory, oracle = shipped()["nearest"], shipped()["oracle"]
    for folds in (memory, oracle):
        assert {*folds} == {*range(1, 11)}
        assert all({"rounded", "test_mse"} <= measures.keys() for measures in folds.values())
    assert max(measures["rounded"] for measures in memory.values()) < 0.02
    assert min(measures["rounded"] for measures in oracle.values()) > 0.98


def test_the_very_first_run_is_placed_between_the_shipped_baselines(tmp_path):
    summary = summary_of(made_up_run(tmp_path, few("fast"), noisy, [2, 5]))
    assert {*summary.baselines} == {"nearest", "oracle"}
    for name, reference in summary.baselines.items():
        rounded = [shipped()[name][fold]["rounded"] for fold in (2, 5)]
        assert reference.folds == 2
        assert reference.rounded.mean == pytest.approx(sum(rounded) / 2)


def test_other_questions_have_no_shipped_baselines(tmp_path):
    for problem in ({"operation": "subtract"}, {"split_seed": 3}):
        run = made_up_run(tmp_path, few("fast", **problem), noisy, [1])
        assert summary_of(run).baselines == {}


def test_a_run_beside_counts_if_it_has_as_many_folds_as_the_package(tmp_path):
    run = made_up_run(tmp_path, few("fast"), noisy, [1, 2])
    alone = summary_of(run).baselines
    made_up_run(tmp_path, few("nearest"), exact, [1])
    made_up_run(tmp_path, few("oracle"), by_heart, [1, 2])
    beside = summary_of(run).baselines
    assert beside["nearest"] == alone["nearest"]
    assert beside["oracle"] != alone["oracle"]
    assert beside["oracle"].rounded.mean < 0.5


def test_a_baseline_of_a_later_version_is_left_out_and_named(tmp_path, monkeypatch, capsys):
    run = made_up_run(tmp_path, few("fast"), noisy, [1])
    with monkeypatch.context() as later:
        later.setattr("unseen.runs.records.FORMAT", FORMAT + 1)
        oracle = made_up_run(tmp_path, few("oracle"), by_heart, [1])
    assert summary_of(run).baselines["oracle"].rounded.mean > 0.9  # the shipped one
    warn_of_damages(Run(run))
    said = f"the baseline {oracle.path.name} was made by another version, and is left out"
    assert said in capsys.readouterr().err


def test_what_is_shipped_is_what_the_runs_came_to(tmp_path, monkeypatch):
    script = runpy.run_path(str(SCRIPT))
    target = tmp_path / "baselines.json"
    monkeypatch.setitem(script["main"].__globals__, "TARGET", target)
    runs = [made_up_run(tmp_path, PRESETS["nearest"](), by_heart, [1], recorded=False)]
    with pytest.raises(SystemExit, match="has 1 of ten folds"):
        script["main"](str(tmp_path))
    made_up_run(tmp_path, PRESETS["nearest"](), by_heart, [*range(2, 11)], recorded=False)
    runs.append(made_up_run(tmp_path, PRESETS["oracle"](), exact, recorded=False))
    script["main"](str(tmp_path))
    written = json.loads(target.read_bytes())
    for name, run in zip(("nearest", "oracle"), runs, strict=True):
        assert written[name]["command"] == f"unseen run {name}"
        for result in run.results()[0]:
            recorded = written[name]["folds"][str(result.fold)]
            assert recorded == result.measures | {"seconds": round(result.seconds, 1)}

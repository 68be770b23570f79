import sys
from dataclasses import replace

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from unseen.cli import command
from unseen.report.tensorboard import TensorBoardCurves, steps_per_epoch
from unseen.runs.measuring import Measurement
from unseen.runs.presets import fast
from unseen.runs.run_folder import RunFolder

MEASURED = Measurement(1.0, 1.0, {"mse": 2.0}, {"mse": 3.0}, [], [], [], [])
TINY = ["--samples", "4", "--test-samples", "4", "--quiet"]


def curves_of(folder: RunFolder, fold: int) -> dict[str, list[tuple[int, float]]]:
    (path,) = (folder.path / "tensorboard" / f"fold-{fold:02}").iterdir()
    events = EventAccumulator(str(path)).Reload()
    return {
        tag: [(each.step, each.value) for each in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    }


def test_what_was_measured_is_written_once_however_often_it_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["run", "fast", *TINY, "--folds", "1-2", "--epochs", "2", "--no-report"]
    for _ in range(2):  # the second time all is done
        assert command([*words, "--tensorboard"]) == 0
        folder = RunFolder.of(fast().vary(samples=4, test_samples=4, epochs=2), tmp_path / "runs")
        for fold in (1, 2):
            measured = folder.measurements(fold)
            curves = curves_of(folder, fold)
            assert curves["unseen/mse"] == [
                (round(each.epochs * 4), pytest.approx(each.unseen["mse"], rel=1e-5))
                for each in measured
            ]
            assert len(curves["seen/rounded"]) == len(measured)


def test_a_fold_that_is_begun_again_has_one_curve(tmp_path):
    experiment = fast().vary(samples=4, test_samples=4, starts=2, watched_samples=20)
    folder = RunFolder.of(experiment, tmp_path)
    folder.create(experiment)
    board = TensorBoardCurves()
    (folder.path / "folds/01").mkdir(parents=True)
    measured = [replace(MEASURED, epochs=share) for share in (0.5, 1.0, 0.25, 0.5, 1.0)]
    for each in measured:
        folder.add_measurement(1, each)
        board.write(folder, experiment, 1)
    board.write(folder, experiment, 1)
    steps = steps_per_epoch(experiment, 1)
    curve = [step for step, _ in curves_of(folder, 1)["unseen/mse"]]
    assert curve == [round(share * steps) for share in (0.25, 0.5, 1.0)]


def test_a_study_writes_the_curves_of_all_its_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(
        "[settings]\nsamples = 4\ntest-samples = 4\nfolds = 1\n[vary]\nseed = [0, 1]\n"
    )
    assert command(["sweep", "mine.toml", "--tensorboard", "--quiet"]) == 0
    for seed in (0, 1):
        folder = RunFolder.of(fast().vary(samples=4, test_samples=4, seed=seed), tmp_path / "runs")
        assert curves_of(folder, 1)["unseen/rounded"]


def test_without_the_package_it_is_said_before_anything_is_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    assert command(["run", "fast", *TINY, "--tensorboard"]) == 2
    assert "pip install 'unseen[tensorboard]'" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()

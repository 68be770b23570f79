import json
import shutil

import pytest
from made_up_runs import made_up_run, noisy

from unseen.cli import command
from unseen.runs.presets import fast

TINY = fast().vary(samples=3, test_samples=20)


def examined(capsys, *words: str) -> tuple[int, dict]:
    code = command(["doctor", *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_sound_machine_has_no_trouble_and_nothing_is_left_behind(tmp_path, capsys):
    run = made_up_run(tmp_path, TINY, noisy, [1])
    code, found = examined(capsys, "--runs-dir", str(tmp_path))
    assert code == 0
    assert {"python", "torch", "numpy", "unseen", "system"} <= found["environment"].keys()
    assert "host" not in found["environment"]
    by_name = {each["about"]: each for each in found["findings"]}
    assert by_name["locks"]["found"].startswith("work in")
    assert by_name["runs"]["found"].startswith("1 in ")
    assert not any(each["remedy"] for each in found["findings"])
    assert [*tmp_path.iterdir()] == [run.path]


def test_troubles_are_named_with_what_to_do(tmp_path, capsys, monkeypatch):
    whole, damaged, later = (
        made_up_run(tmp_path, TINY.vary(seed=seed), noisy, [1]).path for seed in range(3)
    )
    (damaged / "folds/01/result.json").write_text("{")
    (later / "experiment.json").write_text('{"format": 99, "unseen": "9.0"}')
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    monkeypatch.setattr("unseen.commands.doctor.is_locked", lambda path: False)
    code, found = examined(capsys, "--runs-dir", str(tmp_path))
    assert code == 1
    remedies = {each["about"]: each["remedy"] for each in found["findings"] if each["remedy"]}
    assert {*remedies} == {"disk", "locks", damaged.name, later.name}
    assert "runs folder" in remedies["locks"]
    assert command(["doctor", "--runs-dir", str(tmp_path)]) == 1
    text = capsys.readouterr().out
    assert "4 troubles found." in text
    assert f"! {damaged.name}" in text
    assert whole.name not in text


@pytest.mark.parametrize("lost", ["predictions.npz", "model.safetensors"])
def test_a_fold_that_has_lost_a_file_is_named_without_hashing_the_others(
    lost, tmp_path, capsys, monkeypatch
):
    run = made_up_run(tmp_path, TINY, noisy, [1, 2])
    (run.path / "folds/02" / lost).unlink()
    with monkeypatch.context() as patched:
        patched.setattr("unseen.runs.run_folder.file_sha256", None)
        code, found = examined(capsys, "--runs-dir", str(tmp_path))
    assert code == 1
    (trouble,) = (each for each in found["findings"] if each["remedy"])
    assert trouble["about"] == run.path.name
    assert trouble["found"] == f"{run.path / 'folds/02' / lost} is missing"
    assert "run it again" in trouble["remedy"]
    assert command(["show", str(run.path)]) == 0  # which prints the command, as the remedy says
    assert "--folds 2" in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_no_trouble_but_a_file_in_its_place_is(tmp_path, capsys):
    assert command(["doctor", "--runs-dir", str(tmp_path / "none" / "yet")]) == 0
    assert "0 in " in capsys.readouterr().out
    (tmp_path / "runs").touch()
    assert command(["doctor", "--runs-dir", str(tmp_path / "runs")]) == 1
    assert "runs is no folder" in capsys.readouterr().out

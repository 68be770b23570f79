import json
from pathlib import Path

import pytest
from fake_workers import IdleWorkers
from made_up_runs import by_heart, exact, made_up_run

from unseen.cli import command
from unseen.runs.presets import PRESETS
from unseen.runs.queue import FoldJob, FoldQueue
from unseen.runs.run_folder import RunFolder

TINY = {"samples": 3, "test_samples": 3}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Three runs: right, learnt by heart and multiplied; and one that was only begun."""
    folder = tmp_path_factory.mktemp("made")
    made_up_run(folder, PRESETS["fast"]().vary(**TINY), exact, [1, 2])
    made_up_run(folder, PRESETS["fast"]().vary(**TINY, seed=1), by_heart, [1])
    made_up_run(folder, PRESETS["paper"]().vary(**TINY, operation="multiply"), by_heart, [3])
    begun = PRESETS["fast"]().vary(**TINY, seed=2)
    RunFolder.of(begun, folder).create(begun)
    return folder


def listed(capsys, made: Path, *words: str) -> list[dict]:
    assert command(["runs", *words, "--json", "--runs-dir", str(made)]) == 0
    return json.loads(capsys.readouterr().out)["runs"]


def test_runs_are_listed_by_any_setting(capsys, made):
    assert len(listed(capsys, made)) == 4
    for words, expected in [
        (("--preset", "paper"), [("paper", 0)]),
        (("--operation", "multiply"), [("paper", 0)]),
        (("--seed", "1"), [("fast", 1)]),
        (("--model", "lenet5-curved", "--seed", "2"), [("fast", 2)]),
        (("--preset", "fast", "--operation", "multiply"), []),
    ]:
        found = listed(capsys, made, *words)
        assert [(each["preset"], each["settings"]["seed"]) for each in found] == expected
    assert command(["runs", "--seed", "1", "--runs-dir", str(made)]) == 0
    assert len(capsys.readouterr().out.split("fast-")) == 2
    assert command(["runs", "--preset", "fats", "--runs-dir", str(made)]) == 2
    assert "did you mean 'fast'" in capsys.readouterr().err


def test_a_list_of_runs_says_folds_and_means(capsys, made):
    first, *_ = listed(capsys, made, "--preset", "fast")
    assert first["folds"] == [1, 2]
    assert first["mean"]["rounded"] == 1
    assert Path(first["path"]).is_dir()


def test_runs_are_sorted(capsys, made):
    rights = [each["mean"].get("rounded") for each in listed(capsys, made, "--sort", "rounded")]
    assert rights[-1] is None
    assert rights[:-1] == sorted(rights[:-1])
    folds = [len(each["folds"]) for each in listed(capsys, made, "--sort", "folds")]
    assert folds == sorted(folds)
    names = [each["run"] for each in listed(capsys, made, "--sort", "name")]
    assert names == sorted(names)
    assert command(["runs", "--sort", "size", "--runs-dir", str(made)]) == 2
    assert "unknown order 'size'" in capsys.readouterr().err


def test_prune_shows_first_and_never_removes_what_a_process_holds(capsys, tmp_path):
    for seed in (0, 1):
        made_up_run(tmp_path, PRESETS["fast"]().vary(**TINY, seed=seed), exact, [1])
    begun = PRESETS["fast"]().vary(**TINY, seed=2)
    empty = RunFolder.of(begun, tmp_path)
    empty.create(begun)

    def prune(*words):
        assert command(["runs", "prune", *words, "--runs-dir", str(tmp_path)]) == 0
        return capsys.readouterr().err

    def left():
        return sorted(each["settings"]["seed"] for each in listed(capsys, tmp_path))

    assert "1 run to remove; --yes" in prune()
    assert left() == [0, 1, 2]
    with empty.hold(4):
        assert "kept" in prune("--yes")
    assert left() == [0, 1, 2]
    assert f"removed {empty.path}" in prune("--yes")
    assert left() == [0, 1]
    assert "nothing to remove" in prune("--yes")
    assert "1 run to remove" in prune("--seed", "1")
    assert "removed" in prune("--seed", "1", "--yes")
    assert left() == [0]


def test_prune_keeps_runs_whose_folds_wait_for_a_worker(capsys, tmp_path):
    begun, engine = PRESETS["fast"]().vary(**TINY), IdleWorkers()
    folder = RunFolder.of(begun, tmp_path)
    folder.create(begun)
    (tmp_path / folder.path.name / "folds").mkdir()
    (folder.path / "folds" / ".user-1").touch()  # as a killed process leaves it
    queue = FoldQueue(engine, [FoldJob(folder, begun, 1)])
    assert queue.advance(0) == []
    prune = ["runs", "prune", "--yes", "--runs-dir", str(tmp_path)]
    assert command(prune) == 0
    assert f"kept {folder.path}: a process works on it" in capsys.readouterr().err
    engine.given[0].set_result(None)
    assert queue.advance(1) == [(FoldJob(folder, begun, 1), "left")]
    queue.close()
    assert [*folder.path.glob("folds/.user-*")] == []
    assert command(prune) == 0
    assert not folder.path.exists()

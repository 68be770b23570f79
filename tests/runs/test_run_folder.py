import errno
import json
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from functools import cache
from pathlib import Path

import made_up_runs
import numpy as np
import pytest
import torch
from complete_folds import complete_fold
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_runs import noisy

from unseen.errors import UnseenError
from unseen.files import DamagedFileError, file_sha256, write_whole
from unseen.problem.task import make_task
from unseen.runs.find_runs import find_run, list_runs
from unseen.runs.fold import FoldOutcome, FoldProgress
from unseen.runs.measuring import Measurement
from unseen.runs.presets import fast
from unseen.runs.run_folder import RunFolder
from unseen.runs.trained_networks import load_network
from unseen.training.evaluation import predict_pictures

SMALL = fast().vary(samples=6, test_samples=4)


@cache
def outcome(fold: int = 3) -> FoldOutcome:
    made = made_up_runs.outcome(SMALL, fold, make_task(SMALL.problem), noisy)
    measures = made.result.measures | {"test_mse": float("nan")}
    return replace(made, result=made.result.model_copy(update={"measures": measures}))


def finished(path: Path) -> RunFolder:
    folder = RunFolder(path)
    folder.create(SMALL)
    with folder.hold(3) as held:
        assert held
        folder.save(outcome())
    return folder


def test_a_fold_is_read_back_as_it_was_saved(tmp_path: Path):
    folder = finished(tmp_path / "run")
    read = folder.result(3)
    assert read is not None
    assert json.loads(read.model_dump_json()) == json.loads(outcome().result.model_dump_json())
    assert folder.result(4) is None
    assert folder.experiment() == SMALL
    assert folder.environment()["torch"]
    assert {path.name for path in (tmp_path / "run/folds/03").iterdir()} == {
        *("result.json", "predictions.npz", "model.safetensors", "lock"),
    }


@settings(max_examples=40)
@given(st.data())
def test_a_changed_byte_anywhere_is_noticed_and_its_file_named(tmp_path_factory, data):
    folder = finished(tmp_path_factory.mktemp("runs") / "run")
    name = data.draw(st.sampled_from(["predictions.npz", "model.safetensors"]))
    path = folder.path / "folds/03" / name
    content = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    with pytest.raises(DamagedFileError, match=name):
        folder.result(3)


def test_every_cut_of_a_record_is_noticed(tmp_path: Path):
    folder = finished(tmp_path / "run")
    for path, read in (
        (folder.path / "experiment.json", folder.experiment),
        (folder.path / "folds/03/result.json", lambda: folder.result(3)),
    ):
        content = path.read_bytes()
        for length in range(0, len(content), 37):
            path.write_bytes(content[:length])
            with pytest.raises(DamagedFileError, match=path.name):
                read()
        path.write_bytes(content)


def test_a_damaged_checkpoint_and_that_of_another_fold_are_noticed(tmp_path: Path):
    folder = finished(tmp_path / "run")
    folder.save_checkpoint(3, b"some state")
    assert folder.checkpoint(3) == b"some state"
    path = folder.path / "folds/03/checkpoint"
    (folder.path / "folds/04").mkdir()
    shutil.copy(path, folder.path / "folds/04")
    path.write_bytes(path.read_bytes()[:-1])
    for fold in (3, 4):
        with pytest.raises(DamagedFileError, match="checkpoint is damaged"):
            folder.checkpoint(fold)


def test_a_damaged_record_of_the_experiment_is_replaced_and_named(tmp_path: Path):
    folder = finished(tmp_path / "run")
    record = folder.path / "experiment.json"
    assert folder.create(SMALL) is None
    record.write_text("{")
    assert folder.create(SMALL) == record
    assert folder.experiment() == SMALL


@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EIO])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, fault):
    path = tmp_path / "file"
    write_whole(path, b"old")

    def fail(descriptor: int) -> None:
        raise OSError(fault, os.strerror(fault))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UnseenError, match=f"cannot write .*file: {os.strerror(fault)}"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("name", [".", "there"])
def test_a_folder_is_not_written_over(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    with pytest.raises(UnseenError, match=rf"cannot write {name}: Is a directory"):
        write_whole(Path(name), b"new")
    assert [*tmp_path.iterdir()] == [tmp_path / "there"]


def test_what_a_killed_process_left_is_swept_away(tmp_path: Path):
    folder = finished(tmp_path / "run")
    leftover = folder.path / "folds/03/.model.safetensors.0badcafe.part"
    leftover.write_bytes(b"half")
    with folder.hold(3):
        assert not leftover.exists()


HOLDER = """
import sys, time
from pathlib import Path
from unseen.runs.run_folder import RunFolder
with RunFolder(Path(sys.argv[1])).hold(1) as held:
    print(held, flush=True)
    time.sleep(60)
"""


def test_a_lock_keeps_others_out_until_its_holder_dies(tmp_path: Path):
    folder = RunFolder(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        with folder.hold(1) as held, folder.hold(2) as other:
            assert (held, other) == (False, True)
        holder.kill()
    with folder.hold(1) as held:
        assert held


def test_the_result_is_written_last(tmp_path: Path, monkeypatch):
    written = []
    replace = Path.replace
    monkeypatch.setattr(
        Path, "replace", lambda part, path: written.append(path.name) or replace(part, path)
    )
    finished(tmp_path / "run")
    assert written[-1] == "result.json"
    assert {*written[-3:]} == {"predictions.npz", "model.safetensors", "result.json"}


def test_a_result_counts_only_for_its_own_fold(tmp_path: Path):
    folder = finished(tmp_path / "run")
    for name in ("04", "3", "003", "x"):
        shutil.copytree(folder.path / "folds/03", folder.path / "folds" / name)
    with pytest.raises(DamagedFileError):
        folder.result(4)
    results, damages = folder.results()
    assert [result.fold for result in results] == [3]
    assert len(damages) == 1


def test_a_folder_in_place_of_a_file_is_damage_and_can_be_discarded(tmp_path: Path):
    folder = finished(tmp_path / "run")
    folder.save_checkpoint(3, b"state")
    for name in ("result.json", "model.safetensors", "checkpoint"):
        path = folder.path / "folds/03" / name
        path.unlink(missing_ok=True)
        path.mkdir()
        with pytest.raises(DamagedFileError, match=name):
            folder.checkpoint(3) if name == "checkpoint" else folder.result(3)
        folder.discard(3)
        assert folder.results() == ([], [])
        assert folder.checkpoint(3) is None
        folder.save(outcome())
        assert folder.result(3) is not None


@pytest.mark.parametrize("words", ["", "[", "[]", "null", '{"epochs_done": "many"}'])
def test_a_progress_that_cannot_be_read_is_none(tmp_path: Path, words: str):
    folder = finished(tmp_path / "run")
    saved = FoldProgress(epochs_done=1, epoch_share=0.5)
    folder.save_progress(3, saved)
    assert folder.progress(3) == saved
    assert saved.process == os.getpid()
    (folder.path / "folds/03/progress.json").write_text(words)
    assert folder.progress(3) is None


def test_measurements_of_a_fold_that_is_begun_again_replace_those_before(tmp_path: Path):
    folder = finished(tmp_path / "run")
    assert folder.measurements(3) == []
    plain = Measurement(0.5, 1.0, {}, {}, [[3, 8]], [1], [2], [10.5], [None])
    measured = [replace(plain, epochs=epochs) for epochs in (0.5, 1.0, 1.5)]
    for each in measured:
        folder.add_measurement(3, each)
    assert folder.measurements(3) == measured
    path = folder.path / "folds/03/measurements.jsonl"
    path.write_bytes(b"[1]\n" + path.read_bytes() + b'{"epochs": 1')
    assert folder.measurements(3) == measured
    again = replace(measured[1], seconds=9.0)
    folder.add_measurement(3, again)
    assert folder.measurements(3) == [measured[0], again]


@pytest.mark.parametrize(
    "words",
    [
        *("", "[" * 200_000, "[]", "null", '{"sha256": 1}', "\xff", '{"sha256": {}, "result": []}'),
        '{"sha256": {}, "result": {"fold": 3}}',
    ],
)
def test_a_result_that_cannot_be_read_is_damage(tmp_path: Path, words: str):
    folder = finished(tmp_path / "run")
    (folder.path / "folds/03/result.json").write_text(words, encoding="latin-1")
    with pytest.raises(DamagedFileError, match=r"result\.json is damaged"):
        folder.result(3)


def test_a_fold_begun_again_while_it_is_read_is_not_damaged(tmp_path: Path, monkeypatch):
    folder = finished(tmp_path / "run")

    def read_too_late(path: Path) -> str | None:
        if path.name == "predictions.npz":
            folder.discard(3)
        return file_sha256(path)

    monkeypatch.setattr("unseen.runs.run_folder.file_sha256", read_too_late)
    assert folder.result(3) is None


def test_what_is_not_there_is_missing_and_need_not_be_removed(tmp_path: Path, monkeypatch):
    def read_only(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    folder = finished(tmp_path / "run")
    (folder.path / "folds/03/predictions.npz").unlink()
    with pytest.raises(DamagedFileError, match=r"predictions\.npz is missing"):
        folder.result(3)
    monkeypatch.setattr(Path, "unlink", read_only)
    folder.tidy(3)


def test_runs_are_found_by_path_name_and_beginning(tmp_path: Path):
    for name in ("fast-aa11", "fast-ab22", "paper-cc33", "paper-text-dd44"):
        finished(tmp_path / name)
    assert len(list_runs(tmp_path)) == 4
    assert find_run("paper-t", tmp_path).path.name == "paper-text-dd44"
    with pytest.raises(UnseenError, match="no run ''"):
        find_run("", tmp_path)
    assert find_run(str(tmp_path / "fast-aa11"), Path("nowhere")).path.name == "fast-aa11"
    assert find_run("fast-aa11", tmp_path).path.name == "fast-aa11"
    assert find_run("paper", tmp_path).path.name == "paper-cc33"
    with pytest.raises(UnseenError, match="several runs: fast-aa11, fast-ab22"):
        find_run("fast", tmp_path)
    with pytest.raises(UnseenError, match="no run 'slow'"):
        find_run("slow", tmp_path)


def test_a_presets_name_means_the_run_without_other_settings(tmp_path: Path):
    for name, seed in (("fast-aa11", 5), ("fast-ab22", 0), ("fast-ac33", 6)):
        RunFolder(tmp_path / name).create(fast().vary(seed=seed))
    (tmp_path / "fast-ad44").mkdir()
    (tmp_path / "fast-ad44/experiment.json").write_text("{broken")
    assert find_run("fast", tmp_path).path.name == "fast-ab22"
    shutil.rmtree(tmp_path / "fast-ab22")
    with pytest.raises(UnseenError, match="several runs"):
        find_run("fast", tmp_path)


def test_looking_whether_a_fold_is_held_does_not_take_it_from_a_worker(tmp_path: Path):
    folder = RunFolder(tmp_path)
    with folder.hold(1):
        pass
    stopped = threading.Event()

    def look() -> None:
        while not stopped.is_set():
            folder.is_held(1)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(50):
            with folder.hold(1) as held:
                assert held
    finally:
        stopped.set()
        looking.join()


def test_what_an_unfinished_fold_has_learnt_answers(tmp_path: Path, monkeypatch):
    experiment = fast().vary(samples=2, test_samples=2, watched_samples=20)
    folder = RunFolder.of(experiment, tmp_path)
    folder.create(experiment)
    monkeypatch.setattr(RunFolder, "save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        complete_fold(folder.path, experiment, 1)
    assert folder.weights_so_far(1) is None  # which only the lab asks for
    folder.discard(1)
    with pytest.raises(KeyboardInterrupt):
        complete_fold(folder.path, experiment, 1, keeps_weights_so_far=True)
    with pytest.raises(UnseenError, match="fold 1 is not done"):
        load_network(folder, experiment, 1)
    network = load_network(folder, experiment, 1, so_far=True)
    pictures = np.zeros((2, 28, 56), np.uint8)
    assert predict_pictures(network, pictures, torch.device("cpu")).shape == (2,)
    folder.tidy(1)
    with pytest.raises(UnseenError, match="fold 1 is not done"):
        load_network(folder, experiment, 1, so_far=True)


def test_a_guess_is_kept_and_nothing_else_is_taken_for_one(tmp_path: Path):
    folder = RunFolder(tmp_path)
    assert folder.guess() is None
    folder.save_guess(0.85)
    assert folder.guess() == 0.85
    for written in (b"", b"nan", b"7", b"much", b"\xff"):
        (tmp_path / "guess").write_bytes(written)
        assert folder.guess() is None


def test_a_file_in_the_place_of_the_folds_keeps_nobody_from_using_a_run(tmp_path):
    folder = RunFolder.of(fast(), tmp_path)
    folder.create(fast())
    (folder.path / "folds").write_text("?")
    with folder.in_use():
        assert not folder.remove()
    assert folder.remove()

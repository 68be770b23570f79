"""What a folder can do to the program: it is told so in a line, and whole runs stay in layout."""

import json
import math
import os
import shutil
import struct
from pathlib import Path

import pytest
import safetensors.torch
from conftest import write_idx, write_symbols
from made_up_runs import made_up_run

import unseen
from unseen.cli import command
from unseen.errors import SettingError, UnseenError, printable
from unseen.files import DamagedFileError, file_sha256, read_file
from unseen.problem.symbol_bank import from_folder
from unseen.runs.experiment import Experiment
from unseen.runs.presets import PRESETS
from unseen.runs.run_folder import RunFolder

RUNS = Path(__file__).parent / "data/runs"


@pytest.fixture
def experiment(symbols: Path) -> Experiment:
    return PRESETS["fast"]().vary(symbols=symbols, samples=6, test_samples=4)


@pytest.fixture
def folder(tmp_path: Path, experiment: Experiment) -> RunFolder:
    return made_up_run(tmp_path / "runs", experiment, folds=[1])


def alter(path: Path, **training: object) -> None:
    """Other settings."""
    record = json.loads(path.read_bytes())
    record["experiment"]["training"] |= training
    path.write_text(json.dumps(record))


@pytest.mark.parametrize(
    ("training", "fault"),
    [
        ({"epochs": 7}, "not those that its folder is named for"),
        ({"model": "paper"}, "not those that its folder is named for"),
        ({"model": "/tmp/nowhere.py:Net"}, "not those that its folder is named for"),
        ({"epochs": -3}, "epochs=-3 must be at least 1"),
        ({"momentum": 1}, "unknown setting 'momentum'"),
    ],
)
def test_settings_that_a_folder_is_not_named_for_are_damage_and_run_anew(
    folder: RunFolder, experiment: Experiment, training: dict, fault: str
):
    path = folder.path / "experiment.json"
    alter(path, **training)
    with pytest.raises(DamagedFileError, match=fault):
        folder.experiment()
    assert folder.create(experiment) == path
    assert folder.experiment() == experiment


def test_a_part_that_is_not_registered_here_is_named(folder: RunFolder, experiment: Experiment):
    alter(folder.path / "experiment.json", model="transformer")
    with pytest.raises(UnseenError, match="unknown model 'transformer': register it first"):
        folder.experiment()
    folder.create(experiment)
    assert folder.experiment() == experiment


def test_a_folder_with_another_name_is_believed(folder: RunFolder, experiment: Experiment):
    renamed = folder.path.rename(folder.path.with_name("my best run"))
    assert RunFolder(renamed).experiment() == experiment


@pytest.mark.parametrize("setting", ["symbols", "model"])
def test_a_path_that_is_no_utf_8_is_refused_before_anything_is_run(tmp_path: Path, setting: str):
    odd = tmp_path / os.fsdecode(b"odd\xff")
    write_symbols(odd)
    (odd / "net.py").write_text("")
    value = odd if setting == "symbols" else f"{odd / 'net.py'}:Net"
    with pytest.raises(SettingError, match="is no valid UTF-8"):
        unseen.run("fast", **{setting: value}, runs_dir=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_runs_folder_that_is_no_utf_8_can_be_used(tmp_path: Path, experiment, capsys):
    runs = tmp_path / os.fsdecode(b"odd\xff\x1b[31m")
    made_up_run(runs, experiment, folds=[1])
    for arguments in (["runs"], ["show", "fast"], ["show", "fast", "--json"], ["report", "fast"]):
        assert command([*arguments, "--runs-dir", str(runs)]) == 0
        said = capsys.readouterr().out
        assert printable(said, but="\n") == said
        said.encode()


def test_a_pipe_is_not_waited_for_and_a_device_not_read(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", 10**10)
    for name in ("pipe", "link", "large", "."):
        with pytest.raises(DamagedFileError):
            read_file(tmp_path / name)
    assert read_file(tmp_path / "nothing") is None


def test_symbols_that_are_not_there_take_no_memory(symbols: Path):
    images = symbols / "train-images-idx3-ubyte"
    images.write_bytes(bytes([0, 0, 8, 3, 0, 8, 0, 0, 0, 0, 0, 28, 0, 0, 0, 28]))
    with pytest.raises(UnseenError, match="is truncated: 524,288 × 28 × 28 bytes were promised"):
        from_folder(symbols)
    write_idx(images, [[[1]]])
    with pytest.raises(UnseenError, match="has 1 images, but"):
        from_folder(symbols)


def test_large_symbols_are_refused_before_they_are_unpacked(symbols: Path):
    images = symbols / "train-images-idx3-ubyte"
    count = int.from_bytes(images.read_bytes()[4:8])
    images.write_bytes(struct.pack(">4B3I", 0, 0, 8, 3, count, 2_200, 2_200))
    with pytest.raises(UnseenError, match="images of 2,200 × 2,200 pixels; the most is 256 × 256"):
        from_folder(symbols)


@pytest.mark.parametrize(
    ("cast", "fault"),
    [
        (lambda tensor: tensor.int(), "do not fit lenet5-strided; run the fold again"),
        (lambda tensor: tensor.bool(), "do not fit lenet5-strided; run the fold again"),
        (lambda tensor: tensor * math.nan, "its weights are not finite, so nothing is written"),
    ],
)
def test_weights_of_another_kind_are_not_cast_and_nan_is_not_exported(
    tmp_path, capsys, cast, fault
):
    shutil.copytree(RUNS / "fast-81afcdf4e08a", run := tmp_path / "fast-81afcdf4e08a")
    for weights in run.glob("folds/*/model.safetensors"):
        changed = {name: cast(each) for name, each in safetensors.torch.load_file(weights).items()}
        safetensors.torch.save_file(changed, weights)
        record = json.loads((result := weights.with_name("result.json")).read_bytes())
        record["sha256"][weights.name] = file_sha256(weights)
        result.write_text(json.dumps(record))
    assert command(["export", str(run), "--safetensors", str(tmp_path / "out")]) == 2
    assert fault in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_long_line_in_a_list_makes_no_long_error(tmp_path, capsys):
    (tmp_path / "list").write_text("3 4\n" + "x" * 1_000_000)
    for split in (str(tmp_path / "list"), "7" * 100_000):
        assert command(["run", "--split", split]) == 2
        assert len(capsys.readouterr().err) < 600


def test_a_name_is_no_markup(folder: RunFolder, capsys):
    renamed = folder.path.rename(folder.path.with_name("[red] [bold]a\nb"))
    assert command(["runs", "--runs-dir", str(renamed.parent)]) == 0
    assert "[red] [bold]a\\nb" in capsys.readouterr().out


@pytest.mark.parametrize("fold", ["99", "11", "00"])
def test_a_fold_that_the_split_does_not_have_is_not_to_be_run(folder: RunFolder, capsys, fold):
    shutil.copytree(folder.path / "folds/01", folder.path / "folds" / fold)
    assert command(["show", str(folder.path)]) == 0
    told = capsys.readouterr().err
    assert f"folds/{fold}/result.json is damaged" in told
    assert "unseen run" not in told


@pytest.mark.parametrize("place", ["folds", "folds/01"])
def test_a_file_or_a_loop_in_the_place_of_folds_is_told(folder: RunFolder, capsys, place):
    there = folder.path / place
    for put in (Path.touch, lambda path: path.symlink_to(path.name)):
        shutil.rmtree(there) if there.is_dir() else there.unlink()
        put(there)
        assert command(["show", str(folder.path)]) == 0
        assert f"{place}" in capsys.readouterr().err
        assert command(["runs", "--runs-dir", str(folder.path.parent)]) == 0
        assert folder.label in capsys.readouterr().out


def test_a_figure_too_large_for_a_table_hides_no_run(folder: RunFolder, experiment, capsys):
    path = folder.path / "folds/01/result.json"
    record = json.loads(path.read_bytes())
    record["result"]["measures"]["test_mse"] = 1e300
    path.write_text(json.dumps(record))
    other = made_up_run(folder.path.parent, experiment.vary(seed=1), folds=[1])
    assert command(["runs", "--runs-dir", str(folder.path.parent)]) == 0
    listed = capsys.readouterr().out
    assert other.label in listed
    assert "1.0000e+300" in listed

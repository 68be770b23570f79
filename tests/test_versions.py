"""Run folders outlive versions: those of another one are left alone, and named."""

import hashlib
import json
import shutil
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
from conftest import SMALL, run_json, unseen, write_symbols

from unseen.cli import command
from unseen.files import as_json, sha256
from unseen.runs.records import FORMAT, OtherVersionError


def content_of(folder: Path) -> dict[str, str]:
    """Every file of a folder and what it holds."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def sealed(record: dict) -> bytes:
    """A record with a right hash, as any version would write it."""
    record = {name: value for name, value in record.items() if name != "sha256"}
    return as_json(record | {"sha256": sha256(as_json(record))})


def one_more_field_of_a_result(run: Path) -> None:
    path = run / "folds/01/result.json"
    record = json.loads(path.read_bytes())
    record["result"]["entropy"] = 0.5
    path.write_bytes(sealed(record))


def a_later_format_of_a_result(run: Path) -> None:
    path = run / "folds/01/result.json"
    path.write_bytes(sealed(json.loads(path.read_bytes()) | {"format": FORMAT + 1, "unseen": "9"}))


def a_measure_of_another_type(run: Path) -> None:
    path = run / "folds/01/result.json"
    record = json.loads(path.read_bytes())
    record["result"]["measures"] = {"rounded": {"mean": 1, "deviation": 2}}
    path.write_bytes(sealed(record))


def a_later_format_of_the_experiment(run: Path) -> None:
    path = run / "experiment.json"
    path.write_bytes(sealed(json.loads(path.read_bytes()) | {"format": FORMAT + 1, "unseen": "9"}))


def one_more_setting(run: Path) -> None:
    path = run / "experiment.json"
    record = json.loads(path.read_bytes())
    record["experiment"]["training"]["momentum"] = 0.9
    path.write_bytes(sealed(record | {"unseen": "9"}))


def another_network(run: Path) -> None:
    path = run / "experiment.json"
    record = json.loads(path.read_bytes())
    record["experiment"]["training"]["model"] = "transformer"
    path.write_bytes(sealed(record | {"unseen": "9"}))


def a_later_experiment_of_another_shape(run: Path) -> None:
    later = {"format": FORMAT + 1, "unseen": "9", "task": {"sum": 2}, "learner": "x"}
    (run / "experiment.json").write_bytes(sealed(later))


def an_experiment_of_another_shape(run: Path) -> None:
    (run / "experiment.json").write_bytes(sealed({"format": FORMAT, "unseen": "9", "task": "add"}))


def a_later_result_with_another_seal(run: Path) -> None:
    path = run / "folds/01/result.json"
    record = json.loads(path.read_bytes()) | {"format": FORMAT + 1, "unseen": "9", "blake3": "00"}
    del record["sha256"]
    path.write_bytes(as_json(record))


LATER: list[Callable[[Path], None]] = [
    one_more_field_of_a_result,
    a_later_format_of_a_result,
    a_measure_of_another_type,
    a_later_format_of_the_experiment,
    one_more_setting,
    another_network,
    a_later_experiment_of_another_shape,
    an_experiment_of_another_shape,
    a_later_result_with_another_seal,
]
COMMANDS = {
    "run": ["run", *SMALL, "--folds", "1-2", "--symbols", "symbols"],
    "restart": ["run", *SMALL, "--folds", "1-2", "--symbols", "symbols", "--restart"],
    "another fold": ["run", *SMALL, "--folds", "2", "--symbols", "symbols"],
    "show": ["show", "fast"],
    "report": ["report", "fast"],
    "deep": ["report", "fast", "--deep"],
    "csv": ["report", "fast", "--format", "csv"],
    "compare": ["compare", "fast", "mean"],
    "predict": ["predict", "fast", "picture.png"],
    "page": ["export", "fast", "--page", "page.html"],
    "onnx": ["export", "fast", "--onnx", "fast.onnx"],
    "safetensors": ["export", "fast", "--safetensors", "weights"],
    "sweep": ["sweep", "study.toml"],
    "planned sweep": ["sweep", "study.toml", "--dry-run"],
    "lab": ["lab", "fast", "--no-open"],
}
# they go through all runs, and leave this one as it is
LISTING = {
    "runs": (["runs"], 0),
    "doctor": (["doctor"], 1),
    "prune": (["runs", "prune", "--yes"], 0),
    "prune a preset": (["runs", "prune", "--preset", "fast", "--yes"], 0),
    "prune by a setting": (["runs", "prune", "--model", "lenet5-curved", "--yes"], 0),
}
STUDY = """
preset = "fast"
[settings]
symbols = "symbols"
samples = 6
test-samples = 4
batch-size = 32
folds = "1-2"
[vary]
seed = [0]
"""


@pytest.fixture(scope="module")
def ours(tmp_path_factory) -> Path:
    """A run of this version and a baseline beside it."""
    here = tmp_path_factory.mktemp("ours")
    write_symbols(here / "symbols")
    for preset in ("fast", "mean"):
        run_json(preset, *SMALL, "--folds", "1", "--symbols", here / "symbols", cwd=here)
    return here


@pytest.mark.parametrize("change", LATER)
def test_a_run_of_a_later_version_is_refused_and_untouched_by_every_command(
    ours: Path,
    tmp_path: Path,
    change: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("signal.signal", lambda *_: None)  # this process has its own
    monkeypatch.setattr("unseen.lab.serve.serve", lambda *_, **__: pytest.fail("a lab was opened"))
    shutil.copytree(ours, tmp_path, dirs_exist_ok=True)
    (tmp_path / "study.toml").write_text(STUDY)
    (run,) = tmp_path.glob("runs/fast-*")
    # symbols are known by their content, so that the copy is the same run
    change(run)
    before = content_of(tmp_path)
    for arguments in COMMANDS.values():
        assert command(arguments) == 2, arguments
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.count("\n") == 1
        assert "was made by another version" in said.err
        assert f"this is unseen {version('unseen')} (format {FORMAT})" in said.err
        assert content_of(tmp_path) == before
    for name, (arguments, code) in LISTING.items():
        assert command(arguments) == code, arguments
        said = capsys.readouterr()
        assert content_of(tmp_path) == before, arguments
        if "prune" not in name:
            assert "another version" in " ".join(said.out.split())
            assert name == "doctor" or "mean-" in said.out


def test_a_wrong_hash_is_damage_and_not_another_version(ours: Path, tmp_path: Path):
    shutil.copytree(ours, tmp_path, dirs_exist_ok=True)
    (path,) = tmp_path.glob("runs/fast-*/folds/01/result.json")
    record = json.loads(path.read_bytes())
    record["result"]["entropy"] = 0.5
    path.write_bytes(as_json(record))
    again = unseen("run", *SMALL[:-1], "--folds", "1", "--symbols", "symbols", cwd=tmp_path)
    assert again.returncode == 0
    assert "result.json is damaged; fold 1 is run again" in again.stderr


def test_both_versions_are_named(tmp_path: Path):
    error = OtherVersionError(tmp_path, "9.9 (format 7)")
    assert "unseen 9.9 (format 7)" in str(error)
    assert f"(format {FORMAT})" in str(error)

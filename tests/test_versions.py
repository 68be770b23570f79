"""Run folders outlive versions: those of another format are left alone, and named."""

import hashlib
import json
import shutil
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
from conftest import SMALL, run_json, unseen, write_symbols

from unseen.cli import command
from unseen.runs.fold import FoldResult
from unseen.runs.fold_files import STORED
from unseen.runs.records import FORMAT, FoldRecord, RunRecord


def content_of(folder: Path) -> dict[str, str]:
    """Every file of a folder and what it holds."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def change_record(run: Path, change: Callable[[dict], object]) -> None:
    path = run / "experiment.json"
    record = json.loads(path.read_bytes())
    change(record)
    path.write_text(json.dumps(record))


LATER: dict[str, Callable[[dict], object]] = {
    "an earlier format": lambda record: record.update(format=2),
    "a later format": lambda record: (record.clear(), record.update(format=FORMAT + 1, task="x")),
    "one more setting": lambda record: (
        record.update(unseen="9"),
        record["experiment"]["training"].update(momentum=0.9),
    ),
    "another network": lambda record: (
        record.update(unseen="9"),
        record["experiment"]["training"].update(model="transformer"),
    ),
    "another fingerprint": lambda record: (
        record.update(unseen="9"),
        record["experiment"]["training"].update(epochs=7),
    ),
}
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


@pytest.mark.parametrize("change", LATER.values(), ids=LATER)
def test_a_run_of_another_version_is_refused_and_untouched_by_every_command(
    ours: Path,
    tmp_path: Path,
    change: Callable[[dict], object],
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
    change_record(run, change)
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


def test_a_result_of_another_structure_is_damaged_and_run_again(ours: Path, tmp_path: Path):
    shutil.copytree(ours, tmp_path, dirs_exist_ok=True)
    (path,) = tmp_path.glob("runs/fast-*/folds/01/result.json")
    record = json.loads(path.read_bytes())
    record["result"]["entropy"] = 0.5
    path.write_text(json.dumps(record))
    again = unseen("run", *SMALL[:-1], "--folds", "1", "--symbols", "symbols", cwd=tmp_path)
    assert again.returncode == 0
    assert "result.json is damaged: it is no record; fold 1 is run again" in again.stderr


def test_what_is_kept_has_the_structure_of_this_format():
    """If this fails, earlier folders are no longer understood: raise FORMAT, then change this."""
    assert FORMAT == 3
    fields = {kind.__name__: [*kind.model_fields] for kind in (RunRecord, FoldRecord, FoldResult)}
    assert fields == {
        "RunRecord": ["format", "unseen", "experiment", "sums", "environment"],
        "FoldRecord": ["result", "sha256"],
        "FoldResult": [
            *("fold", "unseen", "measures", "seconds", "epoch_losses"),
            *("parameters", "starts", "wrong_seen", "quadrants"),
        ],
    }
    assert [*STORED] == ["prediction", "images", "means", "table_rows", "tables"]

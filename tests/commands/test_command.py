"""The real command, as people call it."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from complete_folds import complete_fold
from conftest import (
    SMALL,
    run_json,
    unseen,
    warm_start,
    without_seconds,
    write_idx,
    write_symbols,
)

from unseen.errors import UnseenError
from unseen.runs.presets import fast
from unseen.runs.run_folder import RunFolder

QUADRANTS = {"seen_train", "seen_test", "unseen_train", "unseen_test"}
MEASURES = {
    "seen_rounded",
    "test_mse",
    "train_mse",
    "rounded",
    "floor_or_ceiling",
    "within_one",
    "seconds",
}


def test_a_run_prints_one_json_object_and_nothing_else(symbols: Path, tmp_path: Path):
    document = run_json("--symbols", symbols, "--folds", "1,3-4", *SMALL, cwd=tmp_path)
    assert document.keys() == {
        *("run", "experiment", "folds", "other_folds", "mean", "paper", "insight")
    }
    assert [fold["fold"] for fold in document["folds"]] == [1, 3, 4]
    for fold in document["folds"]:
        assert fold.keys() == MEASURES | {
            "fold",
            "unseen",
            "quadrants",
            "epoch_losses",
            "starts",
            "wrong_seen",
            "curve",
        }
        assert len(fold["epoch_losses"]) == 1
        assert [point.keys() for point in fold["curve"]] == 10 * [
            {"epochs", "seconds", "seen", "unseen"}
        ]
        assert fold["quadrants"].keys() == QUADRANTS
        assert len(fold["unseen"]) == 10
    assert document["folds"][0]["unseen"][:2] == [[0, 6], [3, 2]]
    assert document["mean"].keys() == MEASURES
    errors = [fold["test_mse"] for fold in document["folds"]]
    assert document["mean"]["test_mse"] == pytest.approx(sum(errors) / 3)
    assert document["paper"] == []  # these symbols are not the paper's
    assert document["experiment"]["problem"]["samples_per_combination"] == 6
    assert (tmp_path / document["run"] / "folds/03/model.safetensors").is_file()


def test_the_tables_stand_beside_the_papers_and_are_shown_again(tmp_path: Path):
    ran = unseen("run", "--folds", "1-2", *SMALL, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    for words in ("paper, 2,000", "70.91 %", "0.7238", "0.8533", "lenet5-curved (blind"):
        assert words in ran.stdout
    shown = unseen("show", "fast", cwd=tmp_path)
    assert shown.stdout == ran.stdout
    listed = unseen("runs", cwd=tmp_path)
    assert "fast-" in listed.stdout
    as_json = unseen("show", "fast", "--json", cwd=tmp_path)
    assert len(json.loads(as_json.stdout)["folds"]) == 2
    second = unseen("run", "--folds", "2", *SMALL, cwd=tmp_path)
    assert "Fold 1 is done as well, and not counted here" in second.stdout
    assert "2 folds" not in second.stdout
    alone = run_json("--folds", "2", *SMALL, cwd=tmp_path)
    assert [fold["fold"] for fold in alone["folds"]] == [2]
    assert alone["other_folds"] == [1]
    by_samples = {each["samples"]: each for each in json.loads(as_json.stdout)["paper"]}
    assert by_samples[2000]["mean"]["rounded"] == pytest.approx(0.7091, abs=1e-4)
    assert by_samples[1000]["mean"].keys() == {"test_mse", "train_mse"}
    assert by_samples[1000]["folds"] is None


def test_other_symbols_have_no_paper_beside_them(symbols: Path, tmp_path: Path):
    ran = unseen("run", "--symbols", symbols, "--folds", "1", *SMALL, cwd=tmp_path)
    assert "paper" not in ran.stdout.lower()


def test_same_seed_same_numbers_whatever_the_jobs_and_the_order(symbols: Path, tmp_path: Path):
    options = ["--symbols", symbols, *SMALL]
    there, elsewhere = tmp_path / "there", tmp_path / "elsewhere"
    there.mkdir()
    elsewhere.mkdir()
    at_once = run_json(*options, "--folds", "1-3", "--jobs", "3", cwd=there)
    for folds in ("3", "1", "1-3"):
        one_by_one = run_json(*options, "--folds", folds, "--jobs", "1", cwd=elsewhere)
    assert without_seconds(one_by_one) == without_seconds(at_once)
    other_seed = run_json(*options, "--folds", "1", "--seed", "1", cwd=tmp_path)
    assert other_seed["folds"][0]["unseen"] == at_once["folds"][0]["unseen"]
    assert other_seed["folds"][0]["test_mse"] != at_once["folds"][0]["test_mse"]
    other_split = run_json(*options, "--folds", "1", "--split-seed", "1", cwd=tmp_path)
    assert other_split["folds"][0]["unseen"] != at_once["folds"][0]["unseen"]


def test_finished_folds_are_not_run_again_unless_asked(symbols: Path, tmp_path: Path):
    options = ["--symbols", symbols, "--folds", "1", *SMALL]
    first = run_json(*options, cwd=tmp_path)
    result = tmp_path / first["run"] / "folds/01/result.json"
    written = result.stat().st_mtime_ns
    assert run_json(*options, cwd=tmp_path) == first
    assert result.stat().st_mtime_ns == written
    again = run_json(*options, "--restart", cwd=tmp_path)
    assert result.stat().st_mtime_ns > written
    assert without_seconds(again) == without_seconds(first)


@pytest.mark.parametrize("name", ["result.json", "predictions.npz", "model.safetensors"])
def test_a_damaged_file_is_named_and_its_fold_run_again(symbols: Path, tmp_path: Path, name: str):
    options = ["run", "--symbols", symbols, "--folds", "1", *SMALL[:-1], "--json"]
    first = json.loads(unseen(*options, cwd=tmp_path).stdout)
    path = tmp_path / first["run"] / "folds/01" / name
    path.write_bytes(path.read_bytes()[:-7])
    shown = unseen("show", "fast", cwd=tmp_path)
    assert shown.returncode == 0
    assert f"folds/01/{name} is damaged" in shown.stderr
    again = unseen(*options, cwd=tmp_path)
    assert re.search(f"folds/01/{name} is damaged.*; fold 1 is run again", again.stderr)
    assert without_seconds(json.loads(again.stdout)) == without_seconds(first)


@pytest.mark.parametrize("model", ["paper", "lenet5-dense"])
def test_other_presets_and_networks_run(symbols: Path, tmp_path: Path, model: str):
    document = run_json(
        "paper", "--model", model, "--epochs", "2", "--symbols", symbols, "--folds", "1",
        "--length", "1" if model == "paper" else "3", "--samples", "1", "--test-samples", "1",
        "--watched-samples", "20", "--no-report", cwd=tmp_path,
    )  # fmt: skip
    assert document["experiment"]["training"]["model"] == model
    assert document["experiment"]["training"]["optimizer"] == "adadelta"
    curve = document["folds"][0]["curve"]
    assert curve[-1]["epochs"] == 2
    assert curve[-1]["unseen"].keys() == {"rounded", "mse", "mean_error"}


def test_development_folds_have_another_split(tmp_path: Path):
    document = run_json("--development", "--folds", "1", *SMALL, cwd=tmp_path)
    problem = document["experiment"]["problem"]
    assert problem["development"] is True
    assert problem["split_seed"] != 376483


def test_a_diverging_run_is_null_and_wrong(symbols: Path, tmp_path: Path):
    document = run_json(
        "--optimizer", "adadelta", "--learning-rate", "1e30", "--symbols", symbols,
        "--folds", "1-2", *SMALL, cwd=tmp_path,
    )  # fmt: skip
    assert document["folds"][0]["test_mse"] is None
    assert document["folds"][0]["rounded"] == 0
    assert document["mean"]["test_mse"] is None
    assert "—" in unseen("show", "fast", cwd=tmp_path).stdout
    assert "—" in unseen("runs", cwd=tmp_path).stdout


def test_names_with_brackets_are_shown_as_they_are(symbols: Path, tmp_path: Path):
    options = ["run", "--symbols", symbols, "--folds", "1", *SMALL, "--runs-dir", "x[/red]"]
    assert "x[/red]" in unseen(*options, cwd=tmp_path).stdout
    (result,) = tmp_path.glob("x[[]/red]/*/folds/01/result.json")
    result.write_text("")
    assert "x[/red]" in unseen(*options, cwd=tmp_path).stderr


def test_symbols_that_change_during_a_run_are_noticed(symbols: Path, tmp_path: Path):
    experiment = fast().vary(symbols=str(symbols))
    folder = RunFolder.of(experiment, tmp_path)
    folder.create(experiment)
    write_symbols(symbols, per_label=9)
    with pytest.raises(UnseenError, match="have changed since the run began"):
        complete_fold(folder.path, experiment, 1)


BAD_INPUT = {
    "unknown preset 'pape' (did you mean 'paper'?)": ["pape"],
    "unknown model 'lenet'": ["--model", "lenet"],
    "unknown optimizer 'adam'": ["--optimizer", "adam"],
    "unknown symbols 'nowhere'": ["--symbols", "nowhere"],
    "--symbols afile is a file": ["--symbols", "afile"],
    "--folds 11 does not exist; this split has folds 1 to 10": ["--folds", "11"],
    "--folds 0 does not exist": ["--folds", "0"],
    "--folds 1,x has 'x', no fold; say it as 1,3-5": ["--folds", "1,x"],
    "--folds 3-1 has 3-1, which runs backwards": ["--folds", "3-1"],
    "--epochs 0 must be at least 1": ["--epochs", "0"],
    "--epochs -3 must be at least 1": ["--epochs", "-3"],
    "--learning-rate nan must be a finite number": ["--learning-rate", "nan"],
    "--learning-rate 0 must be greater than 0": ["--learning-rate", "0"],
    "--samples 0 must be at least 1": ["--samples", "0"],
    "--test-samples -1 must be at least 1": ["--test-samples", "-1"],
    "--batch-size 0 must be at least 1": ["--batch-size", "0"],
    "--jobs 0 must be a whole number, at least 1": ["--jobs", "0"],
    "--threads 0 must be at least 1": ["--threads", "0"],
    "--seed -1 must be at least 0": ["--seed", "-1"],
    "10,000,000 combinations": ["--length", "7"],
    "--device abacus must be like cpu, cuda, cuda:1, mps": ["--device", "abacus"],
    "--precision fp8 must be 'fp32' or 'bf16'": ["--precision", "fp8"],
    "must be at most 1000000": ["--epochs", "9" * 400],
    "must be at most 10000000": ["--batch-size", "9" * 400],
    "cannot read": ["--symbols", "x" * 300],
    "--device cuda:7 is not on this machine": ["--device", "cuda:7"],
    "another split seed than the paper's": ["--development", "--split-seed", "376483"],
    "cannot make the folder": ["--runs-dir", "afile/runs"],
    "Unknown option: --epoch. Did you mean --epochs?": ["--epoch", "3"],
    "'two' is no whole number": ["--epochs", "two"],
    "'2.5' is no whole number": ["--length", "2.5"],
    "Unused Tokens": ["fast", "surplus"],
}


@pytest.mark.parametrize("words", BAD_INPUT)
def test_bad_input_gets_one_clear_line(tmp_path: Path, words: str):
    (tmp_path / "afile").write_text("")
    assert_refused(unseen("run", *BAD_INPUT[words], cwd=tmp_path), words)
    assert {path.name for path in tmp_path.iterdir()} == {"afile"}


def assert_refused(ended: subprocess.CompletedProcess, words: str) -> None:
    assert ended.returncode == 2, ended.stderr
    assert ended.stdout == ""
    assert words in ended.stderr
    assert ended.stderr.startswith("unseen: ")
    assert ended.stderr.count("\n") == 1


def remove_a_file(folder: Path) -> str:
    (folder / "train-images-idx3-ubyte").unlink()
    return "has no train-images-idx3-ubyte"


def truncate(folder: Path) -> str:
    path = folder / "t10k-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:-1])
    return "t10k-images-idx3-ubyte is truncated"


def change_magic(folder: Path) -> str:
    path = folder / "train-labels-idx1-ubyte"
    path.write_bytes(b"\x00\x00\x08\x02" + path.read_bytes()[4:])
    return "not 0x00000801"


def drop_a_label(folder: Path) -> str:
    write_idx(folder / "train-labels-idx1-ubyte", [n % 10 for n in range(79)])
    return "80 images, but"


def forget_a_digit(folder: Path) -> str:
    write_idx(folder / "t10k-labels-idx1-ubyte", [n % 9 for n in range(40)])
    return "label 9 has no image in the test half"


def replace_by_folder(folder: Path) -> str:
    (folder / "train-images-idx3-ubyte").unlink()
    (folder / "train-images-idx3-ubyte").mkdir()
    return "has no train-images-idx3-ubyte"


@pytest.mark.parametrize(
    "spoil",
    [remove_a_file, truncate, change_magic, drop_a_label, forget_a_digit,
     replace_by_folder],
)  # fmt: skip
def test_bad_symbols_get_one_clear_line(symbols: Path, tmp_path: Path, spoil):
    words = spoil(symbols)
    assert_refused(unseen("run", "--symbols", symbols, *SMALL, cwd=tmp_path), words)
    assert not (tmp_path / "runs").exists()


def test_symbols_that_are_too_small_for_a_network_get_one_clear_line(tmp_path: Path):
    folder = write_symbols(tmp_path / "tiny", side=12)
    ended = unseen("run", "--symbols", folder, *SMALL, cwd=tmp_path)
    assert_refused(ended, "this network needs pictures of at least 13 × 13 pixels")


def test_a_run_that_is_not_there_gets_one_clear_line(tmp_path: Path):
    assert_refused(unseen("show", "nothing", cwd=tmp_path), "no run 'nothing' in runs")
    assert "Nothing was run" in unseen("runs", cwd=tmp_path).stdout


def test_a_disk_that_takes_no_more_gets_one_clear_line(symbols: Path, tmp_path: Path):
    """A limit on the size of files stands for the full disk: both fail within a write."""
    resource = pytest.importorskip("resource")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    options = ["--symbols", symbols, "--folds", "1", *SMALL]
    ended = unseen("run", *options, cwd=tmp_path, preexec_fn=limit)
    assert_refused(ended, "cannot write")
    left = {path.name for path in tmp_path.rglob("folds/01/*")}
    assert left <= {"lock", "progress.json", "measurements.jsonl"}
    assert run_json(*options, cwd=tmp_path)["folds"]


FULL, CLOSED = "No space left on device", "Bad file descriptor"
STREAMS = [  # a command, what becomes of its streams, its exit code and all of its stderr
    ("runs", ">&-", 2, f"unseen: cannot use the output: {CLOSED}\n"),
    ("list", "2>&-", 0, ""),
    ("show nothing", "2>&- >&-", 2, ""),
    ("--version", "> /dev/full", 2, f"unseen: cannot use the output: {FULL}\n"),
    ("--help", "| true", 141, ""),
    ("runs", "| true", 141, ""),
]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_run_goes_on_without_its_display_and_fails_without_its_result(
    symbols: Path, tmp_path: Path
):
    typed = ["run", "--symbols", str(symbols), "--folds", "1", *SMALL]
    typed.remove("--quiet")
    reader, writer = os.pipe()
    os.close(reader)  # whoever read it is gone
    for seed, lost in enumerate(["/dev/full", writer]):
        err = open(lost, "wb")  # noqa: SIM115
        with warm_start().start([*typed, "--seed", f"{seed}"], tmp_path, err=err) as process:
            assert process.wait(60) == 0
    out, err = open("/dev/full", "wb"), tempfile.TemporaryFile()  # noqa: SIM115
    with warm_start().start([*typed, "--seed", "2"], tmp_path, out=out, err=err) as process:
        assert process.wait(60) == 2
        err.seek(0)
        *_, told = err.read().decode().splitlines()
    assert told == f"unseen: cannot use the output: {FULL}"
    assert len([*tmp_path.glob("runs/*/folds/01/result.json")]) == 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_lost_display_stops_nothing_and_a_lost_answer_is_an_error(tmp_path: Path):
    for words, streams, code, said in STREAMS:
        command = f"{sys.executable} -m unseen {words} {streams}; exit ${{PIPESTATUS[0]}}"
        ended = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        told = "".join(
            line for line in ended.stderr.splitlines(keepends=True) if line.startswith("unseen:")
        )
        assert (ended.returncode, told) == (code, said), (words, streams, ended.stderr)
        assert "Traceback" not in ended.stderr


def test_help_imports_neither_numpy_nor_pydantic(tmp_path: Path):
    script = (
        "import sys\nfrom unseen.cli import command\ncommand(['--help'])\n"
        "assert not {'pydantic', 'numpy', 'starlette'} & sys.modules.keys()\n"
        "command(['run', '--help'])\ncommand(['lab', '--help'])\n"
        "print({'unseen.api', 'torch', 'starlette', 'uvicorn'} & sys.modules.keys())"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ended.stdout.endswith("set()\n")


@pytest.mark.parametrize(
    "arguments", [["--help"], ["run", "--help"], ["--version"], ["runs"], ["run", "--epochs", "0"]]
)
def test_help_validation_and_lists_import_no_torch(tmp_path: Path, arguments: list[str]):
    script = (
        "import sys\nfrom unseen.cli import command\ncommand(sys.argv[1:])\n"
        "print('torch' in sys.modules, 'sklearn' in sys.modules)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=tmp_path, capture_output=True, text=True, env=os.environ, check=False,
    )  # fmt: skip
    assert ended.stdout.endswith("False False\n"), ended.stdout + ended.stderr


def test_showing_tables_imports_no_torch(symbols: Path, tmp_path: Path):
    run_json("--symbols", symbols, "--folds", "1", *SMALL, cwd=tmp_path)
    test_help_validation_and_lists_import_no_torch(tmp_path, ["show", "fast"])
    test_help_validation_and_lists_import_no_torch(tmp_path, ["runs"])

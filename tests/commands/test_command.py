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
from conftest import SMALL, run_json, unseen, warm_start, without_seconds, write_symbols
from made_up_runs import made_up_run
from own_networks import LINEAR

from unseen.cli import command
from unseen.errors import UnseenError
from unseen.runs.presets import fast
from unseen.runs.run_folder import RunFolder
from unseen.training.metrics import METRICS

QUADRANTS = {"seen_train", "seen_test", "unseen_train", "unseen_test"}
MEASURES = {*METRICS, "seconds"}


def test_a_run_prints_one_json_object_and_nothing_else(symbols: Path, tmp_path: Path):
    document = run_json("--symbols", symbols, "--folds", "1,3-4", *SMALL, cwd=tmp_path)
    assert document.keys() == {
        *("run", "experiment", "folds", "other_folds", "mean", "paper", "insight")
    }
    assert [fold["fold"] for fold in document["folds"]] == [1, 3, 4]
    for fold in document["folds"]:
        others = {"fold", "unseen", "quadrants", "epoch_losses", "starts", "wrong_seen", "curve"}
        assert fold.keys() == MEASURES | others
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


def test_same_seed_same_numbers_whatever_the_jobs_and_the_order(symbols: Path, tmp_path: Path):
    options = ["--symbols", symbols, *SMALL]
    there, elsewhere = tmp_path / "there", tmp_path / "elsewhere"
    there.mkdir()
    elsewhere.mkdir()
    at_once = run_json(*options, "--folds", "1-3", "--jobs", "3", cwd=there)
    for folds in ("3", "1", "1-3"):
        one_by_one = run_json(*options, "--folds", folds, "--jobs", "1", cwd=elsewhere)
    assert without_seconds(one_by_one) == without_seconds(at_once)


def test_finished_folds_are_run_again_only_if_asked_or_damaged(symbols: Path, tmp_path: Path):
    options = ["--symbols", symbols, "--folds", "1", *SMALL]
    first = run_json(*options, cwd=tmp_path)
    fold = tmp_path / first["run"] / "folds/01"
    result, predictions = fold / "result.json", fold / "predictions.npz"
    written = result.stat().st_mtime_ns
    assert run_json(*options, cwd=tmp_path) == first
    assert result.stat().st_mtime_ns == written
    again = run_json(*options, "--restart", cwd=tmp_path)
    assert result.stat().st_mtime_ns > written
    assert without_seconds(again) == without_seconds(first)
    predictions.write_bytes(predictions.read_bytes()[:-7])
    shown = unseen("show", "fast", cwd=tmp_path)
    assert shown.returncode == 0
    assert "folds/01/predictions.npz is damaged" in shown.stderr
    ended = unseen("run", *options[:-1], "--json", cwd=tmp_path)
    assert re.search("predictions.npz is damaged.*; fold 1 is run again", ended.stderr)
    assert without_seconds(json.loads(ended.stdout)) == without_seconds(first)


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


def test_signs_are_shown_and_named(tmp_path: Path):
    document = run_json(
        "--operation", "shown:+,-,*", "--symbols", "dominoes", "--folds", "2", *SMALL, cwd=tmp_path
    )
    unseen_ones = document["folds"][0]["unseen"]
    assert len(unseen_ones) == 30
    assert {sign for _, sign, _ in unseen_ones} <= {"+", "-", "*"}
    assert document["experiment"]["problem"]["operation"] == "shown:+,-,*"
    assert document["paper"] == []


def test_a_run_says_what_its_split_gives_away_and_warns(tmp_path: Path):
    ended = unseen("run", "--split", "position", "--folds", "1", *SMALL[:-1], cwd=tmp_path)
    assert ended.returncode == 0
    assert "Symbols never seen in a place: 0 in place 1 (fold 1)." in ended.stderr
    assert "warning: the seen answers do not determine 10 of 10 unseen ones" in ended.stderr
    again = unseen("run", "--split", "position", "--folds", "1", *SMALL, cwd=tmp_path)
    assert again.stderr == ""


def test_a_model_of_ones_own_runs_and_is_never_run_again_unasked(tmp_path: Path):
    marker = tmp_path / "marker"
    net = f"{LINEAR}print('no result')\nopen({str(marker)!r}, 'w').write('built')\n"
    (tmp_path / "my_net.py").write_text(net)
    arguments = ("--model", "my_net.py:Net", "--folds", "1", *SMALL)
    document = run_json(*arguments, cwd=tmp_path)
    assert document["experiment"]["training"]["model"].endswith("my_net.py:Net")
    assert marker.read_text()
    marker.unlink()
    shown = unseen("show", document["run"], cwd=tmp_path)
    assert "your own" in shown.stdout
    assert unseen("runs", cwd=tmp_path).returncode == 0
    assert not marker.exists()
    (tmp_path / "my_net.py").write_text(f"{net}# changed\n")
    assert run_json(*arguments, cwd=tmp_path)["run"] != document["run"]


def test_baselines_stand_in_the_same_tables(tmp_path: Path):
    for preset in ("mean", "nearest"):
        ended = unseen("run", preset, "--folds", "1-2", *SMALL, cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
        assert f"model {preset} (baseline" in " ".join(ended.stdout.split())
    listed = unseen("runs", cwd=tmp_path).stdout
    for preset in ("mean", "nearest"):
        assert re.search(rf"{preset}-\w+ +2 ", listed), listed


def test_symbols_that_change_during_a_run_are_noticed(symbols: Path, tmp_path: Path):
    experiment = fast().vary(symbols=str(symbols))
    folder = RunFolder.of(experiment, tmp_path)
    folder.create(experiment)
    write_symbols(symbols, per_label=9)
    with pytest.raises(UnseenError, match="have changed since the run began"):
        complete_fold(folder.path, experiment, 1)


# of what is refused by others as well, one of a kind: here it is one line and exit code 2
REFUSED = {
    "unknown preset 'pape' (did you mean 'paper'?)": ["pape"],
    "unknown optimizer 'adam'": ["--optimizer", "adam"],
    "unknown symbols 'nowhere', and there is no such folder": ["--symbols", "nowhere"],
    "symbols 'no/where': there is no such folder; known: any": ["--symbols", "no/where"],
    "did you mean 'dominoes'?": ["--symbols", "domino"],
    "unknown symbols ''": ["--symbols", ""],
    "unknown symbols": ["--symbols", "x" * 300],
    "--symbols afile is a file": ["--symbols", "afile"],
    "pictures of at least 13 × 13 pixels": ["--symbols", "tiny"],
    "network needs pictures of at least 13 × 13": ["oracle", "--symbols", "tiny"],
    "split 'nowhere.txt': there is no such file; known: a file": ["--split", "nowhere.txt"],
    "split 'nowhere/list': there is no such file; known: a file": ["--split", "nowhere/list"],
    "'radom' (did you mean 'random'?), and there is no such file": ["--split", "radom"],
    "--unseen 5 must be left out": ["--split", "answer", "--unseen", "5"],
    "--split . is no file": ["--split", "."],
    "--unseen 91 must be from 1 to 90 of 100": ["--unseen", "91"],
    "nowhere.py": ["--model", "nowhere.py:Net"],
    "--folds 11 does not exist; this split has folds 1 to 10": ["--folds", "0000000011"],
    "--folds 1,x has 'x', no fold; say it as 1,3-5": ["--folds", "1,x"],
    "--epochs -3 must be at least 1": ["--epochs", "-3"],
    "must be at most 1000000": ["--epochs", "9" * 400],
    "'two' is no whole number": ["--epochs", "two"],
    "'2.5' is no whole number": ["--length", "2.5"],
    "--learning-rate 0 must be greater than 0": ["--learning-rate", "0"],
    "--distortion -1 must be at least 0": ["--distortion", "-1"],
    "--jobs 0 must be a whole number, at least 1": ["--jobs", "0"],
    "--device abacus must be like cpu, cuda, cuda:1, mps": ["--device", "abacus"],
    "--device cuda:7 is not on this machine": ["--device", "cuda:7"],
    "--precision fp8 must be 'fp32' or 'bf16'": ["--precision", "fp8"],
    "another split seed than the paper's": ["--development", "--split-seed", "376483"],
    "cannot make the folder": ["--runs-dir", "afile/runs"],
    "Unknown option: --epoch. Did you mean --epochs?": ["--epoch", "3"],
    "Unused Tokens": ["fast", "surplus"],
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_asked_is_refused_in_one_line(tmp_path, capfd, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "afile").write_text("")
    write_symbols(tmp_path / "tiny", labels=5, side=12)
    assert command(["run", *REFUSED[words], *SMALL]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert words in err
    assert err.startswith("unseen: ")
    assert err.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"afile", "tiny"}


def test_a_run_that_is_not_there_gets_one_clear_line(tmp_path: Path):
    assert_refused(unseen("show", "nothing", cwd=tmp_path), "no run 'nothing' in runs")
    assert "Nothing was run" in unseen("runs", cwd=tmp_path).stdout


def test_short_memory_gets_one_clear_line(monkeypatch, capsys):
    def fill_memory(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("unseen.runs.session.make_task", fill_memory)
    assert command(["run", "mean"]) == 2
    assert capsys.readouterr().err.startswith("unseen: out of memory; ")


def assert_refused(ended: subprocess.CompletedProcess, words: str) -> None:
    assert ended.returncode == 2, ended.stderr
    assert ended.stdout == ""
    assert words in ended.stderr
    assert ended.stderr.startswith("unseen: ")
    assert ended.stderr.count("\n") == 1


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
    os.close(reader)  # its reader is gone
    for seed, lost in enumerate(["/dev/full", writer]):
        err = open(lost, "wb")  # noqa: SIM115
        with warm_start().start([*typed, "--seed", f"{seed}"], tmp_path, err=err) as process:
            assert process.wait(60) == 0
    out, err = open("/dev/full", "wb"), tempfile.TemporaryFile()  # noqa: SIM115
    with warm_start().start([*typed, "--seed", "2"], tmp_path, out=out, err=err) as process:
        assert process.wait(60) == 2
        err.seek(0)
        *_, text = err.read().decode().splitlines()
    assert text == f"unseen: cannot use the output: {FULL}"
    assert len([*tmp_path.glob("runs/*/folds/01/result.json")]) == 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_lost_display_stops_nothing_and_a_lost_answer_is_an_error(tmp_path: Path):
    for words, streams, code, err in STREAMS:
        command = f"{sys.executable} -m unseen {words} {streams}; exit ${{PIPESTATUS[0]}}"
        ended = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        text = "".join(
            line for line in ended.stderr.splitlines(keepends=True) if line.startswith("unseen:")
        )
        assert (ended.returncode, text) == (code, err), (words, streams, ended.stderr)
        assert "Traceback" not in ended.stderr


# what a command line must not import, as it takes a while
NOT_IMPORTED = {
    "--help": {"numpy", "pydantic", "starlette", "torch"},
    "--version": {"numpy", "pydantic", "starlette", "torch"},
    "run --help": {"starlette", "uvicorn", "matplotlib", "torch"},
    "lab --help": {"starlette", "uvicorn", "matplotlib", "torch"},
    "run --epochs 0": {"starlette", "matplotlib", "torch"},
    "runs": {"starlette", "matplotlib", "torch"},
    "show fast": {"starlette", "matplotlib", "torch"},
}


@pytest.fixture(scope="module")
def with_a_run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("with_a_run")
    made_up_run(folder / "runs", fast().vary(samples=2, test_samples=2), folds=[1])
    return folder


@pytest.mark.parametrize("words", NOT_IMPORTED)
def test_help_faults_and_tables_import_nothing_slow(with_a_run: Path, words: str):
    script = (
        "import sys\nfrom unseen.cli import command\ncommand(sys.argv[1:])\n"
        "print(*(name for name in sys.modules if '.' not in name))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, *words.split()],
        cwd=with_a_run, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert NOT_IMPORTED[words] & {*ended.stdout.splitlines()[-1].split()} == set()

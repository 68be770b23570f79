"""`unseen export`: networks and data for elsewhere, the same as here."""

import csv
import hashlib
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import write_symbols
from own_networks import LINEAR
from PIL import Image

import unseen
from unseen.cli import command
from unseen.networks.models import MODELS
from unseen.networks.modules import RescaledOutput, laid_out_for_speed
from unseen.problem.randomness import Streams
from unseen.problem.samples import render_pictures
from unseen.problem.symbols import load_symbols
from unseen.problem.task import fold_samples
from unseen.runs.presets import PRESETS
from unseen.use.network_files import write_onnx

RUN = Path(__file__).parents[1] / "data/runs/fast-81afcdf4e08a"  # two folds, hardly trained
SMALL = ["--samples", "3", "--test-samples", "2"]


def some_pictures(count: int) -> np.ndarray:
    images = load_symbols("mnist").test.images
    chosen = np.random.default_rng(1).integers(0, len(images), (2, count))
    return np.concatenate([images[chosen[0]], images[chosen[1]]], axis=2)


def onnx_answers(path: Path, pictures: np.ndarray) -> np.ndarray:
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(["answer"], {"image": pictures.astype(np.float32)})[0]


def test_an_onnx_file_answers_as_the_run_does(tmp_path, capsys):
    onnx = pytest.importorskip("onnx")
    path = tmp_path / "network.onnx"
    assert command(["export", str(RUN), "--onnx", str(path)]) == 0
    assert "opset 18; on 1,000 pictures" in capsys.readouterr().out
    assert [*tmp_path.iterdir()] == [path]  # no side file of weights
    pictures = some_pictures(10_000)
    expected = unseen.load(RUN).predict(pictures)
    assert onnx_answers(path, pictures) == pytest.approx(expected, abs=1e-4)
    assert onnx_answers(path, pictures[:1]) == pytest.approx(expected[:1], abs=1e-4)
    graph = onnx.load(path).graph
    (given,), (made,) = graph.input, graph.output
    dimensions = [each.dim_value for each in given.type.tensor_type.shape.dim]
    assert (given.name, made.name, dimensions) == ("image", "answer", [0, 28, 56])


@pytest.mark.parametrize("model", ["paper", "towers", "latent-deep-blind"])
def test_other_kinds_of_networks_become_onnx(model, tmp_path):
    pytest.importorskip("onnxruntime")
    torch.manual_seed(0)
    network = laid_out_for_speed(RescaledOutput(MODELS[model].build(2, 28, 56), 9.0, 4.0).eval())
    assert write_onnx({1: network}, some_pictures(50), tmp_path / "network.onnx") <= 1e-4


def test_answers_that_differ_are_not_written(tmp_path, monkeypatch, capsys):
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr("unseen.use.network_files.LARGEST_DIFFERENCE", -1.0)
    path = tmp_path / "network.onnx"
    assert command(["export", str(RUN), "--onnx", str(path), "--fold", "1"]) == 2
    assert "differ from torch's" in capsys.readouterr().err
    assert not path.exists()


def test_without_onnxruntime_it_is_said_first_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setattr("unseen.commands.export.load", None)  # it is said before a run is read
    assert command(["export", str(RUN), "--onnx", str(tmp_path / "network.onnx")]) == 2
    assert "pip install 'unseen[onnx]'" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["--page", "--onnx", "--safetensors"])
def test_a_network_that_diverged_is_not_exported(kind, tmp_path, monkeypatch, capsys):
    network = RescaledOutput(MODELS["lenet5"].build(2, 28, 56), np.nan, 4.0)
    monkeypatch.setattr("unseen.api.load_network", lambda *_: network)
    assert command(["export", str(RUN), kind, str(tmp_path / "file")]) == 2
    assert "the network of fold 1 diverged" in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []


def test_weights_come_with_a_card_that_says_what_was_measured(tmp_path, capsys):
    import safetensors.torch

    assert command(["export", str(RUN), "--safetensors", str(tmp_path)]) == 0
    run = unseen.load(RUN)
    weights = safetensors.torch.load_file(tmp_path / "fold-02.safetensors")
    network = run.network(2)
    assert {*weights} == {*network.state_dict()}
    assert all(torch.equal(weights[name], each) for name, each in network.state_dict().items())
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["settings"]["operation"] == "add"
    assert config["unseen"]["2"] == [[*each] for each in run.results[1].unseen]
    card = (tmp_path / "README.md").read_text()
    share = f"{100 * run.summary.headline.mean:.1f} %"
    for said in ("unseen pairs | " + share, "seen pairs", "95 % interval", "## Limits"):
        assert said in card


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["export", str(RUN)], "name one of --page"),
        (["export", str(RUN), "--page", "a", "--onnx", "b"], "name one of --page"),
        (["export", str(RUN), "--safetensors", "x", "--fold", "9"], "fold 9 is not done"),
        (["export", "data"], "name one of --parquet"),
        (["export", "data", "--npz", "x.npz", "--fold", "11"], "folds 1 to 10"),
    ],
)
def test_wrong_commands_are_one_line_and_exit_code_2(arguments, fault, capsys, tmp_path):
    assert command(arguments) == 2
    err = capsys.readouterr().err
    assert fault in err
    assert len(err.splitlines()) == 1


@pytest.fixture(scope="module")
def expected():
    """The samples of fold 2, as a run would draw them."""
    experiment = PRESETS["fast"]().vary(samples=3, test_samples=2)
    halves = fold_samples(experiment.problem, Streams(experiment.seed, 2))
    return {
        name: (render_pictures(half, slice(None)), half.answers)
        for name, half in zip(("train", "test"), halves, strict=True)
    }


def manifest_of(path: Path, expected) -> dict:
    said = json.loads(path.read_text())
    bank = load_symbols("mnist")
    images = np.concatenate([bank.train.images, bank.test.images])
    for name, (pictures, _) in expected.items():
        half = said["halves"][name]
        assert half["pixels_sha256"] == hashlib.sha256(pictures.tobytes()).hexdigest()
        left, right = images[np.asarray(half["images"])].transpose(1, 0, 2, 3)
        assert np.array_equal(np.concatenate([left, right], axis=2), pictures)
    for name, sha in said["files"].items():
        assert hashlib.sha256((path.parent / name).read_bytes()).hexdigest() == sha
    assert (said["fold"], said["seed"], len(said["unseen"])) == (2, 0, 10)
    return said


def test_arrays_are_what_the_fold_learns_from(tmp_path, expected):
    path = tmp_path / "fold.npz"
    assert command(["export", "data", "fast", *SMALL, "--fold", "2", "--npz", str(path)]) == 0
    with np.load(path) as arrays:
        for name, (pictures, answers) in expected.items():
            assert np.array_equal(arrays[f"{name}_images"], pictures)
            assert np.array_equal(arrays[f"{name}_answers"], answers)
            assert np.array_equal(arrays[f"{name}_digits"].sum(axis=1), answers)
    manifest_of(tmp_path / "fold.json", expected)


def test_pngs_are_what_the_fold_learns_from(tmp_path, expected):
    assert command(["export", "data", *SMALL, "--fold", "2", "--png", str(tmp_path)]) == 0
    rows = [*csv.DictReader((tmp_path / "labels.csv").read_text().splitlines())]
    for name, (pictures, answers) in expected.items():
        those = [row for row in rows if row["split"] == name]
        assert [int(row["answer"]) for row in those] == answers.tolist()
        assert {row["seen"] for row in those} == {str(name == "train")}
        read = np.stack([np.asarray(Image.open(tmp_path / row["file"])) for row in those])
        assert np.array_equal(read, pictures)
    manifest_of(tmp_path / "manifest.json", expected)


def test_parquet_is_what_the_fold_learns_from(tmp_path, expected):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert command(["export", "data", *SMALL, "--fold", "2", "--parquet", str(tmp_path)]) == 0
    for name, (pictures, answers) in expected.items():
        table = parquet.read_table(tmp_path / f"data/{name}-00000-of-00001.parquet")
        features = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
        assert features["image"] == {"_type": "Image"}
        rows = table.to_pylist()
        read = [np.asarray(Image.open(io.BytesIO(row["image"]["bytes"]))) for row in rows]
        assert np.array_equal(np.stack(read), pictures)
        assert [row["answer"] for row in rows] == answers.tolist()
        assert [sum(row["digits"]) for row in rows] == answers.tolist()
        assert {row["seen"] for row in rows} == {name == "train"}
    said = manifest_of(tmp_path / "manifest.json", expected)
    card = (tmp_path / "README.md").read_text()
    assert "path: data/train-*.parquet" in card
    assert " ".join(map(str, said["unseen"][0])) in card


def test_signs_have_names_in_the_data(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    shown = ["--operation", "shown:+,-", "--samples", "1", "--test-samples", "1"]
    assert command(["export", "data", *shown, "--parquet", str(tmp_path)]) == 0
    row = parquet.read_table(tmp_path / "data/train-00000-of-00001.parquet").to_pylist()[0]
    assert row["digits"] == ["0", "+", "0"]


FAILING = """
class Failing(Net):
    def forward(self, x):
        open(__file__ + ".not-there")
"""
STUDY = """
[settings]
folds = "1"
symbols = "digits of mine"
samples = 2
test-samples = 4
watched-samples = 4
[vary]
model = ["net.py:Net", "net.py:Failing"]
"""


def test_no_export_says_where_its_files_were_or_who_made_it(tmp_path, monkeypatch, capsys):
    """Every kind of file that can be passed on, of a run in a folder whose name is a secret."""
    pytest.importorskip("onnxruntime")
    home = tmp_path / "home-of-secret"
    write_symbols(home / "work-secret/digits of mine")
    monkeypatch.chdir(home / "work-secret")
    for name, value in (("HOME", str(home)), ("USER", "secret"), ("LOGNAME", "secret")):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("socket.gethostname", lambda: "host-of-secret")
    Path("net.py").write_text(LINEAR + FAILING)
    Path("study.toml").write_text(STUDY)
    runs = ["--runs-dir", str(home / "runs-secret")]
    assert (
        command(["sweep", "study.toml", "--quiet", "--report", *runs]) == 1
    )  # a network of it fails
    out = home / "out"
    capsys.readouterr()
    (run,) = (each.parent for each in home.glob("runs-secret/*/report.html"))
    own = ["--model", "net.py:Net"]
    for words in (
        ["export", str(run), "--onnx", str(out / "run.onnx"), *own],
        ["export", str(run), "--safetensors", str(out / "weights"), *own],
        ["export", str(run), "--page", str(out / "try.html"), *own],
        *(["report", str(run), "--format", each, "--output", str(out / each)]
          for each in ("latex", "markdown", "csv")),
        ["report", str(run), "--figures", str(out / "figures")],
        *(["export", "data", "--symbols", str(Path("digits of mine").resolve()), "--samples", "2",
           "--test-samples", "2", f"--{each}", str(out / "data" / each)]
          for each in ("npz", "png", "parquet")),
    ):  # fmt: skip
        (out / "data").mkdir(parents=True, exist_ok=True)
        code = command(words)
        said = capsys.readouterr().err
        assert code == 0 or "--page" in words, said  # which takes only networks that it knows
    written = [each for each in out.rglob("*") if each.is_file()]
    studies = [*home.glob("runs-secret/study.*")]
    assert {each.suffix for each in studies} >= {".html", ".csv"}
    assert "open(" not in (home / "runs-secret/study.html").read_text()
    assert "not-there" in (home / "runs-secret/study.html").read_text()  # why it failed is said
    assert len(written) > 20
    for path in (*written, *studies, run / "report.html"):
        content = path.read_bytes()
        for private in (b"secret", str(tmp_path).encode(), b"site-packages"):
            assert private not in content, f"{path.name} has {private!r}"

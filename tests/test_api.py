"""The library as a notebook uses it."""

import json
import multiprocessing
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
import torch
from conftest import write_symbols
from made_up_runs import made_up_run, summary_of
from PIL import Image
from rich.console import Console

import unseen
from unseen.analysis.comparison import RunGroup, compare_groups
from unseen.errors import UnseenError
from unseen.report.comparisons import comparison_json, comparison_table
from unseen.report.exports import as_csv, as_latex, as_markdown
from unseen.report.json_view import run_json
from unseen.report.tables import list_table, run_tables
from unseen.runs.datasets import FoldDataset
from unseen.runs.events import (
    Ended,
    FoldDone,
    Measured,
    Note,
    Progressed,
    Started,
    event_json,
)
from unseen.runs.presets import fast
from unseen.runs.run_folder import RunFolder
from unseen.runs.session import FoldFollower
from unseen.training.metrics import METRICS, Metric

SETTINGS = {"samples": 6, "test_samples": 4, "batch_size": 32, "watched_samples": 50}


def test_an_error_in_a_listener_stops_the_run_and_the_next_call_goes_on(tmp_path, symbols):
    settings = {"runs_dir": tmp_path, "folds": [1], "epochs": 4, "symbols": symbols, **SETTINGS}
    events: list[object] = []

    def fail(event: object) -> None:
        if isinstance(event, Progressed) and event.epochs >= 1:
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as failed:  # which keeps its frames alive
        unseen.run("fast", on_event=fail, **settings)
    assert not multiprocessing.active_children()
    assert not [*tmp_path.rglob("*.part")]
    run = unseen.run("fast", on_event=events.append, **settings)
    assert next(each for each in events if isinstance(each, Progressed)).epochs >= 1
    assert [result.fold for result in run.results] == [1]
    assert failed.value


def test_a_run_that_is_removed_while_it_runs_is_gone_not_damaged(tmp_path, symbols):
    def remove(event: object) -> None:
        if isinstance(event, Note):  # of leakage, before the folds
            shutil.rmtree(tmp_path / "runs")

    with pytest.raises(UnseenError, match=r"fast-\w+ is gone: it was removed"):
        unseen.run(
            "fast", on_event=remove, runs_dir=tmp_path / "runs", symbols=symbols, folds=[1],
            **SETTINGS,
        )  # fmt: skip
    assert not (tmp_path / "runs").exists()


FAILING_SCRIPT = """
import sys, unseen
experiment = unseen.PRESETS["fast"]().vary(
    symbols=sys.argv[1], epochs=100_000, samples=6, watched_samples=20
)
events = unseen.session(experiment, [1], sys.argv[2])
for event in events:
    if isinstance(event, unseen.runs.events.Progressed):
        raise ValueError("mine")
"""


def test_a_script_that_fails_while_it_listens_ends(tmp_path, symbols):
    words = [sys.executable, "-c", FAILING_SCRIPT, symbols, tmp_path / "runs"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 1
    assert ended.stderr.endswith("ValueError: mine\n")


@pytest.fixture(scope="module")
def ran(tmp_path_factory) -> tuple[unseen.Run, list, Path]:
    """A run by one call, and its events."""
    here = tmp_path_factory.mktemp("api")
    symbols = write_symbols(here / "symbols")
    events: list = []
    run = unseen.run(
        "fast", operation="subtract", symbols=symbols, folds="1-2", jobs=np.int64(2),
        runs_dir=here / "runs", on_event=events.append, **SETTINGS,
    )  # fmt: skip
    return run, events, here


def test_a_run_is_one_call(ran):
    run, _, here = ran
    assert run.experiment.problem.operation == "subtract"
    assert [result.fold for result in run.results] == [1, 2]
    assert [row["fold"] for row in run.measures.by_fold] == [1, 2]
    assert run.measures.by_fold[0].keys() == {"fold", *METRICS}
    by_combination = run.measures.by_combination
    assert len(by_combination) == 20
    assert by_combination[0]["combination"] == (0, 6)
    assert by_combination[0]["answer"] == -6
    right = np.mean([row["rounded"] for row in by_combination if row["fold"] == 1])
    assert run.measures.by_fold[0]["rounded"] == pytest.approx(right)
    assert run.summary.headline.mean == pytest.approx(
        np.mean([r["rounded"] for r in by_combination])
    )
    assert "Shown pairs it had never seen" in str(run)
    assert "unseen.run('nearest', operation='subtract'" in str(run)
    assert repr(run) == f"Run({str(here / 'runs' / run.name)!r}, folds=[1, 2])"
    assert repr(run.summary).startswith(f"Summary({run.name!r}, folds=2, intervals={{'rounded': ")
    assert len(repr(run.measurements(1)[0])) < 300  # not a list of all combinations
    page = run.report(here / "page.html")
    assert page.read_text().startswith("<!doctype html>")


def test_its_events_are_few_typed_and_plain(ran):
    _, events, _ = ran
    kinds = [type(event) for event in events]
    assert kinds[0] is Started
    assert events[0].folds == (1, 2)
    assert events[-1] == Ended((1, 2), ())
    assert {*kinds} == {Started, Note, Progressed, Measured, FoldDone, Ended}
    for event in events:
        assert json.loads(json.dumps(event_json(event)))["event"] == type(event).__name__
    measured = [event for event in events if isinstance(event, Measured) and event.fold == 1]
    assert [event.measurement for event in measured] == ran[0].measurements(1)


def test_a_run_is_followed_by_its_name(ran):
    run, events, here = ran
    followed = [*unseen.follow(run.name, runs_dir=here / "runs", timeout=np.float32(0.3))]
    assert followed[0] == Started(str(run.folder.path), (1, 2), 1)
    assert followed[-1] == Ended((1, 2), ())
    assert {*map(repr, followed)} <= {*map(repr, events)}
    (first, *_) = (each.measurement for each in followed if isinstance(each, Measured))
    assert [*run.results[0].unseen[0]] in first.combinations  # it names its pairs
    with pytest.raises(UnseenError, match="no run 'nothing'"):
        unseen.follow("nothing", runs_dir=here / "runs")


def test_following_ends_where_nobody_works(ran, monkeypatch):
    run, began = ran[0], time.monotonic()
    assert [*unseen.follow(run, [1, 7], timeout=0.3)][-1] == Ended((1,), (7,))
    assert time.monotonic() - began < 5
    with run.folder.hold(2):
        assert run.folder.is_held(2)
    assert not run.folder.is_held(2)
    answers = [False, False, True]  # of folds 1 and 2, from the last
    monkeypatch.setattr(RunFolder, "is_held", lambda *_: answers.pop())
    assert [*unseen.follow(run, "3,7", timeout=0)][-1] == Ended((), (3, 7))
    assert not answers, "it ended though a process held a fold"


def test_a_run_whose_folds_wait_for_a_worker_is_followed_on(ran):
    run, followed = ran[0], []
    following = Thread(target=lambda: followed.extend(unseen.follow(run, [7], timeout=0.1)))
    with run.folder.in_use():
        following.start()
        following.join(1)
        assert following.is_alive()
    following.join(5)
    assert followed[-1] == Ended((), (7,))


def test_what_a_restarted_fold_measures_is_news(ran, tmp_path):
    run = ran[0]
    folder, (one, two, *_) = RunFolder(tmp_path), run.measurements(1)
    follower = FoldFollower(folder, 1)

    def news(*measurements):
        with folder.hold(1):
            for each in measurements:
                folder.add_measurement(1, each)
        return [event.measurement for event in follower.news()]

    assert news(one, two) == [one, two]
    assert news() == []
    again = replace(one, seconds=one.seconds + 1)
    assert news(again) == [again]
    assert news(two) == [two]


def test_a_network_answers_as_it_did(ran):
    run = ran[0]
    arrays, bank = run.data.folds[0].arrays, run.data.task.bank
    pictures = np.concatenate([*bank.test.images[arrays.images].transpose(1, 0, 2, 3)], axis=2)
    assert run.predict(pictures, fold=1) == pytest.approx(arrays.prediction, abs=1e-4)
    both = [run.predict(pictures, fold=fold) for fold in (1, 2)]
    assert run.predict(pictures) == pytest.approx(np.median(both, axis=0), abs=1e-5)
    assert run.predict(pictures[0]).shape == (1,)
    assert np.array_equal(run.predict(pictures[:, None]), run.predict(pictures))
    assert sum(p.numel() for p in run.network(1).parameters()) == run.results[0].parameters
    for wrong in (pictures[:, :, :28], pictures[0, 0], np.full((1, 28, 56), "x")):
        with pytest.raises(UnseenError, match=r"must be of shape \(n, 28, 56\)"):
            run.predict(wrong)
    for wrong in (np.nan, 300, -1):
        with pytest.raises(UnseenError, match=f"these go from {wrong:g} to {wrong:g}"):
            run.predict(np.full((1, 28, 56), float(wrong)))
    for ask in (run.network, lambda fold: run.predict(pictures, fold)):
        with pytest.raises(UnseenError, match="fold 7 is not done; done: 1, 2"):
            ask(7)
    for ask in (run.network, run.measurements):
        with pytest.raises(UnseenError, match="fold='1' must be the number of a fold"):
            ask("1")
    with pytest.raises(UnseenError, match="path=3 is no path"):
        run.report(3)


def test_the_same_pictures_get_the_same_answers_in_whatever_form_they_are(ran):
    run = ran[0]
    dataset = FoldDataset(run.experiment, half="test")
    tensors = torch.stack([picture for picture, _ in dataset.__getitems__([*range(40)])])
    grey = np.rint(255 * tensors.squeeze(1).numpy()).astype(np.uint8)
    answers = run.predict(grey)
    assert run.predict(grey, fold=1) == pytest.approx(
        run.data.folds[0].arrays.prediction[:40], abs=1e-4
    )
    blurred = np.asarray(tensors) * 1.0004  # as interpolation may leave them
    same = {
        "tensors": tensors,
        "tensors that learn": tensors.clone().requires_grad_(),
        "floats to 1": np.asarray(tensors, np.float64),
        "floats to 255": grey.astype(np.float32),
        "integers": grey.astype(np.int64),
        "a list": [*grey],
        "pictures": [Image.fromarray(each) for each in grey],
        "float pictures": [Image.fromarray(each) for each in tensors.squeeze(1).numpy()],
        "colour": [Image.fromarray(each).convert("RGB") for each in grey],
    }
    for what, pictures in same.items():
        assert run.predict(pictures) == pytest.approx(answers, abs=1e-3), what
    assert run.predict(blurred) == pytest.approx(answers, abs=0.05)
    assert run.predict(Image.fromarray(grey[0])) == pytest.approx(answers[:1], abs=1e-3)
    ink = grey > 128
    assert run.predict(ink) == pytest.approx(run.predict(255 * ink.astype(np.uint8)), abs=1e-3)
    halves = np.concatenate([grey[:20].astype(np.float32), tensors.squeeze(1).numpy()[20:]])
    mixed = [grey[0], tensors[1, 0].numpy()]
    doubtfuls = (ink.astype(np.uint8), grey / 85, grey / 128 - 1, 2 * grey.astype(np.int64))
    for doubtful in (*doubtfuls, halves, mixed):
        with pytest.raises(
            UnseenError, match="grey values from 0 to 255, or as floats from 0 to 1"
        ):
            run.predict(doubtful)


def test_a_run_on_disk_is_the_same(ran):
    run, _, here = ran
    for loaded in (unseen.load(run.name, here / "runs"), unseen.load(here / "runs" / run.name)):
        assert loaded.measures == run.measures
        assert str(loaded) == str(run)
    with pytest.raises(UnseenError, match="run=3 is no path"):
        unseen.load(3)
    with pytest.raises(UnseenError, match="no run 'nothing'"):
        unseen.load("nothing", here / "runs")


def test_what_was_run_is_not_run_again(ran):
    run, _, here = ran
    events: list = []
    again = unseen.run(run.experiment, folds=[1], runs_dir=here / "runs", on_event=events.append)
    assert [type(event) for event in events] == [Started, FoldDone, Ended]
    # and folds that were not asked for are mentioned, not counted
    assert again.measures.by_fold == [run.measures.by_fold[0]]
    assert again.summary.headline != run.summary.headline
    assert (again.other_folds, run.other_folds) == ([2], [])
    assert unseen.load(again.name, here / "runs").measures == run.measures


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"unseen": 95}, "unseen=95 must be from 1 to 90 of 100"),
        ({"learning_rate": 0.0}, "learning_rate=0.0 must be greater than 0$"),
        ({"scale_answers": "maybe"}, "scale_answers='maybe' must be a valid boolean"),
        ({"operation": 3}, "operation=3 must be a valid string"),
        ({"fold": 1}, "unknown setting 'fold' .did you mean 'folds'.*jobs.*restart.*runs_dir"),
        ({"folds": []}, "folds=\\[\\] names no fold"),
        ({"folds": 1.5}, "folds=1.5 must be like 3"),
        ({"jobs": "2"}, "jobs='2' must be a whole number"),
        ({"executor": 2}, "executor=2 is no .*Executor; jobs=2"),
        ({"runs_dir": "a\0b"}, "is no path"),
        ({"on_event": 3}, "on_event=3 must be a function"),
        ({"name": 3}, "name=3 must be of letters"),
        ({"experiment": None}, "experiment=None must be an Experiment, or .* preset: fast"),
        ({"experiment": unseen.PRESETS["fast"]}, "must be an Experiment, or the name of a preset"),
    ],
)
def test_bad_settings_are_refused_in_the_words_of_the_call(tmp_path, settings, words):
    with pytest.raises(UnseenError, match=words) as refusal:
        unseen.run(**{"experiment": "fast", "runs_dir": tmp_path / "runs"} | settings)
    assert "--" not in str(refusal.value)
    assert not (tmp_path / "runs").exists()


def test_a_script_without_a_guard_does_not_start_itself_again(tmp_path: Path):
    """A new process imports the main script by default."""
    script = tmp_path / "script.py"
    script.write_text(
        "import unseen\n"
        "print('once')\n"
        "run = unseen.run('mean', samples=2, test_samples=2, folds=[1], split=[(3, 8), (8, 3)])\n"
        "print(run.results[0].unseen)\n"
    )
    ended = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.stdout == "once\n[[3, 8], [8, 3]]\n", ended.stderr


def test_the_example_of_the_package_runs(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    example = "\n".join(line[4:] for line in unseen.__doc__.splitlines() if line.startswith("    "))
    assert 'unseen.run("fast"' in example
    exec(example.replace("samples=100", "samples=2, test_samples=2, watched_samples=20"), {})
    assert "Shown pairs it had never seen" in capsys.readouterr().out


def test_a_registered_metric_is_in_every_view(tmp_path, symbols, monkeypatch):
    metric = Metric("off", "minus |distance|", "number", lambda text, true: -np.abs(text - true))
    monkeypatch.setitem(METRICS, "off", metric)
    monkeypatch.setitem(METRICS, "even", replace(METRICS["rounded"], name="even", label="parity"))
    experiment = fast().vary(symbols=str(symbols), test_samples=6)
    folder = made_up_run(tmp_path, experiment, folds=[1, 2])
    other = made_up_run(tmp_path, experiment.vary(seed=1), folds=[1, 2])
    run, summary = unseen.Run(folder), summary_of(folder)
    console = Console(width=200, record=True)
    console.print(run_tables(experiment, run.results))
    tables = console.export_text()
    assert "minus |distance|" in tables
    assert "parity" in tables
    shown = json.loads(run_json(folder.path, experiment, run.results, summary))
    for name in ("off", "even"):
        mean = np.mean([result.measures[name] for result in run.results])
        assert summary.spreads[name].mean == mean
        assert shown["folds"][0][name] == run.results[0].measures[name]
        assert shown["mean"][name] == mean
        assert shown["insight"]["intervals"][name]["mean"] == pytest.approx(mean)
        assert name in shown["insight"]["combinations"][0]
        assert run.measures.by_combination[0].keys() >= {name}
        assert f",{name}," in as_csv(summary)
    assert r"minus \textbar{}distance\textbar{}" in as_latex(summary)
    assert r" minus \|distance\| " in as_markdown(summary)
    assert "minus |distance|" in run.report(tmp_path / "page.html").read_text()
    groups = [RunGroup(each.run, (each,)) for each in (summary, summary_of(other))]
    compared = compare_groups(groups)
    assert "off" in json.loads(comparison_json(compared))["differences"][0]
    console.print(comparison_table(compared))
    console.print(list_table([folder, other], tmp_path))
    assert "minus |distance|" in console.export_text()


def test_a_metric_that_an_earlier_run_did_not_measure_is_measured_if_its_predictions_are_there(
    tmp_path, symbols, monkeypatch
):
    experiment = fast().vary(symbols=str(symbols), test_samples=6)
    folder = made_up_run(tmp_path, experiment, folds=[1])
    late = Metric("late", "late metric", "share", METRICS["rounded"].of_samples)
    monkeypatch.setitem(METRICS, "late", late)
    monkeypatch.setitem(METRICS, "lost", replace(late, name="lost", combinations="seen"))
    run = unseen.load(folder.path)
    assert [*run.measures.by_fold[0]] == ["fold", *METRICS]
    shown = json.loads(run_json(folder.path, experiment, run.results, run.summary))
    (fold,), mean = shown["folds"], shown["mean"]
    assert fold["late"] == mean["late"] == fold["rounded"]
    assert fold["lost"] is mean["lost"] is None
    console = Console(width=200, record=True)
    console.print(run_tables(experiment, run.results))
    page = run.report(tmp_path / "page.html").read_text()
    for text in (console.export_text(), as_markdown(run.summary), as_latex(run.summary), page):
        assert "—" in text
        assert not re.search(r"\bnan\b", text)


def test_a_whole_checkpoint_that_is_of_no_use_is_told_and_the_fold_begun_again(tmp_path, symbols):
    experiment = fast().vary(symbols=symbols, **SETTINGS)

    def run_in_threads() -> list:
        with ThreadPoolExecutor(1) as executor:
            return [*unseen.session(experiment, [1], tmp_path, executor)]

    run_in_threads()
    folder = RunFolder.of(experiment, tmp_path)
    first = folder.result(1)
    (folder.path / "folds/01/result.json").unlink()
    folder.save_checkpoint(1, b"of something else")
    notes = [event for event in run_in_threads() if isinstance(event, Note)]
    faults = [note.details["fault"] for note in notes if note.kind == "fold damaged"]
    assert faults == ["the checkpoint does not fit its network"]
    assert folder.result(1).measures == first.measures


def test_what_cannot_be_a_setting_is_told_in_our_words():
    refused = {
        "name has to be given": unseen.Experiment,
        "name='My run' must be like my-recipe-2": lambda: unseen.Experiment(name="My run"),
        "'samples'; known: development": lambda: unseen.Problem(samples=3),
        "timeout='long' must be a number": lambda: unseen.follow("fast", timeout="long"),
        "instance of Problem": lambda: fast().change(problem=3),
        "as [(3, 8), (8, 3)]": lambda: fast().vary(split=[("a", "b")]),
    }
    for words, call in refused.items():
        with pytest.raises(UnseenError, match=re.escape(words)):
            call()

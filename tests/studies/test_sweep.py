import csv
import io
import math
import os
import signal
import time
from concurrent.futures import BrokenExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from conftest import warm_start
from fake_engine import FakeEngine, IdleEngine, made_up_result
from made_up_runs import made_up_run
from rich.console import Console

from unseen.errors import UnseenError
from unseen.report.study_progress import StudyDisplay
from unseen.runs.engine import WorkerDiedError
from unseen.runs.presets import fast
from unseen.studies.calibration import Rates, calibrate, fold_passes, known_rates
from unseen.studies.results import COLUMNS, TidyFile, tidy_row
from unseen.studies.study import read_study
from unseen.studies.sweep import (
    StudyFold,
    StudyNote,
    Tally,
    Working,
    folds_as_they_are,
    plan_study,
    sweep,
)

SMALL = "[settings]\nsamples = 5\ntest-samples = 5\n"


def planned(tmp_path: Path, text: str):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return plan_study(read_study(path), tmp_path / "runs")


def swept(plan, engine):
    events = [*sweep(plan, engine)]
    return [each for each in events if isinstance(each, StudyFold)], events


def test_every_fold_of_every_run_goes_through_one_engine(tmp_path):
    plan = planned(tmp_path, SMALL + "folds = '1-3'\n[vary]\nseed = [0, 1]\n")
    engine = FakeEngine()
    folds, events = swept(plan, engine)
    assert {(each.run.experiment.seed, each.fold) for each in folds} == {
        (seed, fold) for seed in (0, 1) for fold in (1, 2, 3)
    }
    assert {*engine.submitted.values()} == {1}
    assert all(folder.experiment() for folder in plan.runs)
    most = max(len(each.running) for each in events if isinstance(each, Working))
    assert most <= 2 * engine.slots


def test_what_is_done_is_never_run_again_and_what_is_done_elsewhere_is_found(tmp_path):
    experiment = fast().vary(samples=5, test_samples=5, seed=1)
    made_up_run(tmp_path / "runs", experiment, folds=[2])  # as `unseen run` leaves it
    plan = planned(tmp_path, SMALL + "folds = '1-3'\n[vary]\nseed = [0, 1]\n")
    assert (plan.fold_count, plan.done_count, len(plan.missing)) == (6, 1, 5)
    engine = FakeEngine()
    folds, _ = swept(plan, engine)
    assert [(each.run.experiment.seed, each.fold) for each in folds if each.was_done] == [(1, 2)]
    assert len(engine.submitted) == 5


def test_a_fold_that_fails_is_recorded_and_the_others_go_on(tmp_path):
    plan = planned(tmp_path, SMALL + "folds = '1-3'\n")
    fault = UnseenError("no space left")
    fault.add_note("Traceback of a worker")
    faults = {(0, 1): (fault, 9), (0, 3): (RuntimeError("a\nKeyError"), 9)}
    folds, _ = swept(plan, FakeEngine(faults))
    errors = {each.fold: each.error for each in folds}
    assert errors == {1: "no space left", 2: "", 3: "KeyError"}
    (folder,) = plan.runs
    assert (
        folder.path / "folds/01/failure.txt"
    ).read_text() == "no space left\nTraceback of a worker\n"
    folder.tidy(1)
    assert not (folder.path / "folds/01/failure.txt").exists()
    tally = Tally(3)
    [tally.count(each) for each in folds]
    assert (tally.done, len(tally.failed)) == (1, 2)


class KilledWorker(Exception):  # noqa: N818
    """As Dask's."""


@pytest.mark.parametrize("death", [WorkerDiedError(None), BrokenExecutor(), KilledWorker()])
def test_a_fold_whose_worker_dies_twice_has_failed(tmp_path, death):
    plan = planned(tmp_path, SMALL + "folds = '1-3'\n")
    folds, events = swept(plan, FakeEngine({(0, 2): (death, 2), (0, 3): (death, 1)}))
    notes = [each.note.kind for each in events if isinstance(each, StudyNote)]
    assert notes == ["worker died"] * 2
    errors = {each.fold: each.error for each in folds}
    assert "was killed 2 times" in errors.pop(2)
    assert errors == {1: "", 3: ""}


def test_code_that_crashes_is_not_tried_again(tmp_path):
    plan = planned(tmp_path, SMALL + "folds = 1\n")
    folds, _ = swept(plan, FakeEngine({(0, 1): (WorkerDiedError(-signal.SIGSEGV), 1)}))
    assert folds[0].error == "its code crashed (SIGSEGV)"


def test_a_fold_that_another_process_holds_is_left_to_it(tmp_path, monkeypatch):
    monkeypatch.setattr("unseen.studies.sweep.SECONDS_BEFORE_ANOTHER_LOOK", 0)
    plan = planned(tmp_path, SMALL + "folds = '1-2'\n")
    engine = FakeEngine({(0, 1): ("left", -1)})
    folds, _ = swept(plan, engine)
    left = [each for each in folds if each.result is None]
    assert [(each.fold, each.error) for each in left] == [(1, "")]
    assert {fold: count for (_, fold), count in engine.submitted.items()} == {1: 2, 2: 1}


def test_closing_a_sweep_cancels_its_folds(tmp_path):
    plan = planned(tmp_path, SMALL + "folds = '1-10'\n")
    engine = IdleEngine()
    events = sweep(plan, engine)
    next(events)
    events.close()
    assert all(each.cancelled() for each in engine.given)
    assert len(engine.given) == 8


def test_results_are_a_tidy_file(tmp_path):
    plan = planned(tmp_path, SMALL + "folds = '1-2'\n[vary]\nunseen = [10, 20]\n")
    engine = FakeEngine({(0, 2): (UnseenError('a "fault", with signs\nin it'), 9)})
    file = TidyFile(tmp_path / "a/mine.csv")
    for fold in swept(plan, engine)[0]:
        file.add(tidy_row(fold))
    rows = [*csv.DictReader(file.path.read_text().splitlines())]
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 4
    assert {(row["unseen"], row["fold"], row["state"]) for row in rows} == {
        (unseen, fold, {"1": "done", "2": "failed"}[fold])
        for unseen in ("10", "20")
        for fold in ("1", "2")
    }
    assert rows[0]["rounded"] == "0.5"
    assert {row["error"] for row in rows} == {"", 'a "fault", with signs\\nin it'}


def test_sweeps_of_one_study_at_once_leave_one_row_a_fold(tmp_path):
    plan = planned(tmp_path, SMALL + "folds = '1-3'\n")
    (folder,) = plan.runs
    tallies = [Tally(3), Tally(3)]

    def rows():
        text = (tmp_path / "mine.csv").read_text().splitlines()
        return [(row["fold"], row["state"]) for row in csv.DictReader(text)]

    def end(file, tally):
        file.settle(map(tidy_row, folds_as_they_are(plan, tally)))

    first, second = (TidyFile(tmp_path / "mine.csv") for _ in range(2))
    for file, fold in ((first, 1), (second, 2), (first, 2)):
        file.add(tidy_row(StudyFold(folder, plan.runs[folder], fold, made_up_result(fold))))
    assert rows() == [("1", "done"), ("2", "done")]
    made_up_run(tmp_path / "runs", plan.runs[folder].experiment, folds=[1, 2])
    end(second, tallies[1])  # whose rows the first one knows as well
    assert rows() == [("1", "done"), ("2", "done")]
    end(first, tallies[0])
    assert rows() == [("1", "done"), ("2", "done"), ("3", "elsewhere")]
    first.close()
    tallies[1].count(StudyFold(folder, plan.runs[folder], 3, None, "no space left"))
    end(second, tallies[1])
    assert rows() == [("1", "done"), ("2", "done"), ("3", "failed")]
    second.close()


def test_a_full_disk_cuts_no_line_and_the_file_is_whole_at_the_end(tmp_path, monkeypatch):
    plan = planned(tmp_path, SMALL + "folds = '1-3'\n")
    folds, write = swept(plan, FakeEngine())[0], os.write
    file = TidyFile(tmp_path / "mine.csv")
    file.add(tidy_row(folds[0]))
    whole = file.path.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr("os.write", lambda descriptor, line: write(descriptor, line[:7]))
        file.add(tidy_row(folds[1]))
    assert file.path.read_bytes() == whole
    assert not file.is_whole
    file.settle(map(tidy_row, folds))
    assert len(file.path.read_bytes().splitlines()) == 4
    file.close()


def test_parquet_has_the_types_of_the_settings_and_keeps_nan(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    row = {"run": "a", "rounded": float("nan"), "operation": "1", "learning_rate": 1, "fold": 1}
    table = parquet.read_table(TidyFile(tmp_path / "mine.csv", [row]).as_parquet())
    (read,) = table.to_pylist()
    assert math.isnan(read["rounded"])
    assert read | {"rounded": 0} == dict.fromkeys(COLUMNS) | row | {"rounded": 0}
    kinds = {name: str(table.schema.field(name).type) for name in ("error", "unseen", "operation")}
    assert kinds == {"error": "string", "unseen": "int64", "operation": "string"}


def test_seconds_are_told_from_folds_that_are_done(tmp_path):
    plan = planned(tmp_path, SMALL + "folds = '1-10'\n")
    rates = known_rates(plan)
    assert rates.seconds(plan.missing[0]) == 0
    rates.learn(plan.missing[0].experiment, 1, 10.0)
    assert rates.seconds(plan.missing[0]) == pytest.approx(10)
    assert not [*calibrate(plan, FakeEngine(), rates)]
    twice = fast().vary(samples=10, test_samples=5)
    assert 1 < fold_passes(twice, 1) / fold_passes(plan.missing[0].experiment, 1) < 2


def test_the_time_left_follows_from_the_folds_of_this_sweep_too(tmp_path):
    plan = planned(tmp_path, SMALL + "folds = '1-4'\n")
    engine, file = FakeEngine(), io.StringIO()
    display = StudyDisplay(plan, known_rates(plan), engine, Console(file=file, width=60))
    assert display.headline() == "0 of 4 folds done"
    for job in plan.missing[:2]:
        fold = StudyFold(job.folder, plan.runs[job.folder], job.fold, made_up_result(job.fold))
        display.count(replace(fold, result=fold.result.model_copy(update={"seconds": 100.0})))
    assert display.headline() == "2 of 4 folds done; 50 seconds left"  # 200 with four slots
    engine.slots = 1
    assert display.headline() == "2 of 4 folds done; 3 minutes left"
    assert "waiting for the first epoch" in str(display.table(Working((), 0)).renderables[0])


def test_baselines_are_not_tried(tmp_path):
    plan = planned(tmp_path, 'preset = "mean"\n')
    rates = Rates()
    assert not [*calibrate(plan, FakeEngine(), rates)]
    assert rates.seconds(plan.missing[0]) == pytest.approx(1)


def test_ten_thousand_folds_cost_little_time_and_memory(tmp_path):
    """The bookkeeping alone; the limit of a minute is for 10,000 folds."""
    seeds = ", ".join(map(str, range(100)))
    text = SMALL + f"folds = '1-50'\n[vary]\nseed = [{seeds}]\nunseen = [1, 2]\n"
    started = time.perf_counter()
    plan = planned(tmp_path, text)
    assert plan.fold_count == 10_000
    file, before, count = TidyFile(tmp_path / "mine.csv"), 0, 0
    for event in sweep(plan, FakeEngine()):
        if isinstance(event, StudyFold):
            file.add(tidy_row(event))
            count += 1
            before = before or (psutil.Process().memory_info().rss if count == 2_000 else 0)
    assert count == 10_000
    assert time.perf_counter() - started < 60
    assert psutil.Process().memory_info().rss - before < 50e6


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_study_that_is_stopped_says_so_and_leaves_nothing_running(tmp_path, number, code):
    (tmp_path / "mine.toml").write_text(SMALL + "epochs = 1000\nfolds = '1-2'\n")
    with warm_start().start(["sweep", "mine.toml"], tmp_path) as study:
        while not [*tmp_path.glob("runs/*/folds/*/progress.json")]:
            time.sleep(0.05)
        family = psutil.Process(study.pid).children(recursive=True)
        study.send_signal(number)
        said = study.communicate(timeout=60)[1]
    assert study.returncode == code
    assert "The same command goes on from there." in said
    assert not psutil.wait_procs(family, timeout=20)[1]

import csv
import io
import math
import signal
import time
from concurrent.futures import BrokenExecutor
from pathlib import Path

import psutil
import pytest
from conftest import warm_start
from fake_workers import FakeWorkers, IdleWorkers, made_up_result
from made_up_runs import made_up_run
from rich.console import Console

from unseen.errors import UnseenError
from unseen.report.study_progress import StudyDisplay
from unseen.runs.fold import FoldProgress
from unseen.runs.local_workers import WorkerDiedError
from unseen.runs.presets import fast
from unseen.runs.run_folder import RunFolder
from unseen.studies.results import COLUMNS, TidyFile
from unseen.studies.study import read_study
from unseen.studies.sweep import StudyFold, StudyNote, Working, plan_study, rough_seconds, sweep

SMALL = "[settings]\nsamples = 5\ntest-samples = 5\n"


@pytest.fixture(autouse=True)
def made_up_folds_are_not_written(monkeypatch):
    monkeypatch.setattr(RunFolder, "keep", lambda folder, outcome: True)


def planned(tmp_path: Path, text: str):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return plan_study(read_study(path), tmp_path / "runs")


def swept(plan, engine):
    events = [*sweep(plan, engine)]
    return [each for each in events if isinstance(each, StudyFold)], events


def test_every_fold_of_every_run_goes_through_one_engine(tmp_path):
    plan = planned(tmp_path, SMALL + "folds = '1-3'\n[vary]\nseed = [0, 1]\n")
    engine = FakeWorkers()
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
    engine = FakeWorkers()
    folds, _ = swept(plan, engine)
    assert [(each.run.experiment.seed, each.fold) for each in folds if each.was_done] == [(1, 2)]
    assert len(engine.submitted) == 5


def test_a_fold_that_fails_is_recorded_and_the_others_go_on(tmp_path):
    plan = planned(tmp_path, SMALL + "folds = '1-3'\n")
    fault = UnseenError("no space left")
    fault.add_note("Traceback of a worker")
    faults = {(0, 1): (fault, 9), (0, 3): (RuntimeError("a\nKeyError"), 9)}
    folds, _ = swept(plan, FakeWorkers(faults))
    errors = {each.fold: each.error for each in folds}
    assert errors == {1: "no space left", 2: "", 3: "KeyError"}
    (folder,) = plan.runs
    assert (
        folder.path / "folds/01/failure.txt"
    ).read_text() == "no space left\nTraceback of a worker\n"
    folder.tidy(1)
    assert not (folder.path / "folds/01/failure.txt").exists()


class KilledWorker(Exception):  # noqa: N818
    """As Dask's."""


@pytest.mark.parametrize("death", [WorkerDiedError(None), BrokenExecutor(), KilledWorker()])
def test_a_fold_whose_worker_dies_twice_has_failed(tmp_path, death):
    plan = planned(tmp_path, SMALL + "folds = '1-3'\n")
    folds, events = swept(plan, FakeWorkers({(0, 2): (death, 2), (0, 3): (death, 1)}))
    notes = [each.note.kind for each in events if isinstance(each, StudyNote)]
    assert notes == ["worker died"] * 2
    errors = {each.fold: each.error for each in folds}
    assert "was killed 2 times" in errors.pop(2)
    assert errors == {1: "", 3: ""}


def test_code_that_crashes_is_not_tried_again(tmp_path):
    plan = planned(tmp_path, SMALL + "folds = 1\n")
    folds, _ = swept(plan, FakeWorkers({(0, 1): (WorkerDiedError(-signal.SIGSEGV), 1)}))
    assert folds[0].error == "its code crashed (SIGSEGV)"


def test_a_fold_that_another_process_holds_is_left_to_it(tmp_path, monkeypatch):
    monkeypatch.setattr("unseen.studies.sweep.SECONDS_BEFORE_ANOTHER_LOOK", 0)
    plan = planned(tmp_path, SMALL + "folds = '1-2'\n")
    engine = FakeWorkers({(0, 1): ("left", -1)})
    folds, _ = swept(plan, engine)
    left = [each for each in folds if each.result is None]
    assert [(each.fold, each.error) for each in left] == [(1, "")]
    assert {fold: count for (_, fold), count in engine.submitted.items()} == {1: 2, 2: 1}


def test_closing_a_sweep_cancels_its_folds(tmp_path):
    plan = planned(tmp_path, SMALL + "folds = '1-10'\n")
    engine = IdleWorkers()
    events = sweep(plan, engine)
    next(events)
    events.close()
    assert all(each.cancelled() for each in engine.given)
    assert len(engine.given) == 8


def test_results_are_a_tidy_file(tmp_path):
    plan = planned(tmp_path, SMALL + "folds = '1-2'\n[vary]\nunseen = [10, 20]\n")
    engine = FakeWorkers({(0, 2): (UnseenError('a "fault", with signs\nin it'), 9)})
    file = TidyFile(tmp_path / "a/mine.csv")
    for fold in swept(plan, engine)[0]:
        file.add(fold)
    file.write()
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


def test_a_full_disk_is_no_loss_once_there_is_room(tmp_path, monkeypatch):
    plan = planned(tmp_path, SMALL + "folds = '1-3'\n")
    monkeypatch.setattr("unseen.studies.results.SECONDS_BETWEEN_WRITES", 0)
    file = TidyFile(tmp_path / "mine.csv")
    for fold in swept(plan, FakeWorkers())[0]:
        with monkeypatch.context() as patched:
            if fold.fold == 3:
                patched.setattr("unseen.studies.results.write_whole", refuse)
            file.add(fold)
        assert len(file.path.read_text().splitlines()) == 1 + min(2, fold.fold)
    file.write()
    assert len(file.path.read_text().splitlines()) == 4


def refuse(path, *content):
    raise UnseenError(f"cannot write {path}: no space left on device")


def test_parquet_has_the_types_of_the_settings_and_keeps_nan(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    plan = planned(tmp_path, SMALL + "folds = 1\noperation = '1 + a'\nlearning-rate = 1\n")
    file, (fold,) = TidyFile(tmp_path / "mine.csv"), swept(plan, FakeWorkers())[0]
    fold.result.measures["rounded"] = math.nan
    file.add(fold)
    file.write()
    table = parquet.read_table(file.as_parquet())
    (read,) = table.to_pylist()
    assert math.isnan(read["rounded"])
    assert (read["test_mse"], read["learning_rate"], read["samples"]) == (0.5, 1.0, 5)
    kinds = {name: str(table.schema.field(name).type) for name in ("error", "unseen", "operation")}
    assert kinds == {"error": "string", "unseen": "int64", "operation": "string"}


def test_the_time_left_is_in_proportion_to_the_presets_or_to_folds_that_are_done(tmp_path):
    plan = planned(tmp_path, "[vary]\npreset = ['fast', 'paper', 'mean']\nfolds = ['1-2']\n")
    assert plan.seconds_left() == pytest.approx(2 * (9 + 16_500 + 1))
    text = "[settings]\nfolds = 1\ntest-samples = 100\n[vary]\nunseen = [10, 90]\nepochs = [1, 2]\n"
    runs = [rough_seconds(run.experiment) for run in planned(tmp_path, text).study.runs]
    assert runs[0] < runs[1] < 2 * runs[0]
    assert runs[2] < runs[3] < runs[1]
    made_up_run(tmp_path / "runs", fast().vary(samples=5, test_samples=5), folds=[1, 2])
    plan = planned(
        tmp_path, SMALL + "folds = '1-10'\n[vary]\nsamples = [5, 15]\ntest-samples = [5]\n"
    )
    taken = sum(each.seconds for done in plan.done.values() for each in done.values())
    ratio = plan.seconds_left() / taken
    assert 8 / 2 + 10 / 2 < ratio < 8 / 2 + 3 * 10 / 2


def test_a_terminal_shows_the_folds_under_way_and_a_line_for_each_that_ended(tmp_path):
    plan = planned(tmp_path, SMALL + "folds = '1-4'\n[vary]\nseed = [0, 1]\n")
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    display = StudyDisplay(plan, console)

    def events():
        for job in plan.missing[:2]:
            fold = StudyFold(job.folder, plan.runs[job.folder], job.fold, made_up_result(job.fold))
            yield fold
        job = plan.missing[2]
        (job.folder.path / "folds/03").mkdir(parents=True)
        job.folder.save_progress(
            3, FoldProgress(epochs_done=0, epoch_share=0.25, loss=1.0, start=2)
        )
        yield Working((job, plan.missing[3]), 0)
        display.bars.refresh()
        yield StudyFold(job.folder, plan.runs[job.folder], 3, None, "no space left")
        yield Working((), 0)

    assert len([*display.follow(events())]) == 3
    shown = console.file.getvalue()
    assert "2 of 8: fast fold 2: 50.00 % right, 1.0 s" in shown
    assert "start 2, 0.2 of 1 epoch" in shown
    assert "3 of 8: fast fold 3 failed: no space left" in shown
    assert {*display.bars.named} == {"all folds"}


def test_ten_thousand_folds_cost_little_time_and_memory(tmp_path):
    """The bookkeeping alone; the limit of a minute is for 10,000 folds."""
    seeds = ", ".join(map(str, range(100)))
    text = SMALL + f"folds = '1-50'\n[vary]\nseed = [{seeds}]\nunseen = [1, 2]\n"
    started = time.perf_counter()
    plan = planned(tmp_path, text)
    assert plan.fold_count == 10_000
    file, before, count = TidyFile(tmp_path / "mine.csv"), 0, 0
    for event in sweep(plan, FakeWorkers()):
        if isinstance(event, StudyFold):
            file.add(event)
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

"""One training at a time: started, followed by many, stopped, killed, resumed, ended."""

import asyncio
import base64
import json
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from lab_server import PAIRS, TINY, end_while_it_trains, running_lab
from made_up_runs import made_up_run, noisy

from unseen.api import load
from unseen.lab.trainings import Training, Trainings
from unseen.runs.fold import run_fold
from unseen.runs.presets import fast
from unseen.runs.run_folder import RunFolder

LONG = {"epochs": 2_000, "samples": 20}


def test_a_run_of_the_lab_is_an_ordinary_run_with_the_same_bits(lab):
    answer = lab.post("/api/start", {"settings": {"split": PAIRS, **TINY}, "guess": 0.7})
    run = answer.json()["run"]
    told = [*lab.listen(run)]
    snapshots = [snapshot for kind, some in told if kind == "snapshots" for snapshot in some]
    state = [each for kind, each in told if kind == "state"][-1]
    assert state["status"] == "done"
    experiment = fast().vary(split=PAIRS, **TINY)
    outcome = run_fold(experiment, 1)
    folder = RunFolder.of(experiment, lab.runs)
    assert folder.path.name == run
    assert folder.weights(1) == outcome.model
    assert state["outcome"]["measures"]["rounded"] == outcome.result.measures["rounded"]
    assert folder.guess() == 0.7
    measured = load(folder.path).measurements(1)
    assert len(snapshots) == len(measured) > 2
    assert snapshots[-1]["unseen"] == measured[-1].unseen
    assert snapshots[-1]["shown"] == measured[-1].shown
    shares = snapshots[-1]["share"]
    at = measured[-1].combinations.index([3, 8])
    assert shares[38] == pytest.approx(measured[-1].right[at] / measured[-1].samples[at], abs=1e-4)
    assert folder.unseen_file.read_text() == "3 8\n4 1\n7 7\n"
    opened = lab.client.get(f"/api/runs/{run}").json()
    assert (opened["guess"], opened["unseen"]) == (0.7, [38, 41, 77])
    assert len(opened["shown"]) == len(snapshots[-1]["shown"])
    assert opened["command"].startswith("unseen run fast --split '3 8; 4 1; 7 7' --samples 6")


def test_a_cell_is_asked_seen_or_unseen(lab):
    run = lab.start()["run"]
    lab.wait_until("done")
    cells = {row: lab.client.get(f"/api/runs/{run}/folds/1/cells/{row}").json() for row in (38, 39)}
    unseen, seen = cells[38], cells[39]
    assert (unseen["unseen"], unseen["recorded"], unseen["samples"]) == (True, True, 4)
    assert (seen["unseen"], seen["recorded"], seen["samples"]) == (False, False, 200)
    for cell in cells.values():
        assert sum(cell["histogram"]["counts"]) == cell["samples"]
        pictures = [*cell["pictures"]["right"], *cell["pictures"]["wrong"]]
        assert pictures
        assert pictures[0]["picture"].startswith("data:image/png")
    assert {"misread left", "misread right", "wrong", "interplay"} <= unseen["parts"].keys()
    assert sum(seen["parts"].values()) > 0


def test_a_killed_training_is_said_and_goes_on_and_a_stopped_one_answers(lab):
    run = lab.start(seed=3, **LONG)["run"]
    second = lab.post("/api/start", {"settings": {"split": PAIRS, **TINY}})
    assert second.status_code == 409
    assert "is being trained" in second.json()["error"]
    folder = RunFolder(lab.runs / run)
    for kind, told in lab.listen(run):
        if kind == "state" and told["progress"] and told["progress"]["epochs"] > 1:
            break
    family = psutil.Process(lab.process.pid).children(recursive=True)
    trainers = [each for each in family if "unseen.lab.trainer" in " ".join(each.cmdline())]
    for each in trainers:
        each.kill()
    assert "killed" in lab.wait_until("killed")["fault"]
    assert lab.last_state(run)["status"] == "killed"
    reached = folder.progress(1).epochs_done
    assert reached
    assert lab.start(seed=3, **LONG)["status"] == "starting"
    for kind, told in lab.listen(run):
        if kind == "state" and told["progress"] and told["progress"]["epochs"] > reached + 1:
            break
    begun = time.monotonic()
    assert lab.post("/api/stop").json()["training"]["status"] == "stopped"
    assert time.monotonic() - begun < 3
    assert folder.progress(1).epochs_done > reached
    assert folder.checkpoint(1) is not None
    assert folder.measurements(1)
    panels = {"panels": [base64.b64encode(bytes(784)).decode()] * 2}
    answer = lab.post(f"/api/runs/{run}/folds/1/answer", panels)
    assert isinstance(answer.json()["answer"], float), answer.text


def test_a_training_process_that_cannot_begin_is_not_started_for_ever(tmp_path, monkeypatch):
    begun = []

    async def counted(*words: str, **options: object) -> asyncio.subprocess.Process:
        begun.append(words)
        return await asyncio.create_subprocess_exec("false", **options)

    async def scene() -> None:
        trainings = Trainings(tmp_path)
        await trainings.load_process()
        await asyncio.sleep(0.3)
        assert len(begun) == 1
        await trainings.start(fast(), 1)
        while trainings.last.is_under_way:
            await asyncio.sleep(0.01)
        assert trainings.last.status == "killed"
        await asyncio.sleep(0.3)
        assert len(begun) == 2
        await trainings.close()

    monkeypatch.setattr("unseen.lab.trainings.create_subprocess_exec", counted)
    with ThreadPoolExecutor(1) as pool:  # a browser of other tests has its loop in this thread
        pool.submit(asyncio.run, scene()).result()


def test_a_process_that_is_killed_while_it_starts_is_said_on_the_page_and_not_by_a_traceback():
    command = [sys.executable, "-m", "unseen.lab.trainer"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, start_new_session=True, **pipes) as trainer:
        family, end = psutil.Process(trainer.pid), time.monotonic() + 30
        while trainer.poll() is None and time.monotonic() < end:
            # the process that loads torch: the one that is short of memory first
            for each in filter(is_fork_server, family.children()):
                each.kill()
            time.sleep(0.05)
        assert trainer.poll() == 1
        (event,) = map(json.loads, trainer.stdout)
        assert trainer.stderr.read() == b""
    assert event["event"] == "Failed"
    assert event["fault"].startswith("Training could not start: its process was killed")


def is_fork_server(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return "multiprocessing.forkserver" in " ".join(process.cmdline())
    return False


def test_a_process_that_fails_while_none_waits_changes_nothing(tmp_path):
    trainings = Trainings(tmp_path)
    for status, expected in (("done", "done"), ("stopped", "stopped"), ("starting", "failed")):
        trainings.last = Training("a-run", 1, status)
        trainings._take({"event": "Failed", "fault": "Training could not start"})
        assert trainings.last.status == expected


def test_twenty_pages_follow_a_training_and_cost_little(lab):
    run = lab.start(seed=5, epochs=4)["run"]
    heard: list[int] = []

    def hear() -> None:
        heard.append(sum(len(some) for kind, some in lab.listen(run) if kind == "snapshots"))

    before, begun = psutil.Process(lab.process.pid).cpu_times(), time.monotonic()
    threads = [threading.Thread(target=hear) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    seconds, after = time.monotonic() - begun, psutil.Process(lab.process.pid).cpu_times()
    assert heard == [len(RunFolder(lab.runs / run).measurements(1))] * 20
    assert lab.last_state(run)["status"] == "done"
    # what the server takes from the cores, while training has one of them
    used = after.user + after.system - before.user - before.system
    assert used < 0.5 * seconds


def test_a_run_that_another_process_trains_is_followed_to_its_end(lab):
    experiment = fast().vary(split=PAIRS, **TINY, seed=6)
    folder = RunFolder.of(experiment, lab.runs)
    folder.create(experiment)
    with folder.hold(1):
        told = lab.listen(folder.path.name)
        assert next(told)[1]["status"] == "elsewhere"
        outcome = run_fold(experiment, 1)
        folder.save(outcome)
    assert [each["status"] for kind, each in told if kind == "state"][-1] == "done"


def test_a_page_asks_for_what_is_new_and_strange_positions_begin_again(lab):
    run = lab.start()["run"]
    lab.wait_until("done")

    def news(last: str) -> dict:
        return lab.client.get(f"/api/runs/{run}/folds/1/history", params={"from": last}).json()

    whole = news("")
    assert not whole["restarted"]
    assert news(whole["from"])["snapshots"] == []
    for strange in ("9-999999", "x", "-1", "0-" + "9" * 5000, "\x7f", "1-2"):
        assert news(strange)["snapshots"] == whole["snapshots"], strange
    assert news("1-2")["restarted"]


def test_a_training_ends_with_a_server_that_is_killed(tmp_path: Path):
    with running_lab(tmp_path) as lab:
        end_while_it_trains(lab, signal.SIGKILL)


def test_a_lab_for_others_warns_and_opens_a_run(tmp_path: Path):
    made = made_up_run(tmp_path / "others", fast().vary(split=PAIRS, **TINY), noisy)
    with running_lab(tmp_path, made.path, "--host", "0.0.0.0") as lab:
        assert "token=" in lab.url
        here = {"host": f"127.0.0.1:{lab.client.base_url.port}"}
        assert lab.client.get("/api/lab", headers=here).status_code == 401
        token = lab.url.partition("?")[2]
        assert lab.client.get(f"/?{token}", headers=here).status_code == 200  # sets a cookie
        told = lab.client.get("/api/lab", headers=here).json()
        assert told["first_run"] == made.path.name
        listed = lab.client.get("/api/runs", headers=here).json()["runs"]
        assert [each["run"] for each in listed] == [made.path.name]
    assert not (tmp_path / "runs").exists()

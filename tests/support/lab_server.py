"""A lab that tests start as people do: the real command, in a process of its own."""

import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import uvicorn
from processes import wait_until_dead

from unseen.lab.access import AccessPolicy
from unseen.lab.choices import Choices
from unseen.lab.lab import Lab
from unseen.lab.serve import find_address
from unseen.lab.server import create_app
from unseen.lab.trainings import Trainings

TINY = {"samples": 6, "test_samples": 4, "batch_size": 32, "watched_samples": 100}
PAIRS = [[3, 8], [4, 1], [7, 7]]


@dataclass(frozen=True)
class RunningLab:
    """The address of a lab, its process, and its folder of runs."""

    url: str
    process: subprocess.Popen
    runs: Path
    client: httpx.Client

    def post(self, path: str, document: object = None) -> httpx.Response:
        return self.client.post(path, json=document or {})

    def start(self, **settings: object) -> dict:
        """Start a training; returns where it is."""
        document = {"settings": {"split": PAIRS, **TINY, **settings}}
        answer = self.post("/api/start", document)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def listen(self, run: str, fold: int = 1) -> Iterator[tuple[str, Any]]:
        """The news of a fold, as the page asks for them, until it is over."""
        path = f"/api/runs/{run}/folds/{fold}/history"
        last, state = "", None
        while True:
            answer = self.client.get(path, params={"from": last})
            assert answer.status_code == 200, answer.text
            news = answer.json()
            last = news["from"]
            if news["snapshots"]:
                yield "snapshots", news["snapshots"]
                continue
            if news["state"] != state:
                state = news["state"]
                yield "state", state
            if not state["under_way"]:
                return
            time.sleep(0.1)

    def last_state(self, run: str) -> dict:
        return [told for kind, told in self.listen(run) if kind == "state"][-1]

    def wait_until(self, *statuses: str, seconds: float = 60) -> dict:
        """Wait for the training to stand there."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            training = self.client.get("/api/training").json()["training"]
            if training and training["status"] in statuses:
                return training
            time.sleep(0.05)
        raise AssertionError(f"not {statuses} but {training}")


def end_while_it_trains(lab: RunningLab, number: signal.Signals) -> None:
    """Send a signal while a fold is watched: server, training and listeners end."""
    run = lab.start(epochs=2_000, samples=20)["run"]

    def hear() -> None:
        with suppress(httpx.HTTPError):
            assert [*lab.listen(run)]

    listeners = [threading.Thread(target=hear) for _ in range(3)]
    for listener in listeners:
        listener.start()
    lab.wait_until("training")
    family = psutil.Process(lab.process.pid).children(recursive=True)
    assert len(family) > 2
    begun = time.monotonic()
    os.kill(lab.process.pid, number)
    lab.process.wait(10)
    wait_until_dead(family)
    if number == signal.SIGINT:
        assert time.monotonic() - begun < 3  # one second, on a machine that has nothing else
    for listener in listeners:
        listener.join(20)
        assert not listener.is_alive()


@contextmanager
def served_lab(runs: Path, host: str = "127.0.0.1", token: str | None = None) -> Iterator[Any]:
    """A client of a lab in a thread of this process, in which nothing can be trained."""

    async def nothing(self: Trainings) -> None:
        pass

    bound = find_address(None, 0).socket  # as the command has it: small answers go at once
    bound.listen()
    with bound, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainings, "load_process", nothing)
        policy = AccessPolicy(host, bound.getsockname()[1], token)
        app = create_app(Lab(runs, Choices()), policy, pytest.fail)
        config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{policy.port}"
        with httpx.Client(base_url=url, timeout=60) as client:
            client.policy, client.home, client.runs = policy, url, runs
            yield client
        server.should_exit = True
        thread.join(10)


@contextmanager
def running_lab(here: Path, *options: str | Path) -> Iterator[RunningLab]:
    """A lab with its runs in a folder; ended as by Ctrl-C."""
    program = Path(sys.executable).with_name("unseen")
    command = [str(program), "lab", "--no-open", "--port", "0", *map(str, options)]
    process = subprocess.Popen(
        command, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    try:
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], 60)[0], "the lab says nothing"
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + (process.stderr.read() if process.poll() is not None else "")
        with httpx.Client(base_url=found[0].partition("?")[0], timeout=60) as client:
            yield RunningLab(found[0], process, here / "runs", client)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        finally:
            process.stdout.close()
            process.stderr.close()

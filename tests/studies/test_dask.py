"""A real scheduler and two real workers, as processes on loopback."""

import re
import socket
import time
from functools import cache
from pathlib import Path

import psutil
import pytest
from complete_folds import complete_fold
from processes import wait_until_dead
from warm_start import WarmProcess, WarmStart

from unseen.cli import command
from unseen.errors import UnseenError
from unseen.runs.dask_workers import DaskWorkers, in_own_process, versions_here
from unseen.runs.queue import FoldQueue
from unseen.runs.worker import work_on_fold
from unseen.studies.study import read_study
from unseen.studies.sweep import StudyFold, StudyNote, plan_study, sweep

distributed = pytest.importorskip("distributed", reason="needs Dask")

STUDY = """\
preset = "fast"
[settings]
samples = 2
test-samples = 2
batch-size = 32
watched-samples = 10
folds = "1-2"
epochs = {epochs}
[vary]
seed = [0]
"""


def wait_until(holds, seconds=120):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


@cache
def warm_dask() -> WarmStart:
    """Starts schedulers, workers and clients: some twenty of them, and each has a lot to import."""
    commands = ("distributed.cli.dask_scheduler", "distributed.cli.dask_worker")
    return WarmStart(("unseen.commands.sweep", *commands))


class Cluster:
    """A scheduler and workers; `shared` says whether workers see the folder of the client."""

    def __init__(self, folder: Path, *, workers: int = 2) -> None:
        self.folder, self.count, self.port = folder, workers, free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.processes: list[WarmProcess] = []

    def start(self, *words: str) -> WarmProcess:
        process = warm_dask().start([*words], self.folder, "dask")
        self.processes.append(process)
        return process

    def start_scheduler(self) -> None:
        self.scheduler = self.start(
            *("scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard")
        )
        wait_until(self.listens)  # on a busy machine, longer than a client waits

    def listens(self) -> bool:
        with socket.socket() as caller:
            return caller.connect_ex(("127.0.0.1", self.port)) == 0

    def start_worker(self) -> WarmProcess:
        words = ("--nthreads", "1", "--no-dashboard", "--no-nanny", "--host", "127.0.0.1")
        return self.start("worker", self.address, *words)

    def __enter__(self) -> "Cluster":
        self.start_scheduler()
        self.workers = [self.start_worker() for _ in range(self.count)]
        if self.count:
            with distributed.Client(self.address, set_as_default=False) as client:
                client.wait_for_workers(self.count, timeout=60)
        return self

    def __exit__(self, *fault: object) -> None:
        family = {
            child
            for process in self.processes
            if process.poll() is None
            for child in psutil.Process(process.pid).children(recursive=True)
        }
        for process in self.processes:
            with process:
                process.kill()
        wait_until_dead(family)  # no fold outlives its worker


class ApartWorkers(DaskWorkers):
    """Workers with another disk than the client's."""

    def submit(self, function, mark, *arguments):
        return super().submit(function, mark.with_name("elsewhere"), *arguments)


def family_at_work(worker: WarmProcess) -> list[psutil.Process]:
    """The processes of a worker; none as long as it has forked none for a fold."""
    family = psutil.Process(worker.pid).children(recursive=True)
    return family if any(each.ppid() != worker.pid for each in family) else []


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def test_a_cluster_on_this_machine_listens_to_no_other(tmp_path: Path):
    before = {*psutil.Process().children(recursive=True)}
    with DaskWorkers(tmp_path, jobs=1):
        ours = {*psutil.Process().children(recursive=True)} - before | {psutil.Process()}
        listening = {
            connection.laddr.ip
            for process in ours
            for connection in process.net_connections()
            if connection.status == psutil.CONN_LISTEN
        }
    assert listening == {"127.0.0.1"}


@pytest.mark.parametrize("listens", [True, False])
def test_an_address_without_a_scheduler_is_given_up(tmp_path: Path, monkeypatch, listens):
    monkeypatch.setattr("unseen.runs.dask_workers.FIRST_CONNECTION_SECONDS", 0.5)
    began = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = "tcp://{}:{}".format(*server.getsockname())
        if not listens:
            server.close()
        with pytest.raises(UnseenError, match=r"no Dask scheduler answers at tcp://127\.0"):
            DaskWorkers(tmp_path, address)
    assert time.monotonic() - began < 30


def planned(tmp_path: Path, runs: str, epochs: int = 1):
    path = tmp_path / "mine.toml"
    path.write_text(STUDY.format(epochs=epochs))
    return plan_study(read_study(path), tmp_path / runs)


def contents(plan) -> dict:
    """What folds left, without the seconds that they took."""
    return {
        (folder.path.name, fold): (
            folder.weights(fold),
            folder.result(fold).model_copy(update={"seconds": 0.0}).model_dump_json(),
            [(each.epochs, each.unseen) for each in folder.measurements(fold)],
        )
        for folder, run in plan.runs.items()
        for fold in run.folds
    }


@pytest.fixture(scope="module")
def local_contents(tmp_path_factory):
    """By epochs, what this process comes to."""
    known = {}

    def run(epochs):
        if epochs not in known:
            plan = planned(tmp_path_factory.mktemp("local"), "runs", epochs)
            for folder, run in plan.runs.items():
                folder.create(run.experiment)
                for fold in run.folds:
                    complete_fold(folder.path, run.experiment, fold)
            known[epochs] = contents(plan)
        return known[epochs]

    return run


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.mark.parametrize("shared", [True, False])
def test_dask_workers_come_to_the_same_bits_with_a_shared_disk_and_without(
    tmp_path, cluster, local_contents, shared
):
    plan = planned(tmp_path, "runs")
    with (DaskWorkers if shared else ApartWorkers)(tmp_path / "runs", cluster.address) as engine:
        assert engine.shares_disk == [True, True]
        folds = [each for each in sweep(plan, engine) if isinstance(each, StudyFold)]
        assert not [each.error for each in folds if each.error]
    assert contents(plan) == local_contents(1)
    assert not [*(tmp_path / "runs").glob(".shared*")]


def test_a_fold_of_a_network_that_a_worker_has_not_fails_alone(tmp_path, cluster):
    job = planned(tmp_path, "runs").missing[0]
    training = job.experiment.training.model_copy(update={"model": "no.py:No"})
    gone = job.experiment.model_copy(update={"training": training})
    with DaskWorkers(tmp_path / "runs", cluster.address) as engine:
        with pytest.raises(UnseenError, match=r"no\.py"):
            engine.submit(work_on_fold, job.folder.path / "folds/mark", gone, 1).result()
        assert engine.submit(pow, 2, 5).result() == 32


def test_workers_with_other_versions_are_refused_with_both_named(tmp_path, cluster, monkeypatch):
    ours = versions_here()
    other = {**ours, "torch": "2.6.0"}
    monkeypatch.setattr("unseen.runs.dask_workers.versions_here", lambda: other)
    said = rf"a Dask worker has .*torch {re.escape(ours['torch'])},.* this machine .*torch 2\.6\.0"
    with pytest.raises(UnseenError, match=said):
        DaskWorkers(tmp_path, cluster.address)
    with DaskWorkers(tmp_path, cluster.address, allow_versions=True) as engine:
        assert engine.submit(pow, 2, 5).result() == 32
        task = in_own_process, other, "", pow, 2, 5  # to a worker that has come since
        with pytest.raises(UnseenError, match=said):
            engine._executor.submit(*task).result()


def test_a_worker_that_is_killed_costs_no_fold_with_a_shared_disk_and_without(
    tmp_path, local_contents
):
    with Cluster(tmp_path) as cluster:
        for shared in (True, False):
            runs = "shared" if shared else "apart"
            plan = planned(tmp_path, runs, epochs=12)
            workers = DaskWorkers if shared else ApartWorkers
            with workers(tmp_path / runs, cluster.address) as engine:
                wait_until(lambda engine=engine: engine.slots == 2)
                victim, events = cluster.workers.pop(0), []
                for event in sweep(plan, engine):
                    events.append(event)
                    if victim.poll() is None and (family := family_at_work(victim)):
                        victim.kill()
                        victim.wait()
                        wait_until_dead(family)
                assert victim.poll() is not None
                faults = [each.error for each in events if isinstance(each, StudyFold)]
                assert not any(faults)
            assert contents(plan) == local_contents(12)
            if shared:
                cluster.workers.append(cluster.start_worker())


def test_a_scheduler_that_comes_back_is_waited_for(tmp_path, local_contents):
    plan = planned(tmp_path, "runs", epochs=12)
    with (
        Cluster(tmp_path) as cluster,
        DaskWorkers(tmp_path / "runs", cluster.address) as engine,
    ):
        killed, events = False, []
        for event in sweep(plan, engine):
            events.append(event)
            if not killed and any(folder.progress(1) for folder in plan.runs):
                killed = True
                cluster.scheduler.kill()
                cluster.scheduler.wait()
                for worker in cluster.workers:
                    worker.wait(60)  # they end when they have lost it
                cluster.start_scheduler()
                cluster.start_worker()
        assert [each for each in events if isinstance(each, StudyNote)]
        assert not [each.error for each in events if isinstance(each, StudyFold) and each.error]
    assert contents(plan) == local_contents(12)


def test_a_scheduler_that_stays_away_is_said_clearly(tmp_path):
    with Cluster(tmp_path, workers=1) as cluster:
        engine = DaskWorkers(tmp_path / "runs", cluster.address)
        engine._client._timeout = 2
        plan = planned(tmp_path, "runs", epochs=200)
        for folder, run in plan.runs.items():
            folder.create(run.experiment)
        queue = FoldQueue(engine, plan.missing)
        queue.advance(0.1)
        cluster.scheduler.kill()
        said = r"scheduler at tcp.* is gone.* the same command goes"
        with pytest.raises(UnseenError, match=said):
            [queue.advance(0.1) for _ in range(2_000)]
        engine.shutdown(wait=False)


def sweep_until_killed(tmp_path: Path, address: str, epochs: int):
    """Kill a client whose folds have begun; the plan of its study, once no fold is held."""
    plan = planned(tmp_path, "runs", epochs)
    command = ("sweep", "mine.toml", "--engine", "dask", "--address", address)
    folds = [(folder, fold) for folder in plan.runs for fold in (1, 2)]
    with warm_dask().start([*command], tmp_path) as client:
        wait_until(lambda: all([*folder.measurements(fold)] for folder, fold in folds))
        client.kill()
    wait_until(lambda: not any(folder.is_held(fold) for folder, fold in folds))
    return plan, command


def test_no_fold_keeps_running_for_a_client_that_is_gone(tmp_path, local_contents):
    with Cluster(tmp_path) as cluster:
        # so many epochs take minutes: what is not held was stopped
        plan, _ = sweep_until_killed(tmp_path, cluster.address, epochs=20_000)
        assert len(plan_study(plan.study, tmp_path / "runs").missing) == 2
        # so few may end before they are stopped; the same command finishes them either way
        plan, command = sweep_until_killed(tmp_path, cluster.address, epochs=12)
        ended = warm_dask().run([*command], tmp_path, seconds=240)
        assert ended.returncode == 0, ended.stderr
        assert "2 workers, all share the disk" in ended.stderr
    assert contents(plan) == local_contents(12)


@pytest.mark.parametrize("address", ["", "foo", "tcp://127.0.0.1", "http://127.0.0.1:80"])
def test_what_is_no_address_is_refused_at_once(tmp_path, address):
    with pytest.raises(UnseenError, match="is no address of a scheduler"):
        DaskWorkers(tmp_path, address)


def test_the_jobs_of_another_machine_are_not_ours_to_say(tmp_path, capsys):
    (tmp_path / "mine.toml").write_text(STUDY)
    words = ["--engine", "dask", "--address", "tcp://127.0.0.1:1", "--jobs", "3"]
    assert command(["sweep", str(tmp_path / "mine.toml"), *words]) == 2
    assert "--jobs 3 counts folds on this machine" in capsys.readouterr().err.replace("\n", " ")

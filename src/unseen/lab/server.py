"""The lab's server: pages and data for the browser, one training at a time beside it."""

import asyncio
import base64
import binascii
import json
import math
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from unseen.api import Run
from unseen.errors import UnseenError, printable
from unseen.experiments.experiment import Experiment
from unseen.experiments.find_runs import list_runs
from unseen.experiments.presets import PRESETS
from unseen.experiments.run_folder import RunFolder
from unseen.insight.comparison import compare_runs
from unseen.lab.answers import (
    NotThereError,
    body_of,
    faults,
    json_response,
    json_text,
)
from unseen.lab.cells import Networks, cell_json
from unseen.lab.film import Film, Films
from unseen.lab.offers import EFFORTS, Offer, Setup, setup_json, setup_of
from unseen.lab.safety import REPORT_POLICY, Door, Guard
from unseen.lab.speed import Speed
from unseen.lab.state import Trainings
from unseen.problem.settings import Problem
from unseen.views.comparisons import comparison_json
from unseen.views.drawing import share_colours
from unseen.views.repeat_command import side_by_side
from unseen.views.tables import describe
from unseen.views.verdict_text import verdict_text

STATIC = files("unseen.lab") / "static"
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
POLL_SECONDS = 0.15
HEARTBEAT_SECONDS = 10.0
MOST_LISTED = 200  # runs
Given = TypeVar("Given")


class Lab:
    """What the server knows: its runs, what it offers, its trainings and its networks."""

    def __init__(self, runs_dir: Path, offer: Offer, first_run: str | None = None) -> None:
        self.runs_dir, self.offer, self.first_run = runs_dir, offer, first_run
        self.trainings = Trainings(runs_dir)
        self.networks, self.speed = Networks(offer.model), Speed()
        self.films = Films(self.open_setup)
        self.closing = False
        # one thread for what is asked often, one for what takes seconds
        self._quick, self._slow = (ThreadPoolExecutor(1) for _ in range(2))
        self._background: set[asyncio.Task[Any]] = set()

    async def _measure_speed(self) -> None:
        """Find out how fast this machine is, once the trainer has loaded and leaves it alone."""
        await self.trainings.is_warm.wait()
        await self.quick(self.speed.measure)

    def close(self) -> None:
        """Have listeners and training end; the rest ends with the server."""
        self.closing = True
        self.trainings.interrupt()

    async def quick(self, function: Callable[..., Given], *arguments: Any) -> Given:
        return await asyncio.get_running_loop().run_in_executor(
            self._quick, partial(function, *arguments)
        )

    async def slow(self, function: Callable[..., Given], *arguments: Any) -> Given:
        return await asyncio.get_running_loop().run_in_executor(
            self._slow, partial(function, *arguments)
        )

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        await self.trainings.warm_up()
        self._background.add(asyncio.create_task(self._measure_speed()))
        try:
            yield
        finally:
            self.closing = True
            await self.trainings.close()
            for pool in (self._quick, self._slow):
                pool.shutdown(wait=False, cancel_futures=True)

    def folder(self, name: str) -> RunFolder:
        """A run by the name of its folder: one that is in the runs folder, and nowhere else."""
        for folder in list_runs(self.runs_dir):
            if folder.path.name == name:
                return folder
        raise NotThereError(f"there is no run {printable(name[:80])!r}")

    def open_setup(self, name: str, fold: int | None) -> tuple[RunFolder, Setup]:
        folder = self.folder(name)
        folder.refuse_other_versions() if self._may_read(folder) else None
        return folder, setup_of(folder, fold, self.offer)

    def _may_read(self, folder: RunFolder) -> bool:
        return folder.experiment().problem.symbols in self.offer.symbol_sets()

    def estimates(self, chosen: Setup) -> dict[str, Any]:
        """How long a setup will take here, and the same problem with each effort."""
        problem = chosen.experiment.problem
        return {
            "seconds": self.speed.seconds(chosen.experiment),
            "estimates": {
                name: self.speed.seconds(_with_problem(PRESETS[name](), problem))
                for name in EFFORTS
            },
        }

    def loaded(self, name: str) -> Run:
        """A run with all that is known of it."""
        return Run(self.open_setup(name, None)[0])


def _with_problem(experiment: Experiment, problem: Problem) -> Experiment:
    """A preset asked another problem, with as many samples as it takes itself."""
    own = experiment.problem
    samples = {name: getattr(own, name) for name in Problem.model_fields if "samples" in name}
    return experiment.change(problem=problem.change(**samples))


def create_app(lab: Lab, door: Door, say: Callable[[str], None]) -> Starlette:
    """The application: its routes, behind its guard."""
    routes = [
        Route("/", page),
        Route("/static/{name}", static),
        Route("/runs/{run}/report", report),
        Route("/api/lab", lab_state),
        Route("/api/training", training_state),
        Route("/api/setup", setup, methods=["POST"]),
        Route("/api/start", start, methods=["POST"]),
        Route("/api/stop", stop, methods=["POST"]),
        Route("/api/runs", runs),
        Route("/api/runs/{run}", run),
        Route("/api/runs/{run}/verdict", verdict),
        Route("/api/runs/{run}/folds/{fold:int}/watch", watch),
        Route("/api/runs/{run}/folds/{fold:int}/cells/{row:int}", cell),
        Route("/api/runs/{run}/folds/{fold:int}/answer", answer, methods=["POST"]),
        Route("/api/compare", compare),
    ]
    app = Starlette(
        routes=routes,
        lifespan=lab.lifespan,
        middleware=[Middleware(Guard, door=door)],
        exception_handlers=faults(say),
    )
    app.state.lab = lab
    return app


def lab_of(request: Request) -> Lab:
    lab: Lab = request.app.state.lab
    return lab


async def page(request: Request) -> Response:
    return await static_file("index.html")


async def static(request: Request) -> Response:
    return await static_file(request.path_params["name"])


async def static_file(name: str) -> Response:
    """A file of the page; only those that lie there can be named."""
    for file in STATIC.iterdir():
        if file.name == name and (kind := TYPES.get(Path(name).suffix)):
            headers = {"cache-control": "no-cache"}
            return Response(file.read_bytes(), media_type=kind, headers=headers)
    raise NotThereError(f"the lab has no file {printable(name[:80])!r}")


async def lab_state(request: Request) -> Response:
    lab = lab_of(request)
    last = lab.trainings.last
    return json_response(
        {
            "catalogue": await lab.quick(lab.offer.catalogue),
            "training": last and last.to_json(),
            "first_run": lab.first_run,
            "colours": [share_colours(percent / 100) for percent in range(101)],
        }
    )


async def training_state(request: Request) -> Response:
    last = lab_of(request).trainings.last
    return json_response({"training": last and last.to_json()})


async def setup(request: Request) -> Response:
    lab, document = lab_of(request), await body_of(request)
    return json_response(await lab.quick(_described, lab, document))


def _described(lab: Lab, document: Any) -> dict[str, Any]:
    chosen = lab.offer.setup(document)
    folder = RunFolder.of(chosen.experiment, lab.runs_dir)
    there = folder.is_there()
    return setup_json(chosen) | {
        **lab.estimates(chosen),
        "run": folder.path.name if there and chosen.fold in folder.folds() else None,
        "guess": folder.guess() if there else None,
    }


async def start(request: Request) -> Response:
    lab, document = lab_of(request), await body_of(request)
    guess = document.pop("guess", None)
    is_number = isinstance(guess, int | float) and not isinstance(guess, bool)
    if guess is not None and not (is_number and 0 <= guess <= 1):
        raise UnseenError("a guess is a share from 0 to 1")
    lab.trainings.refuse_if_busy()
    chosen = await lab.quick(lab.offer.setup, document)
    await lab.quick(_record, lab, chosen.experiment, guess)
    training = await lab.trainings.start(chosen.experiment, chosen.fold)
    return json_response(training.to_json())


def _record(lab: Lab, experiment: Experiment, guess: float | None) -> None:
    """Have the run folder there before anybody looks for it."""
    folder = RunFolder.of(experiment, lab.runs_dir)
    folder.refuse_other_versions()
    folder.create(experiment)
    if guess is not None and folder.guess() is None:  # the first one: later ones know better
        folder.save_guess(float(guess))


async def stop(request: Request) -> Response:
    lab = lab_of(request)
    await body_of(request)
    await lab.trainings.stop()
    last = lab.trainings.last
    return json_response({"training": last and last.to_json()})


async def runs(request: Request) -> Response:
    lab = lab_of(request)
    return json_response({"runs": await lab.slow(_listed, lab)})


def _listed(lab: Lab) -> list[dict[str, Any]]:
    """The runs of the folder, the latest first."""
    folders = list_runs(lab.runs_dir)[-MOST_LISTED:]
    rows = []
    for folder in reversed(folders):
        row: dict[str, Any] = {"run": folder.path.name, "label": printable(folder.label)}
        try:
            experiment = folder.experiment()
            lab.offer.refuse_others(experiment)
            results, damages = folder.results(thorough=False)
        except UnseenError as error:
            rows.append(row | {"fault": printable(str(error))})
            continue
        right = [each.measures.get("rounded", math.nan) for each in results]
        rows.append(
            row
            | {
                "described": describe(experiment, results),
                "done": [each.fold for each in results],
                "begun": folder.folds(),
                "damaged": len(damages),
                "rounded": float(np.mean(right)) if right else None,
                "guess": folder.guess(),
            }
        )
    return rows


async def run(request: Request) -> Response:
    lab, name = lab_of(request), request.path_params["run"]
    fold = request.query_params.get("fold")
    if fold is not None and not (fold.isdecimal() and fold.isascii() and len(fold) < 6):
        raise UnseenError("a fold is a number")
    return json_response(await lab.quick(_opened, lab, name, None if fold is None else int(fold)))


def _opened(lab: Lab, name: str, fold: int | None) -> dict[str, Any]:
    folder, chosen = lab.open_setup(name, fold)
    film = lab.films.film(name, chosen.fold)
    return setup_json(chosen) | {
        **lab.estimates(chosen),
        "run": name,
        "label": printable(folder.label),
        "guess": folder.guess(),
        "shown": film.shown(),
    }


async def verdict(request: Request) -> Response:
    lab, name = lab_of(request), request.path_params["run"]

    def told() -> dict[str, Any]:
        said = verdict_text(lab.loaded(name).summary)
        return {"headline": said.headline, "sentences": said.sentences}

    return json_response(await lab.slow(told))


async def watch(request: Request) -> Response:
    """The fold as it learns, as server-sent events, from the frame that the listener has last."""
    lab, name, fold = lab_of(request), request.path_params["run"], request.path_params["fold"]
    film = await lab.quick(lab.films.film, name, fold)
    last = request.headers.get("last-event-id") or request.query_params.get("from", "")
    return StreamingResponse(
        _events(lab, film, last),
        media_type="text/event-stream",
        headers={"x-accel-buffering": "no"},
    )


async def _events(lab: Lab, film: Film, last: str) -> AsyncIterator[str]:
    """What a listener is told; it has its own position, and is waited for by nobody."""
    restarts, _, at = last.partition("-")
    position = 0
    if restarts == str(film.restarts) and at.isdecimal() and int(at[:9]) <= len(film.frames):
        position = int(at[:9])
    told: dict[str, Any] = {}
    known = film.restarts
    heard = time.monotonic()
    while not lab.closing:
        if time.monotonic() - film.refreshed > POLL_SECONDS:
            film.refreshed = time.monotonic()  # others need not
            await lab.quick(film.refresh)
        if film.restarts != known:
            known, position = film.restarts, 0
            yield _event("restart", {})
        while position < len(film.frames):
            frames = film.frames[position : position + 50]
            position += len(frames)
            yield _event("frames", frames, f"{known}-{position}")
            heard = time.monotonic()
        state = await _state(lab, film)
        if state != told:
            told, heard = state, time.monotonic()
            yield _event("state", state)
        if state["status"] not in ("starting", "training", "elsewhere"):
            yield _event("end", {})
            return
        if time.monotonic() - heard > HEARTBEAT_SECONDS:
            heard = time.monotonic()
            yield ": still here\n\n"
        await asyncio.sleep(POLL_SECONDS)


async def _state(lab: Lab, film: Film) -> dict[str, Any]:
    """Where a fold stands, and how far it has come."""
    training = lab.trainings.last
    ours = training is not None and (training.run, training.fold) == (
        film.folder.path.name,
        film.setup.fold,
    )
    status, fault = "unfinished", ""
    notes: tuple[dict[str, Any], ...] = ()
    if training is not None and ours and (training.is_under_way or film.result is None):
        status, fault, notes = training.status, training.fault, training.notes
        if status == "done":  # and its result is about to be read
            await lab.quick(partial(film.refresh, ended=True))
    if film.result is not None and not (ours and training is not None and training.is_under_way):
        status = "done"
        if ours:
            lab.speed.learn(film.setup.experiment, film.result.seconds)
    elif status == "unfinished" and await lab.quick(film.is_held):
        status = "elsewhere"  # some other process trains it
    return {
        "status": status,
        "fault": fault,
        "notes": notes,
        "progress": film.progress,
        "outcome": film.outcome() if status == "done" else None,
    }


def _event(kind: str, data: Any, number: str = "") -> str:
    line = f"id: {number}\n" if number else ""
    return f"{line}event: {kind}\ndata: {json_text(data)}\n\n"


async def cell(request: Request) -> Response:
    lab, path = lab_of(request), request.path_params

    def asked() -> dict[str, Any]:
        folder, chosen = lab.open_setup(path["run"], path["fold"])
        if not 0 <= path["row"] < len(chosen.posed.combinations.digits):
            raise NotThereError("there is no such combination")
        return cell_json(lab.networks, folder, chosen, path["row"])

    return json_response(await lab.quick(asked))


async def answer(request: Request) -> Response:
    """What the network of a fold answers to a drawn picture."""
    lab, path = lab_of(request), request.path_params
    document = await body_of(request)

    def answered() -> float:
        folder, chosen = lab.open_setup(path["run"], path["fold"])
        picture = picture_of(document.get("panels"), chosen)
        return float(lab.networks.answers(folder, chosen, picture)[0])

    return json_response({"answer": await lab.quick(answered)})


def picture_of(panels: Any, setup: Setup) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """A picture from its symbols, each as base64 of its grey values: (1, height, width)."""
    height, width = setup.posed.bank.test.images.shape[1:]
    length = setup.posed.combinations.digits.shape[1]
    wanted = f"panels must be {length} texts, each {height} × {width} grey values in base64"
    if not (isinstance(panels, list) and len(panels) == length):
        raise UnseenError(wanted)
    try:
        grey = [base64.b64decode(each, validate=True) for each in panels if isinstance(each, str)]
    except (binascii.Error, ValueError) as error:
        raise UnseenError(wanted) from error
    if [len(each) for each in grey] != [height * width] * length:
        raise UnseenError(wanted)
    symbols = np.frombuffer(b"".join(grey), np.uint8).reshape(length, height, width)
    return np.concatenate([*symbols], axis=1)[np.newaxis]


async def report(request: Request) -> Response:
    lab, name = lab_of(request), request.path_params["run"]
    content = await lab.slow(lambda: lab.loaded(name).report().read_bytes())
    headers = {"content-security-policy": REPORT_POLICY}
    return Response(content, media_type="text/html", headers=headers)


async def compare(request: Request) -> Response:
    lab, names = lab_of(request), request.query_params.getlist("run")
    if len(names) != 2:
        raise UnseenError("a comparison is of two runs")
    return json_response(await lab.slow(_compared, lab, names))


def _compared(lab: Lab, names: list[str]) -> dict[str, Any]:
    """Two runs: the settings in which they differ, and by how much if they were asked the same."""
    loaded = [lab.loaded(name) for name in names]
    apart, alike = side_by_side([each.experiment for each in loaded])
    found: dict[str, Any] = {"apart": apart, "alike": alike, "fault": None, "comparison": None}
    try:
        summaries = [each.summary for each in loaded]
        found["comparison"] = json.loads(comparison_json(summaries, compare_runs(summaries)))
    except UnseenError as error:
        found["fault"] = printable(str(error))
    return found

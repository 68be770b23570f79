"""The lab's server: pages and data for the browser, one training at a time beside it."""

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from unseen.errors import UnseenError, printable
from unseen.lab.answers import body_of, json_response, say_faults
from unseen.lab.faults import NotThereError
from unseen.lab.lab import Lab
from unseen.lab.safety import REPORT_POLICY, Door, Guard
from unseen.lab.watching import watch_events
from unseen.report.drawing import share_colours

STATIC = files("unseen.lab") / "static"
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}


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
        exception_handlers=say_faults(say),
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
    return json_response(await lab.quick(lab.described, document))


async def start(request: Request) -> Response:
    lab, document = lab_of(request), await body_of(request)
    guess = document.pop("guess", None)
    is_number = isinstance(guess, int | float) and not isinstance(guess, bool)
    if guess is not None and not (is_number and 0 <= guess <= 1):
        raise UnseenError("a guess is a share from 0 to 1")
    async with lab.starting:  # of two at once, the second is refused before it leaves a folder
        lab.trainings.refuse_if_busy()
        chosen = await lab.quick(lab.offer.setup, document)
        await lab.quick(lab.record, chosen.experiment, guess)
        training = await lab.trainings.start(chosen.experiment, chosen.fold)
    return json_response(training.to_json())


async def stop(request: Request) -> Response:
    lab = lab_of(request)
    await body_of(request)
    await lab.trainings.stop()
    last = lab.trainings.last
    return json_response({"training": last and last.to_json()})


async def runs(request: Request) -> Response:
    lab = lab_of(request)
    return json_response({"runs": await lab.slow(lab.listed)})


async def run(request: Request) -> Response:
    lab, name = lab_of(request), request.path_params["run"]
    fold = request.query_params.get("fold")
    if fold is not None and not (fold.isdecimal() and fold.isascii() and len(fold) < 6):
        raise UnseenError("a fold is a number")
    return json_response(await lab.quick(lab.opened, name, None if fold is None else int(fold)))


async def verdict(request: Request) -> Response:
    lab = lab_of(request)
    return json_response(await lab.slow(lab.verdict, request.path_params["run"]))


async def watch(request: Request) -> Response:
    """The fold as it learns, as server-sent events, from the frame that the listener has last."""
    lab, name, fold = lab_of(request), request.path_params["run"], request.path_params["fold"]
    film = await lab.quick(lab.films.film, name, fold)
    last = request.headers.get("last-event-id") or request.query_params.get("from", "")
    return StreamingResponse(
        watch_events(lab, film, last),
        media_type="text/event-stream",
        headers={"x-accel-buffering": "no"},
    )


async def cell(request: Request) -> Response:
    lab, path = lab_of(request), request.path_params
    return json_response(await lab.quick(lab.cell, path["run"], path["fold"], path["row"]))


async def answer(request: Request) -> Response:
    lab, path, document = lab_of(request), request.path_params, await body_of(request)
    said = await lab.quick(lab.answer, path["run"], path["fold"], document.get("panels"))
    return json_response({"answer": said})


async def report(request: Request) -> Response:
    lab, name = lab_of(request), request.path_params["run"]
    content = await lab.slow(lambda: lab.loaded(name).report().read_bytes())
    headers = {"content-security-policy": REPORT_POLICY}
    return Response(content, media_type="text/html", headers=headers)


async def compare(request: Request) -> Response:
    lab, names = lab_of(request), request.query_params.getlist("run")
    if len(names) != 2:
        raise UnseenError("a comparison is of two runs")
    return json_response(await lab.slow(lab.compared, names))

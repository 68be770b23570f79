"""The lab's server: pages and data for the browser."""

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from unseen.errors import UnseenError, printable
from unseen.lab.access import REPORT_POLICY, AccessMiddleware, AccessPolicy
from unseen.lab.answers import body_of, fault_handlers, json_response
from unseen.lab.lab import Lab

STATIC = files("unseen.lab") / "static"
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
FOLD = "/api/runs/{run}/folds/{fold:int}"


def create_app(lab: Lab, policy: AccessPolicy, say: Callable[[str], None]) -> Starlette:
    """The application; `say` is called with each fault that was not expected."""
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
        Route(f"{FOLD}/history", history),
        Route(f"{FOLD}/cells/{{row:int}}", cell),
        Route(f"{FOLD}/answer", answer, methods=["POST"]),
        Route("/api/compare", compare),
    ]
    app = Starlette(
        routes=routes,
        lifespan=lab.lifespan,
        middleware=[Middleware(AccessMiddleware, policy=policy)],
        exception_handlers=fault_handlers(say),
    )
    app.state.lab, app.state.policy = lab, policy
    return app


def lab_of(request: Request) -> Lab:
    lab: Lab = request.app.state.lab
    return lab


async def page(request: Request) -> Response:
    """The page; who opens it with the token has it from then on in a cookie."""
    response = static_file("index.html")
    policy: AccessPolicy = request.app.state.policy
    if policy.token is not None and "token" in request.query_params:
        response.set_cookie(policy.cookie, policy.token, httponly=True, samesite="strict")
    return response


async def static(request: Request) -> Response:
    return static_file(request.path_params["name"])


def static_file(name: str) -> Response:
    """A file of the page; only those that are there can be named."""
    for file in STATIC.iterdir():
        if file.name == name and (kind := TYPES.get(Path(name).suffix)):
            headers = {"cache-control": "no-cache"}
            return Response(file.read_bytes(), media_type=kind, headers=headers)
    raise HTTPException(404, f"the lab has no file {printable(name[:80])!r}")


async def report(request: Request) -> Response:
    lab = lab_of(request)
    content = await lab.run_long(lab.report, request.path_params["run"])
    headers = {"content-security-policy": REPORT_POLICY}
    return Response(content, media_type="text/html", headers=headers)


async def lab_state(request: Request) -> Response:
    lab = lab_of(request)
    return json_response(await lab.run_short(lab.state))


async def training_state(request: Request) -> Response:
    return json_response(lab_of(request).training_state())


async def setup(request: Request) -> Response:
    lab, document = lab_of(request), await body_of(request)
    return json_response(await lab.run_short(lab.described, document))


async def start(request: Request) -> Response:
    training = await lab_of(request).start(await body_of(request))
    return json_response(training.to_json())


async def stop(request: Request) -> Response:
    lab = lab_of(request)
    await body_of(request)
    await lab.trainings.stop()
    return json_response(lab.training_state())


async def runs(request: Request) -> Response:
    lab = lab_of(request)
    return json_response(await lab.run_long(lab.listed))


async def run(request: Request) -> Response:
    lab, fold = lab_of(request), request.query_params.get("fold")
    if fold is not None and not (fold.isdecimal() and fold.isascii() and len(fold) < 6):
        raise UnseenError("a fold is a number")
    number = None if fold is None else int(fold)
    return json_response(await lab.run_short(lab.opened, request.path_params["run"], number))


async def verdict(request: Request) -> Response:
    lab = lab_of(request)
    return json_response(await lab.run_long(lab.verdict, request.path_params["run"]))


async def history(request: Request) -> Response:
    """What is new in a fold since the page has asked last."""
    lab, path, last = lab_of(request), request.path_params, request.query_params.get("from", "")
    return json_response(await lab.run_short(lab.news, path["run"], path["fold"], last))


async def cell(request: Request) -> Response:
    lab, path = lab_of(request), request.path_params
    return json_response(await lab.run_short(lab.cell, path["run"], path["fold"], path["row"]))


async def answer(request: Request) -> Response:
    lab, path = lab_of(request), request.path_params
    panels = (await body_of(request)).get("panels")
    return json_response(await lab.run_short(lab.answer, path["run"], path["fold"], panels))


async def compare(request: Request) -> Response:
    lab = lab_of(request)
    return json_response(await lab.run_long(lab.compared, request.query_params.getlist("run")))

"""What the server answers: JSON without NaN, and faults in words."""

import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from unseen.errors import SettingError, UnseenError, is_out_of_memory
from unseen.files import parse_json
from unseen.lab.faults import BusyError, NotThereError, WrongTypeError
from unseen.report.json_view import jsonable
from unseen.settings import format_value

JSON_TYPE = "application/json"
BEGINS_WITH_WORD = re.compile(r"[a-z]{2,}[ ,;]|a [a-z]")  # unlike "a // b" and "fast-1a2b"
IN_WORDS = {
    404: "There is no such page in the lab.",
    405: "The lab does not answer that kind of request.",
}


STATUS: dict[type[UnseenError], int] = {BusyError: 409, NotThereError: 404, WrongTypeError: 415}


def json_response(document: Any, status: int = 200) -> Response:
    # in ASCII: a text may hold what UTF-8 cannot
    return Response(json_text(document), status, media_type=JSON_TYPE)


def json_text(document: Any) -> str:
    return json.dumps(jsonable(document))


def error_response(status: int, fault: str, setting: str | None = None) -> Response:
    return json_response({"error": fault, "setting": setting}, status)


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object that a request brings."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON_TYPE:  # which other sites' pages cannot send without asking first
        raise WrongTypeError(f"send {JSON_TYPE}")
    try:
        document = parse_json(await request.body())
    except ValueError as error:
        raise UnseenError(f"this is no JSON: {error}") from error
    except ClientDisconnect as error:  # nobody hears this, and it is no fault of the lab's
        raise UnseenError("the request ended before its body did") from error
    if not isinstance(document, dict):
        raise UnseenError("send an object of names and values")
    return document


def in_words(error: Exception) -> tuple[int, str, str | None]:
    """A fault as a status, a sentence, and the setting that it is about."""
    setting: str | None = None
    match error:
        case HTTPException(status_code=status):
            fault = IN_WORDS.get(status, "The lab cannot answer that.")
        case SettingError():
            setting, value = error.setting, format_value(error.value)
            shown = f"{value} " if len(value) <= 40 else ""
            status, fault = 400, f"{setting.replace('_', ' ')} {shown}{error.fault}"
        case UnseenError():
            status = next((STATUS[kind] for kind in STATUS if isinstance(error, kind)), 400)
            fault = str(error)
        case OSError():
            status, fault = 400, f"a file cannot be used: {error.strerror}"
        case _ if is_out_of_memory(error):
            status, fault = 400, "memory is short for that; fewer samples need less"
        case _:
            status, fault = 500, "the lab has a fault of its own; its terminal says which"
    return status, sentence(fault), setting


def sentence(text: str) -> str:
    """A fault with a capital and a full stop; a name or an expression keeps its first letter."""
    text = text.strip().encode("ascii", "backslashreplace").decode() if not _fits(text) else text
    first = text[:1].upper() if BEGINS_WITH_WORD.match(text) else text[:1]
    return first + text[1:].rstrip(".") + "."


def _fits(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


Handler = Callable[[Request, Exception], Awaitable[Response]]


def say_faults(say: Callable[[str], None]) -> dict[Any, Handler]:
    """Handlers of everything that can go wrong; `say` is told what nobody expected."""

    async def handle(request: Request, error: Exception) -> Response:
        status, fault, setting = in_words(error)
        if status == 500:
            say(f"{request.method} {request.url.path[:80]}: {error!r}"[:500])
        return error_response(status, fault, setting)

    return {HTTPException: handle, UnseenError: handle, OSError: handle, Exception: handle}

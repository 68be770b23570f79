"""Requests read and answered: JSON without NaN, and faults in words."""

import json
import re
from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from unseen.errors import SettingError, UnseenError, is_out_of_memory
from unseen.files import parse_json
from unseen.report.json_view import jsonable
from unseen.settings import format_value

LARGEST_BODY_BYTES = 1_000_000
JSON_TYPE = "application/json"
BEGINS_WITH_WORD = re.compile(r"[a-z]{2,}[ ,;]|a [a-z]")  # unlike "a // b" and "fast-1a2b"
IN_WORDS = {
    "Not Found": "there is no such page in the lab",
    "Method Not Allowed": "the lab does not answer that kind of request",
}


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
    if kind != JSON_TYPE:  # which pages of other sites cannot send without asking first
        raise HTTPException(415, f"send {JSON_TYPE}")
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > LARGEST_BODY_BYTES:
                most = LARGEST_BODY_BYTES // 1_000_000
                raise HTTPException(413, f"at most {most} MB can be sent at once")
        document = parse_json(bytes(body))
    except ValueError as error:
        raise UnseenError(f"this is no JSON: {error}") from error
    except ClientDisconnect as error:
        raise UnseenError("the request ended before its body did") from error
    if not isinstance(document, dict):
        raise UnseenError("send an object of names and values")
    return document


def in_words(error: Exception) -> tuple[int, str, str | None]:
    """A fault as a status, a sentence, and the setting that it is about."""
    setting: str | None = None
    match error:
        case HTTPException(status_code=status, detail=detail):
            fault = IN_WORDS.get(detail, detail)
        case SettingError():
            setting, value = error.setting, format_value(error.value)
            shown = f"{value} " if len(value) <= 40 else ""
            status, fault = 400, f"{setting.replace('_', ' ')} {shown}{error.fault}"
        case UnseenError():
            status, fault = 400, str(error)
        case OSError():
            status, fault = 400, f"a file cannot be used: {error.strerror}"
        case _ if is_out_of_memory(error):
            status, fault = 400, "memory is short for that; fewer samples need less"
        case _:
            status, fault = 500, "the lab has a fault of its own; its terminal says which"
    return status, sentence(fault), setting


def sentence(text: str) -> str:
    """A fault with a capital and a full stop; a name or an expression keeps its first letter."""
    text = text.strip().encode("utf-8", "backslashreplace").decode()
    first = text[:1].upper() if BEGINS_WITH_WORD.match(text) else text[:1]
    return first + text[1:].rstrip(".") + "."


def fault_handlers(say: Callable[[str], None]) -> dict[Any, Any]:
    """Handlers of everything that can go wrong; `say` is called with what was not expected."""

    async def handle(request: Request, error: Exception) -> Response:
        status, fault, setting = in_words(error)
        if status == 500:
            say(f"{request.method} {request.url.path[:80]}: {error!r}"[:500])
        return error_response(status, fault, setting)

    return dict.fromkeys((HTTPException, UnseenError, OSError, Exception), handle)

"""Who may ask: this machine alone, or whoever has the token; never another site's page."""

import ipaddress
import secrets
import socket
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unseen.lab.answers import error_response

LARGEST_BODY_BYTES = 5_000_000
LONGEST_PATH = 1_000  # characters; the name of a run has at most 255
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
# a report brings its own script: it stands in a corner of its own, from where nothing is asked
REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; frame-ancestors 'none'"
)
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Door:
    """What a request must have: a Host that is ours and, if others may ask, a token."""

    host: str
    port: int
    token: str | None = None

    @property
    def cookie(self) -> str:
        return f"unseen-lab-{self.port}"

    def knows_host(self, host: str) -> bool:
        """Whether a Host header names this server, and not a name that somebody has rebound."""
        name, colon, port = host.rpartition(":")
        if not colon or host.endswith("]"):
            name, port = host, "80"
        if port != str(self.port):
            return False
        name = name.strip("[]").lower()
        if self.token is None:
            return name in ("localhost", "127.0.0.1", "::1", self.host.lower())
        try:
            ipaddress.ip_address(name)
        except ValueError:
            own = socket.gethostname().lower()
            return name in ("localhost", self.host.lower(), own, f"{own}.local")
        return True

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Why a request is refused; None if it is not."""
        headers = Headers(scope=scope)
        if len(scope["path"]) > LONGEST_PATH:
            return 404, "There is nothing at an address as long as this."
        if not self.knows_host(headers.get("host", "")):
            return 403, "This address is not the lab's; open the one that unseen lab has printed."
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
        if origin is not None and origin != f"http://{headers['host']}":
            return 403, "The lab answers only its own page, not one from elsewhere."
        is_visit = (
            scope["method"] == "GET"
            and scope["path"] == "/"
            and headers.get("sec-fetch-mode", "navigate") == "navigate"
        )
        if site not in ("same-origin", "none") and not is_visit:
            return 403, "The lab answers only its own page, not one from elsewhere."
        if self.token is not None and not self._has_token(scope, headers):
            return 401, "This lab needs its token: open the whole address that unseen lab printed."
        return None

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        assert self.token is not None
        given = token_in(scope)
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
            given += [cookies[self.cookie].value] if self.cookie in cookies else []
        except CookieError:
            pass
        known = self.token.encode()
        return any(secrets.compare_digest(each.encode(), known) for each in given)


def token_in(scope: Scope) -> list[str]:
    query = scope["query_string"].decode("latin-1")
    try:
        return parse_qs(query, max_num_fields=20).get("token", [])
    except ValueError:
        return []


class TooLargeError(Exception):
    """A body beyond the limit."""


@dataclass(frozen=True)
class Guard:
    """Refuses foreign requests and large bodies, and gives every answer its headers."""

    app: ASGIApp
    door: Door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False
        refused = self.door.refusal(scope)

        async def guarded_send(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("content-security-policy", CONTENT_SECURITY_POLICY)
                if self.door.token is not None and refused is None and token_in(scope):
                    cookie = f"{self.door.cookie}={self.door.token}; Path=/"
                    headers.append("set-cookie", f"{cookie}; HttpOnly; SameSite=Strict")
            await send(message)

        received = 0

        async def limited_receive() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > LARGEST_BODY_BYTES:
                raise TooLargeError
            return message

        if refused is not None:
            await error_response(*refused)(scope, receive, guarded_send)
            return
        length = Headers(scope=scope).get("content-length", "0")
        try:
            if length.isdecimal() and int(length[:20]) > LARGEST_BODY_BYTES:
                raise TooLargeError
            await self.app(scope, limited_receive, guarded_send)
        except TooLargeError:
            if not begun:
                fault = f"At most {LARGEST_BODY_BYTES // 1_000_000} MB can be sent at once."
                await error_response(413, fault)(scope, receive, guarded_send)

"""Who may ask: this machine alone, or everyone with the token; never a page from another site."""

import ipaddress
import secrets
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unseen.lab.answers import error_response

LONGEST_PATH = 1_000  # characters; the name of a run has at most 255
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
# a report has scripts of its own: it is sandboxed, and cannot send requests
REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class AccessPolicy:
    """What a request must have: the lab's own Host and, if other machines may ask, the token."""

    host: str
    port: int
    token: str | None = None

    @property
    def cookie(self) -> str:
        return f"unseen-lab-{self.port}"

    def knows_host(self, host: str) -> bool:
        """Whether a Host header names this server, and not a name that was rebound to it."""
        try:
            url = urlsplit(f"//{host}")
            name, port = url.hostname or "", url.port or 80
        except ValueError:
            return False
        known = {"localhost", "127.0.0.1", "::1", self.host.lower()}
        if self.token is not None:
            own = socket.gethostname().lower()
            known |= {own, f"{own}.local", name if _is_address(name) else ""}
        return bool(name) and name in known and port == self.port

    def refusal(self, request: Request) -> tuple[int, str] | None:
        """Status and reason if a request is refused; None if it is not."""
        headers, path = request.headers, request.scope["path"]
        if len(path) > LONGEST_PATH:
            return 404, "There is nothing at an address as long as this."
        host = headers.get("host", "")
        if not self.knows_host(host):
            return 403, "This address is not the lab's; open the one that unseen lab has printed."
        is_visit = (
            request.method == "GET"
            and path == "/"
            and headers.get("sec-fetch-mode", "navigate") == "navigate"
        )
        is_own = headers.get("sec-fetch-site", "none") in ("same-origin", "none")
        if headers.get("origin", f"http://{host}") != f"http://{host}" or not (is_own or is_visit):
            return 403, "The lab answers only its own page, not one from elsewhere."
        if self.token is not None and not self._has_token(request):
            return 401, "This lab needs its token: open the whole address that unseen lab printed."
        return None

    def _has_token(self, request: Request) -> bool:
        given = (request.query_params.get("token", ""), request.cookies.get(self.cookie, ""))
        known = str(self.token).encode()
        return any(secrets.compare_digest(each.encode(), known) for each in given)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class AccessMiddleware:
    """Refuses what the policy does not allow, and gives every answer its headers."""

    app: ASGIApp
    policy: AccessPolicy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self.policy.refusal(Request(scope))
        answer = self.app if refusal is None else error_response(*refusal)
        await answer(scope, receive, send_with_headers)

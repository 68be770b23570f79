"""The lab at its address: a socket, a server on it, and an end within a second."""

import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from unseen.errors import SettingError, UnseenError
from unseen.lab.access import AccessPolicy
from unseen.lab.choices import Choices
from unseen.lab.lab import Lab
from unseen.lab.server import create_app
from unseen.runs.find_runs import find_run

HOST = "127.0.0.1"
PORTS = range(8150, 8170)  # the first that is free, unless one is named


@dataclass(frozen=True)
class Address:
    """Where the lab is, and who may ask it."""

    socket: socket.socket
    policy: AccessPolicy

    @property
    def url(self) -> str:
        host = self.policy.host
        shown = own_address() if host in ("0.0.0.0", "::") else host
        shown = f"[{shown}]" if ":" in shown else shown
        token = f"?token={self.policy.token}" if self.policy.token else ""
        return f"http://{shown}:{self.policy.port}/{token}"


def own_address() -> str:
    """The address by which other machines know this one; its name, if it has no network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address that is never in use; nothing is sent
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


def find_address(host: str | None, port: int | None) -> Address:
    """Bind to a port: the named one, or the first that is free."""
    wanted = [port] if port is not None else [*PORTS, 0]
    family = socket.AF_INET6 if ":" in (host or HOST) else socket.AF_INET
    for each in wanted:
        # the protocol is named so that asyncio sends small answers at once: else each waits 40 ms
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host or HOST, each))
        except (OSError, OverflowError) as error:
            bound.close()
            if port is not None:
                reason = getattr(error, "strerror", None) or str(error)
                raise SettingError("port", port, f"cannot be used: {reason}") from error
            if isinstance(error, socket.gaierror):
                raise SettingError("host", host, f"cannot be used: {error.strerror}") from error
            continue
        token = None if host in (None, HOST, "localhost", "::1") else secrets.token_urlsafe(24)
        return Address(bound, AccessPolicy(host or HOST, bound.getsockname()[1], token))
    raise UnseenError(f"no port is free on {host or HOST}; name one as the port")


def find_first_run(run: str | None, runs_dir: Path) -> tuple[str | None, Path]:
    """The run to open first, by the name of its folder, and the folder of all runs."""
    if run is None:
        return None, runs_dir
    found = find_run(run, runs_dir)
    found.refuse_other_versions()
    path = found.path.absolute()
    return path.name, runs_dir if path.parent == runs_dir.absolute() else path.parent


def serve(
    runs_dir: Path,
    address: Address,
    choices: Choices,
    first_run: str | None,
    *,
    say: Callable[[str], None],
    ready: Callable[[], None],
) -> None:
    """Run the lab until it is interrupted."""
    lab = Lab(runs_dir, choices, first_run)
    config = uvicorn.Config(
        create_app(lab, address.policy, say),
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=1,
        lifespan="on",
        ws="none",
    )
    address.socket.listen(256)
    ready()
    uvicorn.Server(config).run(sockets=[address.socket])

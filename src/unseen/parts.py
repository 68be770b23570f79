"""Registries that other packages and notebooks can add to, and what they have added.

An installed package adds parts by an entry point of the group `unseen.parts`: a function without
arguments, or a module, that calls `unseen.register_model` and the like. It is looked for when a
name is not known otherwise.
"""

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, TypeVar

from unseen.errors import UnseenError, first_line
from unseen.identity import CannotTellError, content_sha256

GROUP = "unseen.parts"
Part = TypeVar("Part")


@dataclass
class AddedPart:
    """A part that is not this package's own."""

    made_by: Callable[..., Any]
    is_installed: bool  # found by its entry point, in any process
    # in place of a sum that cannot be had, so that no earlier run is taken for one with it
    token: str = field(default_factory=secrets.token_hex)

    def sha256(self) -> str:
        """The sum of what it does now, by which runs with it are told apart."""
        try:
            return content_sha256(self.made_by)
        except CannotTellError:
            return self.token

    def renew(self) -> str | None:
        """If what it does has no sum, make the next run with it a new one, and say why."""
        try:
            content_sha256(self.made_by)
        except CannotTellError as error:
            self.token = secrets.token_hex()
            return str(error)
        return None


class Registry(dict[str, Part]):
    """Parts by name; a name that is not there may be that of an installed package's part."""

    def __contains__(self, name: object) -> bool:
        if not super().__contains__(name):
            find_installed()
        return super().__contains__(name)

    def __missing__(self, name: str) -> Part:
        if name in self:
            return self[name]
        raise KeyError(name)

    def with_installed(self) -> "Registry[Part]":
        """All parts, those of installed packages among them."""
        find_installed()
        return self

    def add(self, kind: str, name: str, part: Part, made_by: Callable[..., Any]) -> None:
        """Add a user's part, in place of another one of theirs, but of none of the package's."""
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{1,60}", name):
            raise UnseenError(
                f"{name!r} is no name for a part; use 2 to 61 letters, digits, - and _, "
                "the first a letter"
            )
        if not callable(made_by):
            raise UnseenError(f"{kind} {name!r} must be a function")
        if super().__contains__(name) and (kind, name) not in ADDED:
            raise UnseenError(f"the package has its own {kind} {name!r}; choose another name")
        ADDED[kind, name] = AddedPart(made_by, _state["is_finding"])
        self[name] = part


def part_sha256(kind: str, name: str) -> str:
    """The sum of a part that was added; empty for the package's own."""
    part = ADDED.get((kind, name))
    return part.sha256() if part else ""


def find_installed() -> None:
    """Have installed packages add their parts, once."""
    if _state["is_begun"]:
        return
    _state["is_begun"] = _state["is_finding"] = True
    try:
        for entry in entry_points(group=GROUP):
            try:
                found = entry.load()
                if callable(found):
                    found()
            except Exception as error:
                raise UnseenError(
                    f"the parts of {entry.value!r} cannot be loaded: {first_line(error)}"
                ) from error
    finally:
        _state["is_finding"] = False


_state = {"is_begun": False, "is_finding": False}
ADDED: dict[tuple[str, str], AddedPart] = {}

"""Where in a TOML file something is said, which tomllib does not tell."""

import tomllib
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

Place = tuple[str | int, ...]  # keys and, in lists, numbers from 0
ENDINGS = ("", "]", "}", "]}", "}]", "]}]", '"""', "'''")  # of what goes on in the next line


def line_of(text: str, place: Place) -> int | None:
    """The line of a readable file with what is at a place; None if nothing is there."""
    lines = text.split("\n")

    def is_said(count: int) -> bool:
        """Whether it is said in so many lines and the rest of what the last of them begins."""
        while (said := _read(lines[:count])) is None:
            count += 1
        return _has(said, place)

    if not is_said(len(lines)):
        return None
    first = 1 + bisect_left(range(1, len(lines)), True, key=is_said)
    for count in range(first, len(lines)):  # a list may have its items in several lines
        beginnings = [_read(lines[:count], ending) for ending in ENDINGS]
        if any(_has(said, place) for said in beginnings):
            return count
    return len(lines)


def _read(lines: Sequence[str], ending: str = "") -> dict[str, Any] | None:
    try:
        return tomllib.loads("\n".join(lines) + ending)
    except tomllib.TOMLDecodeError:
        return None


def _has(said: Any, place: Place) -> bool:
    for step in place:
        try:
            said = said[step]
        except (LookupError, TypeError):
            return False
    return True

"""What a person can put right."""

import difflib
from collections.abc import Iterable


class UnseenError(Exception):
    """Bad input or a machine that will not have it: shown as one line, exit code 2."""


def unknown(kind: str, name: str, known: Iterable[str]) -> UnseenError:
    """An error that names what is not known, what is, and what may have been meant."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return UnseenError(f"unknown {kind} {name!r}{hint}; known: {', '.join(names)}")

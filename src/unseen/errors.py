"""Faults that a person can put right."""

import difflib
from collections.abc import Iterable


class UnseenError(Exception):
    """Bad input, or a machine that cannot do it: one line on the command line, exit code 2."""


class SettingError(UnseenError):
    """A setting, by its keyword in `unseen.run`, has a value that cannot be used."""

    def __init__(self, setting: str, value: object, fault: str) -> None:
        super().__init__(setting, value, fault)
        self.setting, self.value, self.fault = setting, value, fault

    def __str__(self) -> str:
        return f"{self.setting}={self.value} {self.fault}"


def unknown(kind: str, name: str, known: Iterable[str]) -> UnseenError:
    """An error that names what is not known, what is, and what may have been meant."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return UnseenError(f"unknown {kind} {name!r}{hint}; known: {', '.join(names)}")

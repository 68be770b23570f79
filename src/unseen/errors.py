"""What a person can put right."""

import difflib
import unicodedata
from collections.abc import Iterable

# controls, signs that reorder or end lines without being seen, and what is no sign at all
NOT_PRINTED = {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}


class UnseenError(Exception):
    """Bad input or a machine that cannot do it: shown as one line, exit code 2."""


class SettingError(UnseenError):
    """A setting with a value that cannot be used; the command line says it in its own words."""

    def __init__(self, setting: str, value: object, fault: str) -> None:
        super().__init__(f"{setting}={value!r} {fault}")
        self.setting, self.value, self.fault = setting, value, fault

    def __reduce__(self) -> tuple[type["SettingError"], tuple[object, ...]]:
        return SettingError, (self.setting, self.value, self.fault)


def printable(text: str, but: str = "") -> str:
    """A text with the control characters in it spelled out, as \\x1b, and what is no UTF-8 too.

    They come from names of files and folders, and would command a terminal or break a page.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        sign
        if sign in but or unicodedata.category(sign) not in NOT_PRINTED
        else sign.encode("unicode_escape").decode()
        for sign in text
    )


def unknown(kind: str, name: str, known: Iterable[str]) -> UnseenError:
    """An error that names what is not known, what is, and what may have been meant."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return UnseenError(f"unknown {kind} {name!r}{hint}; known: {', '.join(names)}")

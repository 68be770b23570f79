"""What a person can put right."""

import difflib
from collections.abc import Iterable
from pathlib import PurePath


class UnseenError(Exception):
    """Bad input or a machine that cannot do it: shown as one line, exit code 2."""


class SettingError(UnseenError):
    """A setting with a value that cannot be used; the command line says it in its own words."""

    def __init__(self, setting: str, value: object, fault: str) -> None:
        super().__init__(f"{setting}={value!r} {fault}")
        self.setting, self.value, self.fault = setting, value, fault

    def __reduce__(self) -> tuple[type["SettingError"], tuple[object, ...]]:
        return SettingError, (self.setting, self.value, self.fault)


def unknown(kind: str, name: str, known: Iterable[str], *, place: str = "") -> UnseenError:
    """An error that names what is not known, what is, and what may have been meant.

    `place` is "file" or "folder" where one may be named as well; what has a separator or a suffix
    was meant as one.
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    fault = f"unknown {kind} {name!r}{hint}"
    if place and (len(PurePath(name).parts) > 1 or PurePath(name).suffix):
        fault = f"{kind} {name!r}: there is no such {place}"
    elif place:
        fault += f", and there is no such {place}"
    return UnseenError(f"{fault}; known: {', '.join(names)}")

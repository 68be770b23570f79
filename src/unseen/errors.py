"""What a person can put right."""

import difflib
from collections.abc import Iterable


class UnseenError(Exception):
    """Bad input or a machine that cannot do it: shown as one line, exit code 2."""


class SettingError(UnseenError):
    """A setting with a value that cannot be used; the command line says it in its own words."""

    def __init__(self, setting: str, value: object, fault: str) -> None:
        super().__init__(f"{setting}={value!r} {fault}")
        self.setting, self.value, self.fault = setting, value, fault

    def __reduce__(self) -> tuple[type["SettingError"], tuple[object, ...]]:
        return SettingError, (self.setting, self.value, self.fault)


def first_line(error: BaseException) -> str:
    """What an exception is called and the first line that it says; its text may itself fail."""
    try:
        return ": ".join([type(error).__name__, *str(error).strip().splitlines()[:1]])
    except BaseException:
        return "an exception that cannot be printed"


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory was short, which torch says in words."""
    return isinstance(error, MemoryError) or "allocate memory" in first_line(error)


def unknown(kind: str, name: str, known: Iterable[str]) -> UnseenError:
    """An error that names what is not known, what is, and what may have been meant."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return UnseenError(f"unknown {kind} {name!r}{hint}; known: {', '.join(names)}")

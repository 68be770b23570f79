"""What a person can put right."""

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any


class UnseenError(Exception):
    """Bad input or a machine that cannot do it: shown as one line, exit code 2.

    >>> import unseen
    >>> try:
    ...     unseen.run("fats")
    ... except unseen.UnseenError as error:
    ...     print(str(error)[:45])
    unknown preset 'fats' (did you mean 'fast'?);
    """

    def __reduce__(self) -> tuple[Any, ...]:
        # to another process without `__init__`, whose arguments are not always the `args`
        return type(self).__new__, (type(self), *self.args), vars(self)


class SettingError(UnseenError):
    """A setting with a value that cannot be used; the command line names it as an option."""

    def __init__(self, setting: str, value: object, fault: str) -> None:
        super().__init__(f"{setting}={shortened(repr(value), 200)} {fault}")
        self.setting, self.value, self.fault = setting, value, fault


class CheckpointError(UnseenError):
    """A checkpoint of something else than the training that it should go on with."""


def first_line(error: BaseException) -> str:
    """What an exception is called and the first line that it says; its text may itself fail."""
    try:
        return ": ".join([type(error).__name__, *str(error).strip().splitlines()[:1]])
    except BaseException:
        return "an exception that cannot be printed"


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory was short, which torch says in words."""
    text = first_line(error)  # of a library that cannot be loaded, the linker's own words
    return isinstance(error, MemoryError) or "allocate memory" in text or "map segment" in text


def as_called(settings: Mapping[str, Any]) -> str:
    """Settings as a call has them."""
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())


def printable(text: str, but: str = "") -> str:
    """A text with the control characters in it spelled out, as \\x1b, and what is no UTF-8 too.

    They come from names of files and folders, and would command a terminal or break a page.
    """
    kept = f"{but}\N{NO-BREAK SPACE}"
    return "".join(
        sign if sign.isprintable() or sign in kept else sign.encode("unicode_escape").decode()
        for sign in text
    )


def without_paths(text: str) -> str:
    """A text for other people: of each absolute path in it, only the last part is left."""
    for folder in (Path.cwd(), Path.home()):  # their names may have spaces in them
        if len(folder.parts) > 1:
            text = text.replace(f"{folder}{os.sep}", "").replace(str(folder), folder.name)
    return re.sub(r"(?<![\w.:/\\])(?:[A-Za-z]:)?[/\\](?:[^\s/\\'\"]+[/\\])+", "", text)


def shortened(text: str, most: int = 60) -> str:
    """A text that an error can quote: of a long one, its beginning."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def unknown(kind: str, name: str, known: Iterable[str], *, place: str = "") -> UnseenError:
    """An error that names what is not known, what is, and what may have been meant.

    `place` is "file" or "folder" where one may be named as well; what has a separator or a suffix
    was meant as one.
    """
    names = sorted(known)
    near = difflib.get_close_matches(name[:200], names, n=1)
    shown = shortened(name)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    fault = f"unknown {kind} {shown!r}{hint}"
    if place and (len(PurePath(name).parts) > 1 or PurePath(name).suffix):
        fault = f"{kind} {shown!r}: there is no such {place}"
    elif place:
        fault += f", and there is no such {place}"
    return UnseenError(f"{fault}; known: {', '.join(names)}")

"""The standard streams: progress that cannot be written is dropped, a result is an error."""

import os
import sys
from contextlib import suppress
from typing import Any


class LossyStream:
    """A text stream that drops what it cannot write, so that work goes on without a terminal."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def open_closed_streams() -> None:
    """Open standard streams that are closed, or the next file would get their descriptors.

    Nothing can be written there: a result fails as it does on a full disk.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDONLY)
            os.set_inheritable(descriptor, True)
            setattr(sys, name, open(descriptor, "r" if name == "stdin" else "w", closefd=False))  # noqa: SIM115


def show_on_stderr() -> None:
    """Have stdout be stderr, down to its descriptor, for code whose output is no result."""
    open_closed_streams()
    with suppress(OSError):
        os.dup2(2, 1)
    sys.stdout = sys.stderr = LossyStream(sys.stderr)

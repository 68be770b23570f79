"""A file that one process at a time may hold, to keep the others from its folder."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import filelock

from unseen.errors import UnseenError
from unseen.files import make_folder, remove

FOREVER = -1.0
A_LOOK = 0.2  # seconds; `is_locked` has to take a lock to know, and gives it back at once


@contextmanager
def locked(path: Path, wait: float = A_LOOK) -> Iterator[bool]:
    """Hold a lock against other processes; False if one of them keeps it for so many seconds.

    The system takes it back when its holder dies, however that happens. What a killed process left
    half-written in the folder of the lock is removed.
    """
    make_folder(path.parent)
    if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):  # a link or a pipe
        remove(path)
    lock = filelock.FileLock(path)
    try:
        lock.acquire(timeout=wait, poll_interval=A_LOOK / 10)
    except filelock.Timeout:
        yield False
        return
    except OSError as error:
        raise UnseenError(f"cannot lock {path.parent}: {error.strerror}") from error
    try:
        for leftover in path.parent.glob(".*.part"):
            remove(leftover)
        yield True
    finally:
        lock.release()


def is_locked(path: Path) -> bool:
    """Whether a process holds a lock; False where that cannot be found out."""
    with suppress(OSError):
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        try:
            with filelock.FileLock(path, blocking=False):
                pass
        except filelock.Timeout:
            return True
    return False

"""Processes that tests see end."""

import time
from collections.abc import Iterable

import psutil


def wait_until_dead(processes: Iterable[psutil.Process], seconds: float = 30) -> None:
    """Wait for processes to end; a zombie has ended, and is only not collected yet."""
    end = time.monotonic() + seconds
    while alive := [each for each in processes if _runs(each)]:
        assert time.monotonic() < end, f"still alive: {alive}"
        time.sleep(0.05)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False

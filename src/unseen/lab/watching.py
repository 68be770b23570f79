"""What whoever watches a fold is told, as server-sent events."""

import asyncio
import time
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from unseen.lab.answers import json_text
from unseen.lab.film import Film
from unseen.lab.lab import Lab

POLL_SECONDS = 0.15
HEARTBEAT_SECONDS = 10.0


async def watch_events(lab: Lab, film: Film, last: str) -> AsyncIterator[str]:
    """What a listener is told; it has its own position, and is waited for by nobody."""
    restarts, _, at = last.partition("-")
    position = 0
    if restarts == str(film.restarts) and at.isdecimal() and int(at[:9]) <= len(film.frames):
        position = int(at[:9])
    told: dict[str, Any] = {}
    known = film.restarts
    heard = time.monotonic()
    while not lab.closing:
        if time.monotonic() - film.refreshed > POLL_SECONDS:
            film.refreshed = time.monotonic()  # others need not
            await lab.quick(film.refresh)
        state = await _state(lab, film)  # first: a fold that has ended has all its frames
        if film.restarts != known:
            known, position = film.restarts, 0
            yield _event("restart", {})
        while position < len(film.frames):
            frames = film.frames[position : position + 50]
            position += len(frames)
            yield _event("frames", frames, f"{known}-{position}")
            heard = time.monotonic()
        if state != told:
            told, heard = state, time.monotonic()
            yield _event("state", state)
        if state["status"] not in ("starting", "training", "elsewhere"):
            yield _event("end", {})
            return
        if time.monotonic() - heard > HEARTBEAT_SECONDS:
            heard = time.monotonic()
            yield ": still here\n\n"
        await asyncio.sleep(POLL_SECONDS)


async def _state(lab: Lab, film: Film) -> dict[str, Any]:
    """Where a fold stands, and how far it has come."""
    training = lab.trainings.last
    if training is not None and not training.is_of(film.folder.path.name, film.setup.fold):
        training = None
    status: str = training.status if training is not None else "unfinished"
    if training is None or not training.is_under_way:
        # first whether somebody works on it: whoever has let go of it has saved what it came to
        if film.result is None and await lab.quick(film.is_held):
            status = "elsewhere"
        elif film.result is None:
            await lab.quick(partial(film.refresh, ended=True))
        if film.result is not None:
            status = "done"
        elif status == "done":  # and its files are damaged since
            status = "unfinished"
    if training is not None and status == "done" and film.result is not None:
        lab.speed.learn(film.setup.experiment, film.result.seconds / film.result.starts)
    return {
        "status": status,
        "fault": training.fault if training is not None else "",
        "notes": training.notes if training is not None else (),
        "progress": film.progress,
        "outcome": film.outcome() if status == "done" else None,
    }


def _event(kind: str, data: Any, number: str = "") -> str:
    line = f"id: {number}\n" if number else ""
    return f"{line}event: {kind}\ndata: {json_text(data)}\n\n"

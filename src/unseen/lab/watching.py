"""What those who watch a fold receive, as server-sent events.

Each listener has a position of its own in the history, so one that is slow, or gone, delays no
other.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from unseen.lab.answers import json_text
from unseen.lab.history import History
from unseen.lab.lab import Lab

POLL_SECONDS = 0.15
HEARTBEAT_SECONDS = 10.0
SNAPSHOTS_AT_ONCE = 50


async def watch_events(lab: Lab, history: History, last: str) -> AsyncIterator[str]:
    """The server-sent events of one listener, from the snapshot after the `last` that it has."""
    restarts, _, number = last.partition("-")
    position = 0
    if restarts == str(history.restarts) and number.isdecimal():
        position = int(number[:9]) if int(number[:9]) <= len(history.snapshots) else 0
    known_restarts = history.restarts
    sent_state: dict[str, Any] = {}
    sent_at = time.monotonic()
    while not lab.is_closing:
        if time.monotonic() - history.refreshed > POLL_SECONDS:
            history.refreshed = time.monotonic()  # for the other listeners
            await lab.run_short(history.refresh)
        state = await _state(lab, history)  # first: a fold that has ended has all its snapshots
        if history.restarts != known_restarts:
            known_restarts, position = history.restarts, 0
            yield _event("restart", {})
        while position < len(history.snapshots):
            some = history.snapshots[position : position + SNAPSHOTS_AT_ONCE]
            position += len(some)
            yield _event("snapshots", some, f"{known_restarts}-{position}")
            sent_at = time.monotonic()
        if state != sent_state:
            sent_state, sent_at = state, time.monotonic()
            yield _event("state", state)
        if state["status"] not in ("starting", "training", "elsewhere"):
            yield _event("end", {})
            return
        if time.monotonic() - sent_at > HEARTBEAT_SECONDS:
            sent_at = time.monotonic()
            yield ": still here\n\n"
        await asyncio.sleep(POLL_SECONDS)


async def _state(lab: Lab, history: History) -> dict[str, Any]:
    """What a fold's status is, and how far it has come."""
    training = lab.trainings.last
    if training is not None and (training.run, training.fold) != history.key:
        training = None
    status: str = "unfinished" if training is None else training.status
    if training is None or not training.is_under_way:
        # first whether it is held: a process that has released it has saved its result
        is_held = history.result is None and await lab.run_short(history.is_held)
        if history.result is None and not is_held:
            await lab.run_short(history.refresh, True)
        if history.result is not None:
            status = "done"
        elif is_held:
            status = "elsewhere"
        elif status == "done":  # and its files are damaged since
            status = "unfinished"
    if training is not None and status == "done" and history.result is not None:
        lab.last_seconds[history.setup.experiment.name] = history.result.seconds
    return {
        "status": status,
        "fault": "" if training is None else training.fault,
        "notes": () if training is None else tuple(training.notes),
        "progress": history.progress,
        "outcome": history.outcome() if status == "done" else None,
    }


def _event(kind: str, data: Any, number: str = "") -> str:
    line = f"id: {number}\n" if number else ""
    return f"{line}event: {kind}\ndata: {json_text(data)}\n\n"

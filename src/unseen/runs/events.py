"""What happens in a session, as plain data; a listener puts it into words."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from unseen.runs.measuring import Measurement

NoteKind = Literal[
    "record damaged",  # of the experiment; written anew
    "other torch",  # than the run was begun with
    "fold damaged",  # and run again
    "leakage",  # what the split gives away: a SplitLeakage
    "read-out",  # what a network can and cannot express, where the answers are no sums
    "small alphabet",  # a network can tell fewer symbols apart than the pictures have
    "slow network",  # a custom one, which has not yet answered a first batch
    "untold part",  # a custom one reads a value that cannot be told apart: the run is a new one
    "worker died",  # another one goes on with its fold
    "scheduler gone",  # of a cluster; its folds are run again once it is back
    "run elsewhere",  # by another process, and left to it
    "not restarted",  # because another process runs it
]


@dataclass(frozen=True)
class Started:
    """A session has begun to work on these folds of a run."""

    run: str  # its folder
    folds: tuple[int, ...]
    epochs: int  # of each


@dataclass(frozen=True)
class Note:
    """Something to tell a person."""

    kind: NoteKind
    fold: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Downloaded:
    """Some more of a file has come; `promised` is 0 where its size is not known."""

    file: str
    received: int
    promised: int


@dataclass(frozen=True)
class Progressed:
    """A fold has come further."""

    fold: int
    epochs: float  # so far, of this start
    loss: float | None
    start: int = 1  # above 1 if it was begun again, because seen combinations came out wrong


@dataclass(frozen=True)
class Measured:
    """A network was measured while it learns."""

    fold: int
    measurement: Measurement


@dataclass(frozen=True)
class FoldDone:
    """A fold is finished; it may have been before."""

    fold: int


@dataclass(frozen=True)
class Ended:
    """The session is over; folds that other processes hold may be left to them."""

    done: tuple[int, ...]
    left: tuple[int, ...]


Event = Started | Note | Downloaded | Progressed | Measured | FoldDone | Ended


def event_json(event: Event) -> dict[str, Any]:
    """An event as JSON can hold it."""
    return {"event": type(event).__name__, **asdict(event)}

"""The JSON of a run folder: the run's record, and each fold's.

A record is whole, damaged, or of another format; only what is damaged may be replaced.
"""

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, Field

from unseen.errors import UnseenError
from unseen.files import DamagedFileError, read_json
from unseen.runs.environment import version
from unseen.runs.fold import FoldResult

FORMAT = 3  # of a run folder: raise it when what is kept there has another structure


class OtherVersionError(UnseenError):
    """A run folder that only another version of the program understands."""

    def __init__(self, path: Path, theirs: str) -> None:
        super().__init__(
            f"{path} was made by another version, unseen {theirs}; this is unseen "
            f"{version('unseen')} (format {FORMAT}), which does not understand it. Nothing was "
            "changed: use that version, or another runs folder"
        )


class RunRecord(BaseModel):
    """experiment.json: what was run, with which version, and where."""

    format: int = Field(default_factory=lambda: FORMAT)
    unseen: str = Field(default_factory=lambda: version("unseen"))
    experiment: dict[str, Any]
    sums: dict[str, str]  # what symbols and parts held when the run began, by kind
    environment: dict[str, str]  # the machine and the versions that the run began with


class FoldRecord(BaseModel):
    """result.json: what a fold came to, with the hashes of the files beside it."""

    result: FoldResult
    sha256: dict[str, str]


Record = TypeVar("Record", bound=BaseModel)


def read_run_record(path: Path) -> RunRecord:
    """The record of a run; damaged where there is none."""
    record = read_json(path)
    number = record.get("format") if isinstance(record, dict) else None
    if isinstance(number, int) and number != FORMAT:
        raise OtherVersionError(path, f"{record.get('unseen')} (format {number})")
    return _validated(RunRecord, path, record)


def read_fold_record(path: Path) -> FoldRecord | None:
    """The record of a finished fold; None if there is none."""
    record = read_json(path)
    return None if record is None else _validated(FoldRecord, path, record)


def _validated(kind: type[Record], path: Path, record: object) -> Record:
    try:
        return kind.model_validate(record)
    except (ValueError, TypeError, UnseenError) as error:
        raise DamagedFileError(path, "it is no record") from error

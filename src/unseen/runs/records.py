"""Records: JSON that is sealed with its own hash, by this version or by another.

A record is whole, damaged (its hash is wrong), or made by another version (whole, but not
understood); only what is damaged may be replaced.
"""

from pathlib import Path
from typing import Any

from unseen.errors import UnseenError
from unseen.files import DamagedFileError, as_json, read_json, sha256
from unseen.runs.environment import version

FORMAT = 2  # of the records


class OtherVersionError(UnseenError):
    """A record that is whole, but that only another version of the program understands."""

    def __init__(self, path: Path, theirs: str) -> None:
        super().__init__(
            f"{path} was made by another version, unseen {theirs}; this is unseen "
            f"{version('unseen')} (format {FORMAT}), which does not understand it. Nothing was "
            "changed: use that version, or another runs folder"
        )


def sealed(record: dict[str, Any]) -> bytes:
    """A record with the format, the version that wrote it, and its own hash."""
    record = {"format": FORMAT, "unseen": version("unseen"), **record}
    return as_json(record | {"sha256": sha256(as_json(record))})


def read_record(path: Path) -> dict[str, Any] | None:
    """A record as it was sealed; damaged where it is none, or where its hash is wrong.

    One of another format is refused however it is sealed.
    """
    if (record := read_json(path)) is None:
        return None
    if not isinstance(record, dict):
        raise DamagedFileError(path, "it is no record")
    if isinstance(number := record.get("format"), int) and number != FORMAT:
        raise OtherVersionError(path, made_by(record))
    if record.pop("sha256", None) != sha256(as_json(record)):
        raise DamagedFileError(path)
    if record.get("format") != FORMAT:
        raise OtherVersionError(path, made_by(record))
    return record


def made_by(record: dict[str, Any], otherwise: str = "of unknown version") -> str:
    """The version that made a record, with its format."""
    return f"{record.get('unseen') or otherwise} (format {record.get('format', 'unknown')})"

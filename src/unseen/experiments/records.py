"""Records: JSON that is sealed with its own hash, by this version or by another.

A record is whole, damaged (its hash is wrong), or made by another version (whole, but not
understood); only what is damaged may be replaced.
"""

from pathlib import Path
from typing import Any

from unseen.errors import UnseenError
from unseen.experiments.environment import version
from unseen.files import DamagedFileError, as_json, read_json, sha256

FORMAT = 2  # of the records; 1 is version 0.1's, which had no number


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


def read_record(path: Path, *, format_1_is_sealed: bool = True) -> dict[str, Any] | None:
    """A record as it was sealed; damaged where it is none, or where its hash is wrong.

    One of a later format is refused however it is sealed; one of no format that there ever was,
    only if its seal is right.
    """
    if (record := read_json(path)) is None:
        return None
    if not isinstance(record, dict):
        raise DamagedFileError(path, "it is no record")
    if isinstance(number := record.get("format"), int) and number > FORMAT:
        raise OtherVersionError(path, made_by(record))
    is_sealed = format_1_is_sealed or "format" in record
    if is_sealed and record.pop("sha256", None) != sha256(as_json(record)):
        raise DamagedFileError(path)
    if record.get("format", 1) not in (1, FORMAT):
        raise OtherVersionError(path, made_by(record))
    return record


def made_by(record: dict[str, Any], otherwise: str = "of unknown version") -> str:
    """The version that made a record, with its format."""
    return f"{record.get('unseen') or otherwise} (format {record.get('format', 1)})"


def upgraded(record: dict[str, Any]) -> dict[str, Any]:
    """The result of a record; one of format 1 had each measure as a field of its own."""
    result: dict[str, Any] = dict(record["result"])
    if "format" not in record:
        result.pop("curve", None)
        names = ("test_mse", "train_mse", "rounded", "floor_or_ceiling", "within_one")
        result["measures"] = {name: result.pop(name) for name in names}
    return result

"""The measurements of a fold on disk: a line for each, written while it learns."""

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from unseen.files import (
    LARGEST_JSON_BYTES,
    DamagedFileError,
    append_line,
    parse_json,
    read_file,
    remove,
    write_whole,
)
from unseen.runs.measuring import Measurement


@dataclass(frozen=True)
class MeasurementsFile:
    """The file of a fold."""

    path: Path

    def read(self) -> list[Measurement]:
        """What was measured so far."""
        try:
            content = read_file(self.path, LARGEST_JSON_BYTES)
        except DamagedFileError:
            return []
        found = []
        for line in (content or b"").splitlines():
            # one may be still being written, or have been cut by a power failure
            with suppress(ValueError):
                found.append(Measurement.from_json(parse_json(line)))
        return found

    def stamp(self) -> tuple[int, int]:
        """Time and size of the file: others when there is news."""
        try:
            status = self.path.stat()
        except OSError:
            return 0, 0
        return status.st_mtime_ns, status.st_size

    def add(self, measurement: Measurement, *, first: bool) -> None:
        """Append a line; the first of a process, or of a start, removes those that it replaces."""
        if first:
            earlier = [each for each in self.read() if each.epochs < measurement.epochs]
            if self.path.is_dir():
                remove(self.path)
            write_whole(self.path, *map(_as_line, earlier))
        line = _as_line(measurement)
        if self.stamp()[1] + len(line) <= LARGEST_JSON_BYTES:  # what can be read again
            append_line(self.path, line)


def _as_line(measurement: Measurement) -> bytes:
    return json.dumps(measurement.to_json(), separators=(",", ":")).encode() + b"\n"

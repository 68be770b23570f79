"""Files that are there whole or not at all, and what to do with those that are not."""

import errno
import hashlib
import json
import os
import secrets
import shutil
import stat
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import Any

from unseen.errors import UnseenError

# Far above what is ever written, and low enough for a laptop to survive a file that is not ours.
LARGEST_JSON_BYTES = 32 * 1024**2  # which take 20 times as much once they are read
LARGEST_BYTES = 2 * 1024**3


def reason(error: OSError) -> str:
    """The system's message for an error, with a hint where it is not clear."""
    text = error.strerror or str(error)
    return f"{text} (a limit of this shell? see ulimit -f)" if error.errno == errno.EFBIG else text


class DamagedFileError(UnseenError):
    """A file of a run folder that is not what was written there."""

    def __init__(self, path: Path, reason: str = "") -> None:
        state = "damaged" if os.path.lexists(path) else "missing"
        super().__init__(f"{path} is {state}" + (f": {reason}" if reason else ""))
        self.path, self.reason = path, reason


# a folder on the way that is a file, a link to itself, a socket or a device that is not there
NO_FILE_THERE = (errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ENODEV)


class NoRegularFileError(OSError):
    """What a path leads to is a folder, a pipe or a device, or too large to be ours."""


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnseenError(f"cannot make the folder {path}: {error.strerror}") from error


def write_whole(path: Path, *pieces: bytes, sync: bool = True) -> None:
    """Write a file, piece by piece, so that it is there whole or not at all, whatever happens."""
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        try:
            with part.open("xb") as file:
                file.writelines(pieces)
                if sync:
                    file.flush()
                    os.fsync(file.fileno())
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UnseenError(f"cannot write {path}: {reason(error)}") from error


def open_regular(path: Path, largest: int = LARGEST_BYTES) -> BufferedReader:
    """Open a regular file of a sensible size to read it; everything that is read is opened here.

    A pipe would be waited for, a device may have no end: they are refused and never waited for.
    """
    flags = (getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
    descriptor = os.open(path, os.O_RDONLY | sum(flags))
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NoRegularFileError(errno.EINVAL, "it is no regular file")
        if status.st_size > largest:
            raise NoRegularFileError(errno.EFBIG, f"it is larger than {largest:,} bytes")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def open_recorded(path: Path, largest: int = LARGEST_BYTES) -> BufferedReader | None:
    """Open a file of a run folder; None if there is none, damaged if it is no regular file."""
    try:
        return open_regular(path, largest)
    except FileNotFoundError:
        return None
    except OSError as error:
        if isinstance(error, NoRegularFileError) or error.errno in NO_FILE_THERE:
            raise DamagedFileError(path, str(error.strerror).lower()) from error
        raise UnseenError(f"cannot read {path}: {error.strerror}") from error


def read_file(path: Path, largest: int = LARGEST_BYTES) -> bytes | None:
    """What a file of a run folder holds; None if there is none."""
    if (file := open_recorded(path, largest)) is None:
        return None
    with file:
        return file.read(largest)


def file_sha256(path: Path) -> str | None:
    """The SHA-256 of a file of a run folder, which need not fit into memory; None if none."""
    if (file := open_recorded(path)) is None:
        return None
    with file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_json(path: Path) -> Any:
    """What a JSON file of a run folder says; None if there is none."""
    if (content := read_file(path, LARGEST_JSON_BYTES)) is None:
        return None
    with suppress(ValueError):
        if (parsed := parse_json(content)) is not None:
            return parsed
    raise DamagedFileError(path, "it holds no JSON")


def parse_json(content: bytes) -> Any:
    """JSON as Python has it; a ValueError whatever is wrong with it."""
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def write_checked(path: Path, content: bytes, owner: str = "") -> None:
    """Write a file with the hash of its owner and its content before it."""
    write_whole(path, sha256(os.fsencode(owner) + content).encode() + b"\n", content)


def read_checked(path: Path, owner: str = "") -> bytes | None:
    """The content of a file that was written with its hash; None if there is none."""
    if (file := open_recorded(path)) is None:
        return None
    with file:
        line = file.readline(100)
        digest = hashlib.file_digest(file, lambda: hashlib.sha256(os.fsencode(owner)))
        if line != digest.hexdigest().encode() + b"\n":
            raise DamagedFileError(path)
        file.seek(len(line))
        return file.read()


def remove(path: Path) -> None:
    """Remove a file, or a folder that has taken its place; nothing if there is none."""
    if not os.path.lexists(path):  # a disk that is read-only refuses even that
        return
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise UnseenError(f"cannot remove {path}: {error.strerror}") from error


def as_json(value: Any) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

"""Files that are there whole or not at all, and what to do with those that are not."""

import errno
import hashlib
import json
import os
import secrets
import shutil
from pathlib import Path
from typing import Any

from unseen.errors import UnseenError


class DamagedFileError(UnseenError):
    """A file of a run folder that is not what was written there."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is {'damaged' if os.path.lexists(path) else 'missing'}")
        self.path = path


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
        raise UnseenError(f"cannot write {path}: {error.strerror}") from error


def append_line(path: Path, line: bytes) -> None:
    """Append one line in a single write, so that readers only ever meet whole lines.

    It is no loss if a power cut takes the last lines, so they need not reach the disk at once.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise UnseenError(f"cannot write {path}: {error.strerror}") from error


def read_file(path: Path) -> bytes | None:
    """What a file holds; None if there is none."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError as error:
        raise DamagedFileError(path) from error
    except OSError as error:
        raise UnseenError(f"cannot read {path}: {error.strerror}") from error


def write_checked(path: Path, content: bytes) -> None:
    """Write a file with the hash of its content before it."""
    write_whole(path, sha256(content).encode() + b"\n", content)


def read_checked(path: Path) -> bytes | None:
    """The content of a file that was written with its hash; None if there is none."""
    if (whole := read_file(path)) is None:
        return None
    digest, _, content = whole.partition(b"\n")
    if digest != sha256(content).encode():
        raise DamagedFileError(path)
    return content


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

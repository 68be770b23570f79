"""Users' networks as files: what they are called, what identifies them, and how they fail."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unseen.errors import UnseenError, first_line, is_out_of_memory
from unseen.files import open_regular

LARGEST_SOURCE_BYTES = 16 * 1024**2


def is_own(model: str) -> bool:
    """Whether a model is named as a class in a user's file."""
    path, colon, name = model.rpartition(":")
    return bool(colon) and path.endswith(".py") and name.isidentifier()


def own_sha256(model: str) -> str:
    """The SHA-256 of a model's file."""
    path = Path(model.rpartition(":")[0])
    try:
        with open_regular(path, LARGEST_SOURCE_BYTES) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UnseenError(f"cannot read {path}: {error.strerror}") from error


@contextmanager
def faults_told(what: str) -> Iterator[None]:
    """Turn whatever a user's code raises into one line: what could not be done, and why.

    Short memory is no fault of the code, and callers have their own words for it.
    """
    try:
        yield
    except (UnseenError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        if is_out_of_memory(error):
            raise
        raise UnseenError(f"{what}: {first_line(error)}") from error

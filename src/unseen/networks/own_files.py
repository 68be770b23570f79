"""Networks of one's own as files: what they are called, what they hold, and how they fail."""

import ast
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unseen.errors import UnseenError, first_line, is_out_of_memory
from unseen.files import open_regular

LARGEST_FILE_BYTES = 1_000_000  # of a network of one's own, where it is parsed
LARGEST_SOURCE_BYTES = 16 * 1024**2  # of a file of code


def is_own(model: str) -> bool:
    """Whether a model is named as a class in a file of one's own."""
    path, colon, name = model.rpartition(":")
    return bool(colon) and path.endswith(".py") and name.isidentifier()


def own_sha256(model: str) -> str:
    """What a model's file holds."""
    path = Path(model.rpartition(":")[0])
    try:
        with open_regular(path, LARGEST_SOURCE_BYTES) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UnseenError(f"cannot read {path}: {error.strerror}") from error


def classes_in(file: str) -> list[str] | None:
    """The classes that a Python file defines, parsed and not run; None if it is not there."""
    path = Path(file)
    try:
        if path.suffix != ".py" or not path.is_file():
            return None
        content = path.read_bytes() if path.stat().st_size < LARGEST_FILE_BYTES else b""
        tree = ast.parse(content)
    except (OSError, ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef)]


@contextmanager
def faults_told(what: str) -> Iterator[None]:
    """What fails within is somebody else's code: say in one line what could not be done, and why.

    Short memory is no fault of the code, and whoever started it knows what to say of that.
    """
    try:
        yield
    except (UnseenError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        if is_out_of_memory(error):
            raise
        raise UnseenError(f"{what}: {first_line(error)}") from error

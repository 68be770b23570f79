import gzip
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from conftest import write_idx
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unseen.errors import UnseenError
from unseen.problem.idx import idx_bytes, read_idx

arrays = hnp.arrays(np.uint8, hnp.array_shapes(min_dims=1, max_dims=3, max_side=6))


@given(arrays, st.booleans())
def test_what_was_written_is_read_back(tmp_path_factory, array, compress):
    path = tmp_path_factory.mktemp("idx") / "file"
    write_idx(path, array, compress=compress)
    assert np.array_equal(read_idx(path, array.ndim), array)
    raw = gzip.decompress(path.read_bytes()) if compress else path.read_bytes()
    assert idx_bytes(array) == raw


@given(arrays, st.booleans(), st.data())
def test_every_truncation_is_refused(tmp_path_factory, array, compress, data):
    path = tmp_path_factory.mktemp("idx") / "file"
    write_idx(path, array, compress=compress)
    whole = path.read_bytes()
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(UnseenError, match=str(path)):
        read_idx(path, array.ndim)


@given(st.binary(max_size=64))
def test_any_bytes_are_read_or_refused_with_a_reason(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("idx") / "file"
    path.write_bytes(content)
    holds_a_file = content[:4] == bytes([0, 0, 8, 1]) and len(content) > 8
    whole = holds_a_file and int.from_bytes(content[4:8], "big") == len(content) - 8
    with nullcontext() if whole else pytest.raises(UnseenError, match=str(path)):
        read_idx(path, 1)


HEADER = bytes([0, 0, 8, 1, 0, 0, 0, 3])


@pytest.mark.parametrize(
    ("content", "dimensions", "fault"),
    [
        (HEADER + b"abcd", 1, "longer than its header says"),
        (gzip.compress(HEADER + bytes(50_000_000)), 1, "longer than its header says"),
        (bytes([0, 0, 8, 3, *b"\xff" * 4, 0, 0, 0, 99, 0, 0, 0, 99]), 3, "more than is sensible"),
        (bytes([0, 0, 8, 3, 0, 0, 0, 1]) + b"\0\0\x01\x01" * 2, 3, "images of 257 × 257 pixels"),
        (bytes([0, 0, 8, 1, 0, 0, 0, 0]), 1, "is empty"),
        (b"", 1, "is no IDX file"),
        *(
            (magic + bytes(12), 1, f"0x{magic.hex()}, not 0x00000801")
            for magic in (b"\x00\x00\x0d\x01", b"\x00\x00\x08\x03", b"\x89PNG")
        ),
    ],
)
def test_a_header_that_lies_is_refused_before_the_memory_is_full(
    tmp_path: Path, content: bytes, dimensions: int, fault: str
):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UnseenError, match=fault):
        read_idx(tmp_path / "file", dimensions)

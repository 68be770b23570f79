import gzip
import hashlib
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from conftest import write_idx
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unseen.errors import UnseenError
from unseen.problem.idx import open_idx

arrays = hnp.arrays(np.uint8, hnp.array_shapes(min_dims=1, max_dims=3, max_side=6))


@given(arrays, st.booleans())
def test_what_was_written_is_read_back(tmp_path_factory, array, compress):
    path = tmp_path_factory.mktemp("idx") / "file"
    write_idx(path, array, compress=compress)
    digest, read = open_idx(path, array.ndim).read()
    assert np.array_equal(read, array)
    raw = gzip.decompress(path.read_bytes()) if compress else path.read_bytes()
    assert digest == hashlib.sha256(raw).hexdigest()


@given(arrays, st.booleans(), st.data())
def test_every_truncation_is_refused(tmp_path_factory, array, compress, data):
    path = tmp_path_factory.mktemp("idx") / "file"
    write_idx(path, array, compress=compress)
    whole = path.read_bytes()
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(UnseenError, match=str(path)):
        open_idx(path, array.ndim).read()


@given(st.binary(max_size=64))
def test_any_bytes_are_read_or_refused_with_a_reason(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("idx") / "file"
    path.write_bytes(content)
    holds_a_file = content[:4] == bytes([0, 0, 8, 1]) and len(content) > 8
    whole = holds_a_file and int.from_bytes(content[4:8], "big") == len(content) - 8
    with nullcontext() if whole else pytest.raises(UnseenError, match=str(path)):
        open_idx(path, 1).read()


def test_trailing_bytes_are_refused(tmp_path: Path):
    path = tmp_path / "file"
    write_idx(path, np.arange(5))
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(UnseenError, match="longer than its header says"):
        open_idx(path, 1).read()


def test_a_header_that_lies_about_its_size_does_not_fill_the_memory(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(bytes([0, 0, 8, 3]) + b"\xff" * 12)
    with pytest.raises(UnseenError, match="more than is sensible"):
        open_idx(path, 3).read()


def test_a_gzip_bomb_is_not_unpacked(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(bytes([0, 0, 8, 1, 0, 0, 0, 3]) + bytes(50_000_000)))
    with pytest.raises(UnseenError, match="longer than its header says"):
        open_idx(path, 1).read()


@pytest.mark.parametrize("magic", [b"\x00\x00\x0d\x01", b"\x00\x00\x08\x03", b"\x89PNG"])
def test_another_magic_number_is_refused(tmp_path: Path, magic: bytes):
    path = tmp_path / "file"
    path.write_bytes(magic + bytes(12))
    with pytest.raises(UnseenError, match=f"0x{magic.hex()}, not 0x00000801"):
        open_idx(path, 1).read()

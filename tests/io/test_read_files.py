"""Reading one file: splits give each byte once; damage, change and loss are reported."""

from __future__ import annotations

import bz2
import dataclasses
import gzip
import json
import lzma
import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coded_mr.errors import InputError, UsageError
from coded_mr.io import InputFile, discover, split

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}
TEXT = b"first line\nsecond\r\n\nlast without newline"

scraps = st.sampled_from([b"\n", b"\r\n", b"\r", b"\x00", b"\xff", "\u00e9\u4e2d".encode(), b"word "])
texts = st.lists(st.one_of(scraps, st.binary(max_size=5)), max_size=60).map(b"".join)


def splits_of(
    content: bytes, at_least: int, record_bytes: int | None = None
) -> tuple[list[InputFile], list[bytes]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input"
        path.write_bytes(content)
        files = split(discover([str(path)]), at_least=at_least, record_bytes=record_bytes)
        return files, [file.read() for file in files]


def written(folder: Path, content: bytes, name: str = "input") -> InputFile:
    path = folder / name
    path.write_bytes(content)
    return split(discover([str(path)]), at_least=1)[0]


@given(texts, st.integers(1, 40))
@example(b"no newline at all, in one giant line", 7)
@example(b"\n\n\n\n", 4)
@example(b"a\nb", 2)
def test_the_reads_of_all_splits_concatenate_to_the_file(content: bytes, at_least: int) -> None:
    _, pieces = splits_of(content, at_least)
    assert b"".join(pieces) == content
    filled = [piece for piece in pieces if piece]
    assert all(piece.endswith(b"\n") for piece in filled[:-1])


@given(texts, st.integers(1, 40))
def test_a_split_owns_the_lines_that_start_in_it(content: bytes, at_least: int) -> None:
    files, pieces = splits_of(content, at_least)
    starts = [0] if content else []
    starts += [i + 1 for i, byte in enumerate(content) if byte == 10 and i + 1 < len(content)]
    for file, piece in zip(files, pieces, strict=True):
        owned = [start for start in starts if file.offset <= start < file.offset + file.length]
        assert len(piece.removesuffix(b"\n").split(b"\n") if piece else []) == len(owned)
        assert not owned or content.startswith(piece, owned[0])


@given(st.integers(1, 9), st.binary(max_size=300), st.integers(1, 40))
def test_record_splits_concatenate_to_the_file_and_differ_by_one_record(
    record_bytes: int, content: bytes, at_least: int
) -> None:
    content = content[: len(content) // record_bytes * record_bytes]
    files, pieces = splits_of(content, at_least, record_bytes)
    assert b"".join(pieces) == content
    lengths = {file.length for file in files}
    assert max(lengths) - min(lengths) in (0, record_bytes)


@given(texts, st.integers(1, 9))
def test_lines_are_those_of_the_text_whatever_the_splits(content: bytes, at_least: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input"
        path.write_bytes(content)
        files = split(discover([str(path)]), at_least=at_least)
        lines = [line for file in files for line in file.lines()]
    expected = content.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    assert lines == (expected[:-1] if expected[-1] == "" else expected)


@given(texts, st.integers(1, 9))
def test_words_are_those_of_the_text_whatever_the_splits(content: bytes, at_least: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input"
        path.write_bytes(content)
        files = split(discover([str(path)]), at_least=at_least)
        words = [word for file in files for word in file.words()]
    assert words == content.decode("utf-8", "replace").split()


def test_lines_longer_than_a_chunk_stay_whole(tmp_path: Path) -> None:
    long = "x" * (3 << 20)
    file = written(tmp_path, f"a\n{long}\nb\n{long}".encode())
    assert list(file.lines()) == ["a", long, "b", long]


def test_text_replaces_what_is_not_utf8(tmp_path: Path) -> None:
    assert written(tmp_path, b"caf\xc3\xa9 \xff\r\n").text() == "caf\u00e9 \ufffd\r\n"


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("upper", [False, True])
def test_compressed_files_read_whole(tmp_path: Path, kind: str, upper: bool) -> None:
    content = TEXT * 1000
    file = written(tmp_path, COMPRESS[kind](content), f"a.{kind.upper() if upper else kind}")
    assert file.compression == kind
    assert file.read() == content
    assert list(file.lines()) == content.decode().replace("\r\n", "\n").split("\n")
    assert file.name == file.path


@pytest.mark.parametrize("kind", COMPRESS)
def test_several_streams_in_one_compressed_file_are_all_read(tmp_path: Path, kind: str) -> None:
    assert written(tmp_path, COMPRESS[kind](b"a\n") + COMPRESS[kind](b"b\n"), f"a.{kind}").read() == b"a\nb\n"


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("harm", ["cut", "garbage", "flipped"])
@pytest.mark.parametrize("how", ["read", "lines"])
def test_damaged_compressed_data_is_reported(tmp_path: Path, kind: str, harm: str, how: str) -> None:
    whole = COMPRESS[kind](bytes(range(256)) * 20 + b"".join(b"%d" % (n * n) for n in range(999)))
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 0x55]) + whole[middle + 1 :]
    content = {"cut": whole[:-9], "garbage": b"not compressed", "flipped": flipped}
    file = written(tmp_path, content[harm], f"bad.{kind}")
    with pytest.raises(InputError, match=rf"bad\.{kind} is damaged or cut short \({kind}\): \w+"):
        file.read() if how == "read" else list(file.lines())


@pytest.mark.parametrize("name", ["e", "e.gz", "e.bz2", "e.xz"])
def test_an_empty_file_is_one_file_of_length_0(tmp_path: Path, name: str) -> None:
    file = written(tmp_path, b"", name)
    assert (file.length, file.weight, file.read(), list(file.lines())) == (0, 0, b"", [])


@pytest.mark.parametrize("how", ["read", "lines", "records"])
def test_a_file_that_shrank_or_vanished_is_reported(tmp_path: Path, how: str) -> None:
    path = tmp_path / "input"
    path.write_bytes(b"0123456789" * 10)
    files = split(discover([str(path)]), at_least=2, record_bytes=10 if how == "records" else None)
    read = {"read": InputFile.read, "lines": lambda f: list(f.lines()), "records": InputFile.records}[how]
    os.truncate(path, 95)
    with pytest.raises(InputError, match=r"input\[50:100\] ends at byte 95 but had 100"):
        read(files[1])
    path.unlink()
    with pytest.raises(InputError, match=r"cannot read .*input\[50:100\]: No such file"):
        read(files[1])


def test_bytes_appended_after_planning_are_not_read(tmp_path: Path) -> None:
    file = written(tmp_path, b"one\ntwo")
    with Path(file.path).open("ab") as log:
        log.write(b" more\nthree\n")
    assert file.read() == b"one\ntwo"
    assert list(file.lines()) == ["one", "two"]


def test_records_have_their_shape_plain_and_compressed(tmp_path: Path) -> None:
    content = bytes(range(240))
    (tmp_path / "a").write_bytes(content)
    (tmp_path / "b.gz").write_bytes(gzip.compress(content))
    (tmp_path / "c").write_bytes(b"")
    files = split(discover([str(tmp_path)]), at_least=5, record_bytes=8)
    arrays = [file.records() for file in files]
    assert all(array.dtype == np.uint8 and array.shape[1] == 8 for array in arrays)
    assert np.concatenate(arrays).tobytes() == content * 2
    assert arrays[-1].shape == (0, 8)


def test_a_compressed_file_with_an_incomplete_record_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(17)))
    file = split(discover([str(tmp_path)]), at_least=1, record_bytes=8)[0]
    with pytest.raises(InputError, match=r"a\.gz has 17 plain bytes, 1 more than a multiple of .* 8: check"):
        file.records()


def test_records_of_a_text_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="split as text"):
        written(tmp_path, b"abc").records()


def test_position_counts_the_lines_handed_out(tmp_path: Path) -> None:
    file = written(tmp_path, TEXT)
    assert file.position() is None
    lines = file.lines()
    for count in (1, 2):
        next(lines)
        assert file.position() == f"line {count}"
    (part, _) = split(discover([file.path]), at_least=2)
    next(part.lines())
    assert part.position() == "line 1 of this split"


def test_a_file_travels_as_a_pickle_and_as_json(tmp_path: Path) -> None:
    file = written(tmp_path, TEXT)
    fresh = pickle.dumps(file)
    list(file.lines())
    assert pickle.dumps(file) == fresh
    assert pickle.loads(fresh) == file
    assert InputFile(**json.loads(json.dumps(dataclasses.asdict(file)))) == file
    assert hash(pickle.loads(fresh)) == hash(file)


def test_a_path_that_does_not_decode_works_and_shows_as_escapes(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    Path(path).write_bytes(TEXT)
    file = pickle.loads(pickle.dumps(split(discover([path]), at_least=1)[0]))
    assert file.read() == TEXT
    assert file.name.endswith("/caf\\xe9")
    with pytest.raises(InputError, match=r"caf\\xf9"):
        discover([os.fsdecode(os.fsencode(tmp_path) + b"/caf\xf9")])

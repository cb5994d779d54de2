"""Check that the validator finds what can go wrong with sorted output."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from coded_mr.errors import InputError
from coded_mr.terasort.generate import generate
from coded_mr.terasort.kinds import KINDS, make_records
from coded_mr.terasort.sort import sort_records
from coded_mr.terasort.validate import checksum_of, part_files, validate

COUNT = 50_000


@pytest.fixture
def ordered() -> NDArray[np.uint8]:
    return sort_records(make_records("ascii", 0, COUNT))


def write_parts(directory: Path, *parts: NDArray[np.uint8]) -> Path:
    directory.mkdir(exist_ok=True)
    for number, part in enumerate(parts):
        part.tofile(directory / f"part-{number:05d}")
    return directory


@pytest.mark.parametrize("kind", KINDS)
def test_sorted_output_of_each_kind_passes(tmp_path: Path, kind: str) -> None:
    made = generate(tmp_path / "data", COUNT, kind=kind)
    ordered = sort_records(make_records(kind, 0, COUNT))
    out = write_parts(tmp_path / "out", ordered[:20_000], ordered[:0], ordered[20_000:])
    (out / "_SUCCESS").touch()
    found = validate([out])
    assert (found.records, found.bytes, found.checksum) == (COUNT, 100 * COUNT, made.checksum)
    assert found.sorted
    assert found.first_error is None
    assert found.duplicates == COUNT - len(np.unique(ordered[:, :10], axis=0))


@pytest.mark.parametrize("at", [0, 19_999, 20_000, COUNT - 2])
def test_swapped_pair_is_found(tmp_path: Path, ordered: NDArray[np.uint8], at: int) -> None:
    ordered[[at, at + 1]] = ordered[[at + 1, at]]
    ordered.tofile(tmp_path / "data")
    found = validate([tmp_path / "data"])
    assert not found.sorted
    assert f"{tmp_path / 'data'}: record {at + 1} " in str(found.first_error)
    assert found.checksum == checksum_of(tmp_path / "data")


def test_last_byte_of_the_key_counts_and_the_value_does_not(tmp_path: Path) -> None:
    records = np.zeros((2, 100), np.uint8)
    records[0, 10:] = 255
    records.tofile(tmp_path / "data")
    assert validate([tmp_path / "data"]).duplicates == 1
    records[0, 9] = 1
    records.tofile(tmp_path / "data")
    assert not validate([tmp_path / "data"]).sorted


@pytest.mark.parametrize("lost", [0, 12_345, COUNT - 1])
def test_lost_record_changes_the_checksum(tmp_path: Path, ordered: NDArray[np.uint8], lost: int) -> None:
    ordered.tofile(tmp_path / "whole")
    np.delete(ordered, lost, axis=0).tofile(tmp_path / "data")
    found = validate([tmp_path / "data"])
    assert found.sorted
    assert found.records == COUNT - 1
    assert found.checksum != checksum_of(tmp_path / "whole")


def test_truncated_file_is_found(tmp_path: Path, ordered: NDArray[np.uint8]) -> None:
    out = write_parts(tmp_path / "out", ordered[:100], ordered[100:])
    (out / "part-00000").write_bytes(ordered[:100].tobytes()[:-1])
    found = validate([out])
    assert "part-00000: 99 bytes follow the last whole record" in str(found.first_error)
    assert (found.records, found.bytes) == (COUNT - 1, 100 * COUNT - 1)


def test_disorder_across_files_is_found(tmp_path: Path, ordered: NDArray[np.uint8]) -> None:
    out = write_parts(tmp_path / "out", ordered[100:200], ordered[:0], ordered[:100])
    found = validate([out])
    assert not found.sorted
    assert "part-00002: record 0 " in str(found.first_error)


def test_first_error_is_the_one_that_is_told(tmp_path: Path, ordered: NDArray[np.uint8]) -> None:
    ordered[[3, 4]] = ordered[[4, 3]]
    ordered[[40_000, 40_001]] = ordered[[40_001, 40_000]]
    ordered.tofile(tmp_path / "data")
    assert "record 4 " in str(validate([tmp_path / "data"]).first_error)


def test_files_are_taken_in_the_order_given(tmp_path: Path, ordered: NDArray[np.uint8]) -> None:
    ordered[:10].tofile(tmp_path / "z")
    ordered[10:].tofile(tmp_path / "a")
    assert validate([tmp_path / "z", str(tmp_path / "a")]).sorted
    assert not validate([tmp_path / "a", tmp_path / "z"]).sorted


def test_parts_are_taken_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    names = [f"part-{number:05d}" for number in range(12)]
    for name in [*reversed(names), "part-1", "part-00012.tmp", ".part-00013", "_SUCCESS"]:
        (tmp_path / name).touch()
    assert part_files([tmp_path]) == [tmp_path / name for name in names]


def test_no_records_are_sorted(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    found = validate([tmp_path / "data"])
    assert (found.records, found.checksum, found.sorted, found.first_error) == (0, "0", True, None)


def test_summary_shows_what_is_wrong(tmp_path: Path, ordered: NDArray[np.uint8]) -> None:
    ordered[::-1].tofile(tmp_path / "data")
    found = validate([tmp_path / "data"])
    assert all(part in found.summary() for part in ("50,000", found.checksum, "NO", str(found.first_error)))


def test_checksum_of_several_files_is_that_of_all_records(tmp_path: Path, ordered: NDArray[np.uint8]) -> None:
    ordered.tofile(tmp_path / "whole")
    ordered[30_000:].tofile(tmp_path / "one")
    ordered[:30_000].tofile(tmp_path / "two")
    assert checksum_of(tmp_path / "one", tmp_path / "two") == checksum_of(tmp_path / "whole")


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing"):
        validate([tmp_path / "missing"])
    with pytest.raises(InputError, match="no part-NNNNN files"):
        validate([tmp_path])
    (tmp_path / "odd").write_bytes(b"x" * 150)
    with pytest.raises(InputError, match="50 bytes are left over"):
        checksum_of(tmp_path / "odd")
    write_parts(tmp_path, *np.zeros((3, 1, 100), np.uint8))
    (tmp_path / "part-00001").unlink()
    with pytest.raises(InputError, match="lacks part-00001"):
        validate([tmp_path])

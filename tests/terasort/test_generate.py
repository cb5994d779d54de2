"""Check generated records against gensort 1.5, and that a file appears whole or not at all."""

from __future__ import annotations

import hashlib
import resource
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from coded_mr.errors import OutputError, StorageError, UsageError
from coded_mr.terasort.generate import KINDS, generate
from coded_mr.terasort.kinds import make_records
from coded_mr.terasort.lcg import states
from coded_mr.terasort.records import crc_sum


def step(state: int) -> int:
    return (0x2360ED051FC65DA44385DF649FCCF645 * state + 0x4A696D47726179524950202020202001) % 2**128


@pytest.mark.parametrize(
    ("records", "md5", "checksum"),
    [
        (1_000, "dfa2281e18d9dea46ff1f4ad51b4222b", "1f5dfb3631a"),
        (100_000, "8b8fade487762de335cf3bb379611188", "c34e19c81885"),
        (1_000_000, "dcddf6e1545f0c81bf9e37d24963be70", "7a19cff467438"),
    ],
)
def test_ascii_files_are_those_of_gensort(tmp_path: Path, records: int, md5: str, checksum: str) -> None:
    made = generate(tmp_path / "data", records)
    assert (made.records, made.bytes, made.checksum) == (records, 100 * records, checksum)
    assert hashlib.md5((tmp_path / "data").read_bytes()).hexdigest() == md5


def test_first_three_records_are_those_of_gensort() -> None:
    assert make_records("ascii", 0, 3).tobytes().decode().split("\r\n") == [
        "AsfAGHM5om  00000000000000000000000000000000  0000222200002222000022220000222200002222000000001111",
        "~sHd0jDv6X  00000000000000000000000000000001  77779999444488885555CCCC777755555555BBBB666644446666",
        "uI^EYm8s=|  00000000000000000000000000000002  CCCCFFFF777799995555FFFF11112222999988884444DDDDFFFF",
        "",
    ]


@pytest.mark.parametrize("first", [0, 1, 12_345])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 100, 129])
def test_states_follow_the_recurrence(first: int, count: int) -> None:
    state = 0
    for _ in range(first):
        state = step(state)
    expected = []
    for _ in range(count):
        state = step(state)
        expected.append(state)
    high, low = states(first, count)
    assert [h << 64 | w for h, w in zip(high.tolist(), low.tolist(), strict=True)] == expected


def test_states_far_away_follow_the_recurrence() -> None:
    high, low = states(2**62, 1_000)
    values = [h << 64 | w for h, w in zip(high.tolist(), low.tolist(), strict=True)]
    assert [step(value) for value in values[:-1]] == values[1:]
    assert states(2**62 + 999, 1)[1][0] == low[-1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", [1, 16_383, 40_000])
def test_start_cuts_a_range_out_of_the_same_records(tmp_path: Path, kind: str, start: int) -> None:
    generate(tmp_path / "whole", 60_000, kind=kind, seed=3)
    generate(tmp_path / "range", 20_000, start=start, kind=kind, seed=3)
    whole = (tmp_path / "whole").read_bytes()
    assert (tmp_path / "range").read_bytes() == whole[100 * start : 100 * (start + 20_000)]


@pytest.mark.parametrize("kind", KINDS)
def test_checksum_is_the_sum_of_the_records_crcs(tmp_path: Path, kind: str) -> None:
    made = generate(tmp_path / "data", 2_345, kind=kind)
    data = (tmp_path / "data").read_bytes()
    assert int(made.checksum, 16) == sum(zlib.crc32(data[at : at + 100]) for at in range(0, len(data), 100))


def test_checksum_of_nothing_is_zero() -> None:
    assert crc_sum(b"") == crc_sum(make_records("ascii", 0, 0).data) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_every_value_shows_the_number_of_its_record(kind: str) -> None:
    records = make_records(kind, 2**40, 500, seed=9)
    assert [int(bytes(row[12:44]), 16) for row in records] == list(range(2**40, 2**40 + 500))


@pytest.mark.parametrize("kind", ["uniform", "nul", "equal", "skewed"])
def test_seeds_make_different_keys(kind: str) -> None:
    first, again, other = (make_records(kind, 0, 100, seed) for seed in (5, 5, 6))
    assert (first == again).all()
    assert (first[:, :10] != other[:, :10]).any()


def test_uniform_keys_use_every_value_of_every_byte() -> None:
    keys = make_records("uniform", 0, 20_000)[:, :10]
    counts = np.array([np.bincount(column, minlength=256) for column in keys.T])
    assert counts.min() > 20
    assert counts.max() < 160


def test_nul_keys_begin_with_nul_bytes_and_have_more_behind() -> None:
    keys = make_records("nul", 0, 5_000)[:, :10]
    leading = (np.cumsum(keys != 0, axis=1) == 0).sum(axis=1)
    assert leading.min() >= 1
    assert len(np.unique(leading)) >= 7
    assert (keys[:, 9] == 0).mean() > 0.1


def test_equal_keys_are_all_equal() -> None:
    assert len(np.unique(make_records("equal", 0, 1_000, seed=4)[:, :10], axis=0)) == 1


def test_skewed_keys_follow_zipf() -> None:
    _, counts = np.unique(make_records("skewed", 0, 50_000)[:, :10], axis=0, return_counts=True)
    largest = np.sort(counts)[::-1] / 50_000
    harmonic = sum(1 / rank for rank in range(1, 101))
    assert len(counts) == 100
    assert largest[:3] == pytest.approx([1 / harmonic, 1 / 2 / harmonic, 1 / 3 / harmonic], rel=0.1)


def test_sorted_keys_ascend() -> None:
    keys = [bytes(row[:10]) for row in make_records("sorted", 250, 1_000)]
    assert keys == sorted(set(keys))


def test_no_records_make_an_empty_file(tmp_path: Path) -> None:
    made = generate(tmp_path / "data", 0)
    assert (made.bytes, made.checksum, (tmp_path / "data").stat().st_size) == (0, "0", 0)


def test_summary_shows_counts_and_checksum(tmp_path: Path) -> None:
    summary = generate(tmp_path / "data", 1_000).summary()
    assert all(part in summary for part in (str(tmp_path / "data"), "1,000", "100,000", "1f5dfb3631a"))


def test_existing_file_is_kept_unless_told(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_text("precious")
    with pytest.raises(OutputError, match="exists"):
        generate(path, 10)
    assert path.read_text() == "precious"
    generate(path, 10, overwrite=True)
    assert path.stat().st_size == 1_000
    assert list(tmp_path.iterdir()) == [path]


def test_unusable_targets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="is a directory"):
        generate(tmp_path, 10, overwrite=True)
    with pytest.raises(OutputError, match="does not exist"):
        generate(tmp_path / "missing" / "data", 10)


@pytest.mark.parametrize("options", [{"kind": "pink"}, {"start": -1}, {"start": 2**63 - 5}, {"records": -1}])
def test_impossible_requests_are_refused(tmp_path: Path, options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        generate(tmp_path / "data", **{"records": 10, **options})  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


@pytest.fixture
def small_files_only() -> Iterator[None]:
    """Let no file grow beyond 1 MB, as if the disk were full then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("small_files_only")
def test_full_disk_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="5,000,000 bytes are needed"):
        generate(tmp_path / "data", 50_000)
    assert not list(tmp_path.iterdir())

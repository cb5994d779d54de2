"""Splitting: how many files, how large, and when a source stays whole."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import InputError, UsageError
from coded_mr.io import Source, deal, split

MIB = 1 << 20

sources_of_all_kinds = st.lists(
    st.builds(
        Source,
        st.sampled_from(["a", "b", "c"]),
        st.one_of(st.integers(0, 200), st.integers(0, 10**9)),
        st.sampled_from([None, None, "gz"]),
    ),
    max_size=6,
)


@given(sources_of_all_kinds, st.integers(1, 50), st.integers(1 << 22, 1 << 26), st.booleans())
def test_the_files_tile_every_source(sources: list[Source], at_least: int, target: int, whole: bool) -> None:
    files = split(sources, at_least=at_least, target_bytes=target, whole_files=whole)
    assert [file.index for file in files] == list(range(len(files)))
    remaining = iter(files)
    for source in sources:
        end = 0
        while True:
            file = next(remaining)
            assert (file.path, file.offset, file.size) == (source.path, end, source.size)
            end += file.length
            if end == source.size:
                break
            assert file.length > 0
    assert next(remaining, None) is None


@given(sources_of_all_kinds, st.integers(1, 50), st.integers(1 << 22, 1 << 26))
def test_enough_files_none_too_large(sources: list[Source], at_least: int, target: int) -> None:
    files = split(sources, at_least=at_least, target_bytes=target)
    plain = [source.size for source in sources if source.compression is None and source.size > 0]
    possible = len(sources) - len(plain) + sum(plain)
    assert len(files) >= min(at_least, possible)
    assert all(file.length <= target for file in files if file.compression is None)


@pytest.mark.parametrize("size", [1000, 10**6, 10**9 + 7, 5 * 10**9])
@pytest.mark.parametrize("at_least", [1, 3, 35, 120])
@pytest.mark.parametrize("record_bytes", [None, 100])
def test_one_source_gives_equal_pieces_in_a_multiple_of_at_least(
    size: int, at_least: int, record_bytes: int | None
) -> None:
    unit = record_bytes or 1
    size = size // unit * unit
    files = split([Source("a", size, None)], at_least=at_least, record_bytes=record_bytes)
    lengths = [file.length for file in files]
    assert max(lengths) - min(lengths) <= unit
    assert all(length % unit == 0 for length in lengths)
    assert len(files) % at_least == 0 or len(files) == size // unit < at_least


shares_of_batches = (
    st.lists(st.integers(0, 20), min_size=1, max_size=8)
    .filter(any)
    .map(lambda parts: [Fraction(part, sum(parts)) for part in parts])
)


@given(st.lists(st.integers(0, 10**6), max_size=6), shares_of_batches, st.sampled_from([1, 7, 100]))
def test_batches_get_their_shares_to_within_a_record(
    sizes: list[int], shares: list[Fraction], record_bytes: int
) -> None:
    sources = [Source(str(n), size * record_bytes, None) for n, size in enumerate(sizes)]
    dealt = deal(sources, shares, record_bytes=record_bytes)
    total = sum(source.size for source in sources)
    for share, files in zip(shares, dealt, strict=True):
        assert abs(sum(file.length for file in files) - share * total) <= record_bytes
        assert [file.index for file in files] == sorted(file.index for file in files)
    # About one cut a batch: a file is cut only where a batch ends.
    pieces = sum(1 for files in dealt for file in files if file.length)
    assert pieces <= sum(1 for size in sizes if size) + len(shares)


@given(sources_of_all_kinds, shares_of_batches)
def test_what_cannot_be_cut_is_made_up_for_by_what_can(sources: list[Source], shares: list[Fraction]) -> None:
    dealt = deal(sources, shares)
    assert sorted(file.index for files in dealt for file in files) == list(range(sum(map(len, dealt))))
    total = sum(source.weight for source in sources)
    lumps = max((source.weight for source in sources if source.compression), default=0)
    loose = sum(source.size for source in sources if source.compression is None)
    for share, files in zip(shares, dealt, strict=True):
        excess = sum(file.weight for file in files) - share * total
        # No batch gets more than its share but by one file that cannot be cut, or what must go somewhere.
        assert excess <= lumps + 1
    if loose == total:
        assert all(
            abs(sum(file.weight for file in files) - share * total) <= 1
            for share, files in zip(shares, dealt, strict=True)
        )


def test_small_sources_are_cut_only_at_the_ends_of_batches() -> None:
    sources = [Source(str(number), 50_000, None) for number in range(1000)]
    assert len(split(sources, at_least=1)) == 1000
    assert 1000 <= len(split(sources, at_least=35)) <= 1034


def test_compressed_and_whole_files_stay_whole_and_weigh_their_plain_size() -> None:
    compressed = split([Source("a.gz", 500 * MIB, "gz")], at_least=10)
    assert [(file.length, file.weight) for file in compressed] == [(500 * MIB, 2000 * MIB)]
    whole = split([Source("a", 500 * MIB, None), Source("b", 1, None)], at_least=10, whole_files=True)
    assert [(file.length, file.weight) for file in whole] == [(500 * MIB, 500 * MIB), (1, 1)]


def test_offsets_ascend_within_a_source() -> None:
    files = split([Source("a", 1000, None)], at_least=7)
    assert all(one.offset + one.length == other.offset for one, other in pairwise(files))


@pytest.mark.parametrize("whole", [False, True])
def test_an_incomplete_record_is_reported_with_file_size_and_remainder(whole: bool) -> None:
    with pytest.raises(InputError, match=r"data/b has 1050 bytes, 50 more than a multiple .* 100: .*cut"):
        split(
            [Source("data/a", 100, None), Source("data/b", 1050, None)],
            at_least=2,
            record_bytes=100,
            whole_files=whole,
        )


@pytest.mark.parametrize(("at_least", "target", "record"), [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_sizes_must_be_positive(at_least: int, target: int, record: int) -> None:
    with pytest.raises(UsageError, match=r"must be positive|one or more"):
        split([Source("a", 10, None)], at_least=at_least, target_bytes=target, record_bytes=record)


def test_records_longer_than_the_target_stay_whole(tmp_path: Path) -> None:
    files = split([Source("a", 400, None)], at_least=1, record_bytes=100, target_bytes=30)
    assert [file.length for file in files] == [100] * 4

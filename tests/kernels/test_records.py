"""Check the kernel of records against plain numpy, and what it says about wrong jobs."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from coded_mr.errors import PacketError, UserCodeError
from coded_mr.io.inputs import InputFile, discover, split
from coded_mr.job import RecordJob
from coded_mr.kernels import kernel_for
from coded_mr.kernels.records import RecordsKernel
from coded_mr.kernels.sampling import sample

Files = Callable[..., list[InputFile]]
Run = Callable[..., Any]
Rows = NDArray[np.uint8]


class ByFirst(RecordJob):
    record_bytes = 4

    def partition(self, records: Rows, partitions: int) -> NDArray[np.integer[Any]]:
        return np.mod(records[:, 0], partitions, dtype=np.int64)


def rows(count: int, seed: int = 0) -> Rows:
    return np.random.default_rng(seed).integers(0, 256, (count, 4), dtype=np.uint8)


@pytest.mark.parametrize("partitions", [1, 3, 300])
def test_rows_are_grouped_by_partition_in_their_order(files_of: Files, run: Run, partitions: int) -> None:
    parts = [rows(50, 1), rows(0), rows(7, 2), rows(1, 3)]
    files = files_of(*(part.tobytes() for part in parts), record_bytes=4)
    outputs, mapped, reduced = run(ByFirst(), [files[:3], files[3:], []], partitions)
    everything = np.concatenate(parts)
    for q, output in enumerate(outputs):
        assert output == everything[everything[:, 0].astype(int) % partitions == q].tobytes()
    assert sum(batch.bytes_in for batch in mapped) == everything.nbytes
    assert sum(batch.records_in for batch in mapped) == len(everything)
    for q, each in enumerate(reduced):
        assert each.pairs_in == sum(batch.pairs[q] for batch in mapped) == len(outputs[q]) // 4
        assert each.records_out == each.groups == each.pairs_in


@pytest.mark.parametrize("order", [1, -1, 0])
def test_files_of_many_blocks_are_mapped_block_by_block(
    files_of: Files, run: Run, monkeypatch: pytest.MonkeyPatch, order: int
) -> None:
    monkeypatch.setattr("coded_mr.kernels.records._BLOCK", 40)
    seen: list[int] = []

    class Seen(ByFirst):
        def map(self, records: Rows) -> Rows:
            seen.append(len(records))
            return records

    # Ascending and descending ones: what a partition gets cannot be told from the first blocks.
    data = rows(997, 5)
    data = data[np.argsort(data[:, 0] % 5)][::order] if order else data
    outputs, (mapped,), _ = run(Seen(), [files_of(data.tobytes(), record_bytes=4)], 5)
    assert seen == [10] * 99 + [7]
    assert (mapped.bytes_in, mapped.records_in) == (data.nbytes, len(data))
    for q, output in enumerate(outputs):
        assert output == data[data[:, 0] % 5 == q].tobytes()


def test_empty_values_are_no_bytes(files_of: Files, run: Run) -> None:
    _, (mapped,), _ = run(ByFirst(), [files_of(bytes(8), record_bytes=4)], 2)
    assert list(map(bytes, mapped.values)) == [bytes(8), b""]


def test_records_may_change_their_length(files_of: Files, run: Run) -> None:
    class Halves(ByFirst):
        out_bytes = 2

        def map(self, records: Rows) -> Rows:
            return records[::2, 1:3]

        def reduce(self, records: Rows) -> Rows:
            return records[::-1]

    data = rows(30)
    outputs, _, _ = run(Halves(), [files_of(data.tobytes(), record_bytes=4)], 2)
    kept = data[::2, 1:3]
    assert outputs == [kept[kept[:, 0] % 2 == q][::-1].tobytes() for q in range(2)]


def test_large_output_comes_in_blocks(files_of: Files) -> None:
    data = np.zeros((3 << 20, 4), dtype=np.uint8)
    blocks = list(RecordsKernel(ByFirst()).reduce_partition(0, [data.reshape(-1).data]).blocks)
    assert len(blocks) > 1
    assert b"".join(blocks) == data.tobytes()


def returning(result: Any) -> Callable[..., Any]:
    return lambda self, *_: result


def job_with(**members: Any) -> RecordJob:
    result = type("Wrong", (ByFirst,), members)()
    assert isinstance(result, RecordJob)
    return result


@pytest.mark.parametrize("stage", ["map", "reduce"])
@pytest.mark.parametrize(
    "result", [None, b"1234", np.zeros((2, 4)), np.zeros((2, 5), np.uint8), np.zeros(4, np.uint8)]
)
def test_what_is_no_array_of_records_is_refused(files_of: Files, run: Run, stage: str, result: Any) -> None:
    files = files_of(bytes(8), record_bytes=4)
    with pytest.raises(UserCodeError, match=rf"Wrong\.{stage} of .*uint8 array of shape \(n, 4\)"):
        run(job_with(**{stage: returning(result)}), [files])


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "missing"),
        ([0, 0], "a list"),
        (np.zeros(2), "float64"),
        (np.zeros(3, np.int64), r"\(3,\)"),
        (np.array([0, 3]), "from 0 to 3"),
        (np.array([-1, 0]), "from -1 to 0"),
    ],
)
def test_partitions_that_do_not_exist_are_refused(
    files_of: Files, run: Run, result: Any, message: str
) -> None:
    files = files_of(bytes(8), record_bytes=4)
    with pytest.raises(UserCodeError, match=rf"partition of the 2 records of .*in000 .*{message}"):
        run(job_with(partition=returning(result)), [files])


@pytest.mark.parametrize("error", [ValueError("ouch"), SystemExit("ouch")])
@pytest.mark.parametrize("stage", ["prepare", "map", "partition", "reduce"])
def test_what_a_job_raises_is_wrapped_with_its_stage(
    files_of: Files, run: Run, stage: str, error: BaseException
) -> None:
    def method(self: RecordJob, *_: Any) -> Any:
        raise error

    with pytest.raises(UserCodeError, match=rf"Wrong\.{stage} .*ouch") as caught:
        run(job_with(**{stage: method}), [files_of(bytes(8), record_bytes=4)])
    assert caught.value.__cause__ is error


def test_a_damaged_value_is_refused() -> None:
    with pytest.raises(PacketError, match="5 bytes"):
        list(RecordsKernel(ByFirst()).reduce_partition(0, [b"12345"]).blocks)


def test_what_prepare_returns_is_adopted(files_of: Files) -> None:
    class Counting(ByFirst):
        sample_records = 10

        def prepare(self, sample: Rows, partitions: int) -> tuple[int, int]:
            return len(sample), partitions

    job = Counting()
    kernel = kernel_for(job)
    files = files_of(rows(1000).tobytes(), record_bytes=4)
    prepared = kernel.prepare(files, 3)
    assert job.prepared is None
    kernel.adopt(prepared, 3)
    assert job.prepared == (10, 3)


def numbered(tmp_path: Path, counts: list[int], packed: list[int]) -> list[InputFile]:
    """Write records that hold their own position in the input."""
    every = np.arange(sum(counts) + sum(packed), dtype=">u4").view(np.uint8).reshape(-1, 4)
    paths, begin = [], 0
    for index, count in enumerate([*counts, *packed]):
        data = every[begin : begin + count].tobytes()
        begin += count
        path = tmp_path / (f"{index:02}" if index < len(counts) else f"{index:02}.gz")
        path.write_bytes(data if index < len(counts) else gzip.compress(data, mtime=0))
        paths.append(str(path))
    return split(discover(paths), at_least=7, record_bytes=4)


@pytest.mark.parametrize(
    ("counts", "packed", "wanted"),
    [
        ([5000], [], 1000),
        ([5000, 3, 0, 700], [], 999),
        ([10], [], 100),
        ([40_000], [3000] * 9, 2000),
        ([], [900], 50),
    ],
)
def test_a_sample_is_spread_over_the_input(
    tmp_path: Path, counts: list[int], packed: list[int], wanted: int
) -> None:
    files = numbered(tmp_path, counts, packed)
    got = sample(files, wanted, 4)
    places = got.copy().view(">u4").reshape(-1).tolist()
    assert places == sorted(places)
    assert len(places) == len(set(places))
    total = sum(counts) + sum(packed)
    assert 0.9 * min(wanted, total) <= len(places) <= wanted
    quarter = sum(place < sum(counts) / 4 for place in places) if counts else 0
    if sum(counts) > wanted:
        in_plain = sum(place < sum(counts) for place in places)
        assert abs(quarter - in_plain / 4) <= 100
    assert (sample(files, wanted, 4) == got).all()


def test_no_sample_is_an_empty_array(tmp_path: Path) -> None:
    assert sample(numbered(tmp_path, [100], []), 0, 4).shape == (0, 4)
    assert sample([], 10, 4).shape == (0, 4)

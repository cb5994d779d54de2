"""Make files of text or records, and run a kernel over batches of them without MPI."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from coded_mr.io.inputs import InputFile, discover, split
from coded_mr.job import Job, RecordJob
from coded_mr.kernels import Mapped, Reduced, kernel_for


@pytest.fixture
def files_of(tmp_path: Path) -> Callable[..., list[InputFile]]:
    """Return a function that writes texts or bytes to disk and gives them as files."""

    def write(*contents: str | bytes, record_bytes: int | None = None) -> list[InputFile]:
        paths = []
        for index, content in enumerate(contents):
            path = tmp_path / f"in{index:03}"
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            paths.append(str(path))
        return split(discover(paths), at_least=1, whole_files=True, record_bytes=record_bytes)

    return write


@pytest.fixture
def run() -> Callable[..., tuple[list[bytes], list[Mapped], list[Reduced]]]:
    """Return a function that maps batches and reduces all partitions: outputs, Mapped and Reduced."""

    def run(
        job: Job | RecordJob, batches: Sequence[Sequence[InputFile]], partitions: int = 3
    ) -> tuple[list[bytes], list[Mapped], list[Reduced]]:
        kernel = kernel_for(job)
        files = [file for batch in batches for file in batch]
        kernel.adopt(kernel.prepare(files, partitions), partitions)
        mapped = [kernel.map_batch(batch) for batch in batches]
        reduced = [
            kernel.reduce_partition(q, [batch.values[q] for batch in mapped]) for q in range(partitions)
        ]
        return [b"".join(each.blocks) for each in reduced], mapped, reduced

    return run

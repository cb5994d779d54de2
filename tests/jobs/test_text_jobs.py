"""Check the example jobs over text against a few lines of plain Python."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from coded_mr.io.inputs import InputFile, discover, split
from coded_mr.job import Job, RecordJob
from coded_mr.jobfile import load_job
from coded_mr.kernels import kernel_for

JOBS = Path(__file__).parents[2] / "jobs"
TEXTS = {
    "a.txt": "the cat sat\non the mat\n\nthe Cat: sat.",
    "b.txt": "ein Löwe sat\r\nthe end\n" * 5,
    "empty.txt": "",
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name, text in TEXTS.items():
        (tmp_path / name).write_bytes(text.encode())
    return tmp_path


def job_of(name: str, **parameters: object) -> Job | RecordJob:
    return load_job(str(JOBS / name))(**parameters)


def output_of(job: Job | RecordJob, files: Sequence[InputFile], partitions: int = 3) -> list[list[str]]:
    """Run a job over two batches and return the lines of each partition."""
    kernel = kernel_for(job)
    kernel.adopt(kernel.prepare(files, partitions), partitions)
    batches = [kernel.map_batch(files[::2]).values, kernel.map_batch(files[1::2]).values]
    parts = [kernel.reduce_partition(q, [values[q] for values in batches]).blocks for q in range(partitions)]
    return [b"".join(part).decode().splitlines() for part in parts]


def flat(parts: list[list[str]]) -> list[str]:
    return sorted(line for part in parts for line in part)


@pytest.mark.parametrize("pieces", [1, 9])
def test_wordcount(directory: Path, pieces: int) -> None:
    files = split(discover([str(directory)]), at_least=pieces)
    words = Counter(" ".join(TEXTS.values()).split())
    assert flat(output_of(job_of("wordcount.py"), files)) == sorted(f"{w}\t{n}" for w, n in words.items())


@pytest.mark.parametrize(("pattern", "ignore_case"), [("cat", False), ("CAT|end$", True), ("^$", False)])
def test_grep(directory: Path, pattern: str, ignore_case: bool) -> None:
    job = job_of("grep.py", pattern=pattern, ignore_case=ignore_case)
    assert isinstance(job, Job)
    files = split(discover([str(directory)]), at_least=9, whole_files=job.whole_files)
    found = [
        f"{directory / name}:{number}:{line}"
        for name, text in TEXTS.items()
        for number, line in enumerate(text.splitlines(), 1)
        if re.search(pattern, line, re.IGNORECASE if ignore_case else 0)
    ]
    parts = output_of(job, files)
    assert found
    assert flat(parts) == sorted(found)
    for name in TEXTS:
        assert sum(any(f"{name}:" in line for line in part) for part in parts) <= 1


def test_grep_keeps_the_lines_of_a_file_in_order(tmp_path: Path) -> None:
    (tmp_path / "long").write_text("x\n" * 12)
    files = split(discover([str(tmp_path / "long")]), at_least=1, whole_files=True)
    lines = [line for part in output_of(job_of("grep.py", pattern="x"), files) for line in part]
    assert [int(line.split(":")[-2]) for line in lines] == list(range(1, 13))


def test_grep_refuses_what_is_no_regular_expression() -> None:
    with pytest.raises(ValueError, match=r"'\(' is no regular expression"):
        job_of("grep.py", pattern="(")


@pytest.mark.parametrize("pieces", [1, 9])
def test_inverted_index(directory: Path, pieces: int) -> None:
    files = split(discover([str(directory)]), at_least=pieces)
    index = {
        word: [str(directory / name) for name, text in TEXTS.items() if word in text.split()]
        for word in set(" ".join(TEXTS.values()).split())
    }
    expected = sorted("\t".join([word, *paths]) for word, paths in index.items())
    assert flat(output_of(job_of("inverted_index.py"), files)) == expected


def test_names_that_are_not_utf8_are_kept(tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"\xff")  # noqa: PTH118  # pathlib has no bytes
    try:
        Path(os.fsdecode(path)).write_text("word")
    except OSError:
        pytest.skip("this file system has no such names")
    files = split(discover([os.fsdecode(path)]), at_least=1, whole_files=True)
    kernel = kernel_for(job_of("inverted_index.py"))
    blocks = kernel.reduce_partition(0, kernel.map_batch(files).values).blocks
    assert b"".join(blocks) == b"word\t" + path + b"\n"
    assert output_of(job_of("grep.py", pattern="word"), files, 1) == [[f"{tmp_path}/\\xff:1:word"]]

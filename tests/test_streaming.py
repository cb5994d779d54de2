"""Jobs of commands, in one process: the same lines as `mapper | sort | reducer` gives in a shell."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coded_mr.errors import PacketError, UserCodeError
from coded_mr.io.inputs import deal, discover
from coded_mr.kernels import kernel_for
from coded_mr.kernels.serial import stable_hash
from coded_mr.streaming import StreamingJob

SUM = """awk -F'\\t' '
$1 != key { if (NR > 1) printf "%s\\t%d\\n", key, sum; key = $1; sum = 0 }
{ sum += $2 }
END { if (NR) printf "%s\\t%d\\n", key, sum }'"""
JOBS = [
    StreamingJob(mapper="cat"),
    StreamingJob(mapper="cat", reducer="cat"),
    StreamingJob(mapper="sed 's/ /\\t/'", reducer="uniq -c"),
    StreamingJob(mapper="awk '{ for (i = 1; i <= NF; i++) print $i \"\\t\" 1 }'", reducer=SUM),
    StreamingJob(mapper="awk '{ for (i = 1; i <= NF; i++) print $i \"\\t\" 1 }'", reducer=SUM, combiner=SUM),
    StreamingJob(mapper="sh -c 'tr a-z A-Z | sed s/E/\\\\t/'", reducer=f"{sys.executable} -c 'print(7)'"),
]
TEXTS = {
    "a.txt": b"the quick brown fox\njumps over the lazy dog\n\n" * 40,
    "b.txt": b"the \xff\xfe end\0\nlast line without a newline",
    "c.txt": b"",
    "d.txt": b"a\tb\tc\na\t\na\na \tz\n\tno key\n" * 5,
}


def shell(command: str, data: bytes) -> bytes:
    """Return what a shell's own pipe gives."""
    done = subprocess.run(
        ["sh", "-c", command], input=data, capture_output=True, check=True, env={"LC_ALL": "C", "PATH": PATH}
    )
    return done.stdout


PATH = "/usr/local/bin:/usr/bin:/bin"


def piped(job: StreamingJob, texts: Sequence[bytes], partitions: int) -> list[bytes]:
    """Return the parts that `cat | mapper | sort | reducer` would write: the mapper's lines dealt to them."""
    lines = [line for text in texts for line in terminated(shell(job.mapper, terminated(text)))]
    parts = []
    for q in range(partitions):
        mine = [line for line in lines if stable_hash(key(line)) % partitions == q]
        ordered = shell("sort -t '\t' -k1,1 -s", b"".join(line + b"\n" for line in mine))
        parts.append(shell(job.reducer or "cat", ordered))
    return parts


def key(line: bytes) -> bytes:
    return line.partition(b"\t")[0]


class terminated(bytes):
    """Lines, the last of which has its newline; iterates over them without it."""

    def __new__(cls, text: bytes) -> terminated:
        return super().__new__(cls, text if text.endswith(b"\n") or not text else text + b"\n")

    def __iter__(self):
        return iter(bytes(self).split(b"\n")[:-1])


def run(job: StreamingJob, inputs: Sequence[str], partitions: int, batches: int = 1) -> list[bytes]:
    """Map batches of the input and reduce what they give, as ranks do."""
    kernel = kernel_for(job)
    kernel.adopt(kernel.prepare([], partitions), partitions)
    dealt = deal(discover(inputs), [Fraction(1, batches)] * batches)
    mapped = [kernel.map_batch(files) for files in dealt]
    return [
        b"".join(kernel.reduce_partition(q, [each.values[q] for each in mapped]).blocks)
        for q in range(partitions)
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in TEXTS.items():
        (tmp_path / name).write_bytes(text)
    return tmp_path


@pytest.mark.parametrize("job", JOBS, ids=range(len(JOBS)))
@pytest.mark.parametrize("batches", [1, 4])
def test_the_parts_are_those_of_a_pipe(job: StreamingJob, batches: int, folder: Path) -> None:
    if shutil.which("awk", path=PATH) is None:
        pytest.skip("no awk here: apt-get install mawk")
    assert run(job, [str(folder)], 3, batches) == piped(job, list(TEXTS.values()), 3)


@pytest.mark.parametrize("batches", [1, 2, 7])
def test_lines_of_a_key_stay_in_the_order_of_the_input_however_it_is_dealt(
    batches: int, tmp_path: Path
) -> None:
    # Compressed files are dealt by their weight, and these get lighter and heavier by turns.
    texts = [b"".join(b"key\t%d %d\n" % (n, i) for i in range(1 + 37 * n % 50)) for n in range(12)]
    for number, text in enumerate(texts):
        name = tmp_path / f"{number:02}.txt"
        name.with_suffix(".gz").write_bytes(gzip.compress(text)) if number % 3 else name.write_bytes(text)
    (part,) = run(StreamingJob(mapper="cat", reducer="cat"), [str(tmp_path)], 1, batches)
    assert part == b"".join(texts)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.binary(max_size=30), max_size=20), st.integers(1, 3))
def test_any_bytes_pass_through_cat(tmp_path_factory: pytest.TempPathFactory, texts, partitions) -> None:
    folder = tmp_path_factory.mktemp("any")
    for number, text in enumerate(texts):
        (folder / f"{number:02}").write_bytes(text)
    (folder / "99").touch()
    job = StreamingJob(mapper="cat", reducer="cat")
    assert run(job, [str(folder)], partitions, 2) == piped(job, texts, partitions)


def test_a_line_without_a_tab_gets_one_only_on_request(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"b\na\t1\nb\t\n")
    job = StreamingJob(mapper="cat", reducer="sed 's/$/./'")
    assert run(job, [str(tmp_path)], 1) == [b"a\t1.\nb.\nb\t.\n"]
    assert run(replace(job, add_tabs=True), [str(tmp_path)], 1) == [b"a\t1.\nb\t.\nb\t.\n"]
    assert run(replace(job, reducer="cut -f1", add_tabs=True), [str(tmp_path)], 1) == [b"a\t\nb\t\nb\t\n"]
    assert run(replace(job, reducer=None, add_tabs=True), [str(tmp_path)], 1) == [b"a\t1\nb\t\nb\t\n"]


def test_the_environment_tells_the_task_and_its_input(tmp_path: Path) -> None:
    names = ("task_ismap", "task_partition", "job_reduces", "map_input_file", "map_input_start")
    names += ("map_input_length",)
    show = "sh -c 'cat >&-; echo " + " ".join(f"${{mapreduce_{name}-none}}" for name in names) + "'"
    old = "sh -c 'cat >&-; echo $map_input_file $map_input_start $map_input_length'"
    for name in ("a", "b"):
        (tmp_path / name).write_text("text\n")
    shown = run(StreamingJob(mapper=show), [str(tmp_path)], 1)[0].decode().split("\n")
    assert shown[:2] == [f"true {n} 1 {tmp_path / name} 0 5" for n, name in enumerate("ab")]
    assert run(StreamingJob(mapper=old), [str(tmp_path / "a")], 1) == [f"{tmp_path / 'a'} 0 5\n".encode()]
    parts = run(StreamingJob(mapper="cat", reducer=show), [str(tmp_path)], 2)
    assert parts == [f"false {q} 2 none none none\n".encode() for q in range(2)]


def test_mapper_and_reducer_run_where_there_is_nothing_to_read(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    parts = run(StreamingJob(mapper="sh -c 'cat; echo mapped'", reducer="wc -l"), [str(tmp_path)], 4)
    assert sorted(part.strip() for part in parts) == [b"0", b"0", b"0", b"1"]


def test_a_combiner_makes_the_values_smaller_and_counts_what_was_mapped(folder: Path) -> None:
    sizes = []
    for job in JOBS[3:5]:
        kernel = kernel_for(job)
        kernel.adopt(None, 2)
        (files,) = deal(discover([str(folder)]), [Fraction(1)])
        mapped = kernel.map_batch(files)
        assert mapped.records_in == sum(len(text.split()) for text in TEXTS.values())
        sizes.append(sum(map(len, mapped.values)))
    assert sizes[1] < sizes[0] / 2


@pytest.mark.parametrize(
    ("role", "where"),
    [("mapper", "of {folder}/a.txt"), ("combiner", "up to {folder}/d.txt"), ("reducer", "of partition 0")],
)
def test_a_failing_command_names_its_role_and_what_it_worked_on(role: str, where: str, folder: Path) -> None:
    job = replace(StreamingJob(mapper="cat"), **{role: "sh -c 'echo oh >&2; exit 9'"})
    with pytest.raises(UserCodeError) as caught:
        run(job, [str(folder)], 1)
    assert str(caught.value) == (
        f"the {role} `sh -c 'echo oh >&2; exit 9'` {where.format(folder=folder)} ended with status 9; "
        "it wrote:\n  oh"
    )


def test_a_program_that_is_not_there_is_refused_when_the_job_is_made() -> None:
    for role in ("mapper", "reducer", "combiner"):
        with pytest.raises(ValueError, match=f"the {role} `no-such` cannot run: .* has no program no-such"):
            StreamingJob(**{"mapper": "cat", role: "no-such"})


@pytest.mark.parametrize("cut", [1, 15, 17, -1])
def test_a_damaged_intermediate_value_is_noticed(cut: int, folder: Path) -> None:
    kernel = kernel_for(StreamingJob(mapper="cat"))
    (files,) = deal(discover([str(folder)]), [Fraction(1)])
    (value,) = kernel.map_batch(files).values
    with pytest.raises(PacketError, match="ends within a run"):
        list(kernel.reduce_partition(0, [value[:cut]]).blocks)

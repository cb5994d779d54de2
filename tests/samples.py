"""Jobs whose output must be the same wherever they run: each one's input, command and expected bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from coded_mr.io.output import verify_output
from coded_mr.kernels.serial import stable_hash
from coded_mr.terasort.kinds import make_records

__all__ = ["PARTITIONS", "PLAN", "RANKS", "SAMPLES", "Sample", "sample"]

JOBS = Path(__file__).parents[1] / "jobs"
# 3 solvers, each file mapped by 2 of them, and 2 helpers: every kind of rank and of packet.
RANKS, PARTITIONS, PLAN = 5, 3, ("-p", "3", "-r", "2")
SAMPLES = ("wordcount", "terasort", "streaming")
COUNT = "awk '{ for (i = 1; i <= NF; i++) print $i \"\\t1\" }'"
SUM = (
    "awk -F'\\t' '$1 != key { if (NR > 1) print key \"\\t\" sum; key = $1; sum = 0 } "
    '{ sum += $2 } END { if (NR) print key "\\t" sum }\''
)
RECORDS = 3000


@dataclass(frozen=True)
class Sample:
    """Hold a job, its input and its output.

    job: what names it to `coded-mr run`, the file in jobs/ first if there is one.  files: the input by
    name.  parts: the content of the part files, in order.
    """

    job: tuple[str, ...]
    files: Mapping[str, bytes]
    parts: tuple[bytes, ...]

    def write(self, directory: Path) -> None:
        """Write the input into a new directory."""
        directory.mkdir(parents=True)
        for name, data in self.files.items():
            (directory / name).write_bytes(data)

    def words(self, directory: Path | str, output: Path | str, jobs: Path | str = JOBS) -> list[str]:
        """Return what follows `coded-mr run`; `jobs` is where the job files are."""
        first, *rest = self.job
        job = [f"{jobs}/{first}" if first.endswith(".py") else first, *rest]
        return [*job, str(directory), "-o", str(output), *PLAN]

    def check(self, output: Path, *, as_planned: bool = True) -> None:
        """Fail unless the output is complete, byte for byte, and its _SUCCESS tells the truth.

        as_planned: it was made by RANKS ranks as PLAN says.
        """
        names = [f"part-{number:05}" for number in range(len(self.parts))]
        assert sorted(path.name for path in output.iterdir()) == ["_SUCCESS", *names]
        for name, part in zip(names, self.parts, strict=True):
            assert (output / name).read_bytes() == part, name
        success = verify_output(str(output))
        plan = success["plan"]
        assert plan["partitions"] == PARTITIONS
        if as_planned:
            assert (plan["solvers"], plan["helpers"], plan["r"]) == (3, 2, "2")


@cache
def sample(name: str) -> Sample:
    """Return one of SAMPLES."""
    if name == "terasort":
        return _terasort()
    return Sample(
        ("wordcount.py",) if name == "wordcount" else ("--mapper", COUNT, "--reducer", SUM),
        _TEXTS,
        _counted(as_bytes=name == "streaming"),
    )


def _terasort() -> Sample:
    """Return a sort of records, each partition a third of the whole order: their sample has all of them."""
    records = [record.tobytes() for record in make_records("ascii", 0, RECORDS)]
    ordered = sorted(records, key=lambda record: record[:10])
    size = RECORDS // PARTITIONS
    return Sample(
        ("terasort.py",),
        {"a.bin": b"".join(records[:1000]), "b.bin": b"".join(records[1000:])},
        tuple(b"".join(ordered[q * size : (q + 1) * size]) for q in range(PARTITIONS)),
    )


_WORDS = (*"abcdefghij", "to", "be", "or", "not", "map", "reduce", "bus", "é", "漢", "-")
_TEXTS = {
    f"{number}.txt": "".join(
        " ".join(_WORDS[(number + line * line + place * line) % len(_WORDS)] for place in range(line % 9))
        + "\n"
        for line in range(200 + 100 * number)
    ).encode()
    for number in range(4)
}


def _counted(*, as_bytes: bool) -> tuple[bytes, ...]:
    """Return the words of all texts with their counts, sorted: text by code point is UTF-8 by bytes."""
    counts = Counter(word for text in _TEXTS.values() for word in text.split())
    parts = [b""] * PARTITIONS
    for word in sorted(counts):
        key = word if as_bytes else word.decode()
        parts[stable_hash(key) % PARTITIONS] += b"%b\t%d\n" % (word, counts[word])
    return tuple(parts)

"""Check what coded_mr takes for granted of a job, on a sample of its input."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from coded_mr.doctor.differences import first_difference, nearly_equal, value_difference
from coded_mr.doctor.finding import Finding
from coded_mr.doctor.rehearsal import Rehearsal, stamps_of
from coded_mr.io.files import shown
from coded_mr.kernels import Kernel, Mapped
from coded_mr.text import counted

__all__ = ["answer", "changes", "combines", "elsewhere", "emits", "repeats"]

_ORDER, _ANSWER = "prepared.pickle", "digests.json"
_REMEDY = (
    "a map may depend on its file and the job's parameters only: no time, no unseeded random numbers, no "
    "order of a set among the values of one key, no state that outlives a call"
)


def emits(rehearsal: Rehearsal) -> Finding:
    """See whether map gives anything."""
    records = sum(mapped.records_in for mapped in rehearsal.mapped)
    if records:
        return Finding("ok", f"map gave {counted(records, 'record')}")
    return Finding("warning", "map gave nothing", "look at the input, or set a breakpoint() in map")


def repeats(rehearsal: Rehearsal) -> Finding:
    """Map every file again, in the same process."""
    kernel = rehearsal.kernel()
    for file, before in zip(rehearsal.files, rehearsal.mapped, strict=True):
        after = kernel.map_batch([file])
        for one, other in zip(before.values, after.values, strict=True):
            if one != other:
                where = value_difference(kernel, one, other)
                return Finding("error", f"two maps of {file.name} differ at {where}", _REMEDY)
    return Finding("ok", f"a second map of {counted(len(rehearsal.files), 'file')} gave the same bytes")


def elsewhere(rehearsal: Rehearsal, command: Sequence[str]) -> Finding:
    """Map every file in another process, with another hash seed.

    command: what runs there; it gets the option --answer DIRECTORY and calls `answer`.
    """
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / _ORDER).write_bytes(pickle.dumps(rehearsal.prepared))
        done = subprocess.run(
            [sys.executable, "-m", "coded_mr", *command, "--answer", folder],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONBREAKPOINT": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            return Finding(
                "error",
                f"the same map fails in another process: {done.stderr.strip()}",
                "set a breakpoint() where it says, and keep nothing in the environment that map needs",
            )
        there = json.loads((Path(folder) / _ANSWER).read_text())
    for file, mapped, digests in zip(rehearsal.files, rehearsal.mapped, there, strict=True):
        if _digests(mapped) != digests:
            return Finding("error", f"another process maps {file.name} to different bytes", _REMEDY)
    return Finding("ok", "another process, with another hash seed, gave the same bytes too")


def answer(rehearsal: Rehearsal, folder: Path) -> None:
    """Be the other process: map the files and leave what identifies the bytes."""
    rehearsal.prepared = pickle.loads((folder / _ORDER).read_bytes())
    kernel = rehearsal.kernel()
    digests = [_digests(kernel.map_batch([file])) for file in rehearsal.files]
    (folder / _ANSWER).write_text(json.dumps(digests))


def changes(rehearsal: Rehearsal) -> Finding | None:
    """See whether somebody wrote to the sample meanwhile, which makes the other checks void."""
    now = stamps_of(rehearsal.files)
    changed = [path for path, stamp in rehearsal.stamps.items() if now.get(path) != stamp]
    if changed:
        return Finding(
            "error",
            f"{shown(changed[0])} changed while the job was being checked",
            "nothing can be said of the job: check it on files that stay as they are",
        )
    return None


def combines(rehearsal: Rehearsal) -> Finding | None:
    """Compare the output without combine, with it once, and with combine over its own results.

    None when the job does not combine.
    """
    combining = rehearsal.kernel()
    if not combining.combines:
        return None
    kernel = combining.without_combine()
    mapped = [kernel.map_batch([file]) for file in rehearsal.files]
    merged = [combining.combined_again(rehearsal.values(q)) for q in range(rehearsal.partitions)]
    rounded = False
    for q in range(rehearsal.partitions):
        plain = _reduced(kernel, q, [each.values[q] for each in mapped])
        for how, other in (
            ("with combine", rehearsal.parts[q]),
            ("with combine over its own results", _reduced(kernel, q, [merged[q]])),
        ):
            if plain != other and not nearly_equal(plain, other):
                return Finding(
                    "error",
                    f"the output without combine and that {how} differ at {first_difference(plain, other)}",
                    "combine must return one value of the kind that map yields, so that reduce cannot tell "
                    "it from the values it stands for",
                )
            rounded |= plain != other
    if rounded:
        return Finding(
            "warning",
            "combine changes the last digits of the output: sums of floats depend on their order",
            "fine if that is precise enough; else sum integers or fractions (math.fsum in reduce)",
        )
    return Finding("ok", "reduce gives the same with combine and without")


def _reduced(kernel: Kernel, partition: int, values: Sequence[bytes | memoryview]) -> bytes:
    return b"".join(kernel.reduce_partition(partition, values).blocks)


def _digests(mapped: Mapped) -> list[int]:
    return [zlib.crc32(value) for value in mapped.values]

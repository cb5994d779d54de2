"""Write files of TeraSort records."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from coded_mr.errors import OutputError, StorageError, UsageError
from coded_mr.terasort import RECORD_BYTES
from coded_mr.terasort.kinds import KINDS, make_records
from coded_mr.terasort.records import crc_sum

__all__ = ["KINDS", "GeneratedFile", "generate"]

_BLOCK_RECORDS = 1 << 14


@dataclass(frozen=True)
class GeneratedFile:
    """Say what was written; `checksum` is the sum of the records' CRC-32, in hex."""

    path: str
    records: int
    bytes: int
    checksum: str

    def summary(self) -> str:
        """Return a few lines for a person to read."""
        return (
            f"file        {self.path}\nrecords     {self.records:,}\n"
            f"bytes       {self.bytes:,}\nchecksum    {self.checksum}"
        )


def generate(
    path: str | Path,
    records: int,
    *,
    start: int = 0,
    kind: str = "ascii",
    seed: int = 0,
    overwrite: bool = False,
) -> GeneratedFile:
    """Write records start .. start+records-1 to `path`, which appears only when it is complete.

    "ascii" records are those of gensort 1.5 with `-a`, and ignore the seed. Other kinds differ in the
    10-byte key: "uniform", "nul" (begin with NUL bytes), "equal" (all the same), "skewed" (100 keys in
    Zipf's proportions), "sorted" (ascending). Every value shows the record's number. The same arguments
    give the same bytes on every machine.

    Raises:
        UsageError: an unknown kind, or numbers of records below 0 or above 2^63.
        OutputError: the path exists and `overwrite` is false, or its directory does not exist.
        StorageError: the disk is full or fails.
    """
    if kind not in KINDS:
        raise UsageError(f"unknown kind of records {kind!r}; choose one of {', '.join(KINDS)}")
    if records < 0 or start < 0 or start + records > 1 << 63:
        raise UsageError(f"records {start} to {start + records} cannot be numbered; stay within 0 and 2^63")
    target = Path(path)
    _check_target(target, overwrite)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        checksum = _write(temporary, records, start, kind, seed)
        temporary.replace(target)
    except OSError as error:
        raise StorageError(
            f"cannot write {target}: {error.strerror}; {records * RECORD_BYTES:,} bytes are needed: "
            "free some space or choose another path"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
    return GeneratedFile(str(path), records, records * RECORD_BYTES, f"{checksum:x}")


def _check_target(target: Path, overwrite: bool) -> None:
    if target.is_dir():
        raise OutputError(f"{target} is a directory; give the path of a file")
    if target.exists() and not overwrite:
        raise OutputError(f"{target} exists; choose another path or ask to overwrite it")
    if not target.parent.is_dir():
        raise OutputError(f"the directory {target.parent} does not exist; create it first")
    if not os.access(target.parent, os.W_OK):
        raise OutputError(f"the directory {target.parent} is not writable; choose another path")


def _write(path: Path, records: int, start: int, kind: str, seed: int) -> int:
    """Write all records to a new file and return their checksum."""
    checksum = 0
    with path.open("xb") as file:
        for done in range(0, records, _BLOCK_RECORDS):
            block = make_records(kind, start + done, min(_BLOCK_RECORDS, records - done), seed)
            checksum += crc_sum(block.data)
            file.write(block.data)
    return checksum

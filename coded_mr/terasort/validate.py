"""Check that files of TeraSort records are sorted, and sum up what they hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from coded_mr.errors import InputError
from coded_mr.terasort import KEY_BYTES, RECORD_BYTES
from coded_mr.terasort.records import Records, crc_sum, descends, high_parts, low_parts, read_blocks, repeats

__all__ = ["Validation", "checksum_of", "part_files", "validate"]

_PART = re.compile(r"part-(\d{5,})")


@dataclass(frozen=True)
class Validation:
    """Say what files hold, in their order.

    Attributes:
        records: whole records.
        bytes: sizes of the files.
        checksum: the sum of the records' CRC-32, in hex: the input's, unless records were lost or changed.
        duplicates: records whose key is that of the record before.
        sorted: whether no key is smaller than the one before, across files too.
        first_error: the first thing that is wrong and where, or None.
    """

    records: int
    bytes: int
    checksum: str
    duplicates: int
    sorted: bool
    first_error: str | None

    def summary(self) -> str:
        """Return a few lines for a person to read."""
        return (
            f"records     {self.records:,}\nbytes       {self.bytes:,}\nchecksum    {self.checksum}\n"
            f"duplicates  {self.duplicates:,}\nsorted      {'yes' if self.sorted else 'NO'}"
            + (f"\nerror       {self.first_error}" if self.first_error else "")
        )


@dataclass
class _Scan:
    """Accumulate a Validation over blocks of records."""

    records: int = 0
    bytes: int = 0
    checksum: int = 0
    duplicates: int = 0
    sorted: bool = True
    first_error: str | None = None
    last_key: Records = field(default_factory=lambda: np.empty((0, KEY_BYTES), np.uint8))

    def add(self, path: Path, index: int, block: Records) -> None:
        """Take in the records of `path` that start at record `index`, at least one."""
        keys = np.concatenate((self.last_key, block[:, :KEY_BYTES]))
        high, low = high_parts(keys), low_parts(keys)
        wrong = descends(high, low)
        if wrong.any():
            self.sorted = False
            at = int(wrong.argmax())
            self.complain(
                f"{path}: record {index + at + 1 - len(self.last_key)} (from 0) has key "
                f"{keys[at + 1].tobytes()!r}, smaller than {keys[at].tobytes()!r} before it"
            )
        self.duplicates += int(np.count_nonzero(repeats(high, low)))
        self.checksum += crc_sum(block.data)
        self.records += len(block)
        self.last_key = keys[-1:]

    def complain(self, message: str) -> None:
        self.first_error = self.first_error or message


def validate(paths: Sequence[str | Path]) -> Validation:
    """Read files of records in the order given, and directories as their part-NNNNN in order of number.

    What is wrong with the data is reported, not raised. Memory does not grow with the size of the files.

    Raises:
        InputError: a path is missing or unreadable, a directory has no part files or lacks one.
    """
    scan = _Scan()
    for path in part_files(paths):
        size = _size(path)
        scan.bytes += size
        index = 0
        for block in read_blocks(path):
            scan.add(path, index, block)
            index += len(block)
        if extra := size % RECORD_BYTES:
            scan.complain(f"{path}: {extra} bytes follow the last whole record; the file is cut short")
    return Validation(
        scan.records, scan.bytes, f"{scan.checksum:x}", scan.duplicates, scan.sorted, scan.first_error
    )


def checksum_of(*paths: str | Path) -> str:
    """Return the sum over all records of zlib.crc32(record) in hex; order does not matter.

    Raises:
        InputError: a path is missing or unreadable, or its size is no multiple of 100 bytes.
    """
    total = 0
    for path in part_files(paths):
        if extra := _size(path) % RECORD_BYTES:
            raise InputError(f"{path} is no file of {RECORD_BYTES}-byte records: {extra} bytes are left over")
        total += sum(crc_sum(block.data) for block in read_blocks(path))
    return f"{total:x}"


def part_files(paths: Sequence[str | Path]) -> list[Path]:
    """Return the files among `paths`, and for a directory its part-NNNNN in order of number.

    Raises:
        InputError: a directory has no part files, or a number below its highest is missing.
    """
    return [file for path in map(Path, paths) for file in (_parts_of(path) if path.is_dir() else [path])]


def _parts_of(directory: Path) -> list[Path]:
    parts = {int(match[1]): path for path in directory.iterdir() if (match := _PART.fullmatch(path.name))}
    if not parts:
        raise InputError(f"{directory} holds no part-NNNNN files; give the output of a finished job")
    if missing := set(range(max(parts) + 1)) - set(parts):
        raise InputError(f"{directory} lacks part-{min(missing):05d}: it is incomplete; run the job again")
    return [parts[number] for number in sorted(parts)]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; check the path") from error

"""The output directory: parts written under a hidden name, moved into place whole, checkable later."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import tempfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from coded_mr.errors import OutputError, StorageError, UsageError
from coded_mr.io.files import shown
from coded_mr.io.inputs import matches

__all__ = ["OutputDirectory", "PartFile", "check_output", "read_success", "verify_output"]

_SUCCESS = "_SUCCESS"
_PART = re.compile(r"part-[0-9]{5,}")
_JOB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_BUFFER_BYTES = 4 << 20
_REMEDIES = {
    errno.EDQUOT: "raise the quota or remove other files",
    errno.EFBIG: "raise the file size limit (ulimit -f)",
    errno.EIO: "the disk or its server fails: choose another one",
    errno.ENOSPC: "free space (or inodes) there, or choose an output directory on a larger file system",
    errno.EROFS: "choose an output directory on a writable file system",
}


@dataclass(frozen=True)
class PartFile:
    """Describe one finished part.  bytes: its size; crc32: of its content, 0 <= crc32 < 2**32."""

    name: str
    bytes: int
    crc32: int


@dataclass(frozen=True)
class OutputDirectory:
    """Write an output so that OUT appears whole or not at all; the same value is used on every rank.

    path: OUT (a link is followed); job_id: letters, digits, '.', '_' and '-', the same on every rank.
    Rank 0 calls prepare(), every reducing rank write_part(), rank 0 commit(), or abandon() on failure.
    """

    path: str
    job_id: str
    overwrite: bool = field(kw_only=True)

    def __post_init__(self) -> None:
        if not _JOB_ID.fullmatch(self.job_id):
            raise UsageError(f"the job id {self.job_id!r} is no file name: use letters, digits, . _ -")

    @property
    def final(self) -> Path:
        """Return where the output goes, absolute and without links."""
        return Path(self.path).resolve()

    @property
    def temporary(self) -> Path:
        """Return the hidden sibling of OUT that holds the output until it is complete."""
        final = self.final
        return final.with_name(f".{final.name}.coded-mr-{self.job_id}")

    def prepare(self) -> None:
        """Make the hidden directory and the parents of OUT (rank 0).  Raises OutputError."""
        temporary = self.temporary
        try:
            temporary.parent.mkdir(parents=True, exist_ok=True)
            temporary.mkdir()
        except FileExistsError as error:
            raise OutputError(
                f"{shown(str(temporary))} exists: a job with this id is running, or one left it; remove it"
            ) from error
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def write_part(self, partition: int, blocks: Iterable[bytes | memoryview]) -> PartFile:
        """Write part-NNNNN of a partition, durably, and return its size and checksum.

        Raises StorageError when the storage refuses; what blocks raises passes through.  Either way
        nothing of the part stays behind.
        """
        name = f"part-{partition:05d}"
        temporary = self.temporary / f".{name}.tmp"
        try:
            file = temporary.open("wb", buffering=_BUFFER_BYTES)
        except OSError as error:
            raise _refused(temporary, error) from error
        try:
            size, crc = _copy(blocks, file, temporary)
            try:
                _make_durable(file)
                temporary.rename(temporary.with_name(name))
            except OSError as error:
                raise _refused(temporary, error) from error
        except BaseException:
            with suppress(OSError):
                file.close()
            with suppress(OSError):
                temporary.unlink()
            raise
        return PartFile(name, size, crc)

    def commit(self, success: Mapping[str, object]) -> None:
        """Write _SUCCESS and move the directory to OUT (rank 0).

        success: JSON-ready; its key "parts" lists {"name", "bytes", "crc32"} of every part.
        Raises StorageError when a listed part is not there or the storage refuses, OutputError when
        OUT holds something that may not be replaced.  When only the move fails, the complete output
        stays under its hidden name, which the message tells.
        """
        temporary = self.temporary
        _check_parts(temporary, _parts_of(success, temporary))
        content = json.dumps(success, indent=1, sort_keys=True).encode() + b"\n"
        draft = temporary / f".{_SUCCESS}.tmp"
        try:
            with draft.open("wb") as file:
                file.write(content)
                _make_durable(file)
            draft.rename(temporary / _SUCCESS)
            _sync_directory(temporary)
        except OSError as error:
            raise _refused(draft, error) from error
        old = self._swap_in()
        if old is None:
            return
        try:
            shutil.rmtree(old)
        except OSError as error:
            raise StorageError(
                f"the output is complete in {shown(self.path)}, but the one it replaced cannot be removed: "
                f"{error.strerror or error}; remove {shown(str(old))} by hand"
            ) from error

    def abandon(self) -> None:
        """Remove the hidden directory, unless it holds a complete output that could not be moved."""
        temporary = self.temporary
        if not os.path.lexists(temporary / _SUCCESS):
            shutil.rmtree(temporary, ignore_errors=True)

    def _swap_in(self) -> Path | None:
        """Rename the hidden directory to OUT; return where the old output went, if there was one."""
        final, temporary = self.final, self.temporary
        old = final.with_name(f".{final.name}.coded-mr-old-{self.job_id}")
        moved = False
        try:
            if os.path.lexists(final):
                _refuse_occupied(final, self.overwrite)
                if any(final.iterdir()):
                    final.rename(old)
                    moved = True
            try:
                temporary.rename(final)
            except OSError:
                if moved:
                    old.rename(final)
                raise
            _sync_directory(final.parent)
        except OutputError as error:
            raise OutputError(f"{error} (the complete output is in {shown(str(temporary))})") from error
        except OSError as error:
            complete = temporary if temporary.exists() else final
            raise StorageError(
                f"cannot move the output to {shown(self.path)}: {error.strerror or error}; it is complete in "
                f"{shown(str(complete))}: move it by hand"
            ) from error
        return old if moved else None


def check_output(path: str, overwrite: bool, inputs: Sequence[str] = ()) -> None:
    """Refuse, before any work, an OUT that cannot or should not be written.

    inputs: paths or patterns as the user gave them, or the paths of sources.  Raises OutputError when
    OUT is a file, is not empty (with overwrite: holds anything but part-NNNNN and _SUCCESS), is an input
    or lies inside or around one, is or holds the working directory, is a mount point, or is not writable.
    """
    if not path:
        raise OutputError("the output directory has an empty name: name a directory that is to be made")
    final = Path(path).resolve()
    if final == Path.cwd() or final in Path.cwd().parents:
        raise OutputError(f"the output {shown(path)} is or holds the working directory: name a new one")
    _refuse_overlap(path, final, inputs)
    try:
        if os.path.lexists(final):
            _refuse_occupied(final, overwrite)
            if final.is_mount():
                raise OutputError(f"the output {shown(path)} is a mount point: name a directory inside it")
            if any(final.iterdir()) and not os.access(final, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        parent = final.parent
        while not os.path.lexists(parent):
            parent = parent.parent
        # Tried for real: permission bits do not tell of read-only mounts, quotas or access lists.
        Path(tempfile.mkdtemp(prefix=f".{final.name}.coded-mr-", dir=parent)).rmdir()
    except OSError as error:
        raise _unwritable(path, error) from error


def read_success(path: str) -> dict[str, object]:
    """Return what _SUCCESS of an output says.  Raises OutputError if it is missing or not ours."""
    file = Path(path) / _SUCCESS
    try:
        content = json.loads(file.read_bytes())
    except OSError as error:
        raise OutputError(
            f"{shown(path)} holds no complete output ({_SUCCESS}: {error.strerror or error}); run it again"
        ) from error
    except ValueError as error:
        raise OutputError(f"{shown(str(file))} was not written by coded_mr: no JSON ({error})") from error
    _parts_of(content, file)
    return {str(key): value for key, value in content.items()}


def verify_output(path: str) -> dict[str, object]:
    """Read every part again and compare with _SUCCESS, which is returned.

    Raises OutputError when a part is missing, unlisted, unreadable, or differs in size or checksum.
    """
    success = read_success(path)
    listed = _parts_of(success, Path(path))
    try:
        extra = sorted({e.name for e in Path(path).iterdir()} - {part.name for part in listed} - {_SUCCESS})
        if extra:
            raise OutputError(f"{shown(path)} holds {shown(extra[0])}, which its {_SUCCESS} does not list")
        for part in listed:
            size, crc = _sum(Path(path) / part.name)
            if (size, crc) != (part.bytes, part.crc32):
                raise OutputError(
                    f"{shown(path)}/{part.name} changed since it was written: {size} bytes, crc32 {crc:08x}, "
                    f"not {part.bytes}, {part.crc32:08x}; run the job again"
                )
    except OSError as error:
        where = shown(os.fspath(error.filename or path))
        raise OutputError(f"cannot read {where}: {error.strerror or error}; run the job again") from error
    return success


def _copy(blocks: Iterable[bytes | memoryview], file: BinaryIO, path: Path) -> tuple[int, int]:
    """Write the blocks and return their bytes and crc32; only what the file raises is converted."""
    size = crc = 0
    for block in blocks:
        crc = zlib.crc32(block, crc)
        size += block.nbytes if isinstance(block, memoryview) else len(block)
        try:
            file.write(block)
        except OSError as error:
            raise _refused(path, error) from error
    return size, crc


def _sum(path: Path) -> tuple[int, int]:
    size = crc = 0
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(_BUFFER_BYTES):
            size, crc = size + len(chunk), zlib.crc32(chunk, crc)
    return size, crc


def _make_durable(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
    file.close()


def _sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some network and user-space file systems cannot do this for directories.
        if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)


def _parts_of(success: object, where: Path) -> list[PartFile]:
    """Return the parts that a _SUCCESS lists.  Raises OutputError when it is not one of ours."""
    listed = success.get("parts") if isinstance(success, Mapping) else None
    if not isinstance(listed, list):
        raise OutputError(f"{shown(str(where))} was not written by coded_mr: no list of parts")
    parts: list[PartFile] = []
    for entry in listed:
        fields = entry if isinstance(entry, Mapping) else {}
        kinds = [type(fields.get(key)) for key in ("name", "bytes", "crc32")]
        if kinds != [str, int, int] or not _PART.fullmatch(fields["name"]):
            raise OutputError(f"{shown(str(where))} was not written by coded_mr: {entry!r} describes no part")
        parts.append(PartFile(fields["name"], fields["bytes"], fields["crc32"]))
    return parts


def _check_parts(directory: Path, parts: Sequence[PartFile]) -> None:
    """Raise StorageError unless the directory holds exactly these parts, as far as this rank can see."""
    for part in parts:
        try:
            size = (directory / part.name).stat().st_size
        except OSError as error:
            raise StorageError(
                f"{part.name} was written but rank 0 cannot see it in {shown(str(directory))} "
                f"({error.strerror or error}): OUT must be on a file system that all hosts share"
            ) from error
        if size != part.bytes:
            raise StorageError(
                f"{shown(str(directory / part.name))} has {size} bytes, {part.bytes} were written: "
                "the file system lost some; check it, then run the job again"
            )
    names = {part.name for part in parts}
    extra = sorted(entry.name for entry in directory.iterdir() if entry.name not in names)
    if extra or len(names) < len(parts):
        what = f"an unlisted {shown(extra[0])}" if extra else "a part listed twice"
        raise StorageError(
            f"{shown(str(directory))} holds {what}: two jobs seem to share it; run the job again"
        )


def _refuse_occupied(final: Path, overwrite: bool) -> None:
    """Raise OutputError unless OUT is a directory that may be replaced.  Raises OSError too."""
    name = shown(str(final))
    if not final.is_dir():
        raise OutputError(f"the output {name} exists and is not a directory: choose another name")
    entries = sorted(final.iterdir(), key=lambda entry: entry.name)
    if entries and not overwrite:
        raise OutputError(f"the output {name} exists and is not empty: choose another name, or overwrite it")
    for entry in entries:
        ours = entry.name == _SUCCESS or _PART.fullmatch(entry.name)
        if not ours or entry.is_symlink() or not entry.is_file():
            raise OutputError(
                f"the output {name} holds {shown(entry.name)}, which is no output of coded_mr: only "
                f"part-NNNNN and {_SUCCESS} are overwritten; move it away, or choose another name"
            )


def _refuse_overlap(path: str, final: Path, inputs: Sequence[str]) -> None:
    for given in inputs:
        try:
            named = [given] if os.path.lexists(given) else matches(given)
        except OSError:
            continue  # an input that cannot be looked at is discover()'s to report
        for name in named:
            source = Path(name).resolve()
            if source == final or source in final.parents or final in source.parents:
                how = "is" if source == final else "lies inside" if source in final.parents else "holds"
                raise OutputError(
                    f"the output {shown(path)} {how} the input {shown(name)}: choose another output directory"
                )


def _unwritable(path: str, error: OSError) -> OutputError:
    remedy = _REMEDIES.get(error.errno or 0, "choose another directory, or have its permissions changed")
    return OutputError(f"cannot write the output {shown(path)}: {error.strerror or error}; {remedy}")


def _refused(path: Path, error: OSError) -> StorageError:
    """Describe a refused write: where, how far it came, what is free, and what to do."""
    written, free = "an unknown number of", "an unknown number of"
    with suppress(OSError):
        written = str(path.stat().st_size)
    with suppress(OSError):
        free = str(shutil.disk_usage(path.parent).free)
    remedy = _REMEDIES.get(error.errno or 0, "check that file system")
    return StorageError(
        f"cannot write {shown(str(path))}: {error.strerror or error} after {written} bytes, with {free} "
        f"bytes free; {remedy}, then run the job again"
    )

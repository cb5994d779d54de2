"""One file w_n of the input: where its bytes are, and how to read exactly those."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import length_hint
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from coded_mr.errors import InputError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["InputFile", "shown", "whole_lines"]

_SCAN_BYTES = 1 << 16
_CHUNK_BYTES = 1 << 20


def shown(path: str) -> str:
    """Return a path as text that any UTF-8 stream accepts; bytes that do not decode become \\xNN."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


@dataclass(frozen=True)
class InputFile:
    """Name one file w_n: a byte range of a plain file, or a whole compressed one.

    index: 0..N-1.  offset, length: bytes on disk.  compression: None, "gz", "bz2" or "xz".
    record_bytes: the length of a fixed-length record, None for text.  weight: estimated plain bytes.
    size: bytes of the source on disk when it was discovered (None: as it is when read); bytes that
    are appended later are not read, so all ranks read the same.

    A text split owns the lines that start in [offset, offset + length): together the splits of a
    source give each of its bytes once.  A record split is read as it is.  Every method that reads
    raises InputError when the source vanished, shrank, cannot be read or is damaged.
    """

    index: int
    path: str
    offset: int
    length: int
    compression: str | None
    record_bytes: int | None = None
    weight: int = 0
    size: int | None = None

    @property
    def name(self) -> str:
        """Return the path for messages, with [offset:end] when this is a split."""
        path = shown(self.path)
        return f"{path}[{self.offset}:{self._end}]" if self._is_split else path

    def read(self) -> bytes:
        """Return the plain bytes of this file."""
        if self.length == 0:
            return b""
        with self._opened() as file:
            if self.compression is not None:
                return file.read()
            start, stop = self._bounds(file)
            file.seek(start)
            data = file.read(stop - start)
            if len(data) < stop - start:
                raise self._shrunk(start + len(data), stop)
            return data

    def text(self) -> str:
        """Return read() decoded as UTF-8; undecodable bytes become U+FFFD, line ends stay as they are."""
        return self.read().decode("utf-8", "replace")

    def lines(self) -> Iterator[str]:
        """Yield the lines as UTF-8 text (undecodable bytes replaced) without their \\n or \\r\\n.

        The lines are streamed: a large file does not have to fit in memory.
        """
        return chain.from_iterable(self._cursor.follow(map(_lines_of, self.blocks())))

    def words(self) -> Iterator[str]:
        """Yield the words, separated by white space, of the UTF-8 text (undecodable bytes replaced).

        They are those of str.split, streamed like lines().
        """
        # No newline is part of another character or of a word: a block splits as its lines would.
        return chain.from_iterable(
            block.decode("utf-8", "replace").split() for block in self.blocks(_SCAN_BYTES)
        )

    def blocks(self, size: int = _CHUNK_BYTES) -> Iterator[bytes]:
        """Yield the plain bytes in blocks of whole lines, about size each; the last may lack its newline."""
        if self.length == 0:
            return
        with self._opened() as file:
            yield from whole_lines(self._chunks(file, size))

    def records(self) -> NDArray[np.uint8]:
        """Return the records as a uint8 array of shape (n, record_bytes); it may be read-only.

        Raises InputError when the plain bytes are not a multiple of record_bytes, UsageError when
        this file has no record length.
        """
        import numpy as np

        if self.record_bytes is None:
            raise UsageError(f"{self.name} was split as text: give a record length to read records")
        if self.compression is not None or self.length == 0:
            data = np.frombuffer(self.read(), dtype=np.uint8)
        else:
            data = np.empty(self.length, dtype=np.uint8)
            self._fill(data.data)
        rest = data.size % self.record_bytes
        if rest:
            raise InputError(
                f"{self.name} has {data.size} plain bytes, {rest} more than a multiple of the record length "
                f"{self.record_bytes}: check the record length, or repair the file"
            )
        return data.reshape(-1, self.record_bytes)

    def position(self) -> str | None:
        """Return which line lines() handed out last, for messages; None before the first."""
        line = self._cursor.line
        if line == 0:
            return None
        return f"line {line} of this split" if self._is_split else f"line {line}"

    @cached_property
    def _cursor(self) -> _Cursor:
        """Follow lines(): the only thing here that changes, and no field."""
        return _Cursor()

    def __getstate__(self) -> dict[str, object]:
        """Leave the cursor out of a pickle: equal files have equal pickles."""
        return {key: value for key, value in self.__dict__.items() if key != "_cursor"}

    @property
    def _end(self) -> int:
        return self.offset + self.length

    @property
    def _is_split(self) -> bool:
        if self.compression is not None:
            return False
        return self.offset > 0 or (self.size is not None and self._end < self.size)

    def _fill(self, view: memoryview) -> None:
        with self._guarded(), Path(self.path).open("rb", buffering=0) as file:
            file.seek(self.offset)
            filled = 0
            while filled < len(view):
                count = file.readinto(view[filled:])
                if not count:
                    raise self._shrunk(self.offset + filled, self._end)
                filled += count

    def _chunks(self, file: IO[bytes], size: int) -> Iterator[bytes]:
        """Yield what read() returns, `size` bytes at a time."""
        if self.compression is not None:
            while chunk := file.read(size):
                yield chunk
            return
        position, stop = self._bounds(file)
        file.seek(position)
        while position < stop:
            chunk = file.read(min(size, stop - position))
            if not chunk:
                raise self._shrunk(position, stop)
            position += len(chunk)
            yield chunk

    def _bounds(self, file: IO[bytes]) -> tuple[int, int]:
        """Return the range [start, stop) of the lines (or records) that this file owns."""
        if self.record_bytes is not None:
            return self.offset, self._end
        size = os.fstat(file.fileno()).st_size if self.size is None else self.size
        start, stop = self.offset, self._end
        if start > 0:
            start = _line_start(file, self.offset - 1, self._end - 1)
            if start < 0:
                return self.offset, self.offset
        if stop < size:
            stop = _line_start(file, stop - 1, size)
        return start, size if stop < 0 else stop

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        with self._guarded(), Path(self.path).open("rb") as plain:
            found = os.fstat(plain.fileno()).st_size
            expected = self._end if self.size is None else self.size
            if found < expected:
                raise self._shrunk(found, expected)
            if self.compression is None:
                yield plain
            else:
                with _decompressed(plain, self.compression) as file:
                    yield file

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno is None and self.compression is not None:
                raise self._damaged(error) from error
            raise InputError(
                f"cannot read {self.name}: {error.strerror or error}; "
                "every host must see the same input files until the job ends"
            ) from error
        except _damage(self.compression) as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> InputError:
        return InputError(
            f"{self.name} is damaged or cut short ({self.compression}): {error}; copy or compress it again"
        )

    def _shrunk(self, found: int, expected: int) -> InputError:
        return InputError(
            f"{self.name} ends at byte {found} but had {expected} when the job was planned: "
            "leave input files alone while a job runs, then run it again"
        )


class _Cursor:
    """Know which line was handed out last, without a step for each."""

    def __init__(self) -> None:
        self._upto = 0
        self._rest: Iterator[str] = iter(())

    @property
    def line(self) -> int:
        """Return the number of the last line that was handed out, from 1; 0 before the first."""
        return self._upto - length_hint(self._rest)

    def follow(self, blocks: Iterable[list[str]]) -> Iterator[Iterator[str]]:
        """Yield an iterator over the lines of each block, each to be exhausted before the next."""
        self._upto, self._rest = 0, iter(())
        for lines in blocks:
            self._upto += len(lines)
            self._rest = iter(lines)
            yield self._rest


def _lines_of(block: bytes) -> list[str]:
    # No newline is part of another character: a block decodes as its lines would.
    lines = block.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Cut the chunks anew, after newlines only; the last block may lack its newline."""
    pieces: list[bytes] = []
    for chunk in chunks:
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield b"".join([*pieces, chunk[:cut]])
            pieces.clear()
        if cut < len(chunk):
            pieces.append(chunk[cut:])
    if pieces:
        yield b"".join(pieces)


def _line_start(file: IO[bytes], begin: int, end: int) -> int:
    """Return the position after the first newline in [begin, end), -1 if there is none."""
    file.seek(begin)
    while begin < end:
        chunk = file.read(min(_SCAN_BYTES, end - begin))
        if not chunk:
            return -1
        found = chunk.find(b"\n")
        if found >= 0:
            return begin + found + 1
        begin += len(chunk)
    return -1


def _decompressed(plain: io.BufferedReader, compression: str) -> IO[bytes]:
    # Imported here: Python may have been built without one of them, which only matters when it is used.
    if compression == "gz":
        import gzip

        return cast("IO[bytes]", gzip.open(plain, "rb"))
    if compression == "bz2":
        import bz2

        return bz2.open(plain, "rb")
    import lzma

    return lzma.open(plain, "rb")


def _damage(compression: str | None) -> tuple[type[Exception], ...]:
    """Return what the standard library raises, beside OSError, for data it cannot decompress."""
    if compression == "xz":
        from lzma import LZMAError

        return (EOFError, LZMAError)
    return (EOFError, zlib.error) if compression is not None else ()

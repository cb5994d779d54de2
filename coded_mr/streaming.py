"""Jobs of commands, in the convention of Hadoop Streaming: lines in, `key<TAB>value` lines out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from coded_mr.io.command import Command
from coded_mr.io.files import whole_lines
from coded_mr.job import Job

if TYPE_CHECKING:
    from coded_mr.io.files import InputFile

__all__ = ["Pair", "StreamingJob"]

Pair: TypeAlias = tuple[bytes, bytes | None]

_BLOCK_BYTES = 1 << 18


class StreamingJob(Job):
    """Map, combine and reduce by commands that read lines and write lines.

    mapper: command that reads the lines of a file and writes key<TAB>value lines
    reducer: command that reads those of a partition, sorted by key (without: they are the result)
    combiner: command that reads lines sorted by key and writes fewer for them, to send less
    add_tabs: give lines without a tab one, before the reducer and in the result, as Hadoop does

    A line is what ends with a newline; its bytes are passed on as they are, and a last line that lacks its
    newline gets one. The key is what comes before the first tab, the whole line when there is none. Keys
    are sorted by their bytes, the lines of one key stay in the order of the input. The mapper runs once
    for each file (a split of a large one), the reducer once for each partition, be they empty or not.

    No shell reads a command: words are split and quotes removed as in one, and `sh -c '...'` is at hand.
    A command must exist on every host; it runs in the current directory, and its environment also has
    mapreduce_task_ismap ("true" or "false"), mapreduce_task_partition (the number of the file or of the
    partition), mapreduce_job_reduces (how many partitions), and for the mapper mapreduce_map_input_file
    (the path), mapreduce_map_input_start and mapreduce_map_input_length (bytes on disk); the last three
    without `mapreduce_` too, their older names. Nothing there differs between the ranks that map a file.
    """

    mapper: str
    reducer: str | None = None
    combiner: str | None = None
    add_tabs: bool = False

    def __post_init__(self) -> None:
        """Look for the programs.  Raises ValueError for one that this host lacks."""
        self.commands()

    def commands(self) -> list[Command]:
        """Return the commands that there are, the mapper first."""
        given = {"mapper": self.mapper, "combiner": self.combiner, "reducer": self.reducer}
        return [Command(text, role) for role, text in given.items() if text is not None]

    def scripts(self) -> list[Path]:
        """Return the files that the commands name, which must be the same on all hosts."""
        return [path for command in self.commands() for path in command.scripts()]

    def map(self, file: InputFile, partitions: int = 1) -> Iterator[Pair]:
        """Yield the key and the value of each line of the mapper; value None: the line had no tab."""
        written = Command(self.mapper, "mapper").run(
            _terminated(file.blocks()), _map_settings(file, partitions), f"of {file.name}"
        )
        return self._pairs(written)

    def combine_lines(self, pairs: Iterable[Pair], where: str) -> Iterator[Pair]:
        """Yield what the combiner makes of pairs sorted by key; `where` names the input in messages."""
        assert self.combiner is not None
        return self._pairs(Command(self.combiner, "combiner").run(_blocks(pairs), _task(ismap=True), where))

    def reduce_lines(self, pairs: Iterable[Pair], partition: int, partitions: int) -> Iterator[bytes]:
        """Yield the result of a partition in blocks of whole lines, from its pairs sorted by key."""
        if self.reducer is None:
            return _blocks(pairs)
        settings = _task(ismap=False) | _numbers(partition, partitions)
        where = f"of partition {partition}"
        written = Command(self.reducer, "reducer").run(_blocks(pairs), settings, where)
        return _blocks(self._pairs(written)) if self.add_tabs else _terminated(whole_lines(written))

    def _pairs(self, written: Iterable[bytes]) -> Iterator[Pair]:
        return map(self._pair, _lines(whole_lines(written)))

    def _pair(self, line: bytes) -> Pair:
        key, tab, value = line.partition(b"\t")
        return key, value if tab or self.add_tabs else None


def _lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of blocks of whole lines, without their newlines."""
    for block in blocks:
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        yield from lines


def _blocks(pairs: Iterable[Pair]) -> Iterator[bytes]:
    """Yield the lines of pairs, many at a time."""
    lines: list[bytes] = []
    size = 0
    for key, value in pairs:
        line = b"%b\n" % key if value is None else b"%b\t%b\n" % (key, value)
        lines.append(line)
        size += len(line)
        if size >= _BLOCK_BYTES:
            yield b"".join(lines)
            lines, size = [], 0
    if lines:
        yield b"".join(lines)


def _terminated(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the blocks, and the newline that the last one may lack."""
    complete = True
    for block in blocks:
        yield block
        complete = block.endswith(b"\n")
    if not complete:
        yield b"\n"


def _map_settings(file: InputFile, partitions: int) -> dict[str, str]:
    settings = _task(ismap=True) | _numbers(file.index, partitions)
    place = {"file": file.path, "start": str(file.offset), "length": str(file.length)}
    for name, value in place.items():
        settings[f"mapreduce_map_input_{name}"] = settings[f"map_input_{name}"] = value
    return settings


def _task(*, ismap: bool) -> dict[str, str]:
    return {"mapreduce_task_ismap": str(ismap).lower()}


def _numbers(task: int, partitions: int) -> dict[str, str]:
    return {"mapreduce_task_partition": str(task), "mapreduce_job_reduces": str(partitions)}

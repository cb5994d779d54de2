"""From what a user names to files: find the sources, split them, spread the files over batches."""

from __future__ import annotations

import errno
import heapq
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from fractions import Fraction
from itertools import accumulate, pairwise
from math import lcm
from pathlib import Path

from coded_mr.errors import InputError, PlanError, UsageError
from coded_mr.io.files import InputFile, shown

__all__ = ["InputFile", "Source", "assign", "deal", "discover", "matches", "split"]

_SUFFIXES = {".gz": "gz", ".bz2": "bz2", ".xz": "xz"}
_EXPANSION = 4  # text typically shrinks to a quarter
_NAMED_AT_MOST = 5


@dataclass(frozen=True)
class Source:
    """Name one file on disk.  size: bytes on disk; compression: None, "gz", "bz2" or "xz"."""

    path: str
    size: int
    compression: str | None

    @property
    def weight(self) -> int:
        """Return the estimated plain bytes: the size, or 4 times the size when compressed."""
        return self.size if self.compression is None else _EXPANSION * self.size


def discover(inputs: Sequence[str]) -> list[Source]:
    """Find every file that the inputs name: files, directories (recursive) and glob patterns.

    An input is a pattern only if no such path exists; ** crosses directories, and a pattern with **
    matches files only.  The order is that of the arguments, by bytes of the path inside directories
    and patterns; a path named twice counts once.  In directories and patterns special files, a file
    named _SUCCESS and unfinished outputs of other jobs are left out, and linked directories are not
    entered.  Every file is opened once.  Raises InputError when an input is missing, unreadable or
    special (all such inputs in one message), and when there is no file at all.
    """
    cwd = Path.cwd()
    seen: set[str] = set()
    sources: list[Source] = []
    problems: list[str] = []
    for given in inputs:
        try:
            for path in _files_of(given):
                key = os.path.normpath(cwd / path)
                if key not in seen:
                    seen.add(key)
                    _probe(path, sources, problems)
        except OSError as error:
            problems.append(_problem(error.filename or given, error.strerror or str(error)))
    if problems:
        raise _unusable(problems)
    if not sources:
        named = ", ".join(map(shown, inputs[:_NAMED_AT_MOST])) or "an empty list of inputs"
        raise InputError(f"no input files in {named}: name a file, a directory that holds some, or a pattern")
    return sources


def matches(pattern: str) -> list[str]:
    """Return the paths that a glob pattern matches, sorted by their bytes.

    As in a shell a leading dot must be spelled out; ** stands for any number of directories, is not
    led into linked directories, and makes the pattern match files only.  Raises OSError.
    """
    parts = pattern.split("/")
    base = ""
    if parts[0] == "" and len(parts) > 1:
        base, parts = "/", parts[1:]
    found = set(_expand(base, parts))
    if "**" in parts:
        found = {path for path in found if not Path(path).is_dir()}
    return sorted(found, key=os.fsencode)


def split(
    sources: Sequence[Source],
    *,
    at_least: int,
    whole_files: bool = False,
    record_bytes: int | None = None,
    target_bytes: int = 64 << 20,
) -> list[InputFile]:
    """Cut the sources into files w_0, w_1, ...: at_least of them when the data allow it; see `deal`."""
    if at_least < 1:
        raise UsageError(f"an input cannot be split into {at_least} files: one or more")
    shares = [Fraction(1, at_least)] * at_least
    dealt = deal(
        sources, shares, whole_files=whole_files, record_bytes=record_bytes, target_bytes=target_bytes
    )
    return sorted((file for batch in dealt for file in batch), key=lambda file: file.index)


def deal(
    sources: Sequence[Source],
    shares: Sequence[Fraction],
    *,
    whole_files: bool = False,
    record_bytes: int | None = None,
    target_bytes: int = 64 << 20,
) -> list[list[InputFile]]:
    """Cut the sources into files and deal them to batches, so that batch b gets shares[b] of the weight.

    Compressed sources, empty ones and, with whole_files, all sources are never cut: `assign` deals them. The
    others are laid end to end and cut where a batch has what it still lacks, exact to a byte or record, so
    that there is about one cut a batch. No piece exceeds target_bytes (or one record, if that is longer).
    Files are numbered in the order of the sources; a batch's are in that order.

    Raises InputError when the size of a plain source is no multiple of record_bytes, PlanError when a share
    is negative or they do not sum to 1.
    """
    unit = 1 if record_bytes is None else record_bytes
    if target_bytes < 1 or unit < 1:
        raise UsageError(
            f"cannot split the input into files of at most {target_bytes} bytes and records of "
            f"{unit} bytes: both must be positive"
        )
    _check_records(sources, unit)
    may = [not whole_files and source.compression is None and source.size > 0 for source in sources]
    fixed = [number for number, cut in enumerate(may) if not cut]
    loose = [number for number, cut in enumerate(may) if cut]
    whole = assign(
        [_file(sources[number], 0, sources[number].size, record_bytes) for number in fixed], shares
    )
    pieces = [
        (fixed[position], 0, sources[fixed[position]].size, batch)
        for batch, positions in enumerate(whole)
        for position in positions
    ]
    taken = [sum(sources[fixed[position]].weight for position in positions) for positions in whole]
    largest = max(target_bytes // unit, 1) * unit
    for number, begin, end, batch in _cuts(sources, loose, _lacks(sources, shares, taken), unit):
        count = -(-(end - begin) // largest)
        edges = [begin + (end - begin) // unit * i // count * unit for i in range(count + 1)]
        pieces += [(number, low, high, batch) for low, high in pairwise(edges)]
    pieces.sort()
    dealt: list[list[InputFile]] = [[] for _ in shares]
    for index, (number, begin, end, batch) in enumerate(pieces):
        dealt[batch].append(replace(_file(sources[number], begin, end, record_bytes), index=index))
    return dealt


def _file(source: Source, begin: int, end: int, record_bytes: int | None) -> InputFile:
    return InputFile(
        index=0,
        path=source.path,
        offset=begin,
        length=end - begin,
        compression=source.compression,
        record_bytes=record_bytes,
        weight=source.weight if source.compression else end - begin,
        size=source.size,
    )


def _lacks(sources: Sequence[Source], shares: Sequence[Fraction], taken: Sequence[int]) -> list[Fraction]:
    """Return the fraction of what may be cut that each batch gets, from what it has been dealt whole."""
    total = sum(source.weight for source in sources)
    lacking = [max(share * total - have, Fraction(0)) for share, have in zip(shares, taken, strict=True)]
    whole = sum(lacking)
    return [lack / whole for lack in lacking] if whole else list(shares)


def _cuts(
    sources: Sequence[Source], loose: Sequence[int], fractions: Sequence[Fraction], unit: int
) -> Iterator[tuple[int, int, int, int]]:
    """Yield (source, begin, end, batch): the loose sources laid end to end, cut by the fractions."""
    total = sum(sources[number].size // unit for number in loose)
    edges = [int(total * edge) for edge in accumulate(fractions)]
    start = batch = 0
    for number in loose:
        count = sources[number].size // unit
        done = 0
        while done < count:
            while edges[batch] <= start + done:
                batch += 1
            upto = min(edges[batch] - start, count)
            yield number, done * unit, upto * unit, batch
            done = upto
        start += count


def assign(files: Sequence[InputFile], shares: Sequence[Fraction]) -> list[list[int]]:
    """Spread the files over batches so that batch b gets about shares[b] of the weight.

    The heaviest file goes first, each to the batch that lacks most (the lowest of equals), so a batch
    misses its share by less than the heaviest file; files without weight go round the batches that have
    a share.  Returns the positions in files, ascending, one list per batch.  O(N log N + N log B).
    Raises PlanError when a share is negative or they do not sum to 1.
    """
    if sum(shares) != 1 or min(shares) < 0:
        raise PlanError(
            f"the shares of {len(shares)} batches sum to {sum(shares)}: they must be >= 0 and sum to 1"
        )
    scale = lcm(*(share.denominator for share in shares))
    parts = [int(share * scale) for share in shares]
    total = sum(file.weight for file in files)
    lacking = [(-part * total, batch) for batch, part in enumerate(parts)]
    heapq.heapify(lacking)
    batches: list[list[int]] = [[] for _ in shares]
    order = sorted(range(len(files)), key=lambda index: (-files[index].weight, index))
    heavy = [index for index in order if files[index].weight > 0]
    for index in heavy:
        lack, batch = lacking[0]
        batches[batch].append(index)
        heapq.heapreplace(lacking, (lack + files[index].weight * scale, batch))
    open_batches = [batch for batch, part in enumerate(parts) if part > 0]
    for turn, index in enumerate(order[len(heavy) :]):
        batches[open_batches[turn % len(open_batches)]].append(index)
    for members in batches:
        members.sort()
    return batches


def _check_records(sources: Iterable[Source], record_bytes: int) -> None:
    for source in sources:
        rest = source.size % record_bytes
        if source.compression is None and rest:
            raise InputError(
                f"{shown(source.path)} has {source.size} bytes, {rest} more than a multiple of the record "
                f"length {record_bytes}: check the record length, or cut the incomplete record off"
            )


def _files_of(given: str) -> list[str]:
    """Return the paths of the files that one input names.  Raises OSError."""
    if not given:
        raise FileNotFoundError(errno.ENOENT, "an empty name", "(empty)")
    try:
        mode = Path(given).stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as missing:
        if not any(magic in given for magic in "*?["):
            raise
        found = [path for path in matches(given) if not _is_ours(Path(path).name)]
        if not found:
            what = "no such file, and nothing matches the pattern"
            raise FileNotFoundError(missing.errno, what, given) from missing
        return [file for path in found for file in _inside(path)]
    return _inside(given) if stat.S_ISDIR(mode) else [given]


def _inside(path: str) -> list[str]:
    """Return a file as it is, a directory as the files below it, a special file as nothing."""
    if not Path(path).is_dir():
        return [path] if _is_file(path) else []
    found: list[str] = []
    pending = [path]
    while pending:
        for entry in list(os.scandir(pending.pop())):
            if _is_ours(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            elif not entry.is_dir() and (entry.is_file() or _is_file(entry.path)):
                found.append(entry.path)
    return sorted(found, key=os.fsencode)


def _is_file(path: str) -> bool:
    # A dangling link counts as a file: to skip it would lose data without a word.
    there = Path(path)
    return there.is_file() or (there.is_symlink() and not there.exists())


def _is_ours(name: str) -> bool:
    return name == "_SUCCESS" or fnmatchcase(name, ".*.coded-mr-*")


def _expand(base: str, parts: Sequence[str]) -> Iterator[str]:
    """Yield the paths below base that match the components of a pattern."""
    if not parts:
        yield base
        return
    head, rest = parts[0], parts[1:]
    if head == "**":
        yield from _expand(base, rest or ["*"])
        for entry in list(os.scandir(base or ".")):
            if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                yield from _expand(os.fspath(Path(base) / entry.name), parts)
    elif any(magic in head for magic in "*?["):
        for entry in list(os.scandir(base or ".")):
            hidden = entry.name.startswith(".") and not head.startswith(".")
            if not hidden and fnmatchcase(entry.name, head) and (not rest or entry.is_dir()):
                yield from _expand(os.fspath(Path(base) / entry.name), rest)
    else:
        child = Path(base) / head
        if (child.exists() or child.is_symlink()) and (not rest or child.is_dir()):
            yield from _expand(os.fspath(child), rest)


def _probe(path: str, sources: list[Source], problems: list[str]) -> None:
    """Open a file and add it to the sources, or what is wrong with it to the problems."""
    try:
        mode = Path(path).stat().st_mode
        if not stat.S_ISREG(mode):
            problems.append(_problem(path, "neither a file nor a directory (a pipe, socket or device)"))
            return
        with Path(path).open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            endless = size == 0 and file.read(1) != b""
    except OSError as error:
        what = "dangling symbolic link" if Path(path).is_symlink() else error.strerror or str(error)
        problems.append(_problem(path, what))
        return
    if endless:
        problems.append(_problem(path, "has no size, yet bytes to read: copy it to a regular file first"))
        return
    sources.append(Source(path, size, _SUFFIXES.get(Path(path).suffix.lower())))


def _problem(path: str, what: str) -> str:
    return f"{shown(path)}: {what}"


def _unusable(problems: Sequence[str]) -> InputError:
    advice = f"check spelling and permissions; relative paths start at {shown(str(Path.cwd()))}"
    if len(problems) == 1:
        return InputError(f"cannot use input {problems[0]}; {advice}")
    lines = [f"cannot use {len(problems)} inputs:"]
    lines += [f"  {problem}" for problem in problems[:_NAMED_AT_MOST]]
    if len(problems) > _NAMED_AT_MOST:
        lines.append(f"  and {len(problems) - _NAMED_AT_MOST} more")
    return InputError("\n".join([*lines, advice]))

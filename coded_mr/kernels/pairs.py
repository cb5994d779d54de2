"""Run a Job: group, combine, partition and encode pairs; decode, group, reduce and format them."""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from types import GeneratorType
from typing import TYPE_CHECKING, NoReturn

from coded_mr.errors import CodedMRError, KeyTypeError, UserCodeError
from coded_mr.job import Job, Key, Value
from coded_mr.kernels import Mapped, Reduced, read_bytes
from coded_mr.kernels.grouping import Groups
from coded_mr.kernels.serial import encode, shown, stable_hashes

if TYPE_CHECKING:
    from coded_mr.io.inputs import InputFile

__all__ = ["PairsKernel"]

_BLOCK = 1 << 20
_TOGETHER = 256  # pairs that become lines together
_PLAIN = frozenset({str, int, float, bool, type(None)})
_COMBINE_AT = 1 << 18


class PairsKernel:
    """Be the kernel of a Job; see coded_mr.kernels.Kernel."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.partitions = 1
        self._name = type(job).__name__
        self.combines = type(job).combine is not Job.combine
        self._partitions_itself = type(job).partition is not Job.partition
        self._formats_itself = type(job).format is not Job.format

    def prepare(self, files: Sequence[InputFile], partitions: int) -> object:
        """Return None: pairs need no preparation."""
        return None

    def adopt(self, prepared: object, partitions: int) -> None:
        """Take the number of partitions."""
        self.partitions = partitions

    def map_batch(self, files: Sequence[InputFile]) -> Mapped:
        """Map the files of a batch, in order.  Raises UserCodeError, KeyTypeError, InputError."""
        groups = Groups()
        emitted = 0
        limit = _COMBINE_AT
        for file in files:
            emitted += self._map(file, groups)
            # Only at the end of a file, where the number of pairs no longer depends on their order.
            if self.combines and groups.pairs > limit:
                self._combine(groups)
                limit = max(_COMBINE_AT, 2 * groups.pairs)
        if self.combines:
            self._combine(groups)
        values, pairs = self._encoded(groups)
        return Mapped(values, pairs, emitted, read_bytes(files))

    def reduce_partition(self, partition: int, values: Sequence[bytes | memoryview]) -> Reduced:
        """Reduce the intermediate values of a partition, given in batch order."""
        reduced = Reduced()
        reduced.blocks = self._blocks(values, reduced)
        return reduced

    def without_combine(self) -> PairsKernel:
        """Return a kernel of the same job that does not combine."""
        plain = copy.copy(self)
        plain.combines = False
        return plain

    def combined_again(self, values: Sequence[bytes | memoryview]) -> bytes:
        """Return the intermediate values of a partition as one, its values combined."""
        groups = _gathered(values)
        self._combine(groups)
        keys, lists = groups.ordered()
        return encode(keys, None, [value for (value,) in lists])

    def contents(self, value: bytes | memoryview) -> list[object]:
        """Return the pairs in an intermediate value."""
        return list(_gathered([value]).pairs_in_order())

    def _map(self, file: InputFile, groups: Groups) -> int:
        before = groups.pairs
        try:
            pairs = self.job.map(file)
            if pairs is None:
                raise UserCodeError(self._nothing("map", f"of {file.name}"))
            return groups.add_all(pairs, lambda item: self._not_a_pair("map", f"of {file.name}", item))
        except KeyTypeError as error:
            raise KeyTypeError(f"{self._name}.map of {file.name} yielded {error}") from error.__cause__
        except CodedMRError:
            raise
        except (Exception, SystemExit) as error:
            where = file.position() or f"after {groups.pairs - before} pairs"
            self._explain("map", f"of {file.name}, {where}", error)

    def _combine(self, groups: Groups) -> None:
        try:
            groups.combine(self._combined)
        except KeyTypeError as error:
            raise KeyTypeError(f"{self._name}.combine gave {error}") from error.__cause__

    def _combined(self, key: Key, values: list[Value]) -> Value:
        try:
            value = self.job.combine(key, values)
        except (Exception, SystemExit) as error:
            self._explain("combine", f"of key {shown(key)}", error)
        if value is None and None not in values:
            raise UserCodeError(
                f"{self._name}.combine of key {shown(key)} returned None: it must return the one value that "
                "stands for all of them (is a return missing?)"
            )
        if type(value) is GeneratorType:
            raise UserCodeError(
                f"{self._name}.combine of key {shown(key)} returned a generator, not one value: "
                "use return instead of yield"
            )
        return value

    def _encoded(self, groups: Groups) -> tuple[list[bytes | memoryview], list[int]]:
        try:
            return groups.encoded(self._partition_ids, self.partitions)
        except KeyTypeError as error:
            stage = "map or combine" if self.combines else "map"
            raise KeyTypeError(f"{self._name}.{stage} gave {error}") from error.__cause__

    def _partition_ids(self, keys: list[Key]) -> list[int]:
        partitions = self.partitions
        if not self._partitions_itself:
            if partitions == 1:
                return [0] * len(keys)
            return [number % partitions for number in stable_hashes(keys)]
        ids = []
        for key in keys:
            try:
                q = operator.index(self.job.partition(key, partitions))
            except (Exception, SystemExit) as error:
                self._explain("partition", f"of key {shown(key)}", error)
            if not 0 <= q < partitions:
                raise UserCodeError(
                    f"{self._name}.partition of key {shown(key)} returned {q}: there are {partitions} "
                    f"partitions, so it must be 0 to {partitions - 1}"
                )
            ids.append(q)
        return ids

    def _blocks(self, values: Sequence[bytes | memoryview], reduced: Reduced) -> Iterator[bytes]:
        groups = _gathered(values)
        reduced.groups, reduced.pairs_in = len(groups), groups.pairs
        pairs = self._reduced(*groups.ordered())
        pieces: list[bytes] = []
        size = 0
        while some := list(islice(pairs, _TOGETHER)):
            pieces.append(self._lines(some))
            reduced.records_out += len(some)
            size += len(pieces[-1])
            if size >= _BLOCK:
                yield b"".join(pieces)
                pieces, size = [], 0
        if pieces:
            yield b"".join(pieces)

    def _lines(self, pairs: list[tuple[Key, Value]]) -> bytes:
        """Return the lines of some pairs, each with its newline."""
        plain = None if self._formats_itself else _plain_lines(pairs)
        if plain is not None:
            return plain
        format_line = self.job.format
        lines = []
        for pair in pairs:
            try:
                line = format_line(*pair)
                lines.append(line.encode() if isinstance(line, str) else memoryview(line).tobytes())
            except (Exception, SystemExit) as error:
                self._explain("format", f"of {shown(pair)}", error)
        return b"\n".join([*lines, b""])

    def _reduced(self, keys: list[Key], lists: Iterable[list[Value]]) -> Iterator[tuple[Key, Value]]:
        reduce = self.job.reduce
        for key, values in zip(keys, lists, strict=True):
            try:
                pairs = reduce(key, values)
                if pairs is None:
                    raise UserCodeError(self._nothing("reduce", f"of key {shown(key)}"))
                for pair in pairs:
                    if type(pair) is not tuple or len(pair) != 2:
                        raise self._not_a_pair("reduce", f"of key {shown(key)}", pair)
                    yield pair
            except CodedMRError:
                raise
            except (Exception, SystemExit) as error:
                self._explain("reduce", f"of key {shown(key)}", error)

    def _nothing(self, stage: str, where: str) -> str:
        return (
            f"{self._name}.{stage} {where} returned None: it must yield (key, value) pairs, or return a list "
            "of them, [] where there are none"
        )

    def _not_a_pair(self, stage: str, where: str, item: object) -> UserCodeError:
        return UserCodeError(
            f"{self._name}.{stage} {where} yielded {shown(item)} ({type(item).__name__}), which is no "
            "(key, value) tuple: write `yield key, value`, or return a list of such tuples"
        )

    def _explain(self, stage: str, where: str, error: BaseException) -> NoReturn:
        raise UserCodeError(
            f"{self._name}.{stage} {where} raised {type(error).__name__}: {error}; "
            f"correct {stage}, or let it skip such data"
        ) from error


def _plain_lines(pairs: list[tuple[Key, Value]]) -> bytes | None:
    """Return what Job.format makes of pairs of str, numbers, bool and None; None where it must do it."""
    if not set(map(type, chain.from_iterable(pairs))) <= _PLAIN:
        return None
    try:
        return "".join([f"{key}\t{value}\n" for key, value in pairs]).encode()
    except ValueError:  # lone surrogates, and ints of more digits than Python prints
        return None


def _gathered(values: Sequence[bytes | memoryview]) -> Groups:
    groups = Groups()
    for data in values:
        groups.add_encoded(data)
    return groups

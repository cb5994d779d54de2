"""What a user writes: a Job of key-value pairs, or a RecordJob over fixed-length records."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import dataclass_transform

    from coded_mr.io.inputs import InputFile
else:

    def dataclass_transform(**_: Any) -> Any:
        """Stand in at run time for what only type checkers read."""
        return lambda cls: cls


__all__ = ["Job", "Key", "RecordJob", "Value", "parameter_values"]

# str, bytes, int, float, bool, None, tuples of these.  Any, so that a job may annotate what it really uses.
Key: TypeAlias = Any
Value: TypeAlias = Any


@dataclass_transform(kw_only_default=True)
class Job:
    """Turn files into key-value pairs, and the values of each key into lines of output.

    Annotations of a subclass are its parameters: `pattern: str` is a required keyword of the class and
    the option `--pattern` of the command line, `ignore_case: bool = False` an optional one.  A subclass
    may check them in `__post_init__` and raise ValueError.

    Keys and values are str, bytes, int, float, bool, None or tuples of these, of exactly these types.
    Several ranks map the same file and must get the same pairs: use no clock, no unseeded random
    numbers and no state that outlives a call.  Pairs of different keys may come in any order.
    """

    whole_files: ClassVar[bool] = False
    """Never cut an input into several files: map sees each whole."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(kw_only=True)(cls)

    def map(self, file: InputFile) -> Iterable[tuple[Key, Value]]:
        """Yield the (key, value) pairs of one file."""
        raise NotImplementedError(f"{type(self).__name__} does not define map(self, file)")

    def combine(self, key: Key, values: list[Value]) -> Value:
        """Return the one value that stands for two or more values of a key.

        Optional; used when overridden, to make the intermediate values smaller.  It may see the values
        of a key in several portions and its own results among them: reduce must not tell the difference.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define combine(self, key, values)")

    def partition(self, key: Key, partitions: int) -> int:
        """Return the partition, 0..partitions-1, that reduces a key: by default a stable hash of it."""
        from coded_mr.kernels.serial import stable_hash

        return stable_hash(key) % partitions

    def reduce(self, key: Key, values: list[Value]) -> Iterable[tuple[Key, Value]]:
        """Yield the (key, value) pairs of output for one key: by default one for each of its values.

        values: in the order of the batches, within a batch in the order in which map yielded them.
        Keys come in canonical order (see coded_mr.kernels.serial).
        """
        return [(key, value) for value in values]

    def format(self, key: Key, value: Value) -> str | bytes:
        """Return one line of output without its newline: by default key, tab, value.

        str and bytes appear as they are, numbers, bool and None as str() shows them, the elements of
        tuples separated by tabs.  Raises TypeError for any other type.
        """
        fields = [*_fields(key), *_fields(value)]
        if bytes in map(type, fields):
            return b"\t".join(field if isinstance(field, bytes) else field.encode() for field in fields)
        return "\t".join(fields)  # type: ignore[arg-type]  # no bytes among them


@dataclass_transform(kw_only_default=True)
class RecordJob:
    """Turn fixed-length records into records, as numpy arrays of shape (n, length) and dtype uint8.

    Annotations of a subclass are its parameters, as for Job, and its methods must be as reproducible.
    Arrays handed to a method may be read-only; a method returns a new array or what it was given.
    """

    record_bytes: ClassVar[int] = 100
    """Length of an input record in bytes."""
    out_bytes: ClassVar[int | None] = None
    """Length of the records that map and reduce return; None: record_bytes."""
    sample_records: ClassVar[int] = 0
    """About how many input records prepare() wants to see."""

    prepared: Any = None
    """What prepare() returned; on every rank an attribute of the job before its first map."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(kw_only=True)(cls)

    def prepare(self, sample: NDArray[np.uint8], partitions: int) -> object:
        """Return what all ranks need to know in advance (picklable), such as the splitters of a sort.

        Called once, on rank 0, before planning.  sample: (n, record_bytes) records spread evenly over
        the input, n about sample_records, fewer when the input is smaller.
        """
        return None

    def map(self, records: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the records, (m, out_bytes), that a few MB of input become: by default the same."""
        return records

    def partition(self, records: NDArray[np.uint8], partitions: int) -> NDArray[np.integer[Any]]:
        """Return for each mapped record the partition, 0..partitions-1, that reduces it: shape (n,)."""
        raise NotImplementedError(f"{type(self).__name__} does not define partition(...)")

    def reduce(self, records: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the output records, (m, out_bytes), of a partition: by default the same."""
        return records


def parameter_values(job: Job | RecordJob) -> dict[str, Any]:
    """Return the parameters that a job was made with, by name, as they are in JSON."""
    # Every subclass of Job and RecordJob is a dataclass, which type checkers cannot see from here.
    fields = dataclasses.fields(cast("Any", job))
    values = {field.name: getattr(job, field.name) for field in fields if field.init}
    plain = (str, int, float, bool, type(None))
    return {name: value if isinstance(value, plain) else str(value) for name, value in values.items()}


def _fields(item: object) -> list[str | bytes]:
    if isinstance(item, (str, bytes)):
        return [item]
    if isinstance(item, tuple):
        return [field for element in item for field in _fields(element)]
    if item is None or isinstance(item, (int, float)):
        return [str(item)]
    raise TypeError(
        f"no default format for {type(item).__name__}: reduce must yield str, bytes, numbers, bool, None or "
        "tuples of these, or the job must define format(self, key, value)"
    )

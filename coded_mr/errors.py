"""The exceptions of coded_mr, one tree.

    CodedMRError
    ├── UsageError               wrong before any work starts: options, job modules, parameters
    │   ├── InputError           an input is missing, unreadable, damaged, or there is none
    │   └── OutputError          the output cannot be written where it was asked for
    ├── PlanError                no such plan exists, or a plan fails verification
    ├── UserCodeError            the user's map, combine, partition, reduce or format raised
    ├── KeyTypeError             a key or value of a type that cannot travel
    ├── NondeterministicMapError two ranks mapped the same files to different bytes
    ├── PacketError              a coded packet arrived damaged
    ├── ConservationError        records or bytes were lost or doubled between stages
    ├── StorageError             a disk is full or fails while the job runs
    ├── LostRankError            a rank died, and the others cannot go on without it
    └── LaunchError              MPI cannot be started, or started wrongly

A message says what happened, where (rank, host, file, record) and what to do about it.
"""

from __future__ import annotations

__all__ = [
    "CodedMRError",
    "ConservationError",
    "InputError",
    "KeyTypeError",
    "LaunchError",
    "NondeterministicMapError",
    "OutputError",
    "PacketError",
    "PlanError",
    "StorageError",
    "UsageError",
    "UserCodeError",
]


class CodedMRError(Exception):
    """Be the root of every error that coded_mr raises on purpose."""

    exit_status = 1


class UsageError(CodedMRError):
    """Say that the request is wrong; nothing was computed or written."""

    exit_status = 2


class InputError(UsageError):
    """Say which input is missing, unreadable or damaged."""


class OutputError(UsageError):
    """Say why the output cannot be written where it was asked for."""


class PlanError(CodedMRError):
    """Say why a plan cannot exist, or what `verify` found wrong in one."""


class UserCodeError(CodedMRError):
    """Say where in the data the user's own code raised; the cause carries its traceback."""


class KeyTypeError(CodedMRError):
    """Name a key whose type, or whose value's type, cannot travel between ranks."""


class NondeterministicMapError(CodedMRError):
    """Name the file that two ranks mapped to different bytes."""

    @classmethod
    def between(cls, first: int, second: int, files: str) -> NondeterministicMapError:
        """Return the error for two ranks and what they mapped."""
        return cls(
            f"ranks {first} and {second} mapped {files} and got different bytes: the map is not "
            "deterministic, or the ranks do not see the same data. A map may depend on its file and the job's"
            " parameters only: no time, no random numbers without a fixed seed, no order of a set among the "
            "values of one key"
        )


class PacketError(CodedMRError):
    """Say which coded packet arrived damaged."""


class ConservationError(CodedMRError):
    """Say which count does not add up across the ranks."""


class StorageError(CodedMRError):
    """Say which path could not be written, the bytes needed, and the remedy."""


class LostRankError(CodedMRError):
    """Say which rank died, and what it would have taken to go on without it."""


class LaunchError(CodedMRError):
    """Say why MPI could not be started, or why its world is not the one announced."""

    exit_status = 2

"""Storing a coded matrix: rank 0 checks, encodes, and sends every server the rows that it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from mpi4py import MPI

from coded_mr.engine.waiting import barrier, broadcast, wait
from coded_mr.errors import UsageError
from coded_mr.linear.arrays import check_matrix
from coded_mr.linear.codes import Field, FieldCode, field
from coded_mr.linear.letters import receive_array, send_array
from coded_mr.linear.storage import store
from coded_mr.theory.straggling import Point

if TYPE_CHECKING:
    from coded_mr.linear.codes.field import Array

__all__ = ["Stored", "encode_and_scatter"]

_BITS = {1: 8, 2: 16}


@dataclass(frozen=True)
class Stored:
    """Hold what one server keeps of a matrix of the given shape.

    rows  (coded rows that it keeps, height, columns): a row of the code is `height` rows of the matrix
    """

    code: FieldCode
    shape: tuple[int, int]
    rows: Array


def encode_and_scatter(
    comm: MPI.Intracomm, A: Any, point: Point, *, bits: int | None, kernel: str | None
) -> Stored:
    """Return each server's part of rank 0's matrix A; collective.

    A is cut into as few blocks of rows as can be dealt evenly, padded with rows of zeros. `bits` None: 8 or
    16, as wide as A's elements. Raises UsageError on every rank for an A that is no matrix over the field.
    """
    matrix: Array | None = None

    def look() -> tuple[int, int, int] | UsageError:
        nonlocal matrix
        try:
            matrix = _matrix(A, bits)
        except UsageError as error:
            return error
        return (*matrix.shape, 8 * matrix.dtype.itemsize)

    found = broadcast(comm, look if comm.rank == 0 else None)
    if isinstance(found, UsageError):
        raise found
    height, width, size = found
    storage = store(point)
    code = FieldCode(storage.coded, storage.rows, size, kernel=kernel)
    each = -(-height // storage.rows)
    if matrix is None:
        mine = np.empty((len(storage.rows_of[comm.rank]), each, width), dtype=code.field.dtype)
        wait(receive_array(comm, 0, mine))
    else:
        padded = np.zeros((storage.rows * each, width), dtype=matrix.dtype)
        padded[:height] = matrix
        mine = _scatter(comm, code.encode(padded.reshape(storage.rows, each, width)), storage.rows_of)
    barrier(comm)
    return Stored(code, (height, width), mine)


def _matrix(A: Any, bits: int | None) -> Array:
    """Return A as an array of field elements."""
    if A is None:
        raise UsageError("A is missing: rank 0 has to give it")
    over = _field(A, bits)
    array = over.array(A, "A")
    check_matrix(array, "A")
    return array


def _field(A: Any, bits: int | None) -> Field:
    if bits is not None:
        return field(bits)
    order = getattr(type(A), "order", None)
    if isinstance(order, int):
        return field(order.bit_length() - 1)
    dtype = np.asanyarray(A).dtype
    if dtype.kind in "ui" and dtype.itemsize not in _BITS:
        raise UsageError(
            f"A has the type {dtype}, which does not say in which field it is: give bits, 8 or 16"
        )
    return field(_BITS.get(dtype.itemsize, 8))


def _scatter(comm: MPI.Intracomm, coded: Array, rows_of: Sequence[Sequence[int]]) -> Array:
    """Send each server its rows, one server after the other, and return rank 0's."""
    for server in range(1, comm.size):
        wait(send_array(comm, server, coded[list(rows_of[server])]))
    mine: Array = coded[list(rows_of[0])]
    return mine

"""From the products of the first finishers to whole outputs: the coded shuffle, then MDS decoding."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from mpi4py import MPI

from coded_mr.engine.multicast import Carrier
from coded_mr.engine.packet import Value
from coded_mr.engine.shuffle import Shuffle
from coded_mr.engine.store import Store
from coded_mr.engine.traffic import Traffic
from coded_mr.linear.codes import FieldCode
from coded_mr.linear.shuffle import CodedShuffle
from coded_mr.plan.model import Term

if TYPE_CHECKING:
    from coded_mr.linear.codes.field import Array

__all__ = ["reduce_outputs"]


def reduce_outputs(
    comm: MPI.Intracomm,
    coded: CodedShuffle,
    code: FieldCode,
    products: Array,
    *,
    carrier: Carrier | None = None,
    idle: Callable[[], None] = lambda: None,
) -> tuple[Array, Traffic]:
    """Shuffle, and return this finisher's outputs (m x height, its outputs) with what it sent and received.

    comm      its rank k is server k; only the finishers are needed, and only they make communicators
    products  (rows, height, outputs) of all the coded rows that this server keeps, for all outputs
    carrier, idle  as for `Shuffle`; what `idle` raises ends this

    Raises NondeterministicMapError and PacketError, as every shuffle does.
    """
    server = comm.rank
    partition = coded.finishers.index(server)
    store = Store(coded.plan, server)
    kept = coded.storage.rows_of[server]
    place = {row: at for at, row in enumerate(kept)}
    for batch in coded.plan.batches_of[server]:
        block = products[[place[row] for row in coded.rows[batch]]]
        values = [Value.of(block[:, :, list(outputs)].tobytes()) for outputs in coded.outputs]
        store.put_mapped(batch, values)
    traffic = Shuffle(comm, coded.plan, store, carrier=carrier, idle=idle).run()
    own = list(coded.outputs[partition])
    rows, parts = list(kept), [products[:, :, own]]
    for batch in _received(coded, partition):
        (value,) = store.values(Term((partition,), batch))
        rows += coded.rows[batch]
        shape = (len(coded.rows[batch]), products.shape[1], len(own))
        parts.append(np.frombuffer(value.data, dtype=products.dtype).reshape(shape))
    decoded = code.decode(rows, np.concatenate(parts))
    return decoded.reshape(code.k * products.shape[1], len(own)), traffic


def _received(coded: CodedShuffle, partition: int) -> list[int]:
    """Return the batches that the finisher of a partition is sent."""
    terms = (term for packet in coded.plan.packets for term in packet.terms)
    return sorted({term.batch for term in terms if term.partitions == (partition,)})

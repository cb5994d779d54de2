"""The store keeps what the plan will need, until its last use, and nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from coded_mr.engine.packet import Value
from coded_mr.engine.store import Store, uses
from coded_mr.plan.schemes import solver_helper, uncoded


def fill(store: Store, plan, rank: int) -> None:
    for batch in plan.batches_of[rank]:
        store.put_mapped(batch, [Value.of(bytes([q, batch])) for q in range(plan.partitions)])


@given(st.integers(1, 5), st.data())
def test_everything_is_let_go_after_its_last_use(partitions, data):
    r = data.draw(st.integers(0, partitions))
    helpers = 0 if r == partitions else data.draw(st.integers(1, 3))
    plan = data.draw(
        st.sampled_from(
            [solver_helper(partitions, partitions, r, helpers), uncoded(partitions, partitions, helpers)]
        )
    )
    for rank in range(plan.ranks):
        store = Store(plan, rank)
        fill(store, plan, rank)
        for packet in plan.packets:
            if packet.sender != rank and rank not in packet.receivers:
                continue
            lacking = plan.lacks(rank, packet)
            for index, term in enumerate(packet.terms):
                if index in lacking:
                    for q in term.partitions:
                        store.put_received(q, term.batch, Value.of(bytes([q, term.batch])))
                else:
                    expected = [bytes([q, term.batch]) for q in term.partitions]
                    assert [value.data for value in store.values(term)] == expected
                    store.release(term)
        for q in plan.reduces[rank]:
            assert [v.data for v in store.take_partition(q)] == [
                bytes([q, b]) for b in range(len(plan.batches))
            ]
        assert store.bytes == 0
        assert repr(store) == "Store(0 values, 0 bytes)"


def test_what_nobody_needs_is_not_kept():
    plan = solver_helper(3, 3, 2, 2)
    # Batch 0 is mapped by solvers 0 and 1: neither needs the other's value, solver 2's is side information.
    assert {key for key in uses(plan, 0) if key[1] == 0} == {(0, 0), (2, 0)}
    assert uses(plan, 3)[(0, 0)] == 0
    store = Store(plan, 0)
    store.put_mapped(0, [Value.of(data) for data in (b"aa", b"bb", b"cc")])
    assert (store.bytes, store.peak_bytes) == (4, 4)

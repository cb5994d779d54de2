"""The coded shuffle among the first finishers, executed in one process over GF(2^8)."""

# A Fraction may equal an int, which mypy takes for a comparison that is never true.
# mypy: disable-error-code="comparison-overlap"

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import UsageError
from coded_mr.linear import CodedShuffle, shuffle, store
from coded_mr.linear.codes import FieldCode
from coded_mr.plan import Packet, Term
from coded_mr.theory.straggling import Point, Setting, tradeoff

Golden = Callable[[str], Any]
WIDTH = 6  # columns of A


class Run:
    """Carry out one job: map on every finisher, shuffle packet by packet, reduce by MDS decoding."""

    def __init__(self, coded: CodedShuffle) -> None:
        storage = coded.storage
        self.coded = coded
        self.code = FieldCode(storage.coded, storage.rows, bits=8)
        field, random = self.code.field.galois, np.random.default_rng(7)
        matrix = field(random.integers(0, 256, (storage.rows, WIDTH), dtype=np.uint8))
        inputs = field(random.integers(0, 256, (WIDTH, storage.point.setting.N), dtype=np.uint8))
        self.expected = np.asarray(matrix @ inputs)
        rows = self.code.encode(matrix)
        # Each finisher knows the products of the rows that it keeps, for all inputs; nothing else.
        self.known: dict[int, dict[tuple[int, int], int]] = {}
        for server in coded.finishers:
            kept = storage.rows_of[server]
            products = np.asarray(field(rows[list(kept)]) @ inputs)
            self.known[server] = {
                (row, output): int(products[at, output])
                for at, row in enumerate(kept)
                for output in range(storage.point.setting.N)
            }
        self.multicasts = self.unicasts = 0

    def segment(self, server: int, term: Term) -> list[int]:
        """Return the values of a term, as this server knows them."""
        keys = self.keys(term)
        return [self.known[server][key] for key in keys]

    def keys(self, term: Term) -> list[tuple[int, int]]:
        """Return which values (row, output) a term names."""
        outputs = self.coded.outputs[term.partitions[0]]
        values = [(row, output) for row in self.coded.rows[term.batch] for output in outputs]
        each = -(-len(values) // term.segments)
        return values[term.segment * each : (term.segment + 1) * each]

    def deliver(self, packet: Packet) -> None:
        """Encode at the sender and decode at every receiver; each may use only what it knows."""
        payload = xor([self.segment(packet.sender, term) for term in packet.terms])
        if len(packet.receivers) > 1:
            self.multicasts += len(payload)
        else:
            self.unicasts += len(payload)
        for receiver, own in zip(packet.receivers, packet.terms, strict=True):
            assert own.partitions == self.coded.plan.reduces[receiver]
            others = [self.segment(receiver, term) for term in packet.terms if term is not own]
            for key, value in zip(self.keys(own), xor([payload, *others]), strict=False):
                assert key not in self.known[receiver]
                self.known[receiver][key] = value

    def reduce(self) -> None:
        """Decode every output where it is reduced, and compare it with the product."""
        for server, outputs in zip(self.coded.finishers, self.coded.outputs, strict=True):
            for output in outputs:
                rows = sorted(row for row, column in self.known[server] if column == output)
                values = np.array([self.known[server][row, output] for row in rows], dtype=np.uint8)
                assert (self.code.decode(rows, values) == self.expected[:, output]).all()

    def run(self) -> None:
        """Deliver all packets and reduce."""
        for packet in self.coded.plan.packets:
            self.deliver(packet)
        self.reduce()


def xor(operands: list[list[int]]) -> list[int]:
    """Return the XOR of lists, each padded with zeros to the longest."""
    longest = max(map(len, operands))
    padded = [operand + [0] * (longest - len(operand)) for operand in operands]
    return [int(np.bitwise_xor.reduce(column)) for column in zip(*padded, strict=True)]


@pytest.mark.parametrize("finishers", list(combinations(range(4), 4)))
def test_minimum_bandwidth_of_the_first_example(finishers: tuple[int, ...], golden: Golden) -> None:
    example = golden("straggling")["examples"]["K4"]["min_bandwidth"]
    run = Run(shuffle(store(Setting(4, Fraction(1, 2), 4).point(4), 12), finishers))
    run.run()
    assert (run.multicasts, run.unicasts) == (example["multicasts"], 0) == (12, 0)
    assert run.coded.load == Fraction(example["L"]) == 1


@pytest.mark.parametrize("finishers", list(combinations(range(4), 2)))
def test_minimum_latency_of_the_first_example(finishers: tuple[int, ...]) -> None:
    run = Run(shuffle(store(Setting(4, Fraction(1, 2), 4).point(2), 12), finishers))
    run.run()
    assert (run.multicasts, run.unicasts, run.coded.load) == (0, 24, 2)


@pytest.mark.parametrize("finishers", list(combinations(range(6), 4)))
def test_the_second_example(finishers: tuple[int, ...], golden: Golden) -> None:
    example = golden("straggling")["examples"]["K6"]
    coded = shuffle(store(Setting(6, Fraction(1, 2), 12).point(4), 20), finishers)
    run = Run(coded)
    run.run()
    assert (run.multicasts, run.unicasts) == (example["coded_multicasts"], example["unicasts"]) == (36, 48)
    assert coded.load == Fraction(example["L"]) == Fraction(21, 5)


def test_the_second_examples_coded_values(golden: Golden) -> None:
    coded = shuffle(store(Setting(6, Fraction(1, 2), 12).point(4), 20), range(4))
    for name, rows in golden("straggling")["examples"]["K6"]["V"].items():
        receiver, owners = name.split("|")
        batch = coded.rows.index(tuple(row - 1 for row in rows))
        assert coded.plan.batches[batch].mappers == tuple(int(owner) - 1 for owner in owners.split(","))
        terms = [term for packet in coded.plan.packets for term in packet.terms if term.batch == batch]
        assert any(term.partitions == (int(receiver) - 1,) for term in terms)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Point, int, list[int]]:
    """Draw a point, how many units of rows, and the finishers."""
    K = draw(st.integers(1, 6))
    setting = Setting(K, draw(st.fractions(Fraction(1, K), 1, max_denominator=8)), draw(st.integers(1, 4)))
    point = draw(st.sampled_from(tradeoff(setting)))
    finishers = draw(st.permutations(range(K)))[: point.q]
    return point, draw(st.integers(1, 2)), finishers


@given(cases())
def test_every_finisher_recovers_its_outputs(case: tuple[Point, int, list[int]]) -> None:
    """Outputs per finisher are drawn as N, so that q divides it and the load is exactly the formula's."""
    drawn, units, finishers = case
    point = Setting(drawn.setting.K, drawn.setting.mu, drawn.setting.N * drawn.q).point(drawn.q)
    coded = shuffle(store(point, units * store(point).rows), finishers)
    assert coded.load == point.L
    for server, received in zip(coded.finishers, coded.received, strict=True):
        kept = coded.storage.rows_of[server]
        assert not set(kept) & set(received)
        enough = len(kept) + len(received)
        assert enough >= coded.storage.rows
        assert enough == coded.storage.rows or point.one_more_level
    if coded.storage.coded <= 256:
        Run(coded).run()


@pytest.mark.parametrize(
    ("K", "mu", "q"), [(6, Fraction(4, 5), 5), (7, Fraction(3, 4), 6), (8, Fraction(1, 2), 6)]
)
def test_one_more_coded_level_where_it_is_cheaper(K: int, mu: Fraction, q: int) -> None:
    point = Setting(K, mu, q).point(q)
    assert point.one_more_level
    run = Run(shuffle(store(point), range(K - q, K)))
    run.run()
    assert run.coded.load == point.L < point.L1
    assert run.unicasts == 0


def test_one_coded_row_a_batch_over_the_larger_field() -> None:
    point = Setting(18, Fraction(1, 3), 180).point(12)
    coded = shuffle(store(point), range(6, 18))
    assert (coded.storage.coded, coded.load) == (3060, point.L)


@given(cases())
def test_uneven_outputs_still_arrive(case: tuple[Point, int, list[int]]) -> None:
    point, units, finishers = case
    coded = shuffle(store(point, units * store(point).rows), finishers)
    assert sum(map(len, coded.outputs)) == point.setting.N
    if coded.storage.coded <= 256:
        Run(coded).run()


@pytest.mark.parametrize("finishers", [(0, 1, 2), (0, 1, 2, 2), (0, 1, 2, 6), (0, 1, 2, 3, 4), (-1, 0, 1, 2)])
def test_finishers_are_checked(finishers: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="needs q = 4 different servers"):
        shuffle(store(Setting(6, Fraction(1, 2), 12).point(4)), finishers)

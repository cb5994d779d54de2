"""The imagined machine: multicast costs, noise that repeats, and refusals."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from statistics import fmean, pstdev

import pytest

from coded_mr.errors import UsageError
from coded_mr.simulate import Machine, Noise
from coded_mr.theory.costs import Costs

COSTS = Costs.parse("1,2,1")


def test_the_last_multicast_cost_holds_for_all_larger_groups():
    machine = Machine(COSTS, multicast=(1, Fraction(6, 5), Fraction(3, 2)))
    assert [machine.beta(j) for j in (1, 2, 3, 4, 100)] == [1, Fraction(6, 5), *[Fraction(3, 2)] * 3]
    assert [Machine(COSTS).beta(j) for j in (1, 7)] == [1, 1]
    assert [Machine(COSTS, multicast="linear").beta(j) for j in (1, 7)] == [1, 7]


def test_a_copy_costs_its_bits_and_an_overhead_for_each_packet():
    assert Machine(COSTS, overhead=Fraction(1, 8)).copy_time(Fraction(1, 4), packets=3) == Fraction(7, 8)


@pytest.mark.parametrize(("kind", "coefficient"), [("exponential", 0.6), ("lognormal", 0.6)])
def test_noise_has_mean_1_and_the_deviation_asked_for(kind, coefficient):
    drawn = [float(x) for x in islice(Noise(kind, coefficient, seed=5).factors(), 20_000)]
    assert min(drawn) > 0
    assert fmean(drawn) == pytest.approx(1, abs=0.02)
    assert pstdev(drawn) == pytest.approx(coefficient, rel=0.05)


def test_shifted_exponential_noise_never_falls_below_its_shift():
    # Factors are rounded to 2^-20.
    assert min(islice(Noise("exponential", 0.25).factors(), 1000)) >= Fraction(3, 4) - Fraction(1, 1 << 20)


def test_a_seed_and_a_repetition_name_the_noise():
    def drawn(seed, repetition, count=50):
        return list(islice(Noise("lognormal", 0.3, seed).factors(repetition), count))

    assert drawn(1, 0) == drawn(1, 0)
    assert drawn(1, 0, 20) == drawn(1, 0)[:20]
    assert len({tuple(drawn(seed, repetition)) for seed in (1, 2) for repetition in (0, 1)}) == 4


def test_no_noise_leaves_the_speeds():
    machine = Machine(COSTS, speeds=(Fraction(2), Fraction(1, 3)))
    assert list(islice(machine.slowness(), 4)) == [Fraction(1, 2), 3, 1, 1]


@pytest.mark.parametrize(
    ("wrong", "about"),
    [
        ({"network": "bus"}, "shared"),
        ({"multicast": ()}, "empty"),
        ({"multicast": (2,)}, "first must be 1"),
        ({"multicast": (1, Fraction(1, 2))}, "none below 1"),
        ({"multicast": (1, 1.5)}, "exact"),
        ({"overhead": Fraction(-1)}, "overhead"),
        ({"speeds": (1, 0)}, "speed"),
    ],
)
def test_a_machine_that_cannot_be_is_refused(wrong, about):
    with pytest.raises(UsageError, match=about):
        Machine(COSTS, **wrong)


@pytest.mark.parametrize(
    ("kind", "coefficient"),
    [("exponential", 1.5), ("exponential", -0.1), ("lognormal", float("nan")), ("uniform", 0.1)],
)
def test_noise_that_cannot_be_is_refused(kind, coefficient):
    with pytest.raises(UsageError, match="noise"):
        Noise(kind, coefficient)

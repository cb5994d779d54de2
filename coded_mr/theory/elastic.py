"""Which machine computes which rows while machines of unequal speed come and go.

Woolsey, Chen, Ji, "Heterogeneous Computation Assignments in Coded Elastic Computing", 2020 (arXiv
2001.04005). X is cut into L blocks of rows; machine n stores one coded block, once and for all, and any L
machines that compute the same row of their blocks give it for all blocks. Time is counted in the time that
speed 1 takes for a whole block. Fractions in, Fractions out; machines are named by any whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from coded_mr.errors import PlanError, UsageError
from coded_mr.theory.checks import as_fraction
from coded_mr.theory.counts import check_count

__all__ = [
    "Assignment",
    "Share",
    "assign",
    "cyclic",
    "fill",
    "relaxed",
    "row_bounds",
    "speeds_from_times",
    "uncoded",
]


@dataclass(frozen=True)
class Share:
    """Name a fraction `alpha` of a block's rows and the machines that compute it, ascending."""

    alpha: Fraction
    machines: tuple[int, ...]


@dataclass(frozen=True)
class Assignment:
    """Say which machines compute which rows in one step.

    speeds   of the available machines, in blocks per unit of time
    L        results of a row that decode it
    shares   in the order of the rows; fractions add up to 1
    """

    speeds: dict[int, Fraction]
    L: int
    shares: tuple[Share, ...]

    @cached_property
    def mu(self) -> dict[int, Fraction]:
        """Return the fraction of its block that each machine computes."""
        return {
            machine: sum((share.alpha for share in self.shares if machine in share.machines), Fraction(0))
            for machine in self.speeds
        }

    @property
    def c(self) -> Fraction:
        """Return the time of the step, max mu / speed."""
        return max(self.mu[machine] / speed for machine, speed in self.speeds.items())

    @property
    def margin(self) -> int:
        """Return S, how many machines of each row may fail to answer."""
        return min(len(share.machines) for share in self.shares) - self.L

    def rows_of(self, rows: int) -> dict[int, tuple[range, ...]]:
        """Return which of a block's rows each machine computes, as ascending ranges; none is empty."""
        bounds = row_bounds(self.shares, rows)
        spans = [range(start, stop) for start, stop in pairwise(bounds)]
        return {
            machine: tuple(
                span
                for span, share in zip(spans, self.shares, strict=True)
                if span and machine in share.machines
            )
            for machine in self.speeds
        }


def relaxed(speeds: Mapping[int, Fraction], L: int) -> tuple[dict[int, Fraction], Fraction, int]:
    """Return mu*, c* and k*: the fastest way to have every row computed L times.

    mu* = min(1, c* s): the k* slowest machines work all the time, the others compute their whole block.
    Raises PlanError when fewer than L machines are available, UsageError for speeds that are not exact and
    above 0. Source: arXiv 2001.04005, Theorem 1.
    """
    exact = _checked(speeds, L)
    ascending = sorted(exact.values())
    N = len(ascending)
    total = sum(ascending, Fraction(0))
    k = N
    while total < ascending[k - 1] * (k + L - N):
        k -= 1
        total -= ascending[k]
    c = (k + L - N) / total
    return {machine: min(Fraction(1), c * speed) for machine, speed in exact.items()}, c, k


def fill(mu: Mapping[int, Fraction], L: int) -> tuple[Share, ...]:
    """Return shares in which each machine computes its fraction mu and every row has L machines.

    As many shares as machines at most. Ties go to the lower machine number. Raises UsageError unless
    0 <= mu <= 1 and the mu add up to L. Source: arXiv 2001.04005, Algorithm 1.
    """
    check_count(L, "the number of results L that decode a row")
    left = {machine: as_fraction(value, f"mu of machine {machine}") for machine, value in mu.items()}
    if any(not 0 <= value <= 1 for value in left.values()) or sum(left.values()) != L:
        raise UsageError(
            f"the fractions {list(map(str, left.values()))} must lie in 0..1 and add up to L = {L}"
        )
    shares: list[Share] = []
    while True:
        order = sorted((machine for machine in left if left[machine]), key=lambda one: (left[one], one))
        if not order:
            return tuple(shares)
        chosen = order[:1] + order[len(order) - L + 1 :]
        alpha = left[order[0]]
        if len(order) > L:
            # What remains must be fillable too: nobody may keep more than an L-th of it.
            alpha = min(alpha, sum(left.values(), Fraction(0)) / L - left[order[-L]])
        for machine in chosen:
            left[machine] -= alpha
        shares.append(Share(alpha, tuple(sorted(chosen))))


def assign(speeds: Mapping[int, Fraction], L: int, margin: int = 0) -> Assignment:
    """Return the fastest assignment of each row to L + margin machines, any L of which decode.

    Raises PlanError with fewer than L + margin machines, UsageError for speeds that are not exact and
    above 0.
    """
    check_count(margin, "the straggler margin S", least=0)
    exact = _checked(speeds, L, margin)
    mu, _, _ = relaxed(exact, L + margin)
    return Assignment(exact, L, fill(mu, L + margin))


def cyclic(speeds: Mapping[int, Fraction], L: int, margin: int = 0) -> Assignment:
    """Return the assignment that takes all machines for equal: each share has the next L + margin in a ring.

    For comparison: its time is that of the slowest machine. Raises as `assign` does.
    Source: Yang, Interlandi, Grover, Karlstad, Mishra, Patterson, Franklin 2018, coded elastic computing.
    """
    check_count(margin, "the straggler margin S", least=0)
    exact = _checked(speeds, L, margin)
    machines = sorted(exact)
    N = len(machines)
    shares = tuple(
        Share(Fraction(1, N), tuple(sorted(machines[(at + step) % N] for step in range(L + margin))))
        for at in range(N)
    )
    return Assignment(exact, L, shares)


def uncoded(
    speeds: Mapping[int, Fraction], L: int, blocks: Mapping[int, int]
) -> tuple[dict[int, Fraction], Fraction]:
    """Return mu and the time when machine n stores the plain block blocks[n] of 0..L-1.

    For comparison, the same storage without a code: the machines that have a block share it in proportion to
    their speeds. Raises PlanError when a block is on no available machine, UsageError for speeds
    that are not exact and above 0.
    """
    exact = _checked(speeds, L)
    together = [Fraction(0)] * L
    for machine, speed in exact.items():
        together[blocks[machine]] += speed
    if lost := [block for block, speed in enumerate(together) if not speed]:
        raise PlanError(f"without a code the blocks {lost} are lost: no available machine stores them")
    mu = {machine: speed / together[blocks[machine]] for machine, speed in exact.items()}
    return mu, 1 / min(together)


def row_bounds(shares: Sequence[Share], rows: int) -> tuple[int, ...]:
    """Return where to cut a block of this many rows: share f gets rows bounds[f]..bounds[f+1]-1.

    Each cut is moved down by less than one row, so a machine is off by fewer rows than there are shares.
    """
    check_count(rows, "the number of rows of a block")
    bounds, total = [0], Fraction(0)
    for share in shares:
        total += share.alpha
        bounds.append(total.numerator * rows // total.denominator)
    return tuple(bounds)


def speeds_from_times(
    speeds: Mapping[int, Fraction],
    work: Mapping[int, Fraction],
    seconds: Mapping[int, float],
    keep: Fraction = Fraction(1, 2),
) -> dict[int, Fraction]:
    """Return new estimates of speeds: keep times the old one plus 1 - keep times work / seconds as measured.

    work  what each machine did, in the unit of the speeds (such as `Assignment.mu`); a machine that did
          nothing, or was not measured, keeps its estimate; one without an estimate takes what is measured

    Speeds are rounded to 9 significant digits, which keeps the fractions short. Raises UsageError unless
    seconds are above 0 and 0 <= keep <= 1.
    """
    if not 0 <= keep <= 1:
        raise UsageError(f"the weight of the old speeds is {keep}: it must lie between 0 and 1")
    estimates = {
        machine: as_fraction(speed, f"the speed of machine {machine}") for machine, speed in speeds.items()
    }
    for machine, time in seconds.items():
        done = work.get(machine, Fraction(0))
        if not done:
            continue
        if not 0 < time < float("inf"):
            raise UsageError(f"machine {machine} took {time!r} seconds: a time above 0 is needed")
        measured = done / Fraction(time)
        estimate = keep * estimates.get(machine, measured) + (1 - keep) * measured
        estimates[machine] = _short(estimate)
    return estimates


def _short(value: Fraction) -> Fraction:
    """Return a fraction rounded to 9 significant digits."""
    digits = len(str(value.numerator)) - len(str(value.denominator))
    scale = Fraction(10) ** (9 - digits)
    return Fraction(round(value * scale)) / scale


def _checked(speeds: Mapping[int, Fraction], L: int, margin: int = 0) -> dict[int, Fraction]:
    """Return exact speeds by ascending machine number, of enough machines."""
    check_count(L, "the number of results L that decode a row")
    exact = {
        machine: as_fraction(speeds[machine], f"the speed of machine {machine}") for machine in sorted(speeds)
    }
    for machine, speed in exact.items():
        if speed <= 0:
            raise UsageError(
                f"the speed of machine {machine} is {speed}: leave out machines that do not work"
            )
    if len(exact) < L + margin:
        extra = f" and S = {margin} more may fail to answer" if margin else ""
        raise PlanError(
            f"{len(exact)} machines are available: L = {L} must compute each row{extra};"
            " wait for more machines"
        )
    return exact

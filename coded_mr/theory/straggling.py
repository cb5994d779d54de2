"""How much bandwidth buys how much latency when a job waits only for the servers that finish first.

Li, Maddah-Ali, Avestimehr, "A Unified Coding Framework for Distributed Computing with Straggling
Servers", 2016 (arXiv 1609.01690). K servers compute y_j = A x_j for N input vectors; each stores a
fraction mu of A's m rows, coded; the job goes on with the q that finish first. L is counted in units
of mT bits (m values), D in the unit of the servers' latencies. Fractions in, Fractions out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import comb

from coded_mr.errors import UsageError
from coded_mr.theory.checks import as_fraction
from coded_mr.theory.counts import check_count

__all__ = [
    "MemorySharing",
    "Point",
    "Setting",
    "cheapest",
    "envelope",
    "mean_latencies",
    "share_memory",
    "shifted_exponential",
    "tradeoff",
]


@dataclass(frozen=True)
class Setting:
    """Hold what does not depend on how many servers are waited for.

    K   servers; mu  fraction of A's rows that each stores, 1/K <= mu <= 1; N  input vectors (outputs).

    Raises UsageError outside these ranges.
    """

    K: int
    mu: Fraction
    N: int

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_count(self.K, "the number of servers K")
        check_count(self.N, "the number of input vectors N")
        mu = as_fraction(self.mu, "the storage mu of a server")
        if not Fraction(1, self.K) <= mu <= 1:
            raise UsageError(
                f"the storage mu of a server is {mu}: {self.K} servers hold the matrix once only with"
                f" 1/{self.K} of its rows or more each, and never need more than all (1/{self.K} <= mu <= 1)"
            )
        object.__setattr__(self, "mu", mu)

    @property
    def fewest(self) -> int:
        """Return ceil(1 / mu), the fewest servers that together hold enough rows."""
        return -(-self.mu.denominator // self.mu.numerator)

    def point(self, q: int, latency: Fraction | None = None) -> Point:
        """Return what waiting for q of the servers costs; fewest <= q <= K.

        `latency` is D(q), the mean time until the q-th server has finished its whole map; left out, it
        is mu N g(K, q) of the shifted exponential. Raises UsageError for another q.
        """
        if not isinstance(q, int) or not self.fewest <= q <= self.K:
            raise UsageError(
                f"waiting for q = {q} servers cannot work: with mu = {self.mu} of {self.K} servers, choose"
                f" {self.fewest} <= q <= {self.K}"
            )
        D = self.mu * self.N * shifted_exponential(self.K, q) if latency is None else latency
        return Point(self, q, D)


@dataclass(frozen=True)
class Point:
    """Describe the scheme that waits for q servers; D is its mean latency, L its load.

    Its storage is fixed for this q beforehand: each coded row is kept by `a` servers.
    """

    setting: Setting
    q: int
    D: Fraction

    @property
    def a(self) -> int:
        """Return floor(mu q), on how many of the K servers each coded row is kept."""
        return self.setting.mu.numerator * self.q // self.setting.mu.denominator

    @property
    def mu_bar(self) -> Fraction:
        """Return a / q <= mu, the fraction of A's rows that a server really stores."""
        return Fraction(self.a, self.q)

    @cached_property
    def B(self) -> tuple[Fraction, ...]:
        """Return B_0..B_a: what coding at level j brings each finisher, per output, in units of m values.

        Level j serves the rows that exactly j of the q finishers keep; nobody who finished keeps those of
        level 0, so B_0 can never be sent.
        """
        K, q, a = self.setting.K, self.q, self.a
        every = Fraction(K, q) / comb(K, a)
        return tuple(every * comb(q - 1, j) * comb(K - q, a - j) for j in range(a + 1))

    @property
    def missing(self) -> Fraction:
        """Return 1 - mu_bar, what a finisher lacks of each of its outputs, in units of m values."""
        return 1 - self.mu_bar

    @cached_property
    def s_q(self) -> int:
        """Return the last coded level: the least s >= 1 with B_s + ... + B_a <= 1 - mu_bar."""
        level = self.a
        while level > 1 and sum(self.B[level - 1 :]) <= self.missing:
            level -= 1
        return level

    @property
    def residual(self) -> Fraction:
        """Return what is still missing of each output after levels a..s_q, in units of m values."""
        return self.missing - sum(self.B[self.s_q :], Fraction(0))

    @cached_property
    def L1(self) -> Fraction:
        """Return the load of the coded levels a..s_q with the rest sent by unicast."""
        return self._coded(self.s_q) + self.setting.N * self.residual

    @cached_property
    def L2(self) -> Fraction | None:
        """Return the load with one more coded level, s_q - 1, in place of unicast; None if s_q = 1."""
        return None if self.s_q == 1 else self._coded(self.s_q - 1)

    @property
    def L(self) -> Fraction:
        """Return the communication load, the lesser of L1 and L2."""
        return self.L1 if self.L2 is None else min(self.L1, self.L2)

    @property
    def one_more_level(self) -> bool:
        """Return whether one more coded level costs less than unicast; ties go to unicast."""
        return self.L2 is not None and self.L2 < self.L1

    @property
    def levels(self) -> range:
        """Return the levels that are coded, in the order in which they are sent."""
        return range(self.a, self.s_q - 1 - self.one_more_level, -1)

    @property
    def D_stored(self) -> Fraction:
        """Return the latency of servers that map only what they store, mu_bar m rows; at most D.

        The paper's D keeps mu even where mu q is not whole and part of the storage lies idle.
        """
        return self.D * self.mu_bar / self.setting.mu

    @property
    def bound(self) -> Fraction:
        """Return a load below which no scheme for this q can go.

        It is N max over t < q of t (1 - min(t mu, 1)) / (q - t): any t finishers hold at most min(t mu, 1) m
        combinations and must still produce tN/q outputs from what the other q - t send. Derived for this
        project; never below `bound_published`, and met with equality at q = 1/mu.
        """
        loads = (Fraction(t, self.q - t) * self._lacking(t) for t in range(1, self.q))
        return self.setting.N * max(loads, default=Fraction(0))

    @property
    def bound_published(self) -> Fraction:
        """Return the published bound N max over t < q of q (1 - min(t mu, 1)) / (ceil(q/t) (q - t))."""
        q = self.q
        loads = (Fraction(q, -(-q // t) * (q - t)) * self._lacking(t) for t in range(1, q))
        return self.setting.N * max(loads, default=Fraction(0))

    def _coded(self, last: int) -> Fraction:
        """Return the load of the coded levels a..last."""
        return self.setting.N * sum((self.B[j] / j for j in range(last, self.a + 1)), Fraction(0))

    def _lacking(self, t: int) -> Fraction:
        """Return 1 - min(t mu, 1)."""
        return 1 - min(t * self.setting.mu, Fraction(1))


@dataclass(frozen=True)
class MemorySharing:
    """Describe memory sharing: theta of A's rows are coded for `fast`, the others for `slow`.

    The two maps run one after the other, so storage, D and L all interpolate; theta is in [0, 1].
    """

    fast: Point
    slow: Point
    theta: Fraction

    @property
    def D(self) -> Fraction:
        """Return the latency."""
        return self.theta * self.fast.D + (1 - self.theta) * self.slow.D

    @property
    def L(self) -> Fraction:
        """Return the communication load."""
        return self.theta * self.fast.L + (1 - self.theta) * self.slow.L


def shifted_exponential(K: int, q: int) -> Fraction:
    """Return g(K, q) = 1 + 1/(K-q+1) + ... + 1/K, the mean q-th of K latencies 1 + Exp(1); 1 <= q <= K.

    A server that maps mu N units of work has the latency distribution F(t) = 1 - exp(-(t / (mu N) - 1)).
    """
    return 1 + sum((Fraction(1, j) for j in range(K - q + 1, K + 1)), Fraction(0))


def mean_latencies(runs: Sequence[Sequence[float | Fraction]]) -> tuple[Fraction, ...]:
    """Return D(1)..D(K) as measured: the mean, over runs, of the q-th smallest of a run's K map times.

    Floats are taken at their exact binary values. Raises UsageError without runs, or if their K differ.
    """
    widths = {len(run) for run in runs}
    if len(widths) != 1 or 0 in widths:
        raise UsageError("measured latencies need runs that hold one map time of each of the K servers")
    ranked = [sorted(Fraction(time) for time in run) for run in runs]
    return tuple(sum(times, Fraction(0)) / len(ranked) for times in zip(*ranked, strict=True))


def tradeoff(setting: Setting, latencies: Sequence[Fraction] | None = None) -> tuple[Point, ...]:
    """Return the points of q = ceil(1/mu)..K, from least latency to least bandwidth.

    `latencies` are D(1)..D(K), such as `mean_latencies` returns; left out, those of the shifted exponential.
    Raises UsageError unless they are K numbers.
    """
    if latencies is not None and len(latencies) != setting.K:
        raise UsageError(f"{len(latencies)} latencies were given for K = {setting.K} servers")
    return tuple(
        setting.point(q, None if latencies is None else latencies[q - 1])
        for q in range(setting.fewest, setting.K + 1)
    )


def envelope(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return the corners of the lower convex envelope of (D, L), by growing D and falling L.

    What lies on a line between two corners is left out. Source: arXiv 1609.01690, Theorem 1.
    """
    corners: list[Point] = []
    for point in sorted(points, key=lambda point: (point.D, point.L)):
        if corners and point.L >= corners[-1].L:
            continue
        while len(corners) > 1 and not _is_below(corners[-2], corners[-1], point):
            corners.pop()
        corners.append(point)
    return tuple(corners)


def _is_below(left: Point, middle: Point, right: Point) -> bool:
    """Return whether the middle point lies strictly below the line between the others."""
    return (middle.L - left.L) * (right.D - left.D) < (right.L - left.L) * (middle.D - left.D)


def share_memory(points: Sequence[Point], D: Fraction) -> MemorySharing:
    """Return the least load within a mean latency of D, by memory sharing between two corners.

    Raises UsageError when even the fastest point takes longer, or there are no points.
    """
    corners = envelope(points)
    if not corners or D < corners[0].D:
        least = f"{corners[0].D} (q = {corners[0].q})" if corners else "no point at all"
        raise UsageError(f"no scheme has a mean latency of {D}: the least is {least}")
    for fast, slow in pairwise(corners):
        if D <= slow.D:
            return MemorySharing(fast, slow, (slow.D - D) / (slow.D - fast.D))
    return MemorySharing(corners[-1], corners[-1], Fraction(1))


def cheapest(points: Sequence[Point], per_latency: Fraction, per_load: Fraction) -> Point:
    """Return the point with the least per_latency D + per_load L; ties go to the faster.

    Memory sharing cannot cost less: a linear cost is least at a corner. Raises UsageError without points.
    """
    if not points:
        raise UsageError("there are no points to choose from")
    return min(points, key=lambda point: (per_latency * point.D + per_load * point.L, point.D))

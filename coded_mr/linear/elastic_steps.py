"""One step of elastic y = X w without MPI: what machines store, who computes which rows, and decoding.

X is cut into L blocks of rows; machine n stores one coded block of each matrix for good. Any L machines that
compute the same row of their blocks give that row of all blocks. Source: Woolsey, Chen, Ji 2020 (arXiv
2001.04005); the assignments are those of `coded_mr.theory.elastic`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from coded_mr.errors import UsageError
from coded_mr.linear.codes import RealCode
from coded_mr.linear.traces import Trace
from coded_mr.theory import elastic
from coded_mr.theory.counts import check_count

__all__ = ["Blocks", "ElasticSettings", "Gathered", "Part", "Policy", "Work", "speeds_of"]

Reals = npt.NDArray[np.floating[Any]]
Policy = Literal["heterogeneous", "cyclic", "uncoded"]


@dataclass(frozen=True)
class ElasticSettings:
    """Say how steps are assigned.

    L              blocks; any L machines are enough
    margin         S: each row is computed by L + S machines, and any S of them may fail to answer
    policy         heterogeneous, or for comparison: cyclic (all taken for equal), uncoded (plain blocks)
    trace          who is available at each step; default: all
    signals        a machine leaves after its step when its rank gets SIGUSR1, and is back after SIGUSR2
    on_infeasible  "raise" PlanError at a step that the available machines cannot do, or "skip" to the next
                   step of the trace (PlanError after 1,000 skipped in a row, of at least 10 ms each)
    keep           weight of the old estimate when speeds are measured, 0..1
    seed           of the code
    """

    L: int = 2
    margin: int = 0
    policy: Policy = "heterogeneous"
    trace: Trace | None = None
    signals: bool = False
    on_infeasible: Literal["raise", "skip"] = "raise"
    keep: Fraction = Fraction(1, 2)
    seed: int = 0

    def __post_init__(self) -> None:
        """Check what does not depend on the machines."""
        check_count(self.L, "the number of blocks L")
        check_count(self.margin, "the straggler margin S", least=0)
        if self.policy not in get_args(Policy):
            raise UsageError(f"the policy is {self.policy!r}: choose one of {', '.join(get_args(Policy))}")
        if self.policy == "uncoded" and self.margin:
            raise UsageError(f"margin = {self.margin}: without a code no machine may fail to answer")
        if self.on_infeasible not in ("raise", "skip"):
            raise UsageError(f"on_infeasible is {self.on_infeasible!r}: choose 'raise' or 'skip'")
        if not 0 <= self.keep <= 1:
            raise UsageError(f"keep, the weight of the old speeds, is {self.keep}: it must be in 0..1")


@dataclass(frozen=True)
class Part:
    """Name rows of a block, the machines that compute them, ascending, and how many of these are needed.

    block  which one, when blocks are stored as they are; None: coded blocks, from which all are decoded
    """

    rows: range
    machines: tuple[int, ...]
    need: int
    block: int | None = None


@dataclass(frozen=True)
class Work:
    """Say who computes what in a step; time is max over machines of rows / (height speed), `c`."""

    height: int
    parts: tuple[Part, ...]
    c: Fraction

    def ranges(self, machine: int) -> tuple[range, ...]:
        """Return which rows of its block a machine computes, in their order."""
        return tuple(part.rows for part in self.parts if machine in part.machines)

    def fraction(self, machine: int) -> Fraction:
        """Return which part of its block a machine computes."""
        return Fraction(sum(map(len, self.ranges(machine))), self.height)


class Blocks:
    """Code one matrix for machines 1..N."""

    def __init__(self, X: Reals, N: int, L: int, policy: Policy = "heterogeneous", *, seed: int = 0) -> None:
        """Cut X (p, q) into L blocks, the last filled up with zeros; each machine stores 1/L of X.

        Raises UsageError unless L <= N.
        """
        if L > N:
            raise UsageError(f"L = {L} blocks on {N} machines: there must be as many machines, or more")
        self.N, self.L, self.policy = N, L, policy
        self.shape: tuple[int, int] = (X.shape[0], X.shape[1])
        self.height = -(-X.shape[0] // L)
        self.code = RealCode(N, L, seed=seed)
        self._lengths = np.linalg.norm(X.astype(np.float64), axis=0)
        self._eps = float(np.finfo(X.dtype).eps)

    def stored(self, X: Reals) -> list[Reals]:
        """Return the block that each machine stores, (height, q), of the matrix that this was made for."""
        padded = np.zeros((self.L * self.height, self.shape[1]), dtype=X.dtype)
        padded[: self.shape[0]] = X
        blocks = padded.reshape(self.L, self.height, self.shape[1])
        if self.policy == "uncoded":
            return [blocks[self._plain(machine)] for machine in range(1, self.N + 1)]
        return list(self.code.encode(blocks))

    def _plain(self, machine: int) -> int:
        """Return which block a machine stores when there is no code."""
        return (machine - 1) % self.L

    def work(self, speeds: Mapping[int, Fraction], margin: int = 0) -> Work:
        """Return who computes what; any `margin` machines may then fail to answer (0 without a code).

        Raises PlanError when these machines cannot do it, UsageError for wrong speeds.
        """
        if self.policy == "uncoded":
            return self._uncoded(speeds)
        make = elastic.assign if self.policy == "heterogeneous" else elastic.cyclic
        assignment = make(speeds, self.L, margin)
        spans = pairwise(elastic.row_bounds(assignment.shares, self.height))
        parts = (
            Part(range(*span), share.machines, self.L)
            for span, share in zip(spans, assignment.shares, strict=True)
        )
        return Work(self.height, tuple(part for part in parts if part.rows), assignment.c)

    def _uncoded(self, speeds: Mapping[int, Fraction]) -> Work:
        """Return the work when those that store a plain block share it."""
        blocks = {machine: self._plain(machine) for machine in speeds}
        mu, c = elastic.uncoded(speeds, self.L, blocks)
        parts = []
        for block in range(self.L):
            shares = [elastic.Share(mu[m], (m,)) for m in sorted(mu) if blocks[m] == block]
            spans = pairwise(elastic.row_bounds(shares, self.height))
            parts += [Part(range(*span), s.machines, 1, block) for span, s in zip(spans, shares, strict=True)]
        return Work(self.height, tuple(part for part in parts if part.rows), c)

    def gather(self, work: Work, w: Reals) -> Gathered:
        """Return what gathers the answers of a step with w, (q,) or (q, m)."""
        sums = self._lengths @ np.abs(w.astype(np.float64))
        through = 6 * self.L**0.5 + 2 * self.shape[1] ** 0.5
        return Gathered(self, work, w.shape[1:], self._eps * through * float(np.max(sums)))


class Gathered:
    """Gather what machines computed until every part can be decoded."""

    def __init__(self, blocks: Blocks, work: Work, tail: tuple[int, ...], scale: float) -> None:
        """Wait for answers with so many columns; errors grow from `scale` by the gain of the code."""
        self._blocks, self._work, self._tail, self._scale = blocks, work, tail, scale
        self._values: list[dict[int, Reals]] = [{} for _ in work.parts]

    def add(self, machine: int, products: Reals) -> bool:
        """Take the rows of `Work.ranges(machine)` times w; return whether that is enough to decode."""
        at = 0
        for part, values in zip(self._work.parts, self._values, strict=True):
            if machine in part.machines:
                rows = products[at : at + len(part.rows)]
                at += len(part.rows)
                if len(values) < part.need:
                    values[machine] = rows
        return self.enough

    @property
    def enough(self) -> bool:
        """Return whether every part has come from as many machines as it needs."""
        return all(
            len(values) >= part.need for part, values in zip(self._work.parts, self._values, strict=True)
        )

    def within_reach(self, machines: Collection[int]) -> bool:
        """Return whether that is enough when these machines have answered, too."""
        return all(
            len(values.keys() | (set(part.machines) & set(machines))) >= part.need
            for part, values in zip(self._work.parts, self._values, strict=True)
        )

    def result(self) -> tuple[Reals, float]:
        """Return X w and the bound: no entry is expected to be off by more.

        eps gain (6 sqrt(L) + 2 sqrt(q)) sum_j |X_j| |w_j|, as in `coded_mr.linear.collecting.Collected`, with
        the largest gain of any part. Raises UsageError unless there is enough.
        """
        if not self.enough:
            raise UsageError("too few machines have answered to decode every row")
        L, height = self._blocks.L, self._blocks.height
        dtype = next(iter(self._values[0].values())).dtype
        y = np.empty((L, height, *self._tail), dtype=dtype)
        gain = 1.0
        for part, values in zip(self._work.parts, self._values, strict=True):
            rows = slice(part.rows.start, part.rows.stop)
            if part.block is not None:
                y[part.block, rows] = values[part.machines[0]]
                continue
            machines = sorted(values)
            found = self._blocks.code.decode(
                [machine - 1 for machine in machines], np.stack([values[machine] for machine in machines])
            )
            y[:, rows] = found.rows
            gain = max(gain, found.gain)
        return y.reshape(-1, *self._tail)[: self._blocks.shape[0]], self._scale * gain


def speeds_of(known: Mapping[int, Fraction], available: Sequence[int]) -> dict[int, Fraction]:
    """Return a speed for each available machine; one that was never measured is taken for average."""
    usual = sum(known.values(), Fraction(0)) / len(known) if known else Fraction(1)
    return {machine: known.get(machine, usual) for machine in available}

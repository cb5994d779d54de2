"""A systematic code over the reals that stays accurate for thousands of rows.

The generator is the identity on top of a seeded random matrix P, so that rows which arrive as they are cost
nothing and no error, and only as many equations are solved as rows are missing. The entries of P have random
signs and sizes between 1/2 and 3/2 (then each row is scaled to length 1): bounded away from 0, they keep the
loss of a single row harmless, which a Gaussian or an orthogonal P does not, and are as good for many losses.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from coded_mr.errors import UsageError
from coded_mr.linear.codes.arrivals import Arrivals, arrivals, check_code, check_rows, coded_indices

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Reals = npt.NDArray[np.floating[Any]]
    Doubles = npt.NDArray[np.float64]

__all__ = ["Decoded", "RealCode"]

_SYSTEMS = 32


@dataclass(frozen=True)
class Decoded:
    """Hold the rows (k, ...) and what was lost in accuracy.

    missing    how many of them had to be computed
    condition  condition number, in the maximum norm, of the matrix that was inverted (all coded rows that
               were used); 1 when nothing was missing
    gain       largest factor by which independent errors of the coded values grow in a row, 1 or more
    bound      no entry is expected to be off by more: 4 sqrt(k) eps gain max|values|, eps of the dtype
    """

    rows: Reals
    missing: int
    condition: float
    gain: float
    bound: float


@dataclass(frozen=True)
class _System:
    """Hold the solution operator of the missing rows: inverse (missing, parity) and its quality."""

    inverse: Doubles
    condition: float
    gain: float


class RealCode:
    """Encode k rows as n coded rows over the reals, any k of which are enough to decode.

    parity  the matrix P, (n - k, k) in float64; the generator is the identity on top of it. The same
            n, k and seed give the same P on every machine.
    """

    def __init__(self, n: int, k: int, *, seed: int = 0) -> None:
        """Make the code; raises UsageError unless 1 <= k <= n and seed is an int, 0 or more."""
        import numpy as np

        check_code(n, k)
        if not isinstance(seed, int) or seed < 0:
            raise UsageError(f"the seed is {seed!r}: it must be a whole number, 0 or more")
        self.n, self.k, self.seed = n, k, seed
        random = np.random.Generator(np.random.PCG64(seed)).random((n - k, k))
        entries = np.where(random < 0.5, 0.5 + 2 * random, 0.5 - 2 * random)
        self.parity: Doubles = entries / np.linalg.norm(entries, axis=1, keepdims=True)
        self._system = lru_cache(maxsize=_SYSTEMS)(self._make_system)

    def __repr__(self) -> str:
        """Return the parameters."""
        return f"RealCode(n={self.n}, k={self.k}, seed={self.seed})"

    @property
    def generator(self) -> Doubles:
        """Return the generator matrix, (n, k)."""
        import numpy as np

        return np.concatenate([np.eye(self.k), self.parity])

    def encode(self, rows: Any) -> Reals:
        """Return all n coded rows (n, ...) of the rows (k, ...), in the same type."""
        return self.coded(rows, range(self.n))

    def coded(self, rows: Any, indices: Iterable[int]) -> Reals:
        """Return the coded rows of these numbers, in their order; 0..k-1 are the rows themselves.

        Raises UsageError unless rows are float32 or float64, finite and k in number, and the numbers of coded
        rows are different and in 0..n-1.
        """
        import numpy as np

        given = _reals(rows, "the rows to encode")
        check_rows(given.shape, self.k, "the rows to encode")
        if not np.isfinite(given).all():
            raise UsageError("the rows to encode hold NaN or infinity, which would spoil every coded row")
        wanted = np.array(coded_indices(indices, self.n), dtype=np.intp)
        out = np.empty((len(wanted), *given.shape[1:]), dtype=given.dtype)
        systematic = wanted < self.k
        out[systematic] = given[wanted[systematic]]
        if not systematic.all():
            weights = self.parity[wanted[~systematic] - self.k].astype(given.dtype, copy=False)
            out[~systematic] = np.tensordot(weights, given, axes=1)
        return out

    def decode(self, indices: Iterable[int], values: Any) -> Decoded:
        """Return the k rows from k or more coded rows, `values` (k or more, ...) named by `indices`.

        Products of coded rows with the same vector decode to the products of the rows. With more than k coded
        rows all parity rows are used, by least squares, which is more accurate. The arithmetic is in float64
        for float32 values too. What is solved is kept for the next call with the same coded rows.
        Raises UsageError for fewer than k rows, for numbers that are repeated or outside 0..n-1, and for
        values that are not float32 or float64 or of another height.
        """
        import numpy as np

        named = tuple(indices)
        here = arrivals(named, self.n, self.k)
        given = _reals(values, "the values to decode")
        check_rows(given.shape, len(named), "the values to decode")
        flat = given.reshape(len(named), -1)
        rows = np.empty((self.k, flat.shape[1]), dtype=given.dtype)
        known = flat[list(here.known_at)]
        rows[list(here.known)] = known
        system = _System(np.empty((0, 0)), 1.0, 1.0)
        if here.missing:
            system = self._system(here)
            rows[list(here.missing)] = self._solve(system, here, known, flat[list(here.parity_at)])
        largest = float(np.abs(given).max(initial=0.0))
        return Decoded(
            rows=rows.reshape(self.k, *given.shape[1:]),
            missing=len(here.missing),
            condition=system.condition,
            gain=system.gain,
            bound=4 * self.k**0.5 * float(np.finfo(given.dtype).eps) * system.gain * largest,
        )

    def _solve(self, system: _System, here: Arrivals, known: Reals, sums: Reals) -> Doubles:
        """Return the missing rows; one step of refinement makes the kept inverse as good as a fresh solve."""
        right = sums - self._part(here, here.known) @ known
        square = self._part(here, here.missing)
        found: Doubles = system.inverse @ right
        found += system.inverse @ (right - square @ found)
        return found

    def _part(self, here: Arrivals, columns: tuple[int, ...]) -> Doubles:
        """Return the arrived rows of P in some columns."""
        import numpy as np

        return self.parity[np.ix_(here.parity, columns)]

    def _make_system(self, here: Arrivals) -> _System:
        """Return what solves for the missing rows, and how errors grow in it."""
        import numpy as np

        part = self._part(here, here.missing)
        invert = np.linalg.inv if part.shape[0] == part.shape[1] else np.linalg.pinv
        inverse = np.asarray(invert(part), dtype=np.float64)
        through = inverse @ self._part(here, here.known)
        sizes = np.abs(inverse).sum(axis=1) + np.abs(through).sum(axis=1)
        norm = max(1.0, float(np.abs(self.parity[list(here.parity)]).sum(axis=1).max()))
        squares = (inverse**2).sum(axis=1) + (through**2).sum(axis=1)
        return _System(
            inverse=inverse,
            condition=norm * max(1.0, float(sizes.max())),
            gain=max(1.0, float(squares.max()) ** 0.5),
        )


def _reals(values: Any, what: str) -> Reals:
    """Return values as an array of float32 or float64."""
    import numpy as np

    given = np.asarray(values)
    if given.dtype not in (np.float32, np.float64):
        raise UsageError(f"{what} have the type {given.dtype}: float32 or float64 is needed")
    return given

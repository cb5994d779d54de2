"""Field codes beside their rivals, in one run: `python -m benchmarks.linear_codes`.

Encodes 16 rows of 1 MB as 24 and decodes after 8 losses, over GF(2^8) and GF(2^16), with each kernel that is
there. galois computes the same products, and so does a loop over tables that numba compiles: all are equal in
every bit. Beside them the fastest rival: reed-solomon-leopard, over GF(2^16) with a matrix of its own, which
no other code can use. Then a real product on the coded matrix beside plain numpy on the same cores. Rates are
of the 16 MB that go in. `pip install '.[bench]'` brings all of them; what is not there is named.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np

from coded_mr.linear.codes import FieldCode, RealCode, field, kernels

T = TypeVar("T")

_K, _N = 16, 24
_BYTES = 1 << 20
_ROUNDS = 3


@dataclass(frozen=True)
class _Pair:
    """Hold the seconds of encoding and of decoding."""

    encode: float
    decode: float


def main() -> None:
    """Print seconds and rates, and how many times as fast as galois and as the rival each is."""
    leopard = _leopard()
    print(f"{'':36} {'ms':>8} {'GB/s':>7} {'/ galois':>9} {'/ leopard':>10}")
    for bits in (8, 16):
        _field_rows(bits, leopard)
    if leopard is not None:
        _row("leopard encode, GF(2^16)", leopard.encode)
        _row("leopard decode 8 lost, GF(2^16)", leopard.decode)
    _real_rows()


def _field_rows(bits: int, leopard: _Pair | None) -> None:
    over = field(bits)
    rng = np.random.default_rng(bits)
    rows = rng.integers(0, over.order, (_K, _BYTES * 8 // bits), dtype=over.dtype)
    code = FieldCode(_N, _K, bits)
    parity = over.galois(np.asarray(code.generator)[_K:])
    data = over.galois(rows)
    galois, product = _best(lambda: np.asarray(parity @ data), 2)  # the first compiles
    beside = partial(_row, galois=galois, leopard=leopard and leopard.encode)
    beside(f"GF(2^{bits}) encode, galois", galois)
    loop = _numba_product(parity, bits)
    seconds, found = _best(lambda: loop(rows), _ROUNDS)
    assert np.array_equal(found, product)
    beside(f"GF(2^{bits}) encode, numba", seconds)
    if "isal" not in kernels(over):
        needs = "pyeclib: pip install '.[bench]'" if find_spec("pyeclib") is None else "AVX2"
        print(f"GF(2^{bits}), ISA-L: not there, needs {needs}")
    kept = [*range(8, _K), *range(_K, _N)]
    for kernel in kernels(over):
        code = FieldCode(_N, _K, bits, kernel=kernel)
        seconds, coded = _best(lambda code=code: np.asarray(code.encode(rows)), _ROUNDS)
        assert np.array_equal(coded[_K:], product)
        beside(f"GF(2^{bits}) encode, {_NAMES[kernel]}", seconds)
        decode = partial(code.decode, kept, coded[kept])
        seconds, decoded = _best(lambda decode=decode: np.asarray(decode()), _ROUNDS)
        assert np.array_equal(decoded, rows)
        _row(f"GF(2^{bits}) decode 8 lost, {_NAMES[kernel]}", seconds, leopard=leopard and leopard.decode)


_NAMES = {"isal": "ISA-L", "lanes": "numpy"}


def _numba_product(matrix: Any, bits: int) -> Callable[[Any], Any]:
    """Return what multiplies a matrix of galois with rows, byte by byte through tables, compiled by numba."""
    import numba

    places = [np.arange(256) << 8 * place for place in range(bits // 8)]
    tables = np.asarray(matrix[:, :, None, None] * type(matrix)(np.stack(places)))

    @numba.njit  # type: ignore[untyped-decorator]
    def run(tables: Any, rows: Any, out: Any) -> None:
        for i in range(tables.shape[0]):
            for k in range(tables.shape[1]):
                for at in range(rows.shape[1]):
                    value = rows[k, at]
                    for place in range(tables.shape[2]):
                        out[i, at] ^= tables[i, k, place, (value >> 8 * place) & 255]

    def product(rows: Any) -> Any:
        out = np.zeros((len(matrix), rows.shape[1]), dtype=rows.dtype)
        run(tables.astype(rows.dtype), rows, out)
        return out

    return product


def _leopard() -> _Pair | None:
    """Return the rival's seconds, None where it is not installed."""
    if find_spec("reed_solomon_leopard") is None:
        print("leopard: not there, pip install '.[bench]' brings it")
        return None
    import reed_solomon_leopard as rival

    rng = np.random.default_rng(0)
    rows = [rng.bytes(_BYTES) for _ in range(_K)]
    encode, parity = _best(lambda: rival.encode(rows, _N - _K), _ROUNDS)
    kept = {number: rows[number] for number in range(8, _K)}
    repairs = dict(enumerate(parity))
    decode, found = _best(lambda: rival.decode(_K, _N - _K, kept, repairs), _ROUNDS)
    assert [found[number] for number in range(8)] == rows[:8]
    return _Pair(encode, decode)


def _real_rows() -> None:
    rng = np.random.default_rng(0)
    A, x = rng.normal(size=(1500, 1500)), rng.normal(size=(1500, 64))
    code = RealCode(2000, 1500)
    coded = code.encode(A)
    plain, exact = _best(lambda: A @ x, 5)
    whole, products = _best(lambda: coded @ x, 5)
    kept = rng.permutation(2000)[:1500]
    code.decode(kept, products[kept])
    seconds, found = _best(lambda: code.decode(kept, products[kept]), 5)
    error = float(np.abs(found.rows - exact).max() / np.abs(exact).max())
    print(f"real (2000, 1500): A @ x {plain * 1e3:.1f} ms; coded rows {whole / plain:.2f} times that;")
    print(
        f"  decoding {found.missing} lost rows, inverse kept, {seconds / plain:.2f} times; "
        f"condition {found.condition:.1e}, largest error {error:.1e} of the largest entry"
    )


def _best(call: Callable[[], T], rounds: int) -> tuple[float, T]:
    best = float("inf")
    for _ in range(rounds):
        started = time.perf_counter()
        result = call()
        best = min(best, time.perf_counter() - started)
    return best, result


def _row(what: str, seconds: float, galois: float | None = None, leopard: float | None = None) -> None:
    rate = _K * _BYTES / seconds / 1e9
    times = ["" if other is None else f"{other / seconds:.2f}" for other in (galois, leopard)]
    print(f"{what:36} {seconds * 1e3:8.1f} {rate:7.2f} {times[0]:>9} {times[1]:>10}", flush=True)


if __name__ == "__main__":
    main()

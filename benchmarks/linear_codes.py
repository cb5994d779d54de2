"""Field codes beside galois and ISA-L: `python -m benchmarks.linear_codes`.

Encodes 16 rows of 1 MB as 24 and decodes after 8 losses, over GF(2^8) and GF(2^16), with each kernel that is
there; galois computes the same products, which must be equal in every bit. Beside them the fastest rival,
where it is installed: reed-solomon-leopard, over GF(2^16) with a matrix of its own, which no other code can
use. Then a real product on the coded matrix beside plain numpy on the same cores. Rates are of the 16 MB that
go in.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import TypeVar

import numpy as np

from coded_mr.linear.codes import FieldCode, RealCode, field, kernels

T = TypeVar("T")

_K, _N = 16, 24
_BYTES = 1 << 20
_ROUNDS = 3


def main() -> None:
    """Print seconds and rates, and how many times faster than galois each kernel is."""
    for bits in (8, 16):
        slow = _field_rows(bits)
    _rival_rows(slow)
    _real_rows()


def _field_rows(bits: int) -> float:
    over = field(bits)
    rng = np.random.default_rng(bits)
    rows = rng.integers(0, over.order, (_K, _BYTES * 8 // bits), dtype=over.dtype)
    code = FieldCode(_N, _K, bits)
    GF = over.galois
    parity, data = GF(np.asarray(code.generator)[_K:]), GF(rows)
    slow, product = _best(lambda: np.asarray(parity @ data), 2)  # the first compiles
    _row(f"GF(2^{bits}) encode, galois", slow, slow)
    kept = [*range(8, _K), *range(_K, _N)]
    for kernel in kernels(over):
        code = FieldCode(_N, _K, bits, kernel=kernel)
        seconds, coded = _best(lambda code=code: np.asarray(code.encode(rows)), _ROUNDS)
        assert np.array_equal(coded[_K:], product)
        _row(f"GF(2^{bits}) encode, {kernel}", seconds, slow)
        survivors = coded[kept]
        decode = partial(code.decode, kept, survivors)
        seconds, decoded = _best(lambda decode=decode: np.asarray(decode()), _ROUNDS)
        assert np.array_equal(decoded, rows)
        _row(f"GF(2^{bits}) decode 8 lost, {kernel}", seconds, slow)
    return slow


def _rival_rows(galois: float) -> None:
    """Print the rates of the rival; `galois` is the seconds of galois over the same field."""
    if find_spec("reed_solomon_leopard") is None:
        print("rival: pip install reed-solomon-leopard to see it here")
        return
    import reed_solomon_leopard as rival

    rng = np.random.default_rng(0)
    rows = [rng.bytes(_BYTES) for _ in range(_K)]
    seconds, parity = _best(lambda: rival.encode(rows, _N - _K), _ROUNDS)
    _row("rival encode, leopard", seconds, galois)
    kept = {number: rows[number] for number in range(8, _K)}
    repairs = dict(enumerate(parity))
    seconds, found = _best(lambda: rival.decode(_K, _N - _K, kept, repairs), _ROUNDS)
    assert [found[number] for number in range(8)] == rows[:8]
    _row("rival decode 8 lost, leopard", seconds, galois)


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


def _row(what: str, seconds: float, galois: float) -> None:
    rate = _K * _BYTES / seconds / 1e9
    print(f"{what:36} {seconds * 1e3:8.1f} ms {rate:7.2f} GB/s {galois / seconds:7.1f} times galois' encode")


if __name__ == "__main__":
    main()

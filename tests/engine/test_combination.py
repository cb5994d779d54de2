"""Linear combinations over GF(2^8): held against galois, and solved for any lacking members."""

from __future__ import annotations

from itertools import combinations

import galois
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.engine.combination import combine, solve

FIELD = galois.GF(2**8)


def combined(members: list[bytes], rows: int) -> np.ndarray:
    out = np.full((rows, max(map(len, members))), 0xA5, dtype=np.uint8)
    combine([[member] for member in members], out)
    return out


def test_rows_are_the_vandermonde_product_over_the_field() -> None:
    rng = np.random.default_rng(0)
    members = [rng.integers(0, 256, length, dtype=np.uint8).tobytes() for length in (40, 33, 0, 40, 7)]
    padded = FIELD(np.array([list(member.ljust(40, b"\0")) for member in members], dtype=np.uint8))
    generator = FIELD(2)
    matrix = FIELD([[int(generator ** (row * index)) for index in range(5)] for row in range(3)])
    assert np.array_equal(matrix @ padded, FIELD(combined(members, 3)))


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=6), st.integers(1, 6))
def test_any_lacking_members_are_solved_for(members, rows):
    payload = combined(members, rows)
    for count in range(1, min(rows, len(members)) + 1):
        for lacking in combinations(range(len(members)), count):
            known = [(i, [member]) for i, member in enumerate(members) if i not in lacking]
            found = solve(payload.copy(), known, lacking)
            size = payload.shape[1]
            assert [m.tobytes() for m in found] == [members[i].ljust(size, b"\0") for i in lacking]

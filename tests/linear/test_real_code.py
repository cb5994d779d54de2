"""The code over the reals keeps its stated error bound, up to n = 2,000, whichever rows arrive."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import UsageError
from coded_mr.linear.codes import Decoded, RealCode

Reals = npt.NDArray[Any]
TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def patterns(n: int, k: int, random: np.random.Generator) -> Iterator[list[int]]:
    """Yield choices of k of n rows: bursts, strides, few and many losses, and random ones."""
    spare = n - k
    for lost in sorted({0, 1, 2, min(3, spare), spare // 4, spare // 2, spare}):
        parity = list(range(k, k + lost))
        yield [*range(lost, k), *parity]
        yield [*range(k - lost), *range(n - lost, n)]
        yield sorted(set(range(k)) - {at * k // max(lost, 1) for at in range(lost)}) + parity
        for _ in range(4):
            gone = random.choice(k, lost, replace=False)
            yield [*np.setdiff1d(np.arange(k), gone), *(k + random.choice(spare, lost, replace=False))]
    for _ in range(4):
        yield list(random.permutation(n)[:k])


def largest_error(found: Decoded, rows: Reals) -> float:
    """Return by how much any entry is off."""
    return float(np.abs(found.rows.astype(np.float64) - rows).max())


@TYPES
@pytest.mark.parametrize(("n", "k"), [(6, 4), (60, 40), (300, 200), (2000, 1500)])
def test_products_decode_within_the_bound(n: int, k: int, dtype: Any) -> None:
    """Encode, multiply on the workers in the type given, decode; compare with the product in float64."""
    random = np.random.default_rng(n)
    matrix = random.standard_normal((k, 16)).astype(dtype)
    vectors = random.standard_normal((16, 3)).astype(dtype)
    code = RealCode(n, k, seed=1)
    products = code.encode(matrix) @ vectors
    exact = matrix.astype(np.float64) @ vectors.astype(np.float64)
    for chosen in patterns(n, k, random):
        found = code.decode(chosen, products[chosen])
        assert found.rows.dtype == dtype
        assert found.missing == k - len(set(chosen) & set(range(k)))
        assert largest_error(found, exact) <= found.bound
        assert 1 <= found.gain <= found.condition


def test_thousands_of_rows_stay_well_conditioned() -> None:
    n, k = 2000, 1500
    random = np.random.default_rng(3)
    code = RealCode(n, k)
    rows = random.standard_normal((k, 1))
    values = code.encode(rows)
    found = [code.decode(chosen, values[chosen]) for chosen in patterns(n, k, random)]
    assert max(largest_error(one, rows) for one in found) < 1e-10
    assert max(one.condition for one in found) < 1e9
    assert float(np.median([one.gain for one in found])) < 1000


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_vector_that_is_worst_for_a_parity_row(dtype: Any) -> None:
    """Signs equal to a parity row's make its value as large as can be, and cancel most when it is used."""
    code = RealCode(400, 300)
    for at in range(3):
        rows = np.sign(code.parity[at]).astype(dtype)
        chosen = [*range(1, 300), 300 + at]
        found = code.decode(chosen, code.coded(rows, chosen))
        assert largest_error(found, rows) <= found.bound


@st.composite
def choices(draw: st.DrawFn) -> tuple[RealCode, list[int], int]:
    """Draw a code, k or more of its rows in any order, and a seed."""
    k = draw(st.integers(1, 30))
    n = draw(st.integers(k, 50))
    order = draw(st.permutations(range(n)))
    return (
        RealCode(n, k, seed=draw(st.integers(0, 50))),
        order[: draw(st.integers(k, n))],
        draw(st.integers(0, 9)),
    )


@given(choices())
def test_any_k_or_more_rows_decode_in_any_order(case: tuple[RealCode, list[int], int]) -> None:
    code, chosen, seed = case
    rows = np.random.default_rng(seed).standard_normal((code.k, 2))
    values = code.coded(rows, chosen)
    first, again = code.decode(chosen, values), code.decode(chosen, values)
    assert largest_error(first, rows) <= first.bound
    assert (first.rows == again.rows).all()
    known = [row for row in chosen if row < code.k]
    assert (first.rows[known] == rows[known]).all()
    assert first.missing == code.k - len(known)
    assert first.missing or first.condition == first.gain == 1


@given(choices())
def test_condition_and_gain_are_those_of_the_matrix(case: tuple[RealCode, list[int], int]) -> None:
    code, chosen, _ = case
    used = code.generator[chosen[: code.k]]
    found = code.decode(chosen[: code.k], np.ones(code.k))
    inverse = np.linalg.inv(used)
    if found.missing:
        assert found.condition == pytest.approx(float(np.linalg.cond(used, np.inf)), rel=1e-6)
        assert found.gain == pytest.approx(float(np.linalg.norm(inverse, axis=1).max()), rel=1e-6)


def test_more_rows_than_k_are_more_accurate() -> None:
    code = RealCode(60, 40)
    rows = np.random.default_rng(0).standard_normal((40, 1))
    values = code.encode(rows)
    least = [code.decode(range(20, 60), values[20:60]), code.decode(range(15, 60), values[15:60])]
    assert least[1].gain < least[0].gain
    for found in least:
        assert largest_error(found, rows) <= found.bound


def test_the_least_entry_of_parity_is_bounded() -> None:
    """A lost row is recovered from any one parity row with a gain of 3 sqrt(k) or less, plus 1."""
    code = RealCode(300, 200)
    assert np.allclose(np.linalg.norm(code.parity, axis=1), 1)
    sizes = np.abs(code.parity)
    assert (sizes.max(axis=1) <= 3 * sizes.min(axis=1)).all()
    worst = int(sizes[0].argmin())
    chosen = [row for row in range(201) if row != worst]
    assert code.decode(chosen, np.ones(200)).gain <= 1 + 3 * 200**0.5


def test_all_finishers_of_a_small_code_agree() -> None:
    code = RealCode(9, 6, seed=4)
    rows = np.random.default_rng(1).standard_normal((6, 5))
    values = code.encode(rows)
    for chosen in combinations(range(9), 6):
        found = code.decode(chosen, values[list(chosen)])
        assert largest_error(found, rows) <= found.bound


def test_the_seed_decides() -> None:
    assert (RealCode(8, 5, seed=2).parity == RealCode(8, 5, seed=2).parity).all()
    assert (RealCode(8, 5, seed=2).parity != RealCode(8, 5, seed=3).parity).all()


def test_rows_of_any_shape() -> None:
    code = RealCode(6, 4)
    rows = np.random.default_rng(1).standard_normal((4, 3, 2))
    chosen = [5, 4, 1, 0]
    assert code.decode(chosen, code.coded(rows, chosen)).rows == pytest.approx(rows)
    assert code.decode(chosen, code.coded(rows[:, 0, 0], chosen)).rows.shape == (4,)
    assert code.decode(chosen, code.coded(rows[:, :, :0], chosen)).rows.shape == (4, 3, 0)
    assert code.encode(rows[:, :, :0]).shape == (6, 3, 0)


def test_arguments_are_checked() -> None:
    code = RealCode(6, 4)
    with pytest.raises(UsageError, match="n = 3 coded rows cannot stand for k = 4"):
        RealCode(3, 4)
    with pytest.raises(UsageError, match="the seed is -1"):
        RealCode(6, 4, seed=-1)
    with pytest.raises(UsageError, match="rows to encode have the type int64: float32 or float64"):
        code.encode(np.ones((4, 2), dtype=np.int64))
    with pytest.raises(UsageError, match=r"rows to encode have the shape \(5,\): 4 rows are needed"):
        code.encode(np.ones(5))
    with pytest.raises(UsageError, match="hold NaN or infinity"):
        code.encode(np.array([1.0, np.nan, 0.0, 0.0]))
    with pytest.raises(UsageError, match="2 coded rows have arrived: 4 are needed"):
        code.decode([0, 5], np.ones(2))
    with pytest.raises(UsageError, match=r"different numbers in 0\.\.5"):
        code.decode([0, 1, 2, 6], np.ones(4))
    with pytest.raises(UsageError, match=r"values to decode have the shape \(\): 4 rows are needed"):
        code.decode([0, 1, 2, 3], np.float64(1))

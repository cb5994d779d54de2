"""The exact MDS code: any k of n rows decode, with the arithmetic of galois."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import UsageError
from coded_mr.linear.codes import FieldCode, kernels

Elements = Callable[..., Any]


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize(("n", "k"), [(7, 4), (6, 1), (5, 5)])
def test_every_k_rows_decode(bits: int, n: int, k: int, elements: Elements) -> None:
    code, rows = FieldCode(n, k, bits), elements(bits, (k, 9))
    field = code.field.galois
    coded = code.encode(rows)
    assert (coded == np.asarray(field(code.generator) @ field(rows))).all()
    for chosen in combinations(range(n), k):
        assert np.linalg.matrix_rank(field(code.generator[list(chosen)])) == k
        assert (code.decode(chosen, coded[list(chosen)]) == rows).all()


@st.composite
def codes(draw: st.DrawFn) -> tuple[FieldCode, list[int], int]:
    """Draw a code, k or more of its rows in any order, and a seed."""
    bits = draw(st.sampled_from([8, 16]))
    k = draw(st.integers(1, 40))
    n = draw(st.integers(k, 60))
    order = draw(st.permutations(range(n)))
    return FieldCode(n, k, bits), order[: draw(st.integers(k, n))], draw(st.integers(0, 9))


@given(codes())
def test_any_k_or_more_rows_decode_in_any_order(case: tuple[FieldCode, list[int], int]) -> None:
    code, chosen, seed = case
    rows = np.random.default_rng(seed).integers(0, code.field.order, (code.k, 5)).astype(code.field.dtype)
    values = code.coded(rows, chosen)
    assert (values == code.encode(rows)[chosen]).all()
    for _ in range(2):  # the second time from the inverse that was kept
        assert (code.decode(chosen, values) == rows).all()


@pytest.mark.parametrize(("bits", "n", "k"), [(8, 256, 200), (16, 3060, 2040), (16, 65_536, 3)])
def test_large_codes_decode_from_the_last_rows(bits: int, n: int, k: int, elements: Elements) -> None:
    code, rows = FieldCode(n, k, bits), elements(bits, (k, 3))
    last = range(n - k, n)
    assert (code.decode(last, code.coded(rows, last)) == rows).all()


@pytest.mark.parametrize("bits", [8, 16])
def test_inverses_are_galois_inverses(bits: int) -> None:
    code = FieldCode(60, 40, bits)
    parity, missing = (0, 3, 7, 19), (1, 2, 30, 39)
    part = code.field.galois(code.parity[np.ix_(parity, missing)])
    assert (code._make_inverse(parity, missing) == np.asarray(np.linalg.inv(part))).all()


def test_products_decode_to_products(elements: Elements) -> None:
    """What servers return are products of coded rows, one column for each input."""
    code = FieldCode(12, 8, 16)
    field = code.field.galois
    matrix, inputs = field(elements(16, (8, 5), 1)), field(elements(16, (5, 4), 2))
    chosen = [11, 0, 9, 3, 10, 5, 8, 1]
    products = field(code.coded(matrix, chosen)) @ inputs
    assert (code.decode(chosen, products) == np.asarray(matrix @ inputs)).all()


def test_rows_of_any_shape(elements: Elements) -> None:
    code, rows = FieldCode(6, 4), elements(8, (4, 3, 2))
    assert code.encode(rows).shape == (6, 3, 2)
    assert (code.decode([5, 4, 1, 0], code.coded(rows, [5, 4, 1, 0])) == rows).all()
    assert (code.decode([5, 4, 1, 0], code.coded(rows[:, 0, 0], [5, 4, 1, 0])) == rows[:, 0, 0]).all()
    assert code.encode(rows[:, :, :0]).shape == (6, 3, 0)


def test_the_kernel_does_not_matter(elements: Elements) -> None:
    rows = elements(8, (16, 100))
    made = [FieldCode(24, 16, kernel=kernel) for kernel in kernels(FieldCode(2, 1).field)]
    chosen = range(8, 24)
    for code in made:
        assert (code.encode(rows) == made[0].encode(rows)).all()
        assert (code.decode(chosen, code.coded(rows, chosen)) == rows).all()


def test_values_are_not_changed(elements: Elements) -> None:
    code, rows = FieldCode(6, 4), elements(8, (4, 10))
    values = code.coded(rows, [5, 4, 1, 0])
    before, kept = values.copy(), rows.copy()
    code.decode([5, 4, 1, 0], values)
    assert (values == before).all()
    assert (rows == kept).all()


@pytest.mark.parametrize(
    ("n", "k", "bits", "complaint"),
    [
        (257, 3, 8, r"n = 257 rows does not exist over GF\(2\^8\): n can be 256 at most; take T = 16"),
        (3, 4, 8, "n = 3 coded rows cannot stand for k = 4 rows"),
        (3, 0, 8, "number of rows k is 0"),
        (3, 2, 7, "T must be 8 or 16"),
    ],
)
def test_parameters_are_checked(n: int, k: int, bits: int, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        FieldCode(n, k, bits)


def test_arrays_and_indices_are_checked(elements: Elements) -> None:
    code = FieldCode(6, 4)
    with pytest.raises(UsageError, match=r"rows to encode have the shape \(3, 2\): 4 rows are needed"):
        code.encode(elements(8, (3, 2)))
    with pytest.raises(UsageError, match="rows to encode has the type float64"):
        code.encode(np.ones((4, 2)))
    with pytest.raises(UsageError, match="3 coded rows have arrived: 4 are needed"):
        code.decode([0, 1, 2], elements(8, (3, 2)))
    with pytest.raises(UsageError, match=r"different numbers in 0\.\.5, not \[0, 1, 1, 2\]"):
        code.decode([0, 1, 1, 2], elements(8, (4, 2)))
    with pytest.raises(UsageError, match=r"different numbers in 0\.\.5, not \[6\]"):
        code.coded(elements(8, (4, 2)), [6])
    with pytest.raises(UsageError, match=r"values to decode have the shape \(5, 2\): 4 rows are needed"):
        code.decode([0, 1, 2, 5], elements(8, (5, 2)))

"""Fields and products over them, bit for bit those of galois."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import UsageError
from coded_mr.linear.codes import field, isal, kernels, multiply

Elements = Callable[..., Any]
BOTH = pytest.mark.parametrize("bits", [8, 16])


def product(bits: int, matrix: Any, rows: Any) -> Any:
    """Return galois' product of a matrix with rows of any shape."""
    array = field(bits).galois
    flat = array(np.ascontiguousarray(rows).reshape(rows.shape[0], -1))
    return np.asarray(array(matrix) @ flat).reshape(matrix.shape[0], *rows.shape[1:])


@BOTH
def test_tables_are_galois_arithmetic(bits: int) -> None:
    over = field(bits)
    every = np.arange(1, over.order).astype(over.dtype)
    logarithms = np.asarray(np.log(over.galois(every)))
    assert (over.logarithms[every] == logarithms).all()
    assert (over.exponentials[logarithms] == every).all()
    assert (over.inverse(every) == np.asarray(over.galois(every) ** -1)).all()


@BOTH
@pytest.mark.parametrize(
    ("r", "k", "width"),
    [(1, 1, 1), (1, 4, 7), (3, 5, 8), (5, 33, 9), (2, 70, 16_401), (8, 16, 40_000), (40, 3, 65), (1, 130, 1)],
)
def test_every_kernel_multiplies_as_galois(bits: int, r: int, k: int, width: int, elements: Elements) -> None:
    matrix, rows = elements(bits, (r, k), 1), elements(bits, (k, width), 2)
    expected = product(bits, matrix, rows)
    for kernel in kernels(field(bits)):
        found = multiply(field(bits), matrix, rows, kernel=kernel)
        assert found.dtype == field(bits).dtype
        assert (found == expected).all(), kernel


@given(st.sampled_from([8, 16]), st.integers(1, 9), st.integers(1, 9), st.integers(0, 70), st.integers(0, 99))
def test_products_of_sparse_and_dense_matrices(bits: int, r: int, k: int, width: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    kept = random.integers(0, 2, (r, k))
    matrix = (random.integers(0, 1 << bits, (r, k)) * kept).astype(field(bits).dtype)
    rows = random.integers(0, 1 << bits, (k, width)).astype(field(bits).dtype)
    expected = product(bits, matrix, rows) if width else np.zeros((r, 0))
    for kernel in kernels(field(bits)):
        assert (multiply(field(bits), matrix, rows, kernel=kernel) == expected).all()


@BOTH
def test_every_pair_of_elements(bits: int) -> None:
    """All products in GF(2^8); in GF(2^16) all with the powers of x, which give all others by addition."""
    over = field(bits)
    column = np.arange(over.order) if bits == 8 else 1 << np.arange(bits)
    matrix, rows = column[:, None].astype(over.dtype), np.arange(over.order)[None, :].astype(over.dtype)
    expected = np.asarray(over.galois(matrix) * over.galois(rows))
    for kernel in kernels(over):
        assert (multiply(over, matrix, rows, kernel=kernel) == expected).all()


@BOTH
def test_rows_of_any_shape_and_layout(bits: int, elements: Elements) -> None:
    matrix, rows = elements(bits, (4, 6)), elements(bits, (9, 6, 5)).transpose(1, 0, 2)
    for kernel in kernels(field(bits)):
        assert (multiply(field(bits), matrix, rows, kernel=kernel) == product(bits, matrix, rows)).all()
        assert (
            multiply(field(bits), matrix[::-1, ::2], rows[::2, :, ::2], kernel=kernel)
            == product(bits, matrix[::-1, ::2], rows[::2, :, ::2])
        ).all()
    assert multiply(field(bits), matrix, rows[:, 0, 0]).shape == (4,)
    assert multiply(field(bits), matrix[:0], rows).shape == (0, 9, 5)
    assert not multiply(field(bits), matrix[:, :0], rows[:0]).any()


def test_the_library_has_the_same_field() -> None:
    assert field(8).polynomial == isal.POLYNOMIAL
    if isal.library() is None:
        pytest.skip("pyeclib, which carries ISA-L, is not installed")
    assert kernels(field(8)) == ("isal", "lanes")
    assert kernels(field(16)) == (("isal", "lanes") if isal.wide_loop() else ("lanes",))


def test_without_the_library_there_is_a_kernel(monkeypatch: pytest.MonkeyPatch, elements: Elements) -> None:
    expected = product(8, elements(8, (3, 4)), elements(8, (4, 50)))
    monkeypatch.setattr(isal, "library", lambda: None)
    assert kernels(field(8)) == ("lanes",)
    assert (multiply(field(8), elements(8, (3, 4)), elements(8, (4, 50))) == expected).all()
    with pytest.raises(UsageError, match="no kernel 'isal' here: choose from lanes"):
        multiply(field(8), elements(8, (3, 4)), elements(8, (4, 50)), kernel="isal")


def test_elements_of_other_types_are_taken() -> None:
    over = field(8)
    plain = over.array([[1, 2], [3, 255]], "the rows")
    assert plain.dtype == np.uint8
    assert type(over.array(over.galois([1, 2]), "the rows")) is np.ndarray
    given = np.zeros(3, dtype=np.uint8)
    assert np.shares_memory(over.array(given, "the rows"), given)
    assert over.array(np.zeros((0, 2), dtype=np.int64), "the rows").shape == (0, 2)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ([0, 256], r"the rows holds numbers from 0 to 256: elements of GF\(2\^8\) are 0\.\.255"),
        ([-1], "numbers from -1"),
        ([0.5], "the rows has the type float64"),
        (["a"], "the rows has the type <U1"),
    ],
)
def test_numbers_that_are_no_elements_are_refused(values: Any, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        field(8).array(values, "the rows")


def test_fields_are_not_mixed() -> None:
    with pytest.raises(UsageError, match=r"the rows is over GF\(65536\), not over GF\(2\^8\)"):
        field(8).array(field(16).galois([1]), "the rows")


@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((3,), (3, 1)), ((2, 3), ())])
def test_shapes_are_checked(shapes: tuple[tuple[int, ...], tuple[int, ...]], elements: Elements) -> None:
    with pytest.raises(UsageError, match="cannot be multiplied with rows of shape"):
        multiply(field(8), elements(8, shapes[0]), elements(8, shapes[1]))


@pytest.mark.parametrize("bits", [1, 4, 32])
def test_other_fields_are_refused(bits: int) -> None:
    with pytest.raises(UsageError, match="T must be 8 or 16 bits"):
        field(bits)


def test_the_extra_is_named_when_galois_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "galois", None)
    with pytest.raises(UsageError, match=r"pip install 'coded_mr\[linear\]'"):
        _ = field(8).galois


@BOTH
def test_the_polynomial_and_the_generator_are_those_of_galois(bits: int) -> None:
    over = field(bits)
    assert over.polynomial == int(over.galois.irreducible_poly)
    assert over.generator == int(over.galois.primitive_element)


def test_a_field_does_not_load_galois() -> None:
    code = "import sys; from coded_mr.linear.codes import field; field(16); print('galois' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "False"

"""The three costs: read exactly, printed as they are read, refused by name."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given

from coded_mr.errors import UsageError
from coded_mr.theory import Costs
from tests.theory.known import costs


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2,1", (1, 2, 1)),
        (" 0.25 , 1e-3 ,0", (Fraction(1, 4), Fraction(1, 1000), 0)),
        ("3/7,.5,2.", (Fraction(3, 7), Fraction(1, 2), 2)),
        ("0.1,+2E2,1e0", (Fraction(1, 10), 200, 1)),
    ],
)
def test_costs_are_read_exactly(text: str, expected: tuple[Any, Any, Any]) -> None:
    read = Costs.parse(text)
    assert (read.map, read.shuffle, read.reduce) == expected
    assert all(isinstance(value, Fraction) for value in (read.map, read.shuffle, read.reduce))


@given(costs)
def test_costs_print_what_parse_reads(c: Costs) -> None:
    assert Costs.parse(str(c)) == c


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1,2", "'1,2' have 2 parts: give three"),
        ("", "'' have 1 part: give three"),
        ("1,2,3,4", "4 parts"),
        ("x,2,1", r"c_m \(map\) in the costs 'x,2,1' is 'x', which is no number"),
        ("1,,1", r"c_s \(shuffle\) in the costs '1,,1' is ''"),
        ("1,2,nan", r"c_r \(reduce\).*'nan'"),
        ("1,inf,1", r"c_s \(shuffle\).*'inf'"),
        ("1,1_0,1", r"c_s \(shuffle\).*'1_0'"),
        ("1,1e-999999999,1", r"c_s \(shuffle\).*'1e-999999999'"),
        ("1,2/0,1", r"c_s \(shuffle\).*'2/0', a division by zero"),
        ("0,2,1", r"c_m \(map\) is 0: .*greater than 0"),
        ("1,-2,1", r"c_s \(shuffle\) is -2: .*greater than 0"),
        ("1,2,-1/2", r"c_r \(reduce\) is -1/2: .*0 or more"),
        ("1,1e101,1", r"c_s \(shuffle\) lies outside 1e-100\.\.1e100"),
    ],
)
def test_bad_costs_name_the_offending_part(text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        Costs.parse(text)


def test_costs_refuse_floats_and_take_integers() -> None:
    inexact: Any = 0.1
    with pytest.raises(UsageError, match=r"c_s \(shuffle\) is 0\.1, not an exact number"):
        Costs(Fraction(1), inexact, Fraction(1))
    assert Costs(1, 2, 0) == Costs.parse("1,2,0")  # type: ignore[arg-type]

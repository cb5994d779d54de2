"""What is said of a product: the load as it was measured, for people and as JSON."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from coded_mr.linear.report import ProductReport
from coded_mr.theory.straggling import Setting


@pytest.fixture
def report() -> ProductReport:
    """Return the report of the paper's second example over GF(2^16)."""
    return ProductReport(
        point=Setting(6, Fraction(1, 2), 12).point(4),
        rows=20,
        element_bytes=2,
        finishers=(0, 2, 3, 5),
        latencies={3: 0.25, 0: 0.5, 5: 0.5, 2: 1.0},
        expected=Fraction(21, 5),
        packets=20,
        payload=168,
        header=288,
        discarded=1,
        dead=(1,),
        attempts=2,
        seconds={"map": 1.0, "shuffle and decode": 0.25, "total": 1.5},
    )


def test_the_load_counts_payloads_in_units_of_all_rows(report: ProductReport) -> None:
    assert report.load == report.point.L == Fraction(21, 5)


def test_json_has_exact_loads_and_the_order_of_finishing(report: ProductReport) -> None:
    document = json.loads(json.dumps(report.to_dict()))
    assert document["load"] == {"formula": "21/5", "expected": "21/5", "measured": "21/5"}
    assert [entry["rank"] for entry in document["latencies"]] == [3, 0, 5, 2]
    assert (document["K"], document["mu"], document["q"], document["N"]) == (6, "1/2", 4, 12)


def test_the_summary_names_who_was_not_waited_for(report: ProductReport) -> None:
    first, second, third = report.summary().splitlines()
    assert (
        first == "finished  3 (0.250 s), 0 (0.500 s), 5 (0.500 s), 2 (1.000 s); not waited for: 1, 4; died: 1"
    )
    assert "L = 21/5 (4.2), measured 4.2: 20 packets, 168 B coded, headers 288 B" in second
    assert third == "seconds   map 1.000, shuffle and decode 0.250, total 1.500"

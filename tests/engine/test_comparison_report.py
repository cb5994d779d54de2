"""The numbers of a comparison, its table and its JSON."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from coded_mr.engine.comparison_report import Times, short, table
from tests.report.comparisons import comparison, entry, three_plans


def test_each_time_has_its_own_median_and_spread():
    found = entry("uncoded", 1, (3, 0))
    rounds = (Times(1, 9, 2, 12), Times(3, 1, 2, 6), Times(2, 5, 8, 15))
    found = type(found)(**{**vars(found), "measured": rounds})
    assert found.median == (2, 5, 2, 12)
    assert found.least == (1, 1, 2, 6)
    assert found.most == (3, 9, 8, 15)


def test_the_fastest_has_the_least_median_and_the_planner_is_measured_by_it():
    found = three_plans()
    assert (found.fastest, found.rounds) == (1, 3)
    assert found.excess == pytest.approx(0.25)
    assert three_plans(choice=1).excess == 0


def test_luck_makes_no_plan_fast():
    """Each of two plans is lucky once; without that round the planner's choice is as fast as any."""
    rounds = {"uncoded": (9, 10, 10, 10), "symmetric": (10, 10, 10, 10), "mixture": (10, 2, 11, 11)}
    entries = [
        type(found)(**{**vars(found), "measured": tuple(Times(0, 0, 0, total) for total in totals)})
        for found, totals in ((entry(name, 1, (3, 0)), totals) for name, totals in rounds.items())
    ]
    found = comparison(*entries, choice=1)
    assert found.excess == 0
    assert found.excess_held_out == 0
    slow = comparison(*entries, choice=2)
    assert slow.excess == pytest.approx(0.05)
    assert slow.excess_held_out == pytest.approx(0.1)
    assert "+10.0% beside what was fastest in the other rounds" in table(slow)
    assert comparison(entry("uncoded", 1, (3, 0), 4.0)).excess_held_out is None


def test_the_ratio_to_the_bound():
    assert entry("uncoded", 1, (3, 0)).ratio == 1
    assert entry("replicated", 2, (3, 0), bound=Fraction(1, 6)).ratio == 2
    assert entry("solver-helper", 3, (3, 0), load=Fraction(0), bound=Fraction(0)).ratio == 1
    assert entry("odd", 3, (3, 0), bound=Fraction(0)).ratio is None


def test_the_table_has_all_numbers_and_marks_the_fastest():
    text = table(three_plans(impossible=("symmetric r=0, 3",), same=("symmetric r=1 (3+0) is uncoded",)))
    marked = [line.split() for line in text.splitlines() if line.startswith("*")]
    assert [words[:4] for words in marked] == [["*", "solver-helper", "1", "3+2"]] * 2
    assert marked[0][4:] == ["1.000", "2.000", "0.500", "3.500", "1.000", "0.500", "0.500", "2.000"]
    assert marked[1][4:] == ["400", "800", "groups", "12", "3", "0.3333", "0.4000", "0.3333", "1.000"]
    assert "1.000..3.000 0.500..1.500 0.500..1.500 2.000..6.000" in text
    assert "fastest    solver-helper r=1 (3+2): 2.000 s" in text
    assert "predicted 3.500 s, measured 2.500 s: 25.0% slower than the fastest" in text
    assert "symmetric r=0, 3: no such plan" in text
    assert "symmetric r=1 (3+0) is uncoded" in text
    assert "predicted: map + shuffle + reduce" in text


def test_the_planner_that_was_right_is_told_so():
    assert "measured 2.000 s: the fastest, 0 %" in table(three_plans(choice=1))
    assert "no such plan" not in table(three_plans())


def test_one_round_has_no_spread_and_parallel_another_sum():
    text = table(comparison(entry("uncoded", 1, (3, 0), 4.0), implementation="parallel"))
    assert ".." not in text
    assert "one round" in text
    assert "max(map, shuffle) + reduce" in text


def test_columns_stay_in_line_whatever_the_numbers():
    text = table(
        comparison(
            entry("cascaded", Fraction(3, 7), (3, 0), 1234.0, 99.5, s=12, wire_bytes=123_456_789_012),
            entry("mixture", Fraction(1234567, 765432), (30, 20), 0.001, 12.0, packets=100_000),
        )
    )
    heading, times, numbers, _ = (part.splitlines() for part in text.split("\n\n"))
    assert len(heading) == 1
    assert len({len(line) for line in times[1:]}) == 1
    assert len({len(line) for line in numbers}) == 1
    assert "cascaded s=12" in text
    assert "1.613" in text


def test_what_interfaces_sent_is_shown_where_it_was_counted():
    assert "interfaces" not in table(three_plans())
    entries = (
        entry("uncoded", 1, (3, 0), 4.0, interface_bytes=123_456_789_012),
        entry("solver-helper", 1, (3, 2), 2.0),
    )
    found = comparison(*entries)
    numbers = [part.splitlines() for part in table(found).split("\n\n")][2]
    assert len({len(line) for line in numbers}) == 1
    assert numbers[0].split()[7] == "interfaces"
    assert [line.lstrip(" *").split()[5] for line in numbers[1:]] == ["123,456,789,012", "-"]
    assert "the hosts' network interfaces sent" in table(found)
    assert [plan["interface_bytes"] for plan in found.to_dict()["plans"]] == [123_456_789_012, None]


@pytest.mark.parametrize(
    ("r", "shown"), [(0, "0"), (Fraction(14, 9), "14/9"), (Fraction(123456, 100003), "1.235")]
)
def test_a_computation_load_is_exact_while_it_is_short(r, shown):
    assert short(Fraction(r)) == shown


def test_json_is_exact_where_the_plan_is():
    found = json.loads(json.dumps(three_plans(impossible=("mixture",)).to_dict()))
    assert (found["format"], found["fastest"], found["planner"]) == ("coded-mr-comparison/1", 1, 2)
    assert found["costs"] == {"c_m": 1, "c_s": 2, "c_r": 1}
    assert found["impossible"] == ["mixture"]
    first = found["plans"][0]
    assert (first["scheme"], first["r"], first["load"], first["bound"]) == ("uncoded", "1", "1/3", "1/3")
    assert first["measured_load"] == 0.4
    assert first["median"]["total"] == 5
    assert [times["total"] for times in first["rounds"]] == [4, 5, 9]

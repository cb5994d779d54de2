"""From runs to rows, claims, table and picture; and what tells a wrong result from a right one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.network.__main__ import due
from benchmarks.network.claims import claims
from benchmarks.network.inputs import WrongResultError, check, make
from benchmarks.network.picture import draw
from benchmarks.network.records import Link, Run, append, forget, load
from benchmarks.network.settings import SETTINGS, quick
from benchmarks.network.summary import summarise
from benchmarks.network.table import document
from coded_mr.plan.verify import verify

SETTING = next(setting for setting in SETTINGS if setting.name == "bus-8-terasort")
RATE = 2.5e6
BYTES = 20_000_000


def measured(total: dict[str, float], rounds: int = 3) -> list[Link | Run]:
    """Return runs of all rivals that take just what the theory says, or so long in total."""
    found: list[Link | Run] = [Link(SETTING.title, RATE)]
    for number in range(1, rounds + 1):
        for rival in SETTING.rivals:
            load = verify(rival.decision().chosen.build()).load if rival.scheme else 0
            shuffle = float(load) * BYTES / RATE
            found.append(
                Run(
                    setting=SETTING.title,
                    rival=rival.name,
                    round=number,
                    plan=f"plan of {rival.scheme}",
                    transport=rival.transport,
                    predicted=None if rival.loss else 7.0,
                    total=total.get(rival.name, shuffle + 0.3) * (1 + (number - 2) / 100),
                    map=0.2,
                    shuffle=shuffle,
                    reduce=0.1,
                    encode=0.01,
                    decode=0.02,
                    groups=0.001,
                    load=str(load),
                    busiest=str(load),
                    coded=int(load * BYTES),
                    intermediate=BYTES,
                    wire=int(load * BYTES),
                    repairs=0,
                )
            )
    return found


def test_rows_hold_medians_spread_and_theory() -> None:
    (summary,) = summarise(SETTINGS, measured({}))
    assert summary.rate == RATE
    assert [row.rival for row in summary.rows] == list(SETTING.rivals)
    best = summary.uncoded
    assert best is not None
    assert best.shuffle == best.ideal == pytest.approx(7.0)
    assert (best.total, best.least, best.most) == pytest.approx((7.3, 7.3 * 0.99, 7.3 * 1.01))
    helped = next(row for row in summary.rows if row.rival.name == "solver-helper r=2 (8+4), ip")
    assert summary.gain(helped) == pytest.approx(7.3 / 2.3)


def test_claims_are_reached_by_the_theory_and_not_by_what_is_slower() -> None:
    (summary,) = summarise(SETTINGS, measured({}))
    found = claims([summary])
    assert all(claim.reached for claim in found)
    assert [claim.measured for claim in found[:3]] == ["3.17 times", "4.71 times", "17.18 times"]
    slow = {"solver-helper r=2 (8+4), ip": 2.5, "planner's choice": 9.0}
    (summary,) = summarise(SETTINGS, measured(slow))
    failed = [claim for claim in claims([summary]) if not claim.reached]
    assert [claim.measured for claim in failed] == [
        "2.92 times",
        "+2900.0% (solver-helper r=8 (8), ip)",
    ]


def test_settings_of_a_smoke_test_claim_nothing() -> None:
    small = quick(SETTING)
    records = [replace(record, setting=small.title) for record in measured({})]
    (summary,) = summarise([small], records)
    assert claims([summary]) == []


def test_table_and_picture_show_every_rival(tmp_path: Path) -> None:
    records = measured({})
    text = document(SETTINGS, records, "2 cores")
    for rival in SETTING.rivals:
        assert rival.name in text
    assert f"{3 * len(SETTING.rivals)}\nruns, none wrong" in text
    columns = {line.count("|") for line in text.split("## bus-8-terasort")[1].splitlines() if line}
    assert columns == {0, 16}
    draw(SETTINGS, records, tmp_path / "picture.svg")
    picture = (tmp_path / "picture.svg").read_text()
    assert "solver-helper r=2 (8+4), ip" in picture
    assert "3.17×" in picture


def test_nothing_measured_is_shown_as_nothing(tmp_path: Path) -> None:
    assert "## bus" not in document(SETTINGS, [], "2 cores")
    draw(SETTINGS, [], tmp_path / "picture.svg")


def test_what_is_measured_is_not_due_again(tmp_path: Path) -> None:
    records = tmp_path / "network.jsonl"
    assert len(due(SETTING, 3, records)) == 3 * len(SETTING.rivals)
    for record in measured({}, rounds=1):
        append(records, record)
    assert load(records) == measured({}, rounds=1)
    left = due(SETTING, 3, records)
    assert [number for number, _ in left] == [2] * len(SETTING.rivals) + [3] * len(SETTING.rivals)
    assert due(SETTING, 1, records) == ()
    assert len(due(replace(SETTING, rate=SETTING.rate + 1), 1, records)) == len(SETTING.rivals)


def test_a_setting_can_be_forgotten(tmp_path: Path) -> None:
    records = tmp_path / "network.jsonl"
    forget(records, [SETTING.title])
    assert load(records) == []
    other = Link("another setting", RATE)
    for record in [*measured({}, rounds=1), other]:
        append(records, record)
    forget(records, [SETTING.title])
    assert load(records) == [other]


@pytest.mark.parametrize("job", ["terasort", "wordcount"])
def test_a_wrong_result_is_told_from_the_right_one(job: str, tmp_path: Path) -> None:
    made = make(job, 0.05, tmp_path)
    output = tmp_path / "out"
    output.mkdir()
    source = Path(made.paths[0]).read_bytes()
    if job == "terasort":
        records = sorted(source[at : at + 100] for at in range(0, len(source), 100))
    else:
        records = Path(made.expected).read_bytes().splitlines(keepends=True)
    half = len(records) // 2
    (output / "part-00001").write_bytes(b"".join(records[half:]))
    (output / "part-00000").write_bytes(b"".join(records[:half]))
    check(job, output, made.expected, "the rival")
    (output / "part-00000").write_bytes(b"".join([*records[1:half], records[1]]))
    with pytest.raises(WrongResultError, match="the rival"):
        check(job, output, made.expected, "the rival")

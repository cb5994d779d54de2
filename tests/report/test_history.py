"""Runs beside each other: ratios to the first, and what makes them hard to compare."""

from __future__ import annotations

import msgspec

from coded_mr.report.document import Run, load
from coded_mr.report.history import build_history_page, compare_runs, differences, history_text
from tests.report.runs import written


def runs(tmp_path, *options: dict[str, str]) -> list[Run]:
    return [load(str(written(tmp_path / f"{i}.json", **fields))) for i, fields in enumerate(options)]


def test_ratios_are_to_the_first_run(tmp_path):
    coded, uncoded = runs(tmp_path, {"scheme": "solver-helper"}, {"scheme": "uncoded"})
    rows = {row.quantity: row for row in compare_runs([coded, uncoded])}
    packets = rows["packets"]
    assert packets.values == (str(coded.plan.packets), str(uncoded.plan.packets))
    assert packets.ratios == (f"{uncoded.plan.packets / coded.plan.packets:.2f} ×",)
    assert compare_runs([coded, coded, coded])[0].ratios == ("1.00 ×", "1.00 ×")


def test_twice_the_time_is_told_so(tmp_path):
    (run,) = runs(tmp_path, {})
    times = msgspec.structs.replace(run.measured, total_seconds=2 * run.measured.total_seconds)
    rows = compare_runs([run, msgspec.structs.replace(run, measured=times)])
    assert (rows[0].quantity, rows[0].ratios) == ("total time", ("2.00 ×",))


def test_equal_circumstances_need_no_note(tmp_path):
    one, other = runs(tmp_path, {}, {"scheme": "uncoded"})
    assert differences([one, other]) == []


def test_other_jobs_hosts_and_versions_are_noted(tmp_path):
    one, other = runs(tmp_path, {}, {"job": "other.py", "host": "far"})
    other = msgspec.structs.replace(other, versions={**other.versions, "numpy": "0.1"}, parameters={"n": 4})
    assert [note.partition(":")[0] for note in differences([one, other])] == [
        "different jobs",
        "different parameters",
        "different hosts",
        "different versions of numpy",
    ]


def test_the_text_is_a_table_whose_columns_line_up(tmp_path):
    text = history_text(["a.json", "b\x1b[2J.json"], runs(tmp_path, {}, {"scheme": "uncoded"}))
    assert "\x1b" not in text
    lines = text.splitlines()
    assert lines[0].startswith("A  a.json: ")
    table = lines[lines.index("") + 1 :]
    assert table[0].split() == ["A", "B", "B/A"]
    assert len({len(line) for line in table}) == 1


def test_the_page_escapes_what_files_are_called(tmp_path):
    page = build_history_page(["<b>.json", "b.json"], runs(tmp_path, {"job": "<i>"}, {}))
    assert "&lt;b&gt;.json" in page
    assert "&lt;i&gt;" in page
    assert "<i>" not in page
    assert "different jobs" in page

"""What a person is told while a run goes on."""

from __future__ import annotations

import io
import logging
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpi4py import MPI

from coded_mr.engine.progress import Display
from coded_mr.engine.progress_board import STAGES, TERMINAL, Board, Status

NUMBERS = st.integers(0, 2**62)


@given(st.sampled_from(STAGES), NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_a_status_survives_its_message(stage, done, total, some, whole):
    status = Status(stage, done, total, some, whole)
    assert Status.unpack(status.pack()) == status
    assert len(status.pack()) == len(Status("map", 0, 0).pack())


def test_bytes_tell_how_far_a_rank_is_and_units_where_they_are_not_known():
    assert Status("map", 1, 4, 75, 100).fraction == 0.75
    assert Status("shuffle", 1, 4, 75).fraction == 0.25
    assert Status("reduce", 0, 0).fraction == 1.0


def test_nothing_is_said_before_anything_is_known():
    board = Board(["here"] * 2)
    assert board.line(3.0) is None
    board.hear(0, Status("reduce", 0, 0), 3.0)
    assert board.line(3.0) is None


def test_files_bytes_rate_and_time_left_are_those_of_all_ranks():
    board = Board(["here"] * 2)
    board.hear(0, Status("map", 1, 4, 50_000_000, 100_000_000), 10.0)
    board.hear(1, Status("map", 2, 4, 30_000_000, 60_000_000), 10.0)
    assert board.line(10.0) == ("map 50%, 0:10 left: 3 of 8 mappings, 80.00 MB of 160.00 MB, 8.00 MB/s")


def test_a_rank_that_is_ahead_has_done_all_of_the_stage_before():
    board = Board(["here"] * 2)
    board.hear(0, Status("map", 1, 4, 100, 400), 4.0)
    board.hear(1, Status("map", 3, 4, 300, 400), 4.0)
    board.hear(1, Status("shuffle", 5, 9, 1), 5.0)
    line = board.line(5.0)
    assert line is not None
    assert line.startswith("map 62%, 0:15 left: 5 of 8 mappings, 500 B of 800 B")


def test_the_rate_of_a_stage_counts_from_its_beginning():
    board = Board(["here"])
    board.hear(0, Status("map", 1, 1, 1, 1), 100.0)
    board.hear(0, Status("shuffle", 0, 4), 101.0)
    board.hear(0, Status("shuffle", 1, 4, 500), 106.0)
    assert board.line(106.0) == "shuffle 25%, 0:15 left: 1 of 4 packets, 500 B, 100 B/s"


def test_stragglers_are_named_with_their_host_the_slowest_first():
    board = Board(["one", "one", "two", "two"])
    for rank, done in enumerate((90, 80, 10, 20)):
        board.hear(rank, Status("map", done, 100), 5.0)
    line = board.line(5.0)
    assert line is not None
    assert line.endswith("; behind: rank 2 on two at 10%, rank 3 on two at 20%")


def test_many_stragglers_are_counted():
    board = Board(["here"] * 11)
    for rank in range(11):
        board.hear(rank, Status("map", 10 if rank < 5 else 100, 100), 5.0)
    line = board.line(5.0)
    assert line is not None
    assert line.endswith("behind: rank 0 at 10%, rank 1 at 10%, rank 2 at 10% and 2 more")


def test_a_rank_without_a_word_is_named_until_it_has_left():
    board = Board(["here"] * 2)
    board.hear(0, Status("reduce", 0, 2), 30.0)
    line = board.line(30.0)
    assert line is not None
    assert line.endswith("; silent: rank 1 for 30 s")
    board.leave(1)
    assert "silent" not in (board.line(30.0) or "")


def test_a_finished_rank_does_not_hold_up_the_stage():
    board = Board(["here"] * 2)
    board.hear(1, Status("map", 1, 2), 1.0)
    board.leave(1)
    board.hear(0, Status("reduce", 1, 2), 2.0)
    line = board.line(2.0)
    assert line is not None
    assert line.startswith("reduce 50%, 0:00 left: 1 of 2 partitions")


def test_lines_follow_each_other_in_a_file_and_come_seldom():
    stream = io.StringIO()
    display = Display(stream, None)
    shown = [now / 4 for now in range(60) if display.is_due(now / 4) and not display.show("x", now / 4)]
    assert shown == [2.0, 7.0, 12.0]
    display.clear()
    assert stream.getvalue() == "coded-mr: x\n" * 3


def test_a_terminal_has_one_line_that_fits_and_is_gone_at_the_end():
    stream = io.StringIO()
    display = Display(stream, 20)
    assert not display.is_due(1.9)
    display.show("a" * 100, 2.0)
    assert not display.is_due(2.4)
    assert display.is_due(2.5)
    display.clear()
    assert stream.getvalue() == "\rcoded-mr: " + "a" * 9 + "\x1b[K\r\x1b[K"


def test_a_run_that_showed_nothing_clears_nothing():
    stream = io.StringIO()
    Display(stream, 80).clear()
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("announced", "verbose", "vendor", "live"),
    [
        ("99", False, "MPICH", True),
        ("99", True, "MPICH", False),
        ("99", False, "Open MPI", False),
        ("", False, "MPICH", False),
    ],
)
def test_the_launcher_announces_its_terminal(monkeypatch, announced, verbose, vendor, live):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv(TERMINAL, announced)
    monkeypatch.setattr(MPI, "get_vendor", lambda: (vendor, (1, 0, 0)))
    logger = logging.getLogger("coded_mr")
    before = logger.level
    logger.setLevel(logging.INFO if verbose else logging.WARNING)
    try:
        Display.standard().show("x", 2.0)
    finally:
        logger.setLevel(before)
    assert stream.getvalue().startswith("\r") == live

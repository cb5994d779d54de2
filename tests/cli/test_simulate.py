"""`coded-mr simulate`: tables and JSON of machines that do not exist."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from coded_mr.cli import main


def simulate_json(capsys, *words: str) -> dict:
    assert main(["simulate", *words, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


def simulate_text(capsys, *words: str) -> str:
    assert main(["simulate", *words]) == 0
    return capsys.readouterr().out


def test_json_has_the_paper_example(capsys):
    found = simulate_json(capsys, "-p", "3", "--costs", "1,2,1", "--sweep")
    assert (found["format"], found["by"], found["best_r"], found["winner"]) == (
        "coded-mr-simulation/1",
        "packets",
        "2",
        "coded",
    )
    row = next(row for row in found["rows"] if row["r"] == "2")
    assert (row["ranks"], row["helpers"], row["coded"]["peak"]) == (5, 2, "2/3")
    assert row["coded"]["total"] == pytest.approx(17 / 9, rel=1e-12)
    assert row["gain"] == pytest.approx(row["uncoded"]["total"] / row["coded"]["total"])


def test_the_table_marks_the_best_load_and_names_the_winner(capsys):
    text = simulate_text(capsys, "-p", "3", "--costs", "1,2,1")
    (marked,) = [line for line in text.splitlines() if line.startswith("*")]
    assert marked.split()[1:3] == ["2", "5"]
    assert "coding wins" in text
    assert "one shared link" in text


def test_linear_multicast_gains_nothing(capsys):
    words = ["-p", "6", "--costs", "1,2,1", "--multicast", "linear", "--sweep"]
    assert simulate_json(capsys, *words)["winner"] == "neither"
    assert "coding gains nothing" in simulate_text(capsys, *words)


def test_uncoded_wins_behind_a_switch(capsys):
    words = ["-p", "6", "--costs", "1,2,1", "--network", "ports"]
    assert simulate_json(capsys, *words)["winner"] == "uncoded"
    assert "uncoded wins" in simulate_text(capsys, *words)


def test_one_load_alone_and_a_fraction_in_parallel(capsys):
    found = simulate_json(capsys, "-p", "4", "--costs", "2,3,1", "--implementation", "parallel", "-r", "14/9")
    assert [row["r"] for row in found["rows"]] == ["14/9"]
    by_loads = simulate_json(
        capsys, "-p", "4", "--costs", "2,3,1", "--implementation", "parallel", "-r", "14/9", "--by", "loads"
    )
    assert by_loads["rows"][0]["coded"]["total"] == pytest.approx(16 / 9)
    assert found["rows"][0]["coded"]["total"] > 16 / 9


def test_a_sweep_over_q_tells_the_exponent(capsys):
    words = ["--sweep-q", "64,256,1024,4096", "--costs", "1,1,1"]
    found = simulate_json(capsys, *words)
    assert [row["partitions"] for row in found["rows"]] == [64, 256, 1024, 4096]
    assert found["exponents"]["coded"] == pytest.approx(-0.5, abs=0.05)
    assert found["exponents"]["uncoded"] == pytest.approx(0, abs=1e-9)
    assert (found["best_r"], found["winner"]) == (None, None)
    assert "like Q^" in simulate_text(capsys, *words)
    assert simulate_json(capsys, "--sweep-q", "16", "--costs", "1,1,1")["exponents"] is None


def test_tables_too_large_for_packets_are_simulated_by_loads(capsys):
    found = simulate_json(capsys, "-p", "1000", "--costs", "1,1,1")
    assert found["by"] == "loads"
    assert len(found["rows"]) == 25
    assert found["best_r"] == "31"
    every = simulate_json(capsys, "-p", "100", "--costs", "1,1,1", "--sweep")
    assert [row["r"] for row in every["rows"]] == [str(r) for r in range(101)]
    assert every["rows"][0]["ranks"] is None


def test_a_seed_repeats_and_another_does_not(capsys):
    words = ["-p", "5", "--costs", "1,2,1", "--noise", "0.4", "--distribution", "lognormal", "--repeat", "5"]
    first = simulate_json(capsys, *words, "--seed", "1")
    assert simulate_json(capsys, *words, "--seed", "1") == first
    assert simulate_json(capsys, *words, "--seed", "2")["rows"] != first["rows"]
    assert first["repeat"] == 5
    assert first["machine"]["noise"] == {"distribution": "lognormal", "coefficient": 0.4}
    assert "+-" in simulate_text(capsys, *words)


def test_the_whole_machine_is_in_the_report(capsys):
    words = ["-p", "4", "--costs", "1,1/3,0", "--network", "ports", "--multicast", "1,1.2"]
    words += ["--overhead", "0.001", "--speeds", "1,0.5", "--helpers", "2"]
    found = simulate_json(capsys, *words)
    assert found["machine"] == {
        "c_m": "1",
        "c_s": "1/3",
        "c_r": "0",
        "network": "ports",
        "multicast": ["1", "6/5"],
        "overhead": "1/1000",
        "noise": {"distribution": "exponential", "coefficient": 0.0},
        "speeds": ["1", "1/2"],
        "seed": 0,
    }
    assert {row["helpers"] for row in found["rows"]} == {2, 0}
    text = simulate_text(capsys, *words)
    for expected in ("1, 6/5", "1/1000 s a packet", "2 map speeds"):
        assert expected in text


def test_json_goes_to_a_file_beside_the_table(capsys, tmp_path):
    target = tmp_path / "simulation.json"
    text = simulate_text(capsys, "-p", "3", "--costs", "1,2,1", "--json", str(target))
    assert json.loads(target.read_text())["best_r"] == "2"
    assert "coding wins" in text


@pytest.mark.parametrize(
    ("words", "about"),
    [
        ("-p 3", "--costs"),
        ("--costs 1,1,1", "-p Q"),
        ("-p 0 --costs 1,1,1", "at least 1"),
        ("-p 3 --costs 1,1,1 -r 4", "between 0 and Q"),
        ("-p 3 --costs 1,1,1 -r 1/2", "whole number"),
        ("-p 3 --costs 1,1,1 -r x", "14/9"),
        ("-p 3 --costs 1,1,1 -r 1/0", "14/9"),
        ("-p 3 --costs 1,1,1 -r 1 --sweep", "not allowed"),
        ("-p 3 --costs 1,1,1 --sweep-q 3", "names the partitions"),
        ("--costs 1,1,1 --sweep-q 3,x", "whole number"),
        ("-p 3 --costs 1,1,1 --multicast 2,3", "first must be 1"),
        ("-p 3 --costs 1,1,1 --multicast 1,,2", "number"),
        ("-p 3 --costs 1,1,1 --noise -1", "must be a number"),
        ("-p 3 --costs 1,1,1 --noise 1.5", "between 0 and 1"),
        ("-p 3 --costs 1,1,1 --speeds 1,0", "speed"),
        ("-p 3 --costs 1,1,1 --repeat 1000000", "repetitions"),
        ("-p 20000 --costs 1,1,1", "at most 10000"),
        ("-p 60 --costs 1,1,1 --by packets -r 30", "by packets"),
        ("-p 3 --costs 9,1,1 --by packets -r 0", "--helpers"),
        ("-p 3 --costs 1,1,1 --json /nowhere/at/all.json", "does not exist"),
    ],
)
def test_mistakes_are_explained(capsys, words, about):
    assert main(["simulate", *words.split()]) == 2
    error = capsys.readouterr().err
    assert about in error
    assert "Traceback" not in error


def test_simulating_needs_neither_mpi_nor_numpy():
    code = (
        "import sys; from coded_mr.cli import main; main('simulate -p 4 --costs 1,2,1'.split());"
        " sys.exit(bool({'mpi4py', 'numpy'} & set(sys.modules)))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False).returncode == 0
    )

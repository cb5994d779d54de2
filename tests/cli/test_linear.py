"""`coded-mr linear`: the tradeoff without MPI, and what is refused before MPI starts."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from coded_mr.cli import main


def tradeoff(capsys, *words: str) -> dict:
    assert main(["linear", "tradeoff", *words, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("K", "mu", "N", "name"), [(4, "1/2", 4, "K4"), (6, "0.5", 12, "K6")])
def test_json_has_the_papers_examples(capsys, golden, K, mu, N, name):
    found = tradeoff(capsys, "-K", str(K), "--mu", mu, "-N", str(N))
    points = {point["q"]: point for point in found["points"]}
    example = golden("straggling")["examples"][name]
    for known in [example] if "q" in example else [example["min_bandwidth"], example["min_latency"]]:
        point = points[known.get("q", 2)]
        assert Fraction(point["L"]) == Fraction(known["L"])
        if "D" in known:
            assert Fraction(point["D"]) == Fraction(known["D"])
        assert Fraction(point["bound"]) <= Fraction(point["L"])


def test_the_envelope_starts_at_the_least_latency_and_ends_at_the_least_load(capsys):
    points = tradeoff(capsys, "-K", "9", "--mu", "1/3", "-N", "18")["points"]
    assert [point["q"] for point in points] == list(range(3, 10))
    corners = [point for point in points if point["corner"]]
    assert (corners[0]["q"], corners[-1]["q"]) == (3, 9)
    assert [Fraction(p["L"]) for p in corners] == sorted((Fraction(p["L"]) for p in corners), reverse=True)


def test_the_table_has_a_line_a_point_and_marks_corners(capsys):
    assert main(["linear", "tradeoff", "-K", "4", "--mu", "1/2", "-N", "4", "--latency", "14/3"]) == 0
    text = capsys.readouterr().out
    rows = [line for line in text.splitlines() if line[2:6].strip().isdigit()]
    assert [(row[0], row.split()[-6]) for row in rows] == [("*", "19/6"), (" ", "25/6"), ("*", "37/6")]
    assert "D = 14/3: 1/2 of the rows coded for q = 2, the others for q = 4; L = 3/2" in text


@pytest.mark.parametrize(("costs", "q"), [("1,0", 2), ("0,1", 6), ("1,2", 4)])
def test_costs_choose_the_number_of_finishers(capsys, costs: str, q: int):
    """D + 2 L is 101/5, 257/10, 201/10, ... for q = 2, 3, 4, ...: the least is at q = 4."""
    words = ["-K", "6", "--mu", "1/2", "-N", "12", "--costs", costs]
    assert tradeoff(capsys, *words)["cheapest"] == q
    assert main(["linear", "tradeoff", *words]) == 0
    assert f"cheapest  q = {q}:" in capsys.readouterr().out


def test_a_unit_scales_latencies_only(capsys):
    plain = tradeoff(capsys, "-K", "5", "--mu", "2/5", "-N", "5")["points"]
    scaled = tradeoff(capsys, "-K", "5", "--mu", "2/5", "-N", "5", "--unit", "0.25")["points"]
    for before, after in zip(plain, scaled, strict=True):
        assert Fraction(after["D"]) == Fraction(before["D"]) / 4
        assert {**after, "D": None} == {**before, "D": None}


def test_the_plot_has_every_point_and_the_measured_ones(capsys, tmp_path: Path):
    run = tmp_path / "run.json"
    run.write_text(
        json.dumps(
            {
                "format": "coded-mr-product/1",
                "q": 2,
                "latencies": [{"rank": 3, "seconds": 1.5}, {"rank": 0, "seconds": 2.5}],
                "load": {"measured": "9/4"},
            }
        )
    )
    picture = tmp_path / "curve.svg"
    found = tradeoff(
        capsys, "-K", "4", "--mu", "1/2", "-N", "4", "--plot", str(picture), "--measured", str(run)
    )
    assert found["measured"] == [{"D": 2.5, "L": 2.25, "label": "q=2, measured"}]
    root = ElementTree.fromstring(picture.read_text())
    circles = root.findall("{http://www.w3.org/2000/svg}circle")
    assert len(circles) == len(found["points"]) + 1
    # The point of least latency is leftmost and highest on the curve: SVG's y grows downwards.
    across = [float(circle.get("cx")) for circle in circles[:-1]]
    assert across == sorted(across)
    assert float(circles[2].get("cy")) > float(circles[0].get("cy"))
    (line,) = root.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(line.get("points").split()) == sum(point["corner"] for point in found["points"])


def test_a_run_with_memory_sharing_is_a_measured_point(capsys, tmp_path: Path):
    """The parts were mapped one after the other: their latencies add up."""
    run = tmp_path / "run.json"
    parts = [{"q": q, "latencies": [{"rank": 0, "seconds": seconds}]} for q, seconds in ((2, 0.5), (4, 1.25))]
    document = {"format": "coded-mr-shared-product/1", "load": {"measured": "3/2"}, "parts": parts}
    run.write_text(json.dumps(document))
    found = tradeoff(capsys, "-K", "4", "--mu", "1/2", "-N", "4", "--measured", str(run))
    assert found["measured"] == [{"D": 1.75, "L": 1.5, "label": "q=2+4, measured"}]


def test_every_subcommand_that_help_lists_explains_itself(capsys):
    with pytest.raises(SystemExit):
        main(["linear", "--help"])
    listed = capsys.readouterr().out.partition("subcommands:")[2].partition("\n\n")[0]
    names = [line.split()[0] for line in listed.splitlines() if line]
    assert {"tradeoff", "matmul"} <= set(names)
    for name in names:
        with pytest.raises(SystemExit) as ended:
            main(["linear", name, "--help"])
        assert ended.value.code == 0
        assert f"usage: coded-mr linear {name}" in capsys.readouterr().out


def refused(capsys, *words: str) -> str:
    assert main(["linear", *words]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "SUBCOMMAND"),
        (["nothing"], "invalid choice: 'nothing'"),
        (["tradeoff", "-K", "4", "--mu", "1/9", "-N", "4"], "the storage mu of a server is 1/9"),
        (["tradeoff", "-K", "4", "--mu", "1/0", "-N", "4"], "argument --mu: must be a number"),
        (["tradeoff", "-K", "0", "--mu", "1", "-N", "4"], "argument -K/--servers: must be a whole number"),
        (["tradeoff", "-K", "4", "--mu", "1/2", "-N", "4", "--latency", "1"], "no scheme has a mean"),
        (
            ["tradeoff", "-K", "4", "--mu", "1/2", "-N", "4", "--measured", "none.json"],
            "--measured none.json",
        ),
        (["tradeoff", "-K", "4", "--mu", "1/2", "-N", "4", "--plot", "/nowhere/c.svg"], "--plot"),
        (["tradeoff", "-K", "4", "--mu", "1/2", "-N", "4", "--costs", "1"], "must be two numbers"),
        (["matmul", "A.npy", "X.npy", "-o", "Y.npy"], "how many servers?"),
        (["matmul", "A.npy", "X.npy", "-o", "Y.npy", "-n", "4", "-q", "1"], "waiting for q = 1 servers"),
        (["matmul", "A.npy", "X.npy", "-o", "Y.npy", "-n", "4", "-q", "2,4"], "give both, or neither"),
        (["matmul", "A.npy", "X.npy", "-o", "Y.npy", "-n", "4", "--share", "1/2"], "give both, or neither"),
        (["matmul", "A.npy", "X.npy", "-o", "Y.npy", "-n", "4", "-q", "4,2"], "the lesser first"),
        (["matmul", "A.npy", "X.npy", "-o", "Y.npy", "-n", "4", "-q", "2,5"], "waiting for q = 5 servers"),
        (
            ["matmul", "A.npy", "X.npy", "-o", "Y.npy", "-n", "4", "--slow", "4:1"],
            "--slow 4: there is no",
        ),
        (["matmul", "A.npy", "X.npy", "-o", "Y.npy", "-n", "4", "--slow", "1"], "must be RANK:SECONDS"),
        (["matmul", "A.npy", "X.npy", "-o", "Y.npy", "-n", "4"], "A.npy"),
        (["matmul", "A.npy", "X.npy", "-o", "Y.npy", "-n", "1"], "coding needs 2 servers"),
    ],
)
def test_mistakes_are_named(capsys, monkeypatch, tmp_path: Path, words: list[str], message: str):
    monkeypatch.chdir(tmp_path)
    assert message in refused(capsys, *words)


def test_arrays_that_cannot_be_multiplied_are_refused_before_mpi_starts(capsys, monkeypatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    np.save("A.npy", np.zeros((2, 3), dtype=np.uint8))
    np.save("R.npy", np.zeros((3, 2)))
    words = ["matmul", "A.npy", "R.npy", "-o", "Y.npy", "-n", "2"]
    assert "R.npy has the type float64: elements of a field are whole numbers" in refused(capsys, *words)
    words[2] = "A.npy"
    assert "A.npy has the shape (2, 3): (3,) or (3, m) is needed" in refused(capsys, *words)


def test_an_output_that_cannot_be_is_refused_before_mpi_starts(capsys, monkeypatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    for name in ("A.npy", "X.npy"):
        np.save(name, np.zeros((2, 2), dtype=np.uint8))
    assert "cannot be written" in refused(capsys, "matmul", "A.npy", "X.npy", "-o", "no/Y.npy", "-n", "2")
    assert "cannot be written" in refused(capsys, "matmul", "A.npy", "X.npy", "-o", ".", "-n", "2")


def test_the_tradeoff_needs_neither_numpy_nor_mpi():
    code = (
        "import sys; from coded_mr.cli import main;"
        "main(['linear', 'tradeoff', '-K', '4', '--mu', '1/2', '-N', '4']);"
        "print(sorted({'numpy', 'galois', 'mpi4py'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines()[-1] == "[]"

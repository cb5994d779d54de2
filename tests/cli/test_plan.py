"""`coded-mr plan` and the command line around it: no MPI, exact numbers, helpful mistakes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import coded_mr
from coded_mr.cli import main


def plan_json(capsys, *words: str) -> dict:
    assert main(["plan", *words, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("implementation", ["sequential", "parallel"])
def test_json_gives_the_reference_numbers(capsys, golden, implementation):
    for row in golden("allocation")[implementation][::7]:
        words = ["-p", str(row["Q"]), "--costs", f"{row['c_m']},{row['c_s']},{row['c_r']}"]
        found = plan_json(capsys, *words, "--implementation", implementation)
        assert (found["r_star"], found["k_star"], found["t_star"]) == (
            row["r_star"],
            row["K_star"],
            row["T_star"],
        )


def test_the_paper_example_in_words(capsys):
    assert main(["plan", "-p", "3", "--costs", "1,2,1"]) == 0
    text = capsys.readouterr().out
    for expected in ("r* = 2", "K* = 5", "T* = 17/9", "2/3", "1/9"):
        assert expected in text
    table = [line.split() for line in text.splitlines() if line[:1] in "* " and line.strip()[:1].isdigit()]
    assert len([line for line in text.splitlines() if line.startswith("*")]) == 1
    assert [row[0] for row in table] == ["0", "1", "3"]


def test_an_unattainable_optimum_has_no_k(capsys):
    found = plan_json(capsys, "-p", "2", "--costs", "10,1,1")
    assert (found["r_star"], found["k_star"], found["t_star"]) == (0, None, "2")
    assert main(["plan", "-p", "2", "--costs", "10,1,1"]) == 0
    assert "K* = none" in capsys.readouterr().out


def test_fewer_ranks_get_a_plan_of_their_own(capsys):
    found = plan_json(capsys, "-p", "4", "--costs", "1,2,1", "-n", "4")
    assert found["chosen"]["ranks"] <= 4
    assert found["chosen"]["reasons"]


def test_json_goes_to_a_file_whole(capsys, tmp_path):
    target = tmp_path / "plan.json"
    assert main(["plan", "-p", "3", "--costs", "1,2,1", "--json", str(target)]) == 0
    assert json.loads(target.read_text())["k_star"] == 5
    assert "K* = 5" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_many_partitions_are_instant_and_untabled(capsys):
    found = plan_json(capsys, "-p", "1000000", "--costs", "1,1,1")
    assert found["r_star"] == 999
    assert found["rows"] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plan"], "needs -p Q and --costs"),
        (["plan", "-p", "3", "--costs", "1,2"], "three"),
        (["plan", "-p", "3", "--costs", "1,x,1"], "'x'"),
        (["plan", "-p", "0", "--costs", "1,2,1"], "-p/--partitions: must be a whole number of at least 1"),
        (["plan", "-p", "two", "--costs", "1,2,1"], "'two'"),
        (["plan", "-p", "3", "--costs", "1,2,1", "--bogus"], "--bogus"),
        (["plan", "-p", "3", "--costs", "1,2,1", "--json", "/no/such/dir/x"], "/no/such/dir"),
        (["plan", "-p", "3", "--profile", "no-such-file"], "no-such-file"),
        (["plan", "-p", "3", "--profile", "x", "--costs", "1,2,1"], "without --costs"),
        (["plan", "-p", "3", "--costs", "1,2,1", "-s", "2"], "cascaded"),
        (["fly"], "invalid choice: 'fly'"),
        ([], "COMMAND"),
    ],
)
def test_mistakes_are_explained_and_end_with_status_2(capsys, words, message):
    assert main(words) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("words", [["--help"], ["plan", "--help"], ["run", "--help"], ["--version"]])
def test_help_goes_to_standard_output(capsys, words):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 0
    assert "coded-mr" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--help"], ["plan", "-p", "3", "--costs", "1,2,1"], ["run", "--help"]])
def test_neither_mpi_nor_numpy_is_imported_for_help_and_plan(words):
    code = (
        "import sys; from coded_mr.cli import main\n"
        f"try: main({words!r})\n"
        "except SystemExit: pass\n"
        "print(sorted(set(sys.modules) & {'mpi4py', 'numpy', 'msgspec'}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr.strip() == "[]"


def test_the_version_is_the_packages():
    done = subprocess.run(
        [sys.executable, "-m", "coded_mr", "--version"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.strip() == f"coded-mr {coded_mr.__version__}"


def test_a_closed_pipe_is_no_error():
    plan = f"{sys.executable} -m coded_mr plan -p 3 --costs 1,2,1"
    command = f"{plan} | head -n 1 >/dev/null; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() in ("0", "141")
    assert "Traceback" not in done.stderr

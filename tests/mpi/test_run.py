"""`coded-mr run` as users type it: alone and under mpirun, well and badly ended."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import signal
import subprocess
import sysconfig
import time
from collections import Counter
from pathlib import Path

import pytest

from coded_mr.io.output import read_success, verify_output
from tests.mpi.interpreters import Mpi

TOP = Path(__file__).parents[2]
WORDCOUNT = str(TOP / "jobs" / "wordcount.py")
FAILING = str(Path(__file__).parent / "failing_job.py")

# A rank's failure must end the whole job within 5 seconds; starting it takes most of this limit.
LIMIT = 40


def alone(mpi: Mpi, *words: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command without a launcher: it starts MPI itself."""
    env = {**os.environ, **environment}
    command = ["timeout", "-k", "5", str(LIMIT), mpi.python, "-m", "coded_mr", *words]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def under_mpirun(mpi: Mpi, n: int, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command on ranks that a launcher started, as if the user had typed mpirun."""
    return mpi.run(
        n, ["env", "-u", "CODED_MR_JOB_ID", mpi.python, "-m", "coded_mr", *words], cwd=cwd, timeout=LIMIT
    )


def counted(output: Path) -> dict[str, int]:
    rows = [
        line.split("\t") for path in sorted(output.glob("part-*")) for line in path.read_text().splitlines()
    ]
    assert len({word for word, _ in rows}) == len(rows)
    return {word: int(count) for word, count in rows}


def nothing_whole(folder: Path) -> None:
    """Check that a failed run left nothing that looks like a result."""
    assert not (folder / "out").exists()
    assert not list(folder.rglob("_SUCCESS"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = tmp_path / "in"
    (texts / "deep" / "er").mkdir(parents=True)
    (texts / "a.txt").write_text("the quick brown fox\njumps over the lazy dog\n" * 40)
    (texts / "deep" / "b.txt").write_bytes(b"caf\xc3\xa9 \xff\xfe the \x85 end" * 30)
    (texts / "deep" / "er" / "empty").write_bytes(b"")
    return tmp_path


def trouble(folder: Path, word: str) -> None:
    (folder / "in" / "bad.txt").write_text("all is well\n" * 3 + f"{word}\n")


def expected(folder: Path) -> dict[str, int]:
    files = [path for path in (folder / "in").rglob("*") if path.is_file()]
    return dict(
        Counter(word for path in files for word in path.read_bytes().decode(errors="replace").split())
    )


def test_it_starts_mpi_itself_with_as_many_ranks_as_the_plan_wants(mpi: Mpi, folder: Path) -> None:
    done = alone(
        mpi, "run", WORDCOUNT, "in", "-o", "out", "-p", "3", "-r", "2", "--json", "run.json", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert counted(folder / "out") == expected(folder)
    report = json.loads((folder / "run.json").read_text())
    assert len(report["ranks"]) == 5
    assert [rank["role"] for rank in report["ranks"]] == ["solver"] * 3 + ["helper"] * 2
    assert report["predicted"]["load"] == "1/9"
    assert "3 solvers and 2 helpers, r=2" in done.stdout
    assert "predicted 0.1111 (bound 0.1111), measured" in done.stdout
    success = verify_output(str(folder / "out"))
    assert success["job_id"] == report["job_id"]
    assert success["counts"] == report["counts"]
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        "_SUCCESS", "part-00000", "part-00001", "part-00002",
    ]  # fmt: skip


def test_given_costs_decide_the_ranks(mpi: Mpi, folder: Path) -> None:
    done = alone(mpi, "run", WORDCOUNT, "in", "-o", "out", "-p", "3", "--costs", "1,2,1", cwd=folder)
    assert done.returncode == 0, done.stderr
    plan = read_success(str(folder / "out"))["plan"]
    assert (plan["solvers"], plan["helpers"], plan["r"]) == (3, 2, "2")
    assert (plan["r_star"], plan["k_star"]) == ("2", 5)


def test_it_joins_the_ranks_of_a_launcher(mpi: Mpi, folder: Path) -> None:
    done = under_mpirun(mpi, 4, "run", WORDCOUNT, "in", "-o", "out", "-v", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert counted(folder / "out") == expected(folder)
    assert done.stdout.count("result") == 1
    assert len(list((folder / "out").glob("part-*"))) == 4
    assert "coded-mr: map: " in done.stderr


def test_one_rank_is_enough(mpi: Mpi, folder: Path) -> None:
    done = alone(mpi, "run", WORDCOUNT, "in", "-o", "out", "-n", "1", "-p", "3", "-q", cwd=folder)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert counted(folder / "out") == expected(folder)


def test_globs_and_compressed_inputs(mpi: Mpi, folder: Path) -> None:
    text = (folder / "in" / "a.txt").read_bytes()
    (folder / "in" / "a.txt.gz").write_bytes(gzip.compress(text))
    (folder / "in" / "a.txt.bz2").write_bytes(bz2.compress(text))
    (folder / "in" / "a.txt.xz").write_bytes(lzma.compress(text))
    done = alone(mpi, "run", WORDCOUNT, "in/*.txt*", "-o", "out", "-n", "3", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert counted(folder / "out") == {
        word: 4 * count for word, count in Counter(text.decode().split()).items()
    }


def test_parameters_of_a_job_are_options(mpi: Mpi, folder: Path) -> None:
    grep = str(TOP / "jobs" / "grep.py")
    done = alone(
        mpi, "run", grep, "in", "--pattern", "FOX", "--ignore-case", "-o", "out", "-n", "2", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    lines = [line for path in (folder / "out").glob("part-*") for line in path.read_text().splitlines()]
    assert len(lines) == 40
    assert "in/a.txt:1:the quick brown fox" in lines


def test_an_existing_output_is_replaced_only_when_asked(mpi: Mpi, folder: Path) -> None:
    words = ["run", WORDCOUNT, "in/a.txt", "-o", "out", "-n", "2"]
    assert alone(mpi, *words, cwd=folder).returncode == 0
    first = read_success(str(folder / "out"))["job_id"]
    refused = alone(mpi, *words, cwd=folder)
    assert refused.returncode == 2
    assert "exists" in refused.stderr
    assert read_success(str(folder / "out"))["job_id"] == first
    assert alone(mpi, *words, "--overwrite", cwd=folder).returncode == 0
    assert read_success(str(folder / "out"))["job_id"] != first
    assert sorted(path.name for path in folder.iterdir()) == ["in", "out"]


@pytest.mark.parametrize(
    ("word", "messages"),
    [
        ("map-raises", ["ValueError: trouble in map", "in/bad.txt, line 4", "rank "]),
        ("map-exits", ["SystemExit", "in/bad.txt, line 4"]),
        ("reduce-raises", ["KeyError: 'trouble in reduce'", "reduce of key 'reduce-raises'"]),
        ("list-key", ["key ['a', 'list']", "type list"]),
        ("random-value", ["in/bad.txt", "got different bytes", "not deterministic"]),
    ],
)
def test_a_failing_job_says_where_and_leaves_nothing(
    mpi: Mpi, folder: Path, word: str, messages: list[str]
) -> None:
    trouble(folder, word)
    done = alone(mpi, "run", FAILING, "in", "-o", "out", "-n", "5", "-p", "3", "-r", "2", cwd=folder)
    assert done.returncode not in (0, 2, 124), done.stderr
    for message in messages:
        assert message in done.stderr
    # The user's own traceback comes first, and begins in the user's file.
    if "raises" in word:
        first, second = done.stderr.splitlines()[:2]
        assert first.startswith("Traceback")
        assert FAILING in second
    nothing_whole(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["in"]


@pytest.mark.parametrize("word", ["map-raises", "reduce-raises"])
def test_the_same_under_the_users_own_mpirun(mpi: Mpi, folder: Path, word: str) -> None:
    trouble(folder, word)
    done = under_mpirun(mpi, 5, "run", FAILING, "in", "-o", "out", "-p", "3", "-r", "2", cwd=folder)
    assert done.returncode != 0
    assert "trouble in" in done.stderr
    nothing_whole(folder)


@pytest.mark.parametrize("word", ["map-kills", "reduce-kills"])
def test_a_killed_rank_ends_the_job(mpi: Mpi, folder: Path, word: str) -> None:
    trouble(folder, word)
    done = alone(mpi, "run", FAILING, "in", "-o", "out", "-n", "5", "-p", "3", "-r", "2", cwd=folder)
    assert done.returncode not in (0, 124)
    assert "out was not written" in done.stderr
    nothing_whole(folder)


def ranks_of(job: subprocess.Popen[str], mark: str) -> dict[int, int]:
    """Return {rank: pid} of a running job's ranks, by what stands in their environment."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"CODED_MR_TEST_MARK={mark}".encode() in variables:
            for variable in variables:
                name, _, value = variable.partition(b"=")
                if name in (b"OMPI_COMM_WORLD_RANK", b"PMI_RANK"):
                    found[int(value)] = int(entry.name)
    return found


@pytest.mark.parametrize("rank", [0, 2, 4], ids=["planner", "solver", "helper"])
def test_kill_9_of_any_rank_ends_the_job(mpi: Mpi, folder: Path, rank: int) -> None:
    slow = folder / "slow.py"
    slow.write_text(
        "import time\nfrom coded_mr import Job\n"
        "class Slow(Job):\n    def map(self, file):\n        time.sleep(300)\n        yield 1, 1\n"
    )
    words = ["run", str(slow), "in", "-o", "out", "-n", "5", "-p", "3", "-r", "2", "--costs", "1,2,1"]
    # Python would keep slow.py, compiled, beside it.
    environment = {**os.environ, "CODED_MR_TEST_MARK": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        [mpi.python, "-m", "coded_mr", *words], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as job:  # fmt: skip
        limit = time.monotonic() + LIMIT
        # The hidden directory appears when rank 0 has begun to plan: all ranks are in MPI then.
        while not list(folder.glob(".out.*")) and time.monotonic() < limit:
            time.sleep(0.05)
        os.kill(ranks_of(job, str(folder))[rank], signal.SIGKILL)
        _, errors = job.communicate(timeout=15)
    assert job.returncode not in (0, 124)
    assert "out was not written" in errors
    nothing_whole(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["in", "slow.py"]


def test_a_full_disk_names_the_path_and_the_remedy(mpi: Mpi, folder: Path) -> None:
    small = folder / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a small disk: {mounted.stderr.strip()}")
    try:
        (folder / "in" / "big.txt").write_text("".join(f"word{n} " for n in range(30_000)))
        done = alone(
            mpi, "run", WORDCOUNT, "in", "-o", "small/out", "-n", "5", "-p", "3", "-r", "2", cwd=folder
        )
        assert done.returncode not in (0, 124)
        assert "No space left on device" in done.stderr
        assert "free space" in done.stderr
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no/such/job.py", "in", "-o", "out"], "there is no such file"),
        ([WORDCOUNT, "in/missing.txt", "-o", "out"], "in/missing.txt"),
        ([WORDCOUNT, "nothing-in-here", "-o", "out"], "no input files"),
        ([WORDCOUNT, "in", "-o", "in"], "is the input"),
        ([WORDCOUNT, "in", "-o", "in/a.txt/out"], "in/a.txt"),
        ([WORDCOUNT, "in", "-o", "out", "--bogus"], "--bogus"),
        ([WORDCOUNT, "in", "-o", "out", "--costs", "1,2"], "three"),
        ([WORDCOUNT, "in", "-o", "out", "-p", "3", "-r", "4"], "computation load 4"),
        ([WORDCOUNT, "in", "-o", "out", "-n", "0"], "-n/--ranks: must be a whole number of at least 1"),
        ([WORDCOUNT, "in", "-o", "out", "--json", "no/such/dir.json"], "no/such"),
        ([WORDCOUNT, "in"], "--output"),
        (["jobless.py", "in", "-o", "out"], "no job"),
        (["broken.py", "in", "-o", "out"], "ZeroDivisionError"),
        ([str(TOP / "jobs" / "grep.py"), "in", "-o", "out"], "--pattern"),
        ([str(TOP / "jobs" / "grep.py"), "in", "-o", "out", "--pattern", "("], "no regular expression"),
        ([str(TOP / "jobs" / "terasort.py"), "in/a.txt", "-o", "out"], "multiple of the record length 100"),
    ],
)
def test_bad_requests_end_before_any_work(mpi: Mpi, folder: Path, words: list[str], message: str) -> None:
    (folder / "nothing-in-here").mkdir()
    (folder / "jobless.py").write_text("x = 1\n")
    (folder / "broken.py").write_text("1 / 0\n")
    (folder / "in" / "a.txt").write_text("x" * 150)
    done = alone(mpi, "run", *words, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    nothing_whole(folder)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([WORDCOUNT, "in/missing.txt", "-o", "out"], "in/missing.txt"),
        ([WORDCOUNT, "in", "-o", "out", "--bogus"], "--bogus"),
        ([WORDCOUNT, "in", "-o", "out", "-n", "5"], "leave -n out"),
    ],
)
def test_under_mpirun_one_rank_explains(mpi: Mpi, folder: Path, words: list[str], message: str) -> None:
    done = under_mpirun(mpi, 3, "run", *words, cwd=folder)
    assert done.returncode != 0
    assert done.stderr.count("coded-mr: ") >= 1
    assert message in done.stderr
    nothing_whole(folder)


def test_an_announcement_that_the_world_does_not_meet_is_refused(mpi: Mpi, folder: Path) -> None:
    names = {"openmpi": ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"), "mpich": ("PMI_SIZE", "PMI_RANK")}
    other = "openmpi" if mpi.flavour == "mpich" else "mpich"
    size, rank = names[other]
    done = alone(mpi, "run", WORDCOUNT, "in", "-o", "out", cwd=folder, **{size: "4", rank: "0"})
    assert done.returncode == 2, done.stderr
    assert "announced 4 ranks" in done.stderr
    nothing_whole(folder)


def test_the_standard_library_counted_by_five_ranks(mpi: Mpi, tmp_path: Path) -> None:
    """The README's first command on a part of its input: at least 3 MB of real text."""
    source = Path(sysconfig.get_path("stdlib"))
    pattern = f"{source}/[a-e]*/*.py"
    files = [path for path in source.glob("[a-e]*/*.py") if path.is_file()]
    done = alone(mpi, "run", WORDCOUNT, pattern, "-o", "out", "-n", "5", "-p", "3", "-r", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    truth = Counter(word for path in files for word in path.read_bytes().decode(errors="replace").split())
    assert counted(tmp_path / "out") == dict(truth)

"""What the doctor says of facts that are not as they should be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coded_mr.doctor import Finding, failed, listing
from coded_mr.doctor.checks import clocks, judge
from coded_mr.doctor.facts import Facts, Interface, Mpi, Space

VERSIONS = (("coded_mr", "1.0"), ("Python", "3.11"), ("mpi4py", "4.1"), ("numpy", "2.4"), ("msgspec", "0.23"))
PLENTY = 10**11


def healthy(rank: int, host: str = "a") -> Facts:
    """Describe a rank of a cluster that has two ranks a host."""
    return Facts(
        rank=rank,
        host=host,
        boot=f"kernel of {host}",
        processors=(0, 1),
        versions=VERSIONS,
        interfaces=(Interface("eth0", f"10.0.0.{ord(host)}", 10_000),),
        shared_memory=Space("/dev/shm", PLENTY, PLENTY, None),
        scratch=Space("/tmp", PLENTY, PLENTY, None),
        open_files=4096,
        file_bytes=None,
        multicast_problem=None,
        mpi=Mpi("Some MPI 1.0", "4.0", 3),
        job=7,
    )


WORLD = [healthy(0, "a"), healthy(1, "a"), healthy(2, "b"), healthy(3, "b")]


def troubles(facts: list[Facts]) -> list[Finding]:
    return [finding for finding in judge(facts) if finding.level != "ok"]


def with_rank(rank: int, **changes: object) -> list[Facts]:
    return [replace(each, **changes) if each.rank == rank else each for each in WORLD]


def with_host(host: str, **changes: object) -> list[Facts]:
    return [replace(each, **changes) if each.host == host else each for each in WORLD]


def test_a_healthy_world_has_nothing_to_mend():
    findings = judge(WORLD)
    assert troubles(WORLD) == []
    assert not failed(findings)
    said = listing(findings)
    for fact in (
        "coded_mr 1.0",
        "Some MPI 1.0, MPI 4.0",
        "4 ranks on 2 hosts: a (2), b (2)",
        "eth0 10.0.0.97",
    ):
        assert fact in said


OLD = (("coded_mr", "0.9"), *VERSIONS[1:])
NO_NUMPY = (*VERSIONS[:3], ("numpy", "missing"), VERSIONS[4])


@pytest.mark.parametrize(
    ("facts", "level", "what", "remedy"),
    [
        (
            with_rank(2, versions=OLD),
            "error",
            "coded_mr: 1.0 on ranks 0, 1, 3; 0.9 on rank 2",
            "same environment",
        ),
        (
            [replace(each, versions=NO_NUMPY) for each in WORLD],
            "error",
            "numpy is not installed",
            "pip install",
        ),
        (with_rank(3, mpi=Mpi("Other", "3.1", 3)), "error", "different MPI libraries", "same module"),
        (with_rank(1, mpi=Mpi("Some MPI 1.0", "4.0", 0)), "error", "thread level SINGLE", "MPI4PY_RC"),
        (with_rank(3, boot="another"), "error", "2 machines are called b", "name of its own"),
        (with_host("b", processors=(0,)), "warning", "2 ranks on b share 1 processor", "fewer ranks"),
        (with_host("b", interfaces=()), "error", "b has no network", "bring a network of b up"),
        (
            with_host("b", interfaces=(Interface("docker0", "10.0.0.97", None),)),
            "warning",
            "2 hosts have the same address 10.0.0.97 (docker0,eth0)",
            "if_exclude=lo,docker0,eth0",
        ),
        (
            with_host("a", multicast_problem="timed out"),
            "warning",
            "does not come back to its sender on a",
            "239",
        ),
        (
            with_host("b", shared_memory=Space("/dev/shm", 20 << 20, 64 << 20, None)),
            "warning",
            "20.97 MB free; 33.55 MB would do for 2 ranks",
            "--shm-size",
        ),
        (
            with_host("b", shared_memory=Space("/dev/shm", 0, 0, "/dev/shm: Permission denied")),
            "warning",
            "no shared memory on b: /dev/shm: Permission denied",
            "tmpfs",
        ),
        (
            with_host("a", scratch=Space("/x", 0, 0, "no /x")),
            "error",
            "no scratch space on a: no /x",
            "TMPDIR",
        ),
        (
            with_host("a", scratch=Space("/x", 10**6, PLENTY, None)),
            "warning",
            "only 1.00 MB free",
            "larger disk",
        ),
        (
            with_host("a", scratch=Space("/" + "x" * 80, PLENTY, PLENTY, None)),
            "warning",
            "81 characters long",
            "at most 60",
        ),
        (with_host("b", open_files=64), "warning", "at most 64 open files on b", "ulimit -n"),
        (with_host("b", file_bytes=10**9), "warning", "larger than 1.00 GB on b", "ulimit -f"),
        (with_host("b", job=8), "error", "CRC 00000007 on ranks 0, 1; CRC 00000008 on ranks 2, 3", "copy it"),
        (with_host("b", job=None, job_problem="no x.py"), "error", "on ranks 2, 3: no x.py", "same path"),
        (
            [replace(each, job_problem="broken") for each in WORLD],
            "error",
            "on ranks 0, 1, 2, 3: broken",
            "correct",
        ),
    ],
)
def test_each_trouble_is_named_with_a_remedy(facts, level, what, remedy):
    (finding,) = troubles(facts)
    assert finding.level == level
    assert what in finding.what
    assert remedy in finding.remedy
    assert failed(judge(facts)) == (level == "error")


@pytest.mark.parametrize("skew", [3.5, -3.5])
def test_a_clock_that_is_off_is_named(skew):
    finding = clocks(WORLD, [0, 0.001, -0.002, skew])
    assert finding.level == "warning"
    assert f"the clock of b differs by {skew:+.3f} s from that of a" in finding.what
    assert clocks(WORLD, [0, 0.001, -0.002, 0.003]).level == "ok"


def test_one_host_needs_no_network_and_one_rank_no_shared_memory():
    lonely = replace(healthy(0), interfaces=(), shared_memory=Space("/dev/shm", 0, 0, None))
    assert troubles([lonely]) == []


def test_without_a_job_nothing_is_said_of_it():
    assert not [f for f in judge([replace(each, job=None) for each in WORLD]) if "job" in f.what]


def test_many_hosts_and_ranks_stay_readable():
    crowd = [replace(healthy(rank), host=f"h{rank}", boot=f"{rank}", interfaces=()) for rank in range(500)]
    said = next(finding.what for finding in judge(crowd) if "hosts" in finding.what)
    assert said.endswith("h7 (1) and 492 more")
    old = [replace(each, job=each.rank % 2 + 1, interfaces=WORLD[0].interfaces) for each in crowd]
    (differs,) = [finding for finding in judge(old) if "job's files differ" in finding.what]
    assert "ranks 0, 2, 4, 6, 8, 10 and 244 more" in differs.what


def test_a_listing_has_the_remedy_under_what_it_mends():
    shown = listing([Finding("ok", "fine"), Finding("error", "bad\nworse", "mend it")])
    assert shown.splitlines() == [
        "ok       fine",
        "ERROR    bad",
        "         worse",
        "         -> mend it",
    ]

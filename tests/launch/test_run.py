"""How a launch ends: statuses, the job's mark, signals, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from coded_mr.errors import LaunchError
from coded_mr.launch import find_mpirun, launch, start

MakeLauncher = Callable[..., Path]
LAUNCH = """
import sys
from coded_mr.launch import launch
sys.exit(launch(2, ["run", "x y"], job_id=sys.argv[1], finished=lambda: True))
"""


def gone(pid: int) -> bool:
    """Wait until a process has ended (or is a zombie that nobody has collected yet)."""
    for _ in range(1000):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.01)
    return False


def content(path: Path) -> str:
    """Wait for a file that a process writes, and read it."""
    for _ in range(1000):
        if path.exists() and path.read_text().endswith("\n"):
            return path.read_text()
        time.sleep(0.01)
    raise AssertionError(f"{path} was never written")


@pytest.fixture
def use(make_launcher: MakeLauncher, monkeypatch: pytest.MonkeyPatch) -> MakeLauncher:
    """Return a maker of the launcher that `launch` finds."""

    def make(body: str, **options: str) -> Path:
        path = make_launcher(body, **options)
        monkeypatch.setenv("CODED_MR_MPIRUN", str(path))
        return path

    return make


def test_command_line_input_and_job(use: MakeLauncher, tmp_path: Path) -> None:
    out = tmp_path / "out"
    use(f"""cat > {out}; printf '%s\\n' "$CODED_MR_JOB_ID" "$@" >> {out}""")
    assert launch(3, ["run", "a b", ""], job_id="job-line", finished=lambda: True) == 0
    assert out.read_text().splitlines() == [
        *("job-line", "-n", "3", sys.executable, "-m", "coded_mr", "run", "a b", "")
    ]


def test_open_mpi_is_told_to_forward_the_job(use: MakeLauncher, tmp_path: Path) -> None:
    use(f'echo "$1 $2 $3 $4" > {tmp_path}/out', says="mpirun (Open MPI) 5.0.11")
    assert launch(2, [], job_id="job-forward", finished=lambda: True) == 0
    assert (tmp_path / "out").read_text() == "-x CODED_MR_JOB_ID -n 2\n"


@pytest.mark.parametrize(("body", "status"), [("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)])
def test_status_is_the_launchers(use: MakeLauncher, body: str, status: int) -> None:
    use(body)
    assert launch(2, [], job_id=f"job-status-{status}", finished=lambda: True) == status


def test_zero_without_the_mark_is_a_failure(use: MakeLauncher) -> None:
    use("exit 0")
    with pytest.raises(LaunchError, match="job-unmarked never finished: a host or") as caught:
        launch(2, [], job_id="job-unmarked", finished=lambda: False)
    assert caught.value.exit_status == 1


def test_no_ranks_is_refused(use: MakeLauncher) -> None:
    use("exit 0")
    with pytest.raises(LaunchError, match="at least 1 rank"):
        launch(0, [], job_id="job-none", finished=lambda: True)


def test_survivor_of_a_failed_launch_is_killed(use: MakeLauncher, tmp_path: Path) -> None:
    use(f"trap '' TERM HUP; setsid sleep 1000 & echo $! > {tmp_path}/pid; exit 3")
    assert launch(2, [], job_id="job-survivor", finished=lambda: True) == 3
    assert gone(int(content(tmp_path / "pid")))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_the_world(use: MakeLauncher, tmp_path: Path, number: signal.Signals) -> None:
    use(f"""
        trap 'echo term > {tmp_path}/seen; kill $child; exit 1' TERM
        trap 'echo other > {tmp_path}/seen' INT HUP
        sleep 1000 & child=$!
        echo $child > {tmp_path}/pid
        wait""")
    us = subprocess.Popen([sys.executable, "-c", LAUNCH, f"job-signal-{number}"])
    child = int(content(tmp_path / "pid"))
    us.send_signal(number)
    assert us.wait(timeout=60) == 128 + number
    assert (tmp_path / "seen").read_text() == "term\n"
    assert gone(child)


def test_deaf_launcher_is_killed_with_its_ranks(
    use: MakeLauncher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(f"trap '' TERM; sleep 1000 & echo $! > {tmp_path}/pid; while :; do wait; done")
    program = "import coded_mr.launch.mpirun as m; m.GRACE_SECONDS = 0.2\n" + LAUNCH
    us = subprocess.Popen([sys.executable, "-c", program, "job-deaf"])
    rank = int(content(tmp_path / "pid"))
    us.terminate()
    assert us.wait(timeout=60) == 128 + signal.SIGTERM
    assert gone(rank)


def test_killed_parent_takes_the_launcher_along(use: MakeLauncher, tmp_path: Path) -> None:
    use(f"""
        trap 'echo term > {tmp_path}/seen; exit' TERM
        echo $$ > {tmp_path}/pid
        while :; do sleep 0.05; done""")
    us = subprocess.Popen([sys.executable, "-c", LAUNCH, "job-orphan"])
    launcher = int(content(tmp_path / "pid"))
    us.kill()
    us.wait()
    assert gone(launcher)
    assert content(tmp_path / "seen") == "term\n"


def test_ignored_hangup_stays_ignored(use: MakeLauncher, tmp_path: Path) -> None:
    use(f"echo $$ > {tmp_path}/pid; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; exit 5")
    program = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + LAUNCH
    us = subprocess.Popen([sys.executable, "-c", program, "job-nohup"])
    content(tmp_path / "pid")
    us.send_signal(signal.SIGHUP)
    (tmp_path / "go").touch()
    assert us.wait(timeout=60) == 5


def test_world_has_its_own_session(use: MakeLauncher, tmp_path: Path) -> None:
    path = use(f"cut -d' ' -f6 /proc/$$/stat > {tmp_path}/sid")
    process = start(find_mpirun({"CODED_MR_MPIRUN": str(path)}), 1, ["true"], job_id="job-session")
    assert process.wait(timeout=60) == 0
    assert int((tmp_path / "sid").read_text()) == process.pid != os.getsid(0)

"""Time README's first command as somebody types it who has just cloned the repository.

    python -m benchmarks.newcomer [--python PYTHON]

Clones the repository into a temporary directory, with an empty pip cache and without the settings of the
environment that runs this, runs the command step by step, and shows the seconds of each step, all that was
printed, and the size of what was installed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from coded_mr.text import bytes_text

TOP = Path(__file__).parents[1]
LIMIT_SECONDS = 600
OF_A_DEVELOPER = ("PYTHON", "VIRTUAL_ENV", "OMPI_", "PRTE_", "PMIX_", "CODED_MR_")
MARK = "== the next step of a newcomer =="


def steps(readme: str) -> list[str]:
    """Return the parts of README's first command, as `&&` joins them."""
    found = re.search(r"^    (python3 -m venv .*)$", readme, re.MULTILINE)
    assert found is not None, "README.md does not begin with a command that makes an environment"
    return found[1].split(" && ")


def clone(target: Path) -> None:
    """Clone the last commit, as it is here."""
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{TOP}", str(target)], check=True)


def surroundings(scratch: Path, python: str) -> dict[str, str]:
    """Return an environment in which nothing has been prepared, and `python3` is this Python."""
    (scratch / "bin").mkdir()
    (scratch / "bin" / "python3").symlink_to(python)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OF_A_DEVELOPER)}
    return {**kept, "PATH": f"{scratch / 'bin'}:{os.defpath}", "PIP_NO_CACHE_DIR": "1"}


def run(command: list[str], folder: Path, env: dict[str, str]) -> Iterator[tuple[float, str]]:
    """Run the steps in one shell and yield seconds and output of each; raises when one fails."""
    marked = f" && echo '{MARK}' && ".join([*command, "true"])
    began = time.perf_counter()
    shell = ["timeout", "-k", "5", str(LIMIT_SECONDS), "bash", "-c", marked]
    with subprocess.Popen(
        shell, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        said: list[str] = []
        for line in process.stdout:
            if line.strip() != MARK:
                said.append(line)
                continue
            now = time.perf_counter()
            yield now - began, "".join(said)
            began, said = now, []
    if process.returncode:
        raise SystemExit(f"failed with status {process.returncode}:\n{''.join(said)}")


def size(folder: Path) -> int:
    """Return the bytes of the files below a directory."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", default=getattr(sys, "_base_executable", sys.executable))
    options = parser.parse_args()
    command = steps((TOP / "README.md").read_text())
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "clone"
        clone(folder)
        env = surroundings(Path(scratch), options.python)
        total = 0.0
        for step, (seconds, said) in zip(command, run(command, folder, env), strict=True):
            total += seconds
            print(f"{seconds:7.1f} s  {step}")
            print("".join(f"           | {line}\n" for line in said.splitlines()), end="", flush=True)
        print(f"{total:7.1f} s  in all; installed: {bytes_text(size(folder / '.venv'))}")


if __name__ == "__main__":
    main()

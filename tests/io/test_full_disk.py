"""Storage that refuses: the message says how far it came, and no half part stays."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from coded_mr.errors import OutputError, StorageError
from coded_mr.io import OutputDirectory, check_output

MIB = 1 << 20


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of one MiB."""
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root and mount(8)")
    disk = tmp_path / "disk"
    disk.mkdir()
    options = ["-t", "tmpfs", "-o", "size=1m,nr_inodes=8", "tmpfs", str(disk)]
    mounted = subprocess.run([mount, *options], capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"cannot mount a small file system: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.fixture
def output(tmp_path: Path) -> OutputDirectory:
    made = OutputDirectory(str(tmp_path / "out"), "j1", overwrite=False)
    made.prepare()
    return made


@pytest.fixture
def size_limit() -> Iterator[int]:
    """Refuse files of more than 100,000 bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    yield 100_000
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("block", [1000, MIB, 9 * MIB])
def test_a_full_disk_is_reported_with_what_is_free(small_disk: Path, block: int) -> None:
    output = OutputDirectory(str(small_disk / "out"), "j1", overwrite=False)
    output.prepare()
    good = output.write_part(0, [b"x" * 300_000])
    with pytest.raises(StorageError) as refused:
        output.write_part(1, (bytes(block) for _ in range(9 * MIB // block)))
    message = str(refused.value)
    assert f"cannot write {output.temporary}/.part-00001.tmp: No space left on device after " in message
    written = int(message.split(" after ")[1].split()[0])
    assert 0 < written <= MIB - 300_000
    assert "0 bytes free; free space" in message
    assert listing(output.temporary) == ["part-00000"]
    assert (output.temporary / "part-00000").stat().st_size == good.bytes
    output.abandon()
    assert listing(small_disk) == []


def test_a_disk_without_inodes_is_reported_before_any_work(small_disk: Path) -> None:
    with suppress(OSError):
        for number in range(9):
            (small_disk / str(number)).touch()
    with pytest.raises(OutputError, match="No space left on device; free space"):
        check_output(str(small_disk / "out"), False)


def test_a_mount_point_cannot_be_the_output(small_disk: Path) -> None:
    with pytest.raises(OutputError, match="is a mount point: name a directory inside it"):
        check_output(str(small_disk), False)


def test_a_device_that_is_always_full(output: OutputDirectory) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    (output.temporary / ".part-00000.tmp").symlink_to("/dev/full")
    with pytest.raises(StorageError, match=r"No space left on device after 0 bytes, with \d+ bytes free"):
        output.write_part(0, [b"x"])
    assert listing(output.temporary) == []


@pytest.mark.parametrize("block", [7, 100_001])
def test_the_file_size_limit_is_reported(output: OutputDirectory, size_limit: int, block: int) -> None:
    with pytest.raises(StorageError, match=rf"File too large after {size_limit} bytes.*ulimit -f"):
        output.write_part(0, (bytes(block) for _ in range(20_000)))
    assert listing(output.temporary) == []


def test_a_missing_directory_is_reported(output: OutputDirectory) -> None:
    output.temporary.rmdir()
    with pytest.raises(StorageError, match=r"part-00000\.tmp: No such file or directory after"):
        output.write_part(0, [b"x"])


def test_a_refused_success_mark_leaves_no_output(output: OutputDirectory, size_limit: int) -> None:
    with pytest.raises(StorageError, match=r"_SUCCESS\.tmp: File too large"):
        output.commit({"parts": [], "note": "x" * (size_limit + 1)})
    assert not output.final.exists()
    output.abandon()
    assert not output.temporary.exists()

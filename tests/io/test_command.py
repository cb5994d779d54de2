"""A command between two pipes: whatever it does, nothing hangs, is lost or goes unsaid."""

from __future__ import annotations

import os
import shlex
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coded_mr.errors import InputError, UserCodeError
from coded_mr.io.command import Command

MEGABYTES = 8


def given(command: str, *blocks: bytes, **settings: str) -> bytes:
    return b"".join(Command(command, "mapper").run(blocks, settings, "of a.txt"))


def python(program: str) -> str:
    return shlex.join([sys.executable, "-c", program])


def children() -> list[str]:
    return (Path("/proc/self/task") / str(os.getpid()) / "children").read_text().split()


def test_bytes_pass_as_they_are() -> None:
    data = bytes(range(256)) * 3
    assert given("cat", data[:100], b"", data[100:]) == data
    assert given("cat") == b""


def test_much_in_both_directions_at_once_does_not_stop() -> None:
    line = b"x" * 1023 + b"\n"
    assert given("cat", *[line * 1024] * MEGABYTES) == line * 1024 * MEGABYTES


def test_output_before_any_input_is_read_does_not_stop() -> None:
    first = f"import sys; sys.stdout.write('y' * {MEGABYTES << 20}); sys.stdout.flush();"
    written = given(python(f"{first} print(len(sys.stdin.read()))"), b"z" * (MEGABYTES << 20))
    assert written == b"y" * (MEGABYTES << 20) + f"{MEGABYTES << 20}\n".encode()


def test_standard_error_may_be_long() -> None:
    assert given(python(f"import sys; sys.stderr.write('e' * {MEGABYTES << 20}); print('out')")) == b"out\n"


def test_a_command_that_has_read_enough_may_stop() -> None:
    assert given("head -n 1", *[b"line\n" * 100_000] * MEGABYTES) == b"line\n"
    assert given("true", *[b"line\n" * 100_000] * MEGABYTES) == b""


def test_words_are_split_as_a_shell_does_but_no_shell_reads_them() -> None:
    assert given("printf '%s|' 'a b' \"c'd\" $HOME *") == b"a b|c'd|$HOME|*|"
    assert given('sh -c \'printf "%s" "$LETTER" | tr a b\'', LETTER="a") == b"b"


@pytest.mark.parametrize(
    ("status", "said"),
    [("exit 3", "ended with status 3"), ("kill -TERM $$", "was killed by SIGTERM")],
)
def test_a_failure_names_command_file_and_status_with_the_end_of_standard_error(
    status: str, said: str
) -> None:
    command = f"sh -c 'seq 100000 >&2; echo the reason >&2; cat; {status}'"
    with pytest.raises(UserCodeError) as caught:
        given(command, b"line\n")
    first, *rest = str(caught.value).splitlines()
    assert first == f"the mapper `{command}` of a.txt {said}; it wrote:"
    assert rest[-2:] == ["  100000", "  the reason"]
    assert len(str(caught.value)) < 10_000


def test_what_came_before_a_failure_is_handed_on_but_the_failure_is_not_forgotten() -> None:
    lines = Command("sh -c 'echo out; exit 1'", "mapper").run([], {}, "of a.txt")
    assert next(lines) == b"out\n"
    with pytest.raises(UserCodeError, match="status 1"):
        next(lines)


def test_shell_syntax_without_a_shell_is_explained() -> None:
    with pytest.raises(UserCodeError, match=r"`\|` was an argument, for no shell reads the command"):
        given("ls | sort")


def test_an_input_that_fails_ends_the_command() -> None:
    def broken() -> Iterator[bytes]:
        yield b"line\n"
        raise InputError("gone")

    with pytest.raises(InputError, match="gone"):
        list(Command("sh -c 'cat; sleep 600'", "mapper").run(broken(), {}, "of a.txt"))
    assert not children()


def test_a_reader_that_goes_away_ends_the_command() -> None:
    written = Command("yes", "mapper").run([], {}, "of a.txt")
    assert next(written).startswith(b"y\n")
    written.close()  # type: ignore[attr-defined]
    assert not children()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("", "is an empty command"),
        ("cat 'x", "is no command: No closing quotation"),
        ("no-such-program", f"{socket.gethostname()} has no program no-such-program, neither in PATH nor in"),
        ("./absent.sh", f"there is no {{here}}/absent.sh on {socket.gethostname()}"),
        ("plain.py", "plain.py is not executable on .* as in `python3 plain.py`"),
        ("./folder", "folder is a directory"),
    ],
)
def test_a_command_that_cannot_run_is_refused_beforehand(
    command: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.py").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(ValueError, match=said.format(here=tmp_path)):
        Command(command, "mapper")


def test_a_script_may_lie_in_the_current_directory_and_needs_its_first_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "mapper.sh"
    script.write_text("#!/bin/sh\ncat\n")
    script.chmod(0o755)
    assert given("mapper.sh", b"line\n") == b"line\n"
    assert Command("mapper.sh mapper.sh other", "mapper").scripts() == [Path("mapper.sh")]
    assert Command("./mapper.sh", "mapper").scripts() == [Path("./mapper.sh")]
    assert Command("cat", "mapper").scripts() == []
    script.write_text("cat\n")
    with pytest.raises(UserCodeError, match=r"does it lack its first line, such as #!/bin/sh\?") as caught:
        given("mapper.sh", b"line\n")
    assert caught.value.__cause__ is None

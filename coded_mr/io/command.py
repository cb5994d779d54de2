"""A command that turns lines into lines: one process, written to and read from at the same time."""

from __future__ import annotations

import errno
import os
import selectors
import shlex
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from coded_mr.errors import UserCodeError

__all__ = ["Command"]

_READ_BYTES = 1 << 16
_KEPT_BYTES = 4096
_OPERATORS = frozenset({"|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>&1"})


@dataclass(frozen=True)
class Command:
    """Name a program and its arguments as one would in a shell, though no shell sees them.

    role: what it is to the job, for messages.  Raises ValueError when the text cannot be split into words,
    or when this host has no such program.
    """

    text: str
    role: str

    def __post_init__(self) -> None:
        """Find the program, so that its absence is known before it is needed."""
        self.words()

    def words(self) -> list[str]:
        """Return the path of the program, and its arguments.

        A name without a slash is looked for in PATH, then in the current directory.
        """
        try:
            words = shlex.split(self.text)
        except ValueError as error:
            raise ValueError(f"the {self.role} `{self.text}` is no command: {error}") from error
        if not words:
            raise ValueError(f"the {self.role} is an empty command")
        program = shutil.which(words[0]) or shutil.which(f"./{words[0]}")
        if program is None:
            raise ValueError(f"the {self.role} `{self.text}` cannot run: {_absence(words[0])}")
        return [program, *words[1:]]

    def scripts(self) -> list[Path]:
        """Return the words that name files: the program, unless PATH led to it, and its arguments."""
        program, *arguments = self.words()
        own = [program] if os.sep in shlex.split(self.text)[0] else []
        return [path for path in map(Path, [*own, *arguments]) if path.is_file()]

    def run(self, blocks: Iterable[bytes], settings: Mapping[str, str], where: str) -> Iterator[bytes]:
        """Yield what the command writes as it is given the blocks; `settings` join its environment.

        The command may stop reading when it has read enough.  Raises UserCodeError when it does not start
        or ends with a status that is not 0; the message says so of `where` and has the end of what the
        command wrote to standard error.  What the blocks raise ends the command.
        """
        process = self._start(settings, where)
        said = _End()
        try:
            yield from _exchange(process, iter(blocks), said)
            status = process.wait()
        finally:
            _leave(process)
        if status:
            raise UserCodeError(self._failure(status, where) + str(said))

    def _start(self, settings: Mapping[str, str], where: str) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self.words(),
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **settings},
            )
        except ValueError as error:
            raise UserCodeError(f"{error} ({where})") from None
        except OSError as error:
            hint = "; does it lack its first line, such as #!/bin/sh?" if error.errno == errno.ENOEXEC else ""
            # Without a cause: its traceback would show our code, not the user's.
            raise UserCodeError(
                f"the {self.role} `{self.text}` {where} cannot be started: {error.strerror}{hint}"
            ) from None

    def _failure(self, status: int, where: str) -> str:
        how = f"ended with status {status}" if status > 0 else f"was killed by {signal.Signals(-status).name}"
        text = f"the {self.role} `{self.text}` {where} {how}"
        operators = sorted(_OPERATORS.intersection(shlex.split(self.text)))
        if operators:
            text += f"; `{operators[0]}` was an argument, for no shell reads the command: write sh -c '...'"
        return text


def _absence(program: str) -> str:
    """Say why a program cannot be run on this host."""
    place = Path(program)
    host = socket.gethostname()
    if place.is_dir():
        return f"{program} is a directory on {host}"
    if place.is_file():
        return (
            f"{program} is not executable on {host}: chmod +x it, or name its interpreter first, as in "
            f"`python3 {program}`"
        )
    if os.sep in program:
        return f"there is no {place.absolute()} on {host}, which every host must have"
    return f"{host} has no program {program}, neither in PATH nor in {Path.cwd()}; every host must have it"


class _End:
    """Keep the end of what a command wrote to standard error."""

    def __init__(self) -> None:
        self._kept = b""

    def add(self, data: bytes) -> None:
        """Take more of it."""
        self._kept = (self._kept + data)[-_KEPT_BYTES:]

    def __str__(self) -> str:
        """Return it for the end of a message."""
        lines = self._kept.decode("utf-8", "backslashreplace").strip().splitlines()
        return "\n".join(["; it wrote:" if lines else "", *(f"  {line}" for line in lines)])


def _exchange(process: subprocess.Popen[bytes], blocks: Iterator[bytes], said: _End) -> Iterator[bytes]:
    """Write the blocks and yield what is written, whichever is possible first: nobody waits for another."""
    stdin, stdout, stderr = (_pipe(pipe) for pipe in (process.stdin, process.stdout, process.stderr))
    unwritten = memoryview(b"")
    with selectors.DefaultSelector() as ready:
        ready.register(stdin, selectors.EVENT_WRITE)
        ready.register(stdout, selectors.EVENT_READ)
        ready.register(stderr, selectors.EVENT_READ)
        while ready.get_map():
            for key, _ in ready.select():
                if key.fileobj is stdin:
                    if not unwritten:
                        unwritten = memoryview(next(filter(None, blocks), b""))
                    written = _write(key.fd, unwritten)
                    unwritten = unwritten[written:]
                    if not written:
                        ready.unregister(stdin)
                        stdin.close()
                    continue
                data = os.read(key.fd, _READ_BYTES)
                if not data:
                    ready.unregister(key.fileobj)
                elif key.fileobj is stdout:
                    yield data
                else:
                    said.add(data)


def _pipe(pipe: IO[Any] | None) -> IO[Any]:
    """Return our end of a pipe, which never makes us wait."""
    assert pipe is not None
    os.set_blocking(pipe.fileno(), False)
    return pipe


def _write(pipe: int, data: memoryview) -> int:
    """Write what fits and return how much; 0: nothing is left, or nobody reads any more."""
    try:
        return os.write(pipe, data) if data else 0
    except BrokenPipeError:
        return 0


def _leave(process: subprocess.Popen[bytes]) -> None:
    """End a process that still runs, and let go of its pipes."""
    if process.poll() is None:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()

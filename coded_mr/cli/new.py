"""`coded-mr new`: write a job to start from, and its test."""

from __future__ import annotations

import keyword
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from string import Template

from coded_mr.cli import Parser
from coded_mr.errors import OutputError, UsageError

__all__ = ["main"]

_JOB = Template('''\
"""Count words of a minimum length: `coded-mr run $file INPUT... -o OUT`."""

from __future__ import annotations

from collections.abc import Iterator

from coded_mr import InputFile, Job

__all__ = ["$name"]


class $name(Job):
    """Say here what the job does: the help of its options begins with it.

    shortest: leave shorter words out
    """

    # An annotation is a parameter: this one is the option --shortest. Without a default it is required.
    shortest: int = 1

    def map(self, file: InputFile) -> Iterator[tuple[str, int]]:
        """Yield (key, value) pairs of one file, or of one part of a large file, cut at line ends.

        Several ranks map the same file and must get the same pairs: no time, no unseeded random numbers,
        no order of a set. Keys and values are str, bytes, int, float, bool, None and tuples of these.
        """
        for line in file.lines():
            for word in line.split():
                if len(word) >= self.shortest:
                    yield word, 1

    def combine(self, key: str, values: list[int]) -> int:
        """Return one value that stands for several of a key, so that less is sent; delete it if none can.

        Its own results may be among the values.
        """
        return sum(values)

    def reduce(self, key: str, values: list[int]) -> Iterator[tuple[str, int]]:
        """Yield the (key, value) pairs of output for a key; each becomes a line: key, tab, value."""
        yield key, sum(values)
''')
_TEST = Template('''\
"""Test $file without MPI: `python -m pytest $test`."""

from __future__ import annotations

from pathlib import Path

from coded_mr.doctor.rehearsal import rehearse
from $module import $name


def output(job: $name, folder: Path, partitions: int) -> dict[str, int]:
    """Run a job on the files of a folder, in this process, and read what it would write."""
    lines = b"".join(rehearse(job, [str(folder)], partitions=partitions)).decode().splitlines()
    return {key: int(value) for key, value in (line.split("\\t") for line in lines)}


def test_the_words_of_all_files_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("to be or not to be\\n")
    (tmp_path / "b.txt").write_text("be\\n")
    assert output($name(), tmp_path, partitions=3) == {"to": 2, "be": 3, "or": 1, "not": 1}


def test_short_words_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("to be or not to be\\n")
    assert output($name(shortest=3), tmp_path, partitions=1) == {"not": 1}
''')


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    parser = Parser(
        prog="coded-mr new",
        description="Write a job that works and says what may be changed, and its test beside it. Nothing "
        "that exists is replaced.",
    )
    parser.add_argument("file", metavar="FILE", help="the job's file, such as myjob.py")
    target = Path(parser.parse_args(list(arguments)).file)
    module = target.stem
    if target.suffix != ".py" or not module.isidentifier() or keyword.iskeyword(module):
        raise UsageError(
            f"{target} cannot be imported: name a .py file after letters, digits and _: myjob.py"
        )
    test = target.with_name(f"test_{target.name}")
    words = {"file": target.name, "test": test.name, "module": module, "name": _class_name(module)}
    _write({target: _JOB.substitute(words), test: _TEST.substitute(words)})
    print(f"wrote {target} and {test}. Next:")
    print(f"  {sys.executable} -m pytest {test}")
    print(f"  coded-mr check {target} INPUT...")
    print(f"  coded-mr run {target} INPUT... -o OUT")
    return 0


def _class_name(module: str) -> str:
    name = "".join(part[:1].upper() + part[1:] for part in module.split("_"))
    return name if name.isidentifier() and name not in ("Job", "InputFile") else f"My{name}"


def _write(files: dict[Path, str]) -> None:
    """Write all files or none.  Raises OutputError, for a file that exists too."""
    made: list[Path] = []
    try:
        for path, text in files.items():
            with path.open("x", encoding="utf-8") as file:
                made.append(path)
                file.write(text)
    except OSError as error:
        for path in made:
            with suppress(OSError):
                path.unlink()
        reason = "it exists" if isinstance(error, FileExistsError) else error.strerror
        raise OutputError(
            f"cannot write {path}: {reason}; nothing was written: choose another name"
        ) from error

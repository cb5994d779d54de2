"""What the ranks of a setting are told, as a file that all of them read."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.network.settings import Rival, Setting

__all__ = ["Task"]


@dataclass(frozen=True)
class Task:
    """Hold the runs that are due, round by round, and where everything is.

    setting   whose rivals have been replaced by those of `due`
    due       (round, rival) in order
    inputs    paths of the input; `expected` is what to compare the result with: the checksum of the records,
              or a file with the sorted lines of the output
    scratch   a directory that all hosts see
    records   the file to which runs are appended
    deadline  time.time() after which no run begins
    """

    setting: Setting
    due: tuple[tuple[int, Rival], ...]
    inputs: tuple[str, ...]
    expected: str
    scratch: str
    records: str
    deadline: float

    def save(self, path: Path) -> None:
        """Write what `load` reads."""
        path.write_text(json.dumps(asdict(replace(self, setting=replace(self.setting, rivals=())))))

    @classmethod
    def load(cls, path: str) -> Task:
        """Read a task."""
        fields = json.loads(Path(path).read_text())
        fields["setting"] = Setting(**fields["setting"])
        fields["due"] = tuple((number, Rival(**rival)) for number, rival in fields["due"])
        fields["inputs"] = tuple(fields["inputs"])
        return cls(**fields)

"""What README leaves to its reader: names for JOB, INPUT and the like, and files that its commands take."""

from __future__ import annotations

from pathlib import Path

import numpy as np

__all__ = ["completed", "prepare"]

_WORDS = {
    "INPUT...": "texts",
    "INPUT": "texts",
    "JOB": "jobs/wordcount.py",
    "OUT": "words --overwrite",
    "CMD": "cat",
    "[options]": "--json RUN.json",
    "compare": "compare --rounds 1",
    "8": "4",
    "1000000": "10000",
    "/data/texts": "texts",
    "/data/words": "words",
}


def completed(command: str) -> str:
    """Return a command with the words that README leaves open filled in, and smaller numbers."""
    return " ".join(_WORDS.get(word, word) for word in command.split(" "))


def prepare(folder: Path) -> None:
    """Make the files that README's commands take."""
    (folder / "texts").mkdir()
    (folder / "texts" / "a.txt").write_text("to be or not to be\nthat is the question\n" * 20)
    (folder / "texts" / "b.txt").write_text("the rest is silence\n" * 30)
    random = np.random.default_rng(1)
    np.save(folder / "A.npy", random.integers(0, 256, (120, 30), dtype=np.uint8))
    np.save(folder / "X.npy", random.integers(0, 256, (30, 4), dtype=np.uint8))
    np.save(folder / "x.npy", random.standard_normal(30))
    np.save(folder / "w.npy", random.standard_normal(4))

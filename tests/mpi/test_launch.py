"""Run the files of ranks/ under each MPI at each world size: all of one size in one launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.mpi.checks import blamed, run_checks, sizes
from tests.mpi.interpreters import Mpi

FILES = sorted((Path(__file__).parent / "ranks").glob("check_*.py"))


@dataclass(frozen=True)
class World:
    """Hold how the checks of some files ended in one world: what its ranks said, and on account of which."""

    failed: bool
    said: str
    blamed: Sequence[Path]


@pytest.fixture(scope="session")
def world_of(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Mpi, int], World]:
    """Return what runs on n ranks those files that are asked for at that size: each world starts once."""
    chosen: dict[int, set[Path]] = {}
    for item in request.session.items:
        if isinstance(item, pytest.Function) and item.originalname == test_ranks.__name__:
            chosen.setdefault(item.callspec.params["n"], set()).add(item.callspec.params["path"])

    @cache
    def run(mpi: Mpi, n: int) -> World:
        paths = sorted(chosen[n])
        ended = run_checks(mpi, paths, n, tmp_path_factory.mktemp("ranks"))
        said = f"status {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
        return World(ended.returncode != 0, said, blamed(said, paths))

    return run


@pytest.mark.parametrize(
    ("path", "n"),
    [pytest.param(path, n, id=f"{path.stem}-{n}") for path in FILES for n in sizes(path)],
)
def test_ranks(mpi: Mpi, path: Path, n: int, world_of: Callable[[Mpi, int], World]) -> None:
    world = world_of(mpi, n)
    if world.failed and path in world.blamed:
        pytest.fail(world.said, pytrace=False)
    if world.failed:
        pytest.skip(f"its world was ended by {', '.join(other.name for other in world.blamed)}")

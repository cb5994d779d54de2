"""Finding inputs: what counts, in which order, and what is refused."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from coded_mr.errors import InputError
from coded_mr.io import Source, discover

NOBODY = 65534


def put(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def names(sources: list[Source]) -> list[str]:
    return [source.path for source in sources]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Run as a user whom permission bits bind: root would read everything."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    yield
    os.seteuid(user)


def test_arguments_keep_their_order_and_directories_are_sorted_by_bytes(here: Path) -> None:
    put(here, "d/b", "d/a/z", "d/a-b", "d/.h", "d/\u00e9", "d/Z", "z", "a")
    assert names(discover(["z", "d", "a"])) == ["z", "d/.h", "d/Z", "d/a-b", "d/a/z", "d/b", "d/\u00e9", "a"]


def test_outputs_of_jobs_are_read_without_their_marks(here: Path) -> None:
    put(here, "out/part-00000", "out/_SUCCESS", ".out.coded-mr-j7/part-00000", "out/.x.coded-mr-old-1/a")
    assert names(discover(["."])) == ["./out/part-00000"]
    assert names(discover(["out/*"])) == ["out/part-00000"]
    assert names(discover(["out/_SUCCESS"])) == ["out/_SUCCESS"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.txt", ["a.txt", "b.txt"]),
        ("**/*.txt", ["a.txt", "b.txt", "d/c.txt", "d/e/f.txt"]),
        ("d/**", ["d/c.txt", "d/e/f.txt", "d/e/g"]),
        ("d/*", ["d/c.txt", "d/e/f.txt", "d/e/g"]),
        ("d/*/", ["d/e/f.txt", "d/e/g"]),
        ("**/e/*", ["d/e/f.txt", "d/e/g"]),
        ("[ab].t?t", ["a.txt", "b.txt"]),
        (".*.txt", [".h.txt"]),
        ("*/c.txt", ["d/c.txt"]),
    ],
)
@pytest.mark.parametrize("absolute", [False, True])
def test_patterns(here: Path, pattern: str, found: list[str], absolute: bool) -> None:
    put(here, "b.txt", "a.txt", ".h.txt", "d/c.txt", "d/e/f.txt", "d/e/g", ".hidden/i.txt")
    base = f"{here}/" if absolute else ""
    assert names(discover([base + pattern])) == [base + name for name in found]


def test_a_name_with_magic_characters_is_that_file_if_it_exists(here: Path) -> None:
    put(here, "a[1]*", "a1b")
    assert names(discover(["a[1]*"])) == ["a[1]*"]
    (here / "a[1]*").unlink()
    assert names(discover(["a[1]*"])) == ["a1b"]


def test_the_same_path_counts_once_and_first(here: Path) -> None:
    put(here, "d/a", "d/b")
    assert names(discover(["d/b", "d", "./d/../d/a", str(here / "d" / "b"), "d/*"])) == ["d/b", "d/a"]


def test_links_to_files_are_followed_and_linked_directories_are_not_entered(here: Path) -> None:
    put(here, "d/a", "elsewhere/b")
    (here / "d" / "file").symlink_to("../elsewhere/b")
    (here / "d" / "folder").symlink_to("../elsewhere")
    (here / "d" / "loop").symlink_to(".")
    assert names(discover(["d"])) == ["d/a", "d/file"]
    assert names(discover(["d/**/*"])) == ["d/a", "d/file"]
    assert names(discover(["d/folder"])) == ["d/folder/b"]


def test_size_compression_and_weight(here: Path) -> None:
    (here / "a.GZ").write_bytes(bytes(10))
    (here / "b.gz.txt").write_bytes(bytes(10))
    found = discover(["."])
    assert found == [Source("./a.GZ", 10, "gz"), Source("./b.gz.txt", 10, None)]
    assert [source.weight for source in found] == [40, 10]


def test_empty_files_are_inputs(here: Path) -> None:
    (here / "a").touch()
    assert discover(["."]) == [Source("./a", 0, None)]


def test_missing_inputs_are_named_together_up_to_five(here: Path) -> None:
    with pytest.raises(InputError, match=r"^cannot use input gone: No such file or directory; check") as one:
        discover(["gone"])
    assert str(here) in str(one.value)
    put(here, "there")
    with pytest.raises(InputError) as many:
        discover(["m1", "there", "m2", "m3/x", "there/x", "m*5", "", "m7"])
    lines = str(many.value).splitlines()
    assert lines[0] == "cannot use 7 inputs:"
    assert [line.split(":")[0].strip() for line in lines[1:6]] == ["m1", "m2", "m3/x", "there/x", "m*5"]
    assert "nothing matches the pattern" in lines[5]
    assert lines[6] == "  and 2 more"


@pytest.mark.parametrize("inputs", [["empty"], ["empty", "marked"], ["mark*"], []])
def test_no_files_at_all_is_an_error(here: Path, inputs: list[str]) -> None:
    (here / "empty").mkdir()
    put(here, "marked/_SUCCESS")
    with pytest.raises(InputError, match="no input files in"):
        discover(inputs)


@pytest.mark.parametrize("kind", ["fifo", "socket", "device"])
def test_special_files_are_refused_by_name_and_skipped_elsewhere(here: Path, kind: str) -> None:
    put(here, "d/a")
    special = here / "d" / "special"
    server = socket.socket(socket.AF_UNIX)
    if kind == "fifo":
        os.mkfifo(special)
    elif kind == "socket":
        server.bind("d/special")
    else:
        special.symlink_to("/dev/null")
    server.close()
    assert names(discover(["d"])) == names(discover(["d/*"])) == ["d/a"]
    with pytest.raises(InputError, match=r"d/special: neither a file nor a directory"):
        discover(["d/special"])


def test_a_dangling_link_is_an_error_even_inside_a_directory(here: Path) -> None:
    put(here, "d/a")
    (here / "d" / "b").symlink_to("nowhere")
    for given in ("d", "d/*", "d/**"):
        with pytest.raises(InputError, match="d/b: dangling symbolic link"):
            discover([given])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_a_file_without_a_size_is_refused_rather_than_read_as_empty() -> None:
    with pytest.raises(InputError, match="has no size, yet bytes to read"):
        discover(["/proc/self/status"])


@pytest.mark.usefixtures("unprivileged")
def test_unreadable_files_are_found_before_any_work() -> None:
    with tempfile.TemporaryDirectory() as private:
        put(Path(private), "open", "closed", "shut/a")
        (Path(private) / "closed").chmod(0)
        (Path(private) / "shut").chmod(0)
        for given, named in [(f"{private}/*d", "closed"), (private, "shut"), (f"{private}/shut", "shut")]:
            with pytest.raises(InputError, match=f"/{named}: Permission denied"):
                discover([given])
        (Path(private) / "shut").chmod(0o700)

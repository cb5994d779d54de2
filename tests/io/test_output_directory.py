"""The life of an output: refused early, written aside, moved in whole, checked later."""

from __future__ import annotations

import json
import os
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from coded_mr.errors import OutputError, StorageError, UsageError
from coded_mr.io import OutputDirectory, PartFile, check_output, read_success, verify_output

NOBODY = 65534


def finish(out: Path, contents: list[bytes], *, overwrite: bool = False, job: str = "j1") -> OutputDirectory:
    output = OutputDirectory(str(out), job, overwrite=overwrite)
    output.prepare()
    parts = [output.write_part(number, [content]) for number, content in enumerate(contents)]
    output.commit({"job": job, "parts": [asdict(part) for part in parts]})
    return output


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refusing_to_move_to(monkeypatch: pytest.MonkeyPatch, target: Path, *, times: int) -> None:
    rename = Path.rename
    left = [times]

    def refuse(self: Path, to: Path) -> Path:
        if to == target and left[0]:
            left[0] -= 1
            raise OSError(5, "Input/output error", str(self))
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", refuse)


def test_an_output_appears_whole_with_its_parents_and_nothing_beside(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b" / "out"
    output = OutputDirectory(str(out), "j1", overwrite=False)
    output.prepare()
    numbers = memoryview(bytes(range(8))).cast("I")
    blocks: list[bytes | memoryview] = [b"one\n", memoryview(b"two\n"), b"", numbers]
    part = output.write_part(3, iter(blocks))
    content = b"one\ntwo\n" + bytes(range(8))
    assert part == PartFile("part-00003", len(content), zlib.crc32(content))
    assert not out.exists()
    assert tree(output.temporary) == {"part-00003": content}
    output.commit({"seconds": 1.5, "parts": [asdict(part)]})
    assert listing(out.parent) == ["out"]
    assert sorted(tree(out)) == ["_SUCCESS", "part-00003"]
    assert read_success(str(out)) == {"seconds": 1.5, "parts": [asdict(part)]}
    assert verify_output(str(out)) == read_success(str(out))


def test_an_empty_directory_is_filled_and_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    check_output(str(tmp_path / "link"), False)
    finish(tmp_path / "link", [b"x"])
    assert (tmp_path / "link").is_symlink()
    assert tree(tmp_path / "real")["part-00000"] == b"x"


def test_parts_beyond_99999_are_ours_too(tmp_path: Path) -> None:
    output = OutputDirectory(str(tmp_path / "out"), "j1", overwrite=False)
    output.prepare()
    part = output.write_part(123456, [b"x"])
    output.commit({"parts": [asdict(part)]})
    check_output(str(tmp_path / "out"), True)
    assert part.name == "part-123456"


def test_overwriting_replaces_the_old_output(tmp_path: Path) -> None:
    finish(tmp_path / "out", [b"a", b"b"])
    check_output(str(tmp_path / "out"), True)
    finish(tmp_path / "out", [b"c"], overwrite=True, job="j2")
    assert listing(tmp_path) == ["out"]
    assert read_success(str(tmp_path / "out"))["job"] == "j2"
    assert sorted(tree(tmp_path / "out")) == ["_SUCCESS", "part-00000"]


def test_the_old_output_comes_back_when_the_new_one_cannot_move_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    finish(out, [b"old"])
    before = tree(out)
    refusing_to_move_to(monkeypatch, out, times=1)
    with pytest.raises(StorageError, match=r"Input/output error; it is complete .*\.coded-mr-j2"):
        finish(out, [b"new"], overwrite=True, job="j2")
    assert tree(out) == before
    output = OutputDirectory(str(out), "j2", overwrite=True)
    output.abandon()
    assert tree(output.temporary)["part-00000"] == b"new"
    assert listing(tmp_path) == [".out.coded-mr-j2", "out"]


def test_an_output_that_appeared_meanwhile_is_not_touched(tmp_path: Path) -> None:
    out = tmp_path / "out"
    output = OutputDirectory(str(out), "j2", overwrite=False)
    output.prepare()
    part = output.write_part(0, [b"mine"])
    finish(out, [b"theirs"])
    before = tree(out)
    with pytest.raises(OutputError, match=r"is not empty.*complete output is in .*coded-mr-j2"):
        output.commit({"parts": [asdict(part)]})
    assert tree(out) == before


def test_abandon_leaves_nothing_and_may_be_repeated(tmp_path: Path) -> None:
    output = OutputDirectory(str(tmp_path / "out"), "j1", overwrite=False)
    output.prepare()
    output.write_part(0, [b"x"])
    output.abandon()
    output.abandon()
    assert listing(tmp_path) == []


def test_what_the_blocks_raise_passes_through_and_no_part_stays(tmp_path: Path) -> None:
    def blocks() -> Iterator[bytes]:
        yield b"some"
        raise FileNotFoundError("the user's own")

    output = OutputDirectory(str(tmp_path / "out"), "j1", overwrite=False)
    output.prepare()
    with pytest.raises(FileNotFoundError, match="the user's own"):
        output.write_part(0, blocks())
    assert listing(output.temporary) == []


def test_a_leftover_of_the_same_job_id_is_refused(tmp_path: Path) -> None:
    output = OutputDirectory(str(tmp_path / "out"), "j1", overwrite=False)
    output.prepare()
    with pytest.raises(OutputError, match=r"\.out\.coded-mr-j1 exists: .* remove it"):
        output.prepare()


@pytest.mark.parametrize("job", ["", "a/b", "..", "a b"])
def test_a_job_id_must_be_a_file_name(job: str) -> None:
    with pytest.raises(UsageError, match="job id"):
        OutputDirectory("out", job, overwrite=False)


def test_commit_notices_parts_that_rank_0_cannot_see_or_that_lost_bytes(tmp_path: Path) -> None:
    output = OutputDirectory(str(tmp_path / "out"), "j1", overwrite=False)
    output.prepare()
    part = asdict(output.write_part(0, [b"content"]))
    elsewhere = {"name": "part-00001", "bytes": 5, "crc32": 0}
    with pytest.raises(StorageError, match=r"part-00001 was written but rank 0 cannot see it.*share"):
        output.commit({"parts": [part, elsewhere]})
    with pytest.raises(StorageError, match="a part listed twice"):
        output.commit({"parts": [part, part]})
    with pytest.raises(StorageError, match="an unlisted part-00000"):
        output.commit({"parts": []})
    os.truncate(output.temporary / "part-00000", 3)
    with pytest.raises(StorageError, match="has 3 bytes, 7 were written"):
        output.commit({"parts": [part]})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("foreign", ["a", "part-1", "part-00000.gz", ".hidden", "part-00001/", "part-00002@"])
def test_foreign_content_is_never_overwritten(tmp_path: Path, foreign: str) -> None:
    out = tmp_path / "out"
    finish(out, [b"x"])
    entry = out / foreign.rstrip("/@")
    if foreign.endswith("/"):
        entry.mkdir()
    elif foreign.endswith("@"):
        entry.symlink_to("part-00000")
    else:
        entry.touch()
    with pytest.raises(OutputError, match=rf"holds {entry.name}, which is no output of coded_mr"):
        check_output(str(out), True)
    with pytest.raises(OutputError, match="is no output of coded_mr"):
        finish(out, [b"y"], overwrite=True, job="j2")
    assert os.path.lexists(entry)


def test_an_occupied_output_is_refused(tmp_path: Path) -> None:
    finish(tmp_path / "out", [b"x"])
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="exists and is not empty"):
        check_output(str(tmp_path / "out"), False)
    for overwrite in (False, True):
        with pytest.raises(OutputError, match="is not a directory"):
            check_output(str(tmp_path / "file"), overwrite)
        with pytest.raises(OutputError, match=r"cannot write the output .*file/out: Not a directory"):
            check_output(str(tmp_path / "file" / "out"), overwrite)


@pytest.mark.parametrize(
    ("out", "given", "how"),
    [
        ("in/x", "in/x", "is"),
        ("in", "in", "is"),
        ("in/new/out", "in", "lies inside"),
        ("link/out", "in", "lies inside"),
        ("in", "in/x", "holds"),
        ("in", "i*/x", "holds"),
        ("in/out", "i?", "lies inside"),
    ],
)
def test_an_output_that_overlaps_an_input_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, given: str, how: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x").touch()
    (tmp_path / "link").symlink_to("in")
    with pytest.raises(OutputError, match=f"{how} the input in"):
        check_output(out, True, inputs=["nothing", given])


def test_outputs_beside_inputs_are_fine_and_checking_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.txt").touch()
    check_output("input", False, inputs=["in"])
    check_output("in/out", False, inputs=["in/*.txt"])
    check_output("new/parents/out", False)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["in", "in/x.txt"]


@pytest.mark.parametrize("out", [".", "..", "/", ""])
def test_the_working_directory_and_the_empty_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match="name a"):
        check_output(out, True)


def test_a_place_without_permission_is_refused_before_any_work() -> None:
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        shut = Path(folder) / "shut"
        shut.mkdir(0o555)
        if user == 0:
            os.seteuid(NOBODY)
        try:
            with pytest.raises(OutputError, match=r"cannot write .*shut/new/out: Permission denied; choose"):
                check_output(str(shut / "new" / "out"), False)
        finally:
            os.seteuid(user)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, r"no complete output \(_SUCCESS: No such file"),
        (b"", "was not written by coded_mr"),
        (b"\xff\xfe", "was not written by coded_mr"),
        (b"[]", "no list of parts"),
        (b'{"parts": {}}', "no list of parts"),
        (b'{"parts": [1]}', "describes no part"),
        (b'{"parts": [{"name": "../x", "bytes": 1, "crc32": 1}]}', "describes no part"),
        (b'{"parts": [{"name": "part-00000", "bytes": "1", "crc32": 1}]}', "describes no part"),
    ],
)
def test_a_foreign_success_mark_is_refused(tmp_path: Path, content: bytes | None, reason: str) -> None:
    if content is not None:
        (tmp_path / "_SUCCESS").write_bytes(content)
    for read in (read_success, verify_output):
        with pytest.raises(OutputError, match=reason):
            read(str(tmp_path))


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        ("flip", "part-00001 changed .* 3 bytes"),
        ("cut", "part-00001 changed .* 2 bytes"),
        ("lose", "cannot read .*part-00001: No such file"),
        ("add", "holds part-00009, which"),
    ],
)
def test_verification_notices_every_change(tmp_path: Path, harm: str, reason: str) -> None:
    out = tmp_path / "out"
    finish(out, [b"abc", b"def", b""])
    assert json.dumps(verify_output(str(out)))
    part = out / "part-00001"
    if harm == "flip":
        part.write_bytes(b"deg")
    elif harm == "cut":
        part.write_bytes(b"de")
    elif harm == "lose":
        part.unlink()
    else:
        (out / "part-00009").touch()
    with pytest.raises(OutputError, match=reason):
        verify_output(str(out))

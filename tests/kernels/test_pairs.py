"""Check the kernel of pairs against plain dictionaries, and what it says about wrong jobs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import InputError, KeyTypeError, UserCodeError
from coded_mr.io.inputs import InputFile
from coded_mr.job import Job
from coded_mr.kernels import kernel_for
from coded_mr.kernels.pairs import PairsKernel
from coded_mr.kernels.serial import canonical, decode, stable_hash

Files = Callable[..., list[InputFile]]
Run = Callable[..., Any]

TEXTS = ["a b a c", "b\nd é\n", "", "a a a\nz"]


class Ones(Job):
    def map(self, file: InputFile) -> Iterable[Any]:
        for line in file.lines():
            for word in line.split():
                yield word, 1

    def reduce(self, key: str, values: list[int]) -> Iterator[tuple[str, int]]:
        yield key, sum(values)


class Combined(Ones):
    def combine(self, key: str, values: list[int]) -> int:
        assert len(values) >= 2
        return sum(values)


class Emit(Job):
    """Yield pairs that a test chooses, the same for every file."""

    pairs: Any = ()

    def map(self, file: InputFile) -> Iterable[Any]:
        yield from self.pairs


def counted(outputs: list[bytes]) -> dict[str, int]:
    lines = b"".join(outputs).decode().splitlines()
    return {word: int(count) for word, count in (line.split("\t") for line in lines)}


@pytest.mark.parametrize("job", [Ones(), Combined()])
@pytest.mark.parametrize("partitions", [1, 4])
def test_words_are_counted_as_by_a_counter(files_of: Files, run: Run, job: Job, partitions: int) -> None:
    files = files_of(*TEXTS)
    outputs, mapped, reduced = run(job, [files[:3], files[3:], []], partitions)
    words = Counter(" ".join(TEXTS).split())
    assert counted(outputs) == words
    assert sum(batch.records_in for batch in mapped) == words.total()
    assert sum(each.groups for each in reduced) == sum(each.records_out for each in reduced) == len(words)
    assert [each.pairs_in for each in reduced] == [sum(b.pairs[q] for b in mapped) for q in range(partitions)]
    assert sum(batch.bytes_in for batch in mapped) == len("".join(TEXTS).encode())


def test_keys_go_where_their_stable_hash_says(files_of: Files, run: Run) -> None:
    outputs, _, _ = run(Ones(), [files_of(*TEXTS)], 4)
    for q, output in enumerate(outputs):
        words = [line.split("\t")[0] for line in output.decode().splitlines()]
        assert words == sorted(words)
        assert all(stable_hash(word) % 4 == q for word in words)


def test_a_combined_batch_holds_each_key_once(files_of: Files, run: Run) -> None:
    _, (mapped,), _ = run(Combined(), [files_of(*TEXTS)], 2)
    assert sum(mapped.pairs) == len(set(" ".join(TEXTS).split()))
    assert all(decode(value)[1] is None for value in mapped.values)


def test_combining_early_changes_nothing(files_of: Files, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    files = files_of(*["a b c a"] * 20)
    expected = run(Combined(), [files])[1][0].values
    monkeypatch.setattr("coded_mr.kernels.pairs._COMBINE_AT", 5)
    assert run(Combined(), [files])[1][0].values == expected


def test_values_come_in_the_order_of_batches_and_emission(files_of: Files, run: Run) -> None:
    class Names(Job):
        def map(self, file: InputFile) -> Iterable[Any]:
            return [("key", Path(file.path).name), ("key", file.read())]

    a, b, c = files_of("1", "2", "3")
    (output,), _, _ = run(Names(), [[a, b], [c]], 1)
    assert output == b"key\tin000\nkey\t1\nkey\tin001\nkey\t2\nkey\tin002\nkey\t3\n"


KEYS = st.one_of(
    st.sampled_from([1, 1.0, True, 0, False, 0.0, -0.0, float("nan")]),
    st.sampled_from([None, "1", b"1", "", (), (1,), (True,)]),
    st.integers(0, 3),
    st.sampled_from(["a", "b"]),
)


@given(st.lists(st.tuples(KEYS, st.integers(0, 9)), max_size=30), st.randoms(use_true_random=False))
def test_groups_are_those_of_canonical_keys_in_any_order(pairs: list[tuple[Any, int]], random: Any) -> None:
    class Gather(Emit):
        def reduce(self, key: Any, values: list[int]) -> Iterable[tuple[Any, Any]]:
            return [(canonical(key).hex(), tuple(values))]

    class Sum(Emit):
        def combine(self, key: Any, values: list[int]) -> int:
            return sum(values)

    file = InputFile(0, "unread", 0, 0, None)
    expected: dict[str, list[int]] = {}
    for key, value in pairs * 2:
        expected.setdefault(canonical(key).hex(), []).append(value)
    kernel = PairsKernel(Gather(pairs=pairs))
    kernel.adopt(None, 1)
    batches = [kernel.map_batch([file]).values[0] for _ in range(2)]
    lines = b"".join(kernel.reduce_partition(0, batches).blocks).decode().splitlines()
    got = {line.split("\t")[0]: [int(value) for value in line.split("\t")[1:]] for line in lines}
    assert got == expected
    shuffled = random.sample(pairs, len(pairs))
    assert PairsKernel(Sum(pairs=pairs)).map_batch([file]).values == (
        PairsKernel(Sum(pairs=shuffled)).map_batch([file]).values
    )


def test_the_order_of_a_set_does_not_reach_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "text").write_text(" ".join(f"w{i}" for i in range(200)))
    code = (
        "import sys\n"
        "from coded_mr import InputFile, Job\n"
        "from coded_mr.kernels import kernel_for\n"
        "class Set(Job):\n"
        "    def map(self, file):\n"
        "        return {(word, 1) for word in file.text().split()}\n"
        "kernel = kernel_for(Set())\n"
        "kernel.adopt(None, 3)\n"
        "print([v.hex() for v in kernel.map_batch([InputFile(0, sys.argv[1], 0, 10**3, None)]).values])\n"
        "print(list({str(i) for i in range(200)}))\n"
    ).replace("10**3", str((tmp_path / "text").stat().st_size))
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "text")],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.splitlines()
        for seed in ("1", "2")
    ]
    assert outputs[0][0] == outputs[1][0]
    assert outputs[0][1] != outputs[1][1]  # the seeds do change the order of sets


def test_large_output_comes_in_blocks(files_of: Files) -> None:
    kernel = PairsKernel(Emit(pairs=[(i, "x" * 1000) for i in range(3000)]))
    value = kernel.map_batch(files_of("")).values[0]
    blocks = list(kernel.reduce_partition(0, [value]).blocks)
    assert len(blocks) == 3
    assert b"".join(blocks) == b"".join(b"%d\t%s\n" % (i, b"x" * 1000) for i in range(3000))


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("é", 1, "é\t1"),
        (b"\xff", True, b"\xff\tTrue"),
        (("a", ("b", 2)), None, "a\tb\t2\tNone"),
        (1.5, ("é", b"\xff"), b"1.5\t\xc3\xa9\t\xff"),
    ],
)
def test_the_default_line(key: Any, value: Any, line: str | bytes) -> None:
    assert Job().format(key, value) == line


def raising(error: BaseException) -> Callable[..., Any]:
    def method(self: Job, *_: Any) -> Any:
        raise error

    return method


def job_with(**methods: Any) -> Job:
    result = type("Wrong", (Combined,), methods)()
    assert isinstance(result, Job)
    return result


@pytest.mark.parametrize("error", [ValueError("ouch"), SystemExit("ouch"), KeyError("ouch")])
@pytest.mark.parametrize("stage", ["map", "combine", "partition", "reduce", "format"])
def test_what_a_job_raises_is_wrapped_with_stage_and_place(
    files_of: Files, run: Run, stage: str, error: BaseException
) -> None:
    files = files_of("word word")
    with pytest.raises(UserCodeError, match=rf"Wrong\.{stage} of .*(in000|'word').*ouch") as caught:
        run(job_with(**{stage: raising(error)}), [files])
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("stage", ["map", "combine", "partition", "reduce", "format"])
def test_an_interrupt_passes(files_of: Files, run: Run, stage: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(job_with(**{stage: raising(KeyboardInterrupt())}), [files_of("word word")])


def test_an_error_in_map_names_the_line_or_the_number_of_pairs(files_of: Files, run: Run) -> None:
    class Numbers(Job):
        by_line: bool

        def map(self, file: InputFile) -> Iterator[tuple[int, int]]:
            for line in file.lines() if self.by_line else file.text().split():
                yield int(line), 1

    files = files_of("1\n2\nthree\n")
    with pytest.raises(UserCodeError, match=r"in000, line 3 raised ValueError: .*three"):
        run(Numbers(by_line=True), [files])
    with pytest.raises(UserCodeError, match=r"in000, after 2 pairs raised ValueError: .*three"):
        run(Numbers(by_line=False), [files_of("1\n2\nthree\n")])


def test_an_input_that_vanished_is_not_blamed_on_the_job(files_of: Files, run: Run) -> None:
    files = files_of("word")
    Path(files[0].path).unlink()
    with pytest.raises(InputError):
        run(Ones(), [files])


@pytest.mark.parametrize("item", ["ab", "word", 3, ("a",), ("a", 1, 2), ["a", 1], None])
@pytest.mark.parametrize("stage", ["map", "reduce"])
def test_what_is_no_pair_is_explained(files_of: Files, run: Run, stage: str, item: Any) -> None:
    def method(self: Job, *_: Any) -> Iterator[Any]:
        yield item

    with pytest.raises(UserCodeError, match=rf"Wrong\.{stage} of .*no \(key, value\) tuple") as caught:
        run(job_with(**{stage: method}), [files_of("word")])
    assert repr(item) in str(caught.value)


@pytest.mark.parametrize("stage", ["map", "reduce", "combine"])
def test_a_missing_return_is_explained(files_of: Files, run: Run, stage: str) -> None:
    with pytest.raises(UserCodeError, match=rf"Wrong\.{stage} of .* returned None"):
        run(job_with(**{stage: lambda self, *_: None}), [files_of("word word")])


def test_a_combine_that_yields_is_explained(files_of: Files, run: Run) -> None:
    def combine(self: Job, key: str, values: list[int]) -> Iterator[int]:
        yield sum(values)

    with pytest.raises(UserCodeError, match="return instead of yield"):
        run(job_with(combine=combine), [files_of("word word")])


@pytest.mark.parametrize("q", [-1, 3, 1.0, "1", None])
def test_a_partition_that_does_not_exist_is_refused(files_of: Files, run: Run, q: Any) -> None:
    with pytest.raises(UserCodeError, match=r"partition of key 'word'"):
        run(job_with(partition=lambda self, key, partitions: q), [files_of("word")])


def test_a_key_that_cannot_travel_is_named_with_its_file(files_of: Files, run: Run) -> None:
    with pytest.raises(KeyTypeError, match=r"in000 yielded key \['a'\]: type list .*tuple"):
        run(Emit(pairs=[("a", 1), (["a"], 1)]), [files_of("")])
    with pytest.raises(KeyTypeError, match=r"value \{1\} of key 'a': type set"):
        run(Emit(pairs=[("a", {1})]), [files_of("")])
    with pytest.raises(KeyTypeError, match=r"key '\\ud800'.*surrogate"):
        run(Emit(pairs=[("\ud800", 1)]), [files_of("")])


def test_a_line_without_a_format_is_explained(files_of: Files, run: Run) -> None:
    job = job_with(reduce=lambda self, key, values: [(key, {1})])
    with pytest.raises(UserCodeError, match=r"format of .*no default format for set"):
        run(job, [files_of("word")])


PRINTED = st.one_of(
    st.text(max_size=3),
    st.integers(),
    st.floats(),
    st.sampled_from([True, None, b"bytes", ("a", 1), "\ud800", 10**5000]),
)


@given(st.lists(st.tuples(PRINTED, PRINTED), max_size=20))
def test_lines_made_together_are_those_of_format(pairs: list[tuple[Any, Any]]) -> None:
    class Own(Job):
        def format(self, key: Any, value: Any) -> str | bytes:
            return super().format(key, value)

    def lines(job: Job) -> bytes | str:
        try:
            return PairsKernel(job)._lines(pairs)
        except UserCodeError as error:
            return str(error).replace("Own.", "Job.")

    assert lines(Job()) == lines(Own())


def test_a_combine_that_returns_a_list_is_explained(files_of: Files, run: Run) -> None:
    job = job_with(combine=lambda self, key, values: values)
    with pytest.raises(KeyTypeError, match=r"Wrong\.combine gave the value \[.*\] of key 'word': type list"):
        run(job, [files_of("word word")])


def test_kernels_are_chosen_by_kind() -> None:
    assert isinstance(kernel_for(Ones()), PairsKernel)

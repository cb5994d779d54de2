"""Lists of names: what Slurm means by them, and that nothing else passes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coded_mr.errors import UsageError
from coded_mr.topology.hostlist import MOST_NAMES, expand


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("login", "login"),
        ("h[1-4,7],login", "h1 h2 h3 h4 h7 login"),
        ("h[08-11]", "h08 h09 h10 h11"),
        ("r[0-1]c[0-2]", "r0c0 r0c1 r0c2 r1c0 r1c1 r1c2"),
        ("n[1]-ib,n[5,3]-ib", "n1-ib n5-ib n3-ib"),
        ("h[099-101]x", "h099x h100x h101x"),
    ],
)
def test_lists_stand_for_what_slurm_means(text: str, names: str) -> None:
    assert expand(text) == tuple(names.split())


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",",
        "a,",
        "a,,b",
        ",a",
        "h[1-4",
        "h1-4]",
        "h[]",
        "h[4-1]",
        "h[a-b]",
        "h[1-]",
        "h[1,,2]",
        "a b",
        "h[[1]]",
    ],
)
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"list of names|write numbers"):
        expand(text)


@pytest.mark.parametrize("text", ["h[1-99999999]", "h[0-999]x[0-999]", "h[0-9][0-9][0-9][0-9][0-9]"])
def test_lists_of_too_many_names_are_refused_before_they_are_made(text: str) -> None:
    with pytest.raises(UsageError, match=f"{MOST_NAMES:,}"):
        expand(text)


numbers = st.integers(0, 300)
stems = st.text("abcxyz-_.", min_size=1, max_size=5)


@given(
    st.lists(
        st.tuples(stems, st.lists(st.tuples(numbers, numbers), min_size=1), st.integers(1, 4)), min_size=1
    )
)
def test_ranges_are_counted_out_in_order(items: list[tuple[str, list[tuple[int, int]], int]]) -> None:
    written, meant = [], []
    for stem, ranges, width in items:
        parts = []
        for a, b in ranges:
            low, high = min(a, b), max(a, b)
            parts.append(str(low).zfill(width) if low == high else f"{low:0{width}}-{high}")
            meant += [f"{stem}{number:0{width}}" for number in range(low, high + 1)]
        written.append(f"{stem}[{','.join(parts)}]")
    assert list(expand(",".join(written))) == meant


@given(st.text("h1,[]-0 ", max_size=12))
def test_any_text_is_names_or_refused(text: str) -> None:
    try:
        names = expand(text)
    except UsageError:
        return
    assert names
    assert not any(set("[], ") & set(name) for name in names)

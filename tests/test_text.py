"""Numbers as people read them."""

from __future__ import annotations

import pytest

from coded_mr.text import bytes_text, counted


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (1, "helper", "1 helper"),
        (0, "helper", "0 helpers"),
        (2, "batch", "2 batches"),
        (1200, "file", "1,200 files"),
    ],
)
def test_counted(number, noun, text):
    assert counted(number, noun) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.00 KB"),
        (1.5e6, "1.50 MB"),
        (2e9, "2.00 GB"),
        (5e12, "5000.00 GB"),
    ],
)
def test_bytes_text(count, text):
    assert bytes_text(count) == text

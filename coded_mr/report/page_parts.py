"""Pieces of a page: elements that escape what they are given, tables, bars, numbers."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from coded_mr.report.style import STYLE

__all__ = [
    "Column",
    "Markup",
    "bar",
    "definitions",
    "document",
    "element",
    "name",
    "ratio_text",
    "seconds_text",
    "section",
    "table",
]

# No script, no request: what a hostile file name could smuggle in would not run either.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_EMPTY = frozenset({"meta", "link"})


class Markup(str):
    """Text that is HTML already; all other text is escaped."""

    __slots__ = ()


@dataclass(frozen=True)
class Column:
    """Head a column of a table; `text` columns are aligned to the left, numbers to the right."""

    title: str
    text: bool = False


def element(tag: str, *children: str | None, **attributes: str | int | float | None) -> Markup:
    """Return an element; children that are no Markup are escaped, None is left out.

    An attribute's underscores become hyphens, but for one at the end, which keeps it from being a keyword.
    """
    words = [tag]
    for key, value in attributes.items():
        if value is not None:
            words.append(f'{key.rstrip("_").replace("_", "-")}="{html.escape(_printable(str(value)))}"')
    start = f"<{' '.join(words)}>"
    if tag in _EMPTY:
        return Markup(start)
    return Markup(f"{start}{''.join(_escaped(child) for child in children if child is not None)}</{tag}>")


def _escaped(child: str) -> str:
    return child if isinstance(child, Markup) else html.escape(_printable(child), quote=False)


def _printable(text: str) -> str:
    """Return text without what a page cannot hold (control characters) or that reorders its neighbours."""
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t" else c
        for c in text
    )


def name(text: str) -> Markup:
    """Return a name from outside, which may be in any script or direction."""
    return element("bdi", text, class_="name")


def section(anchor: str, title: str, *children: str | None) -> Markup:
    """Return a section with its heading."""
    heading = element("h2", title, id=f"{anchor}-heading")
    return element("section", heading, *children, id=anchor, aria_labelledby=f"{anchor}-heading")


def table(
    caption: str, columns: Sequence[Column], rows: Iterable[Sequence[str]], *, marked: int | None = None
) -> Markup:
    """Return a table, which scrolls by itself when it is wide; the first cell of a row names the row.

    `marked` is the row to point out.
    """
    head = element("tr", *(element("th", c.title, scope="col", class_=_aligned(c)) for c in columns))
    body = [
        element(
            "tr",
            element("th", row[0], scope="row", class_=_aligned(columns[0])),
            *(element("td", cell, class_=_aligned(c)) for c, cell in zip(columns[1:], row[1:], strict=True)),
            class_="marked" if index == marked else None,
        )
        for index, row in enumerate(rows)
    ]
    whole = element("table", element("caption", caption), element("thead", head), element("tbody", *body))
    return element("div", whole, class_="wide", tabindex=0, role="region", aria_label=caption)


def _aligned(column: Column) -> str:
    return "text" if column.text else "number"


def definitions(pairs: Iterable[tuple[str, str]]) -> Markup:
    """Return a list of terms and what they are."""
    return element(
        "dl", *(element("div", element("dt", term), element("dd", value)) for term, value in pairs)
    )


def bar(value: float, most: float, kind: str) -> Markup:
    """Return a bar whose full length is `most`; it only repeats a number that stands beside it."""
    width = 100 * value / most if most > 0 else 0.0
    return element(
        "span",
        element("span", class_=f"fill {kind}", style=f"width:{width:.2f}%"),
        class_="bar",
        aria_hidden="true",
    )


def document(title: str, links: Sequence[tuple[str, str]], *children: str) -> str:
    """Return a whole page; `links` lead to its sections, (anchor, text)."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("link", rel="icon", href="data:,"),
        Markup(f"<style>{STYLE}</style>"),
    )
    contents = [element("li", element("a", text, href=f"#{anchor}")) for anchor, text in links]
    body = element(
        "body",
        element("a", "Skip to the content", href="#content", class_="skip"),
        element("nav", element("ul", *contents), aria_label="Sections"),
        element("main", *children, id="content"),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def seconds_text(seconds: float) -> str:
    """Return a duration with three digits that matter."""
    if seconds >= 100 or seconds == 0:
        return f"{seconds:,.0f} s"
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"


def ratio_text(value: float, reference: float) -> str:
    """Return how many times the reference a value is, and a dash when that says nothing."""
    if not reference:
        return "1.00 ×" if not value else "–"
    if not value:
        return "0 ×"
    ratio = value / reference
    return f"{ratio:.2f} ×" if 0.01 <= ratio < 1000 else f"{ratio:.1e} ×"

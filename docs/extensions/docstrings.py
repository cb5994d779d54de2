"""The project's docstrings as reStructuredText.

They are plain text: names between backticks, fields as two columns or as
`name: text`, drawings indented. Nothing else in them is markup,
so that `r*` and `|S|` need no escapes in the code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from sphinx.application import Sphinx

__all__ = ["restructured", "setup"]

_FIELD = re.compile(r"(?P<name>\S+(?:, \S+)*) {2,}(?P<text>\S.*)|(?P<word>[a-z_]+): +(?P<rest>\S.*)")
_MARKED = re.compile(r"(`+)(?P<code>[^`\s]([^`]*[^`\s])?)\1|arXiv (?P<paper>\d{4}\.\d{4,5})")
_ESCAPED = re.compile(r"[\\*|_`]|:(?=:)")


def restructured(lines: Sequence[str]) -> list[str]:
    """Return a docstring, its lines without common indentation, as reStructuredText."""
    result: list[str] = []
    for blank, group in groupby(lines, key=lambda line: not line.strip()):
        if not blank:
            result += [*_block(list(group)), ""]
    return result


def _block(lines: list[str]) -> Iterator[str]:
    if _is_table(lines):
        for line in lines:
            field = _FIELD.fullmatch(line)
            yield f"``{field['name'] or field['word']}``" if field else f"    {_inline(line.strip())}"
            if field:
                yield f"    {_inline(field['text'] or field['rest'])}"
    else:
        yield from _paragraphs(lines)


def _is_table(lines: list[str]) -> bool:
    """Tell whether every line names a field in a column of its own, or goes on with the one before."""
    return bool(_FIELD.fullmatch(lines[0])) and all(
        line.startswith("  ") or _FIELD.fullmatch(line) for line in lines
    )


def _paragraphs(lines: list[str]) -> Iterator[str]:
    for drawn, group in groupby(lines, key=lambda line: line.startswith(" ")):
        run = list(group)
        if drawn:
            yield from ("", "::", "", *(f"    {line}" for line in run), "")
            continue
        for line in run:
            if line.startswith("Source: ") and line is not lines[0]:
                yield ""
            yield _inline(line)


def _inline(text: str) -> str:
    """Return text with its code marked, its papers linked and everything else taken literally."""
    parts, at = [], 0
    for found in _MARKED.finditer(text):
        parts += [_plain(text[at : found.start()]), _marked(found)]
        at = found.end()
    return "".join([*parts, _plain(text[at:])])


def _marked(found: re.Match[str]) -> str:
    """Return code or a paper's link, apart from what it touches: an escaped space is not shown."""
    code, paper = found["code"], found["paper"]
    markup = f"``{code}``" if code else f"`arXiv {paper} <https://arxiv.org/abs/{paper}>`__"
    before, after = found.string[: found.start()][-1:], found.string[found.end() :][:1]
    apart = "\\ "
    return f"{apart * bool(before.strip())}{markup}{apart * bool(after.strip('.,;:!?) '))}"


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\\\g<0>", text)


def _on_docstring(app: Sphinx, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    lines[:] = restructured(lines)


def _on_member(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of named tuples, whose docstrings are Python's and say nothing."""
    return True if (getattr(obj, "__doc__", "") or "").startswith("Alias for field") else None


def _on_signature(
    app: Sphinx, what: str, name: str, obj: object, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Write a default that a dataclass makes anew as `...`: what Python has for it cannot be parsed."""
    return signature and signature.replace("<factory>", "..."), returned


def setup(app: Sphinx) -> dict[str, Any]:
    """Register what rewrites docstrings."""
    app.connect("autodoc-process-docstring", _on_docstring)
    app.connect("autodoc-process-signature", _on_signature)
    app.connect("autodoc-skip-member", _on_member)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

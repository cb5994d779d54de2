"""The site: built without a network and without a warning, complete, and whole by itself."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

pytest.importorskip("sphinx", reason="no sphinx: pip install '.[docs]'")
pytest.importorskip("myst_parser", reason="no myst_parser: pip install '.[docs]'")
pytest.importorskip("furo", reason="no furo: pip install '.[docs]'")
pytest.importorskip("sphinx_copybutton", reason="no sphinx_copybutton: pip install '.[docs]'")
pytest.importorskip("latex2mathml", reason="no latex2mathml: pip install '.[docs]'")

from docs.extensions.parsers import commands

TOP = Path(__file__).parents[2]
PAGES = [path.relative_to(TOP / "docs").with_suffix("") for path in (TOP / "docs").rglob("*.md")]


class Resources(HTMLParser):
    """Collect what a page loads, where it leads, and the identifiers that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in ("script", "img", "iframe", "source"):
            self.loaded += [value for value in (values.get("src"),) if value]
        if tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(values.get("href") or "")
        if tag == "a" and (target := values.get("href")):
            self.links.append(target)
        if identifier := values.get("id"):
            self.ids.append(identifier)


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Give an environment in which Python's sockets connect to nothing."""
    place = tmp_path_factory.mktemp("offline")
    (place / "sitecustomize.py").write_text(
        "import socket\n"
        "def refuse(*_, **__):\n"
        "    raise OSError('the documentation must be built without a network')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
    )
    return {"PYTHONPATH": str(place), "PATH": ""}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, offline: dict[str, str]) -> Path:
    """Build the site."""
    made = tmp_path_factory.mktemp("site").resolve() / "html"
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "-b", "html", "docs", str(made)],
        cwd=TOP,
        env=offline,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return made


def test_every_page_is_there(site: Path) -> None:
    for page in PAGES:
        assert (site / f"{page}.html").stat().st_size > 5_000, page
    assert (site / "reference" / "api-theory.html").stat().st_size > 50_000


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        found = Resources(page.read_text(encoding="utf-8"))
        assert found.loaded, page
        for address in found.loaded:
            local = address.partition("?")[0]
            assert "//" not in local, f"{page}: {address}"
            assert (page.parent / local).is_file(), f"{page}: {address}"
    outside = re.compile(r"(@import|url\()\s*['\"]?(https?:)?//")
    for sheet in site.rglob("*.css"):
        assert not outside.search(sheet.read_text(encoding="utf-8")), sheet


def test_links_lead_somewhere(site: Path) -> None:
    pages = {page: Resources(page.read_text(encoding="utf-8")) for page in site.rglob("*.html")}
    for page, found in pages.items():
        for link in found.links:
            path, _, fragment = link.partition("#")
            if "//" in path:
                continue
            target = (page.parent / path).resolve() if path else page
            assert target.is_file(), f"{page.name}: {link}"
            if fragment and target in pages:
                assert unquote(fragment) in pages[target].ids, f"{page.name}: {link}"


def test_formulas_and_pictures_are_in_the_pages_themselves(site: Path) -> None:
    assert (site / "theory.html").read_text().count("<math ") > 20
    assert (site / "how-it-works.html").read_text().count("<svg viewBox") == 7


def test_every_command_and_option_can_be_linked_to(site: Path) -> None:
    ids = Resources((site / "reference" / "commands.html").read_text()).ids
    for names, parser in commands():
        for action in parser._actions:
            if action.dest != "help" and action.option_strings and action.help != "==SUPPRESS==":
                option = action.option_strings[0].lstrip("-")
                anchors = [i for i in ids if i.startswith(f"cmdoption-coded-mr-{'-'.join(names)}-")]
                assert any(i.lower().endswith(f"-{option.lower()}") for i in anchors), (names, option)


def test_the_network_was_out_of_reach(offline: dict[str, str]) -> None:
    ask = "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9')"
    done = subprocess.run(
        [sys.executable, "-c", ask], env=offline, capture_output=True, text=True, timeout=60, check=False
    )
    assert "built without a network" in done.stderr

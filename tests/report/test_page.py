"""The page of a run: whole, self-contained, readable without a pointer, safe whatever files are called."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from coded_mr.errors import InputError
from coded_mr.report.document import Run, load
from coded_mr.report.page import build_page
from coded_mr.report.page_parts import bar, element, ratio_text, seconds_text
from tests.report.runs import run_report, written

VOID = {"meta", "link"}
HOSTILE = "</title><script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;\x07\u202e.py"


class Page(HTMLParser):
    """Collect the elements of a page, and check that each is closed in turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def all(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        return [
            found
            for name, found in self.elements
            if name == tag and all(found.get(key) == value for key, value in attributes.items())
        ]

    @property
    def text(self) -> str:
        return " ".join(self.words)


def page_of(tmp_path: Path, **fields: str) -> Page:
    return Page(build_page(load(str(written(tmp_path / "run.json", **fields)))))


@pytest.mark.parametrize("implementation", ["sequential", "parallel"])
def test_every_rank_has_a_lane_with_its_stages(tmp_path, implementation):
    page = page_of(tmp_path, implementation=implementation)
    lanes = [found["aria-label"] or "" for found in page.all("g", role="img")]
    assert [lane.split(" · ")[0] for lane in lanes] == [f"rank {rank}" for rank in range(6)]
    assert "solver: map 990 ms, wait for maps 1.3 s, shuffle 600 ms" in lanes[0]
    used = sum("nothing to do" not in lane for lane in lanes)
    assert used in (5, 6)
    for kind, each in (("map", 1), ("wait", 2), ("shuffle", 1), ("code", 2), ("reduce", 1)):
        assert len(page.all("rect", **{"class": kind})) == each * used


def test_bars_of_a_lane_follow_the_clock(tmp_path):
    page = page_of(tmp_path)
    for first, second in (("map", "shuffle"), ("shuffle", "reduce")):
        ends = [float(r["x"] or 0) + float(r["width"] or 0) for r in page.all("rect", **{"class": first})]
        starts = [float(r["x"] or 0) for r in page.all("rect", **{"class": second})]
        assert all(end <= start + 0.01 for end, start in zip(ends, starts, strict=True))
    assert max(float(r["x"] or 0) + float(r["width"] or 0) for r in page.all("rect")) <= 1000


def test_the_page_asks_for_nothing_and_runs_nothing(tmp_path):
    text = build_page(load(str(written(tmp_path / "run.json"))))
    page = Page(text)
    assert not [tag for tag, _ in page.elements if tag in ("script", "iframe", "img", "object", "form")]
    links = [found.get("href") or found.get("src") for _, found in page.elements]
    assert {link[0] for link in links if link and link != "data:,"} == {"#"}
    assert not re.search(r"https?:|url\(|@import|//[a-z]", text)
    policy = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
    assert (policy[0]["content"] or "").startswith("default-src 'none'")


def test_headings_tables_and_links_can_be_followed_by_ear_and_keyboard(tmp_path):
    page = page_of(tmp_path)
    names = {found["id"] for _, found in page.elements if found.get("id")}
    assert {(found["href"] or "")[1:] for found in page.all("a")} <= names
    assert {found["aria-labelledby"] for found in page.all("section")} <= names
    assert len(page.all("h1")) == 1
    assert len(page.all("h2")) == len(page.all("section")) == 8
    assert len(page.all("table")) == len(page.all("caption")) == 8
    assert {found.get("scope") for found in page.all("th")} == {"row", "col"}
    scrolling = [found for found in page.all("div") if found.get("class") in ("wide", "lanes")]
    assert all(found["tabindex"] == "0" and found["aria-label"] for found in scrolling)
    assert page.all("html", lang="en")


def test_names_of_files_and_hosts_are_only_text(tmp_path):
    page = page_of(tmp_path, job=HOSTILE, output=HOSTILE, host=HOSTILE)
    assert not page.all("script") + page.all("img")
    assert not [key for _, found in page.elements for key in found if key.startswith("on")]
    assert HOSTILE.replace("\x07", "\N{REPLACEMENT CHARACTER}") in page.words
    assert len(page.all("g", role="img")) == 6


def test_a_name_that_is_no_text_still_makes_a_page(tmp_path):
    path = tmp_path / "run.json"
    name = b"caf\xe9.py".decode("utf-8", "surrogateescape")
    written(path, job=name)
    assert "caf\N{REPLACEMENT CHARACTER}.py" in Page(build_page(load(str(path)))).text


def test_what_the_planner_considered_is_there_with_the_choice_marked(tmp_path):
    path = written(tmp_path / "run.json")
    document = json.loads(path.read_text())
    document["considered"] = 1 + len(document["candidates"])
    path.write_text(json.dumps(document))
    page = Page(build_page(load(str(path))))
    assert len(document["candidates"]) > 5
    assert len(page.all("tr", **{"class": "marked"})) == 1
    assert f"{document['candidates'][0]['scheme']} (chosen)" in page.text
    assert f"the fastest {len(document['candidates'])} of {document['considered']} plans" in page.text
    totals = [candidate["total_seconds"] for candidate in document["candidates"]]
    assert totals == sorted(totals)


def test_a_shuffle_behind_the_map_is_not_what_took_the_time(tmp_path):
    run = load(str(written(tmp_path / "run.json", implementation="parallel")))
    times = msgspec.structs.replace(run.measured, shuffle_seconds=50.0, map_seconds=49.0, exposed_seconds=1.0)
    parallel = msgspec.structs.replace(run, measured=times)
    assert "Most of it went to map (49 s" in Page(build_page(parallel)).text
    sequential = msgspec.structs.replace(parallel, implementation="sequential")
    assert "Most of it went to shuffle (50 s" in Page(build_page(sequential)).text


def test_numbers_of_the_report_are_on_the_page(tmp_path):
    report, page = run_report(), page_of(tmp_path)
    assert f"{report.load:.4f}" in page.words
    assert f"{float(report.bound):.4f}" in page.words
    assert seconds_text(report.total_seconds) in page.words
    assert {"shortest", "texts", "seed: python_hash"} <= set(page.words)
    assert "0–2" in page.words
    assert "3–5" in page.words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not a run report"),
        ("\x00\xff", "is not a run report"),
        ("[" * 100_000, "is not a run report"),
        ("[]", "is not a run report"),
        ('{"format": "coded-mr-comparison/1"}', "coded-mr-comparison/1"),
        ('{"format": "coded-mr-run/1"}', "damaged, or of another version"),
    ],
)
def test_a_file_that_is_no_run_report_is_named(tmp_path, text, words):
    path = tmp_path / "other.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=words) as caught:
        load(str(path))
    assert str(path) in str(caught.value)
    assert "--json FILE" in str(caught.value)


def test_a_damaged_number_is_named_by_its_place(tmp_path):
    path = written(tmp_path / "run.json")
    document = json.loads(path.read_text())
    document["ranks"][2]["stages"][0]["stop"] = "late"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"ranks\[.*\]\.stages\[.*\]\.stop"):
        load(str(path))


def test_the_reader_knows_no_field_that_reports_lack(tmp_path):
    assert isinstance(load(str(written(tmp_path / "run.json"))), Run)


def test_children_are_escaped_and_markup_is_not():
    inner = element("b", "<i>")
    assert element("p", inner, "&", title='"') == '<p title="&quot;"><b>&lt;i&gt;</b>&amp;</p>'


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 s"), (2.5e-7, "0.25 µs"), (0.0123, "12.3 ms"), (4.5678, "4.57 s"), (1234.5, "1,234 s")],
)
def test_durations_have_three_digits_that_matter(value, text):
    assert seconds_text(value) == text


def test_ratios_to_nothing_do_not_divide():
    assert (ratio_text(0, 0), ratio_text(1, 0), ratio_text(0, 1), ratio_text(3, 2)) == (
        "1.00 ×",
        "–",
        "0 ×",
        "1.50 ×",
    )
    assert "width:0.00%" in bar(0, 0, "map")


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no chromium to open a page with")


def opened(page: str, folder: Path) -> tuple[str, list[str], str]:
    """Return what a browser without a network makes of a page, what the page asked for, and complaints."""
    assert CHROMIUM is not None
    path, log = folder / "opened.html", folder / "net.json"
    path.write_text(page, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
    options += ["--disable-background-networking", "--disable-component-update", "--enable-logging=stderr"]
    options += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder / 'profile'}"]
    options += [f"--log-net-log={log}", "--dump-dom", path.as_uri()]
    done = subprocess.run([CHROMIUM, *options], capture_output=True, text=True, timeout=100, check=True)
    events = json.loads(log.read_text(errors="replace"))["events"]
    asked = [event.get("params", {}) for event in events]
    # What the browser asks for on its own account has no origin.
    urls = [some["url"] for some in asked if some.get("initiator", "not an origin") != "not an origin"]
    return done.stdout, urls, "".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


@needs_chromium
def test_a_real_browser_shows_the_page_without_a_complaint_or_a_request(tmp_path):
    seen, asked, complaints = opened(
        build_page(load(str(written(tmp_path / "run.json", job=HOSTILE)))), tmp_path
    )
    shown = Page(seen)
    assert len(shown.all("g", role="img")) == 6
    assert not shown.all("script") + shown.all("img")
    assert (asked, complaints) == ([], "")


@needs_chromium
def test_a_request_or_a_complaint_would_be_noticed(tmp_path):
    page = "<img src='http://127.0.0.1:9/x.png'><script>console.error('no')</script>"
    _, asked, complaints = opened(page, tmp_path)
    assert set(asked) == {"http://127.0.0.1:9/x.png"}
    assert "no" in complaints

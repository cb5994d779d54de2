"""The picture of a comparison: what is drawn, and that the files are pictures."""

from __future__ import annotations

import importlib.util
import struct
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from fractions import Fraction
from pathlib import Path

import pytest

from coded_mr.engine.comparison_report import Times
from coded_mr.errors import UsageError
from coded_mr.report.plot import check_target, draw, panels
from tests.report.comparisons import comparison, entry, three_plans

needs_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="matplotlib, the extra report, is not installed"
)


def test_a_panel_for_each_scheme_and_a_bar_for_each_load():
    drawn = panels(
        comparison(
            entry("solver-helper", 2, (3, 2), 3.0),
            entry("uncoded", 1, (3, 0), 2.0),
            entry("solver-helper", Fraction(1, 2), (1, 4), 1.0),
            entry("cascaded", 2, (3, 0), 1.0, s=2),
        )
    )
    assert [panel.title for panel in drawn] == ["solver-helper", "uncoded", "cascaded s=2"]
    assert [bar.tick for bar in drawn[0].bars] == ["1/2\n1+4", "2\n3+2"]
    assert [bar.fastest for panel in drawn for bar in panel.bars] == [True, False, False, False]
    assert [bar.chosen for panel in drawn for bar in panel.bars] == [False, False, False, True]


def test_segments_reach_up_to_the_measured_total():
    measured = (Times(1.0, 0.5, 0.25, 2.0), Times(1.0, 0.5, 0.25, 3.0), Times(1.0, 0.5, 0.25, 1.8))
    base = entry("uncoded", 1, (3, 0))
    (panel,) = panels(comparison(type(base)(**{**vars(base), "measured": measured})))
    (bar,) = panel.bars
    assert bar.segments == {"map": 1.0, "shuffle": 0.5, "waiting": 0.25, "reduce": 0.25}
    assert (bar.total, bar.least, bar.most, bar.predicted) == (2.0, 1.8, 3.0, 3.5)


def test_in_parallel_only_the_shuffle_that_map_does_not_hide_is_stacked():
    base = entry("uncoded", 1, (3, 0))
    hidden = type(base)(**{**vars(base), "measured": (Times(2.0, 1.5, 1.0, 3.0),)})
    seen = type(base)(**{**vars(base), "measured": (Times(1.0, 1.5, 1.0, 2.5),)})
    (panel,) = panels(comparison(hidden, seen, implementation="parallel"))
    assert [bar.segments["shuffle"] for bar in panel.bars] == [0.0, 0.5]
    assert [sum(bar.segments.values()) for bar in panel.bars] == [3.0, 2.5]


def test_the_name_decides_and_is_checked_before_any_work(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match=r"must end in \.png or \.svg"):
        check_target(str(tmp_path / "times.pdf"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'coded_mr\[report\]'"):
        check_target(str(tmp_path / "times.png"))


@needs_matplotlib
def test_a_picture_without_a_place_is_refused(tmp_path):
    with pytest.raises(UsageError, match="does not exist"):
        check_target(str(tmp_path / "no" / "times.png"))
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(UsageError, match="is a directory"):
        check_target(str(tmp_path / "folder.svg"))


@needs_matplotlib
@pytest.mark.parametrize("implementation", ["sequential", "parallel"])
def test_png_and_svg_are_what_their_names_say(tmp_path, implementation):
    found = three_plans(implementation=implementation)
    for name in ("times.png", "times.svg", "TIMES.PNG"):
        draw(found, str(tmp_path / name))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["TIMES.PNG", "times.png", "times.svg"]
    assert min(_size(tmp_path / "times.png")) > 400
    assert _size(tmp_path / "TIMES.PNG") == _size(tmp_path / "times.png")
    root = ElementTree.parse(tmp_path / "times.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert {"#0072b2", "#e69f00", "#009e73"} <= set(_fills(tmp_path / "times.svg"))


@needs_matplotlib
def test_many_plans_make_a_picture_taller_not_wider(tmp_path):
    some = [entry("symmetric", r, (10, 0), 1.0 + r) for r in range(10)]
    more = [entry(scheme, r, (10, 0), 1.0 + r) for scheme in ("replicated", "cascaded") for r in range(10)]
    draw(comparison(*some), str(tmp_path / "some.png"))
    draw(comparison(*some, *more), str(tmp_path / "all.png"))
    (width, height), (wide, high) = _size(tmp_path / "some.png"), _size(tmp_path / "all.png")
    assert (width, high > 2 * height) == (wide, True)


@needs_matplotlib
def test_a_failed_drawing_leaves_the_old_picture(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    target = tmp_path / "times.svg"
    target.write_text("old")

    def full(self: Figure, path: Path, **_: object) -> None:
        Path(path).write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", full)
    with pytest.raises(UsageError, match="No space left"):
        draw(three_plans(), str(target))
    assert [path.name for path in tmp_path.iterdir()] == ["times.svg"]
    assert target.read_text() == "old"


@needs_matplotlib
def test_drawing_leaves_the_global_state_of_matplotlib_alone(tmp_path):
    code = (
        "import sys; from tests.report.comparisons import three_plans; from coded_mr.report.plot import draw;"
        f" draw(three_plans(), {str(tmp_path / 'times.png')!r});"
        " sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    top = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=top, check=False).returncode == 0


def _size(path: Path) -> tuple[int, int]:
    """Return the width and height of a PNG, in pixels."""
    raw = path.read_bytes()
    assert raw.startswith(b"\x89PNG\r\n\x1a\n")
    assert raw.endswith(b"IEND\xaeB`\x82")
    width, height = struct.unpack(">II", raw[16:24])
    return width, height


def _fills(path: Path) -> list[str]:
    styles = [node.get("style", "") for node in ElementTree.parse(path).iter()]
    return [word.split(":")[1].strip() for style in styles for word in style.split(";") if "fill:" in word]

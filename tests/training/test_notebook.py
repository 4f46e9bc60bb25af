"""What a notebook shows while agents learn, told by a stand-in for IPython."""

import sys
import types
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from forked import forked

import kousoku as ks
from kousoku.training.metrics import notebook, progress
from kousoku.training.metrics.notebook import notebook_display, progress_svg
from kousoku.training.metrics.progress import Progress


class Cell:
    """The output of a cell: what was displayed, and what it became."""

    def __init__(self):
        self.pictures, self.outputs = [], 0

    def display(self, data, *, raw, display_id):
        assert raw
        assert display_id is True
        self.outputs += 1
        self.pictures.append(data)
        return self

    def update(self, data, *, raw):
        assert raw
        self.pictures.append(data)


@pytest.fixture
def ipython(monkeypatch):
    """Makes IPython's modules, with a kernel or without one; returns the cell."""

    def make(shell):
        cell, module, display = Cell(), types.ModuleType("IPython"), types.ModuleType("IPython.display")
        monkeypatch.setattr(module, "get_ipython", lambda: shell, raising=False)
        monkeypatch.setattr(display, "display", cell.display, raising=False)
        monkeypatch.setitem(sys.modules, "IPython", module)
        monkeypatch.setitem(sys.modules, "IPython.display", display)
        return cell

    return make


KERNEL, TERMINAL = types.SimpleNamespace(kernel=object()), types.SimpleNamespace()


def play(show=None, reports=20):
    with Progress(1000 * reports, 3, show) as bar:
        for k in range(1, reports + 1):
            bar.update(1000 * k, 2.0 * k, 30 * k, {"return": np.array([k, k + 1.0, np.nan]), "policy<loss": np.ones(3)})
    return bar


def svg_of(picture):
    html = picture["text/html"]
    return ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + len("</svg>")])


def test_a_notebook_has_one_output_that_is_drawn_anew(ipython, monkeypatch, capsys):
    cell = ipython(KERNEL)
    monkeypatch.setattr(notebook, "SECONDS", 0.0)
    play()
    assert cell.outputs == 1
    assert len(cell.pictures) == 22
    assert "compiling the first steps" in cell.pictures[0]["text/plain"]
    last = cell.pictures[-1]
    assert last["text/plain"].startswith("100%   20 k of 20 k steps")
    assert "return 20.5 ± 0.5" in last["text/plain"]
    assert "600 episodes" in last["text/html"]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("members", [1, 3])
def test_it_says_what_the_numbers_are(members, ipython):
    cell = ipython(KERNEL)
    with Progress(1000, members, None) as bar:
        bar.update(1000, 1.0, 3, {"return": np.ones(members)})
    for picture in (cell.pictures[0], cell.pictures[-1]):
        assert ("± is the standard deviation over the agents" in picture["text/html"]) == (members > 1)


def test_the_text_tells_the_return_that_the_curve_ends_at(ipython):
    """Where no episode ended since the last report, the last return stays; of a reward nothing stays."""
    cell = ipython(KERNEL)
    unknown = np.full(2, np.nan)
    with Progress(3000, 2, None) as bar:
        bar.update(1000, 1.0, 9, {"return": np.ones(2), "length": np.full(2, 8.0), "reward": np.full(2, 0.1)})
        bar.update(2000, 2.0, 18, {"return": np.full(2, 3.0), "length": np.full(2, 9.0), "reward": unknown})
        bar.update(3000, 3.0, 18, {"return": unknown, "length": unknown, "reward": np.zeros(2)})
    assert bar.curve[-1] == (2000, 3.0)
    text = cell.pictures[-1]["text/plain"]
    assert "return 3 ± 0" in text
    assert "length 9 ± 0" in text
    assert "reward" not in text


def test_its_curve_rises_with_the_return(ipython):
    cell = ipython(KERNEL)
    play()
    drawn = svg_of(cell.pictures[-1])
    (line,) = (each for each in drawn if each.tag.endswith("polyline"))
    points = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
    assert len(points) == 20
    assert points == sorted(points)
    heights = [-y for _, y in points]
    assert heights == sorted(heights)
    width, height = float(drawn.get("width")), float(drawn.get("height"))
    assert all(0 <= x <= width and 0 <= y <= height for x, y in points)
    assert [each.text for each in drawn if each.tag.endswith("text")] == ["20.5", "1.5"]


def test_what_it_shows_is_no_script_and_no_markup_of_others(ipython):
    cell = ipython(KERNEL)
    play()
    html = cell.pictures[-1]["text/html"]
    assert "<script" not in html
    assert "policy&lt;loss 1" in html


def test_pictures_are_not_sent_for_every_report(ipython, monkeypatch):
    cell, now = ipython(KERNEL), [0.0]
    monkeypatch.setattr(notebook.time, "monotonic", lambda: now[0])
    with Progress(1000, 1, None) as bar:
        for step in range(1, 1001):
            now[0] += 0.01
            bar.update(step, 1.0, 1, {"return": np.array([1.0])})
    assert 38 <= len(cell.pictures) <= 42
    assert cell.pictures[-1]["text/plain"].startswith("100%")


@pytest.mark.full("covered")
def test_a_long_curve_is_thinned(ipython):
    ipython(KERNEL)
    curve = play(reports=3000).curve
    assert 200 <= len(curve) <= progress.MOST_POINTS
    assert curve[0][0] == 1000
    assert curve[-1][0] > 2_980_000


def test_a_curve_that_stays_lies_in_the_middle_with_one_label():
    svg = ElementTree.fromstring(progress_svg(0.5, [(10, 1.0), (20, 1.0)], 40))
    (line,), (label,) = (list(svg.iter(f"{{http://www.w3.org/2000/svg}}{tag}")) for tag in ("polyline", "text"))
    middle = 0.5 * (3 * notebook.PAD + notebook.HEIGHT)
    assert {float(point.partition(",")[2]) for point in line.get("points").split()} == {middle}
    assert label.text == "1"
    assert float(label.get("y")) == pytest.approx(middle, abs=5)


@pytest.mark.parametrize("curve", [[], [(5, 1.0)], [(5, 1.0), (10, 1.0)], [(5, -1e30), (20, 1e30)]])
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_any_curve_can_be_drawn(share, curve):
    svg = progress_svg(share, curve, 10)
    ElementTree.fromstring(svg)
    assert "nan" not in svg
    assert "inf" not in svg


def test_silent_when_told_to_be(ipython):
    cell = ipython(KERNEL)
    play(show=False)
    assert not cell.pictures


@pytest.mark.parametrize("shell", [None, TERMINAL, types.SimpleNamespace(kernel=None)])
def test_a_terminal_shows_what_it_showed_before(ipython, monkeypatch, capsys, shell):
    cell = ipython(shell)
    monkeypatch.setenv("TERM", "dumb")
    play(show=True)
    assert not cell.pictures
    assert "100%   20 k of 20 k steps" in capsys.readouterr().err


def test_without_ipython_there_is_no_notebook(monkeypatch):
    for module in (None, types.ModuleType("IPython")):
        monkeypatch.setitem(sys.modules, "IPython", module)
        assert notebook_display() is None


@pytest.mark.full("covered")
def test_a_training_shows_itself_to_its_end(ipython):
    cell = ipython(KERNEL)
    ks.train("q_learning", "GridWorld-v0", steps=200, out="", eval_episodes=0)
    assert cell.outputs == 1
    assert cell.pictures[-1]["text/plain"].startswith("100%   200 of 200 steps")


def test_a_training_that_fails_leaves_its_last_picture(ipython):
    cell = ipython(KERNEL)

    def fail(report):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        ks.train("q_learning", "GridWorld-v0", steps=200, record_every=100, out="", eval_episodes=0, on_report=fail)
    assert cell.pictures[-1]["text/plain"].startswith("50%")


def test_ipython_is_not_imported_for_it():
    code = "import sys; from kousoku.training.metrics.progress import Progress; Progress(1, 1, None)"
    done = forked(f"{code}; print('IPython' in sys.modules)")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "False\n"

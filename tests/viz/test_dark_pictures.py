"""Pictures of environments on a dark page."""

import numpy as np
import pytest
import records

from kousoku.core.scene import Circle, Line, Rect, Scene, Text, Trajectory2d
from kousoku.envs import drawing
from kousoku.viz import report, style

SIZE = 1280, 1200


def test_pictures_have_colours_of_their_own_on_a_dark_page():
    """What environments draw sheets, ink and ground with is what the dark page replaces, but for letters."""
    assert list(style.DRAWN_IN_DARK) == [drawing.PAPER, drawing.INK, drawing.GROUND]
    for css in (style.embedded_pictures(), style.player_palette()):
        dark = css[css.index("prefers-color-scheme:dark") :]
        for light, instead in style.DRAWN_IN_DARK.items():
            assert f'.scene :not(text)[fill="{light}"]{{fill:{instead}}}' in dark
        assert f".trail{{stroke:{style.TRAIL_IN_DARK}" in dark
        assert ".scene" not in css[: css.index("prefers-color-scheme:dark")]


def filmed():
    """A report's record with a film of sheets, ink and ground; letters keep their colour."""
    sheet = (Rect(0, 0, 4, 2, drawing.PAPER), Rect(0, 1.5, 4, 0.5, drawing.GROUND))
    shapes = Circle(1, 1, 0.2, drawing.INK), Line(2, 1, 3, 1, 0.1, drawing.INK), Text(3.5, 0.5, "x", 0.4, drawing.INK)
    film = Trajectory2d((Scene(4.0, 2.0, sheet, shapes),) * 3, 0.1, {"reward": np.ones(3)})
    return records.replaced(records.network(), film=film)


READ = """
const scene = document.querySelector(".film").shadowRoot.querySelector(".scene");
const shown = (shape) => getComputedStyle(shape).fill;
return [[...scene.querySelectorAll("rect, circle")].map(shown), [...scene.querySelectorAll("text")].map(shown),
  [...scene.querySelectorAll("line")].map((shape) => getComputedStyle(shape).stroke)];
"""


def css_rgb(color):
    return "rgb({}, {}, {})".format(*(round(255 * part) for part in style.to_rgb(color)))


@pytest.mark.browser
def test_the_film_in_a_report_has_them_too(browser, tabs, tmp_path):
    """The player there is apart from the page's style sheet, so that its own one has to say so."""
    (tmp_path / "report.html").write_text(report.report_html(filmed()), encoding="utf-8")
    tabs.append(browser.open(tmp_path / "report.html", size=SIZE, media={}, before="", mobile=False))
    for scheme, colors in (("light", style.DRAWN_IN_DARK), ("dark", style.DRAWN_IN_DARK.values())):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        tabs[-1].call("Emulation.setEmulatedMedia", media="screen", features=features)
        areas, letters, lines = tabs[-1].run(READ)
        paper, ink, ground = colors
        assert areas == [css_rgb(color) for color in (paper, ground, ink)]
        assert letters == [css_rgb(drawing.INK)]
        assert lines == [css_rgb(ink)]
        tabs[-1].call("Emulation.setEmulatedMedia", media="print", features=features)
        assert tabs[-1].run(READ)[0][0] == css_rgb(drawing.PAPER), "on paper it is light"

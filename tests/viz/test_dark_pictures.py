"""Pictures of environments on a dark page."""

from kousoku.envs import drawing
from kousoku.viz import style


def test_pictures_have_colours_of_their_own_on_a_dark_page():
    """What environments draw sheets, ink and ground with is what the dark page replaces, but for letters."""
    assert list(style.DRAWN_IN_DARK) == [drawing.PAPER, drawing.INK, drawing.GROUND]
    for css in (style.css(), style.player_palette()):
        dark = css[css.index("prefers-color-scheme:dark") :]
        for light, instead in style.DRAWN_IN_DARK.items():
            assert f'.scene :not(text)[fill="{light}"]{{fill:{instead}}}' in dark
        assert f".trail{{stroke:{style.TRAIL_IN_DARK}" in dark
        assert ".scene" not in css[: css.index("prefers-color-scheme:dark")]

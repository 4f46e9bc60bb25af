"""Cords in pictures, on pages and in the view."""

import dataclasses
import itertools

import numpy as np
import pytest
from browser import LOOK

from kousoku.core.scene3d import WORLD, Body3d, Cord, Geom, Trajectory3d
from kousoku.core.whole_file import write_text
from kousoku.viz import film3d
from kousoku.viz.render3d import Renderer
from kousoku.viz.view3d import rods, view_of

RED = (1.0, 0.0, 0.0, 1.0)
TURN = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
"""A quarter about z."""


def swing(*places: tuple[float, float, float], color=RED, turn=(1.0, 0.0, 0.0, 0.0)) -> Trajectory3d:
    """A grey ball on a red string, of which the lower part is tied to the ball's frame; 2 m from a nail to the ball."""
    nail, middle, ball = (WORLD, (0.0, 0.0, 2.0)), (1, (0.0, 0.0, 0.0)), (0, (0.1, 0.0, 0.0))
    body = Body3d((Geom("sphere", (0.1, 0.0, 0.0), 0),), "swing", (Cord(0.04, (nail, middle, ball), color, "string"),))
    positions = np.array([[place, np.add(place, (0.0, 0.0, 2.0)) / 2] for place in places])
    return Trajectory3d(body, positions, np.tile(turn, (len(places), 2, 1)), 0.1)


def red(picture: np.ndarray) -> np.ndarray:
    return (picture[..., 0] > 90) & (picture[..., 1] < 0.4 * picture[..., 0])


@pytest.mark.parametrize("place", [(1.0, 0.0, 0.5), (0.0, 0.0, 0.0), (0.0, 0.0, 4.0), (0.0, -1.0, 2.0)])
@pytest.mark.parametrize("turn", [(1.0, 0.0, 0.0, 0.0), TURN])
def test_rods_lead_from_point_to_point(place, turn):
    found = rods(swing(place, turn=turn), 0)
    tied = np.add(place, (0.1, 0.0, 0.0) if turn != TURN else (0.0, 0.1, 0.0))
    ways = itertools.pairwise([np.array([0.0, 0.0, 2.0]), np.add(place, (0.0, 0.0, 2.0)) / 2, tied])
    for rod, (start, end) in zip(found, ways, strict=True):
        w, x, y, z = np.array(rod.quaternion) / np.linalg.norm(rod.quaternion)
        along = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]) * rod.size[1]
        np.testing.assert_allclose([rod.position - along, rod.position + along], [start, end], atol=1e-9)
        assert (rod.kind, rod.size[0], rod.frame, rod.color, rod.name) == ("capsule", 0.04, WORLD, RED, "string")


def test_a_part_without_length_is_left_out():
    same = ((WORLD, (0.0, 0.0, 1.0)), (WORLD, (0.0, 0.0, 1.0)), (0, (0.0, 0.0, 0.0)))
    film = Trajectory3d(Body3d((), cords=(Cord(0.1, same),)), np.zeros((1, 1, 3)), np.ones((1, 1, 4)), 0.1)
    assert [rod.size[1] for rod in rods(film, 0)] == [0.5]


def test_a_picture_without_a_display_shows_it_and_it_follows():
    film = swing((-0.5, 0.0, 0.2), (0.5, 0.0, 0.2))
    left, right = (red(Renderer([film], 160).draw(t)).nonzero() for t in (0, 1))
    assert min(len(left[0]), len(right[0])) > 50
    assert left[1].mean() < 80 < right[1].mean()
    clear = dataclasses.replace(film.body, cords=(dataclasses.replace(film.body.cords[0], color=(1, 0, 0, 0)),))
    assert not red(Renderer([dataclasses.replace(film, body=clear)], 160).draw(0)).any()


def test_the_view_holds_what_is_tied_to_what_moves():
    film = swing((0.0, 0.0, 0.0), (0.1, 0.0, 0.0))
    near, whole = view_of(dataclasses.replace(film, body=Body3d(film.body.geoms))), view_of(film)
    assert near.size < 0.5 < 2.0 < whole.size
    assert whole.middle[2] == pytest.approx(0.97, abs=0.05)
    distant = view_of(swing((0.0, 0.0, 1.5), (0.0, 0.0, 0.0), (0.0, 0.0, 1.5)))
    assert not distant.travels
    assert distant.size > 2.0


def test_the_page_is_told():
    (body,) = film3d.payload([swing((0.0, 0.0, 0.0))], "")["bodies"]
    points = [[WORLD, 0, 0, 2], [1, 0, 0, 0], [0, 0.1, 0, 0]]
    assert body["cords"] == [{"radius": 0.04, "color": [1, 0, 0, 1], "name": "string", "points": points}]


@pytest.mark.browser
def test_the_player_shows_it_and_it_follows(browser, tabs, tmp_path):
    film = swing((-0.5, 0.0, 0.2), (0.5, 0.0, 0.2), (0.0, 0.0, 1.4), turn=TURN)
    file = write_text(tmp_path / "page.html", film3d.page([film]))
    tabs.append(browser.open(file, size=(400, 400), media={}, before="", mobile=False))
    found = tabs[-1].run(
        f"""{LOOK}
        const reds = (pixels) => [...pixels.keys()].filter((i) =>
          i % 4 === 0 && pixels[i + 3] > 200 && pixels[i] > 90 && pixels[i + 1] < 0.4 * pixels[i]).map((i) => i / 4);
        for (const t of [2, 1, 0]) {{
          const found = reds(await look(() => scrub(t)));
          probe[t] = [found.length, found.reduce((sum, i) => sum + i % 160, 0) / found.length];
          probe.one = found[found.length >> 1];
        }}
        const [box, x, y] = [canvas.getBoundingClientRect(), probe.one % 160, Math.floor(probe.one / 160)];
        const [clientX, clientY] = [box.left + (x + 0.5) / 160 * box.width, box.top + (y + 0.5) / 100 * box.height];
        canvas.dispatchEvent(new PointerEvent("pointermove", {{ clientX, clientY, bubbles: true }}));
        probe.name = text(".hint");
        return probe;"""
    )
    left, right, near = (found[time] for time in "012")
    assert left[0] > 50 < right[0]
    assert left[1] + 15 < right[1]
    assert 0 < near[0] < 0.5 * left[0]
    assert found["name"] == "string"

"""The player of scenes in the plane in a real browser: the same bar, keys and values as in space."""

import figures
import numpy as np
import pytest
from browser import LOOK
from chromium import Page

from kousoku.core.scene import Circle, Line, Polygon, Polyline, Rect, Scene, Text, Trajectory2d
from kousoku.viz import Animation

pytestmark = pytest.mark.browser
PROBE = LOOK.replace('const canvas = at("canvas");', "const canvas = document.body;")


def machine(count: int = 30, dt: float | None = 0.1, **options) -> Trajectory2d:
    """Something that turns: an area, a line of many points, a line."""
    scenes = []
    for i in range(count):
        x = 0.1 * i
        shapes = (
            Polygon(((x, 0.0), (x + 1.0, 0.0), (x, 1.0)), "#ff0000"),
            Polyline(((0.0, 0.0), (x, 2.0), (4.0, 2.0)), 0.1, "#0000ff"),
            Line(0.0, 0.0, x, 1.0, 0.1, "black"),
            Text(1.0, 1.0, "<b>&</b>", 0.4, "black"),
            Circle(x, 1.0, 0.1, "black"),
        )
        scenes.append(Scene(4.0, 2.0, (Rect(0, 0, 4, 2, "#ffffff", 0.1),), shapes))
    values = {"reward": np.ones(count), "height": np.sin(0.3 * np.arange(count))}
    return Trajectory2d(tuple(scenes), dt, values, **options)


def walk(count: int = 10, name: str = "") -> Trajectory2d:
    """A dot that walks through two rooms: the background changes in the middle."""
    rooms = (Rect(0, 0, 5, 5, "#ffffff"),), (Rect(0, 0, 5, 5, "#eeeeee"),)
    scenes = [Scene(5.0, 5.0, rooms[2 * i // count], (Circle(0.5 + 0.4 * i, 2.5, 0.3, "red"),)) for i in range(count)]
    return Trajectory2d(tuple(scenes), None, {"reward": np.arange(float(count))}, name)


@pytest.fixture
def show(browser, tabs, tmp_path):
    """Open a page; afterwards nothing was logged and the page alone was asked for."""

    def run(*films: Trajectory2d, title: str = "", size=(900, 640), media=None, mobile=False) -> Page:
        file = Animation(films, title).save(tmp_path / f"page{len(tabs)}.html")
        tabs.append(browser.open(file, size=size, media=media or {}, before="", mobile=mobile))
        return tabs[-1]

    return run


@pytest.fixture
def probed(show):
    """What a script puts into `probe` on a page with films."""

    def run(script: str, *films: Trajectory2d, **options) -> dict:
        return show(*films, **options).run(f"{PROBE}{script}\nreturn probe;")

    return run


def test_it_plays_by_itself_and_answers_to_keys(probed):
    found = probed(
        """
        await frame(); await frame(); probe.playing = text(".primary");
        while (Number(time()) < 0.2) await frame();
        press(" "); await frame(); probe.paused = text(".primary");
        press("Home"); await frame(); probe.home = time();
        press("ArrowLeft"); await frame(); probe.stays = time();
        press("ArrowRight"); press("ArrowRight"); await frame(); probe.two = time();
        scrub(9); await frame(); probe.nine = time();
        probe.points = at("svg.scene g:last-of-type polygon").getAttribute("points");
        probe.line = at("svg.scene polyline").getAttribute("fill");
        probe.words = text("svg.scene text");
        press("End"); await frame(); probe.end = text(".time");
        press("."); await frame(); probe.faster = at("select").value;
        press(" "); await frame(); probe.again = text(".primary");
        probe.trail = at(".trail") !== null;
        probe.buttons = [...document.querySelectorAll(".view button")].length;
        """,
        machine(),
    )
    assert found == {
        "playing": "Pause", "paused": "Play", "home": "0.00", "stays": "0.00", "two": "0.20", "nine": "0.90",
        "points": "0.9 0 1.9 0 0.9 1", "line": "none", "words": "<b>&</b>", "end": "2.90 / 2.90 s", "faster": "2",
        "again": "Pause", "trail": False, "buttons": 0,
    }  # fmt: skip


def test_values_and_steps_where_time_has_no_unit(probed):
    found = probed(
        """
        scrub(3); await frame();
        probe.time = text(".time");
        probe.chips = [...document.querySelectorAll(".chip")].map((chip) => chip.textContent);
        probe.rooms = at("svg.scene rect").getAttribute("fill");
        scrub(7); await frame();
        probe.later = at("svg.scene rect").getAttribute("fill");
        probe.trail = at(".trail").getAttribute("points").split(" ").length;
        const shown = () => getComputedStyle(at(".trail")).visibility;
        probe.seen = [shown()];
        press("w"); probe.seen.push(shown());
        at(".view button").click(); await frame(); probe.seen.push(shown());
        probe.pressed = at(".view button").getAttribute("aria-pressed");
        """,
        walk(),
    )
    assert found == {
        "time": "3 / 9 steps", "chips": ["reward3.00"], "rooms": "#ffffff", "later": "#eeeeee", "trail": 10,
        "seen": ["visible", "hidden", "visible"], "pressed": "true",
    }  # fmt: skip


def test_pictures_of_pixels_are_seen_in_every_frame(show):
    colors = (255, 0, 0), (0, 0, 255), (0, 255, 0)
    scenes = [Scene.of_pixels(np.full((30, 40, 3), color, np.uint8)) for color in colors]
    page = show(Trajectory2d(tuple(scenes), 60.0, {}))
    for at, color in enumerate(colors):
        forward = f"for (let k = 0; k < {at}; k += 1) press('ArrowRight');"
        page.run(f"{PROBE}press('Home'); {forward} await frame(); return 1;")
        seen = page.screenshot()[100:300, 200:700].reshape(-1, 3)
        assert (np.abs(seen.astype(int) - color).max(axis=1) < 9).mean() > 0.5


def test_the_value_that_varies_is_drawn_first(probed):
    found = probed(
        'probe.pressed = [...document.querySelectorAll(".chip")].map((c) => c.getAttribute("aria-pressed"));', machine()
    )
    assert found["pressed"] == ["false", "true"]


def test_environments_stand_side_by_side_and_one_can_be_chosen(probed):
    found = probed(
        """
        const shown = () => [...document.querySelectorAll("figure")].filter((node) => !node.hidden);
        const places = () => shown().map((node) => node.getBoundingClientRect());
        probe.names = [...document.querySelectorAll("figcaption")].map((node) => node.textContent);
        probe.rows = new Set(places().map((box) => box.top)).size;
        probe.inside = places().every((box) => box.left >= 0 && box.right <= innerWidth);
        probe.small = places()[0].width;
        press("2"); await frame();
        probe.one = shown().map((node) => node.querySelector("figcaption").textContent);
        probe.large = places()[0].width;
        probe.which = at(".view select + select").value;
        probe.faint = document.querySelectorAll(".graph path.faint").length;
        press("0"); await frame();
        probe.all = shown().length;
        scrub(9); await frame();
        probe.ended = shown().map((node) => node.querySelector("circle").getAttribute("cx"));
        """,
        walk(5, "short"),
        walk(10),
        *(walk(10, f"seed {i}") for i in range(3)),
        size=(600, 900),
    )
    assert found["names"] == ["short", "2", "seed 0", "seed 1", "seed 2"]
    assert found["rows"] == 2
    assert found["inside"]
    assert found["large"] > 1.3 * found["small"]
    assert (found["one"], found["which"], found["faint"], found["all"]) == (["2"], "1", 4, 5)
    assert found["ended"] == ["2.1", "4.1", "4.1", "4.1", "4.1"]


def test_hostile_names_stay_text(probed):
    names = figures.HOSTILE
    films = [Trajectory2d(walk().scenes, None, dict.fromkeys(names, np.zeros(10)), name) for name in names]
    found = probed(
        """
        probe.title = text("h1");
        probe.labels = [...document.querySelectorAll("figcaption")].map((node) => node.textContent);
        probe.chips = [...document.querySelectorAll(".chip .name")].map((name) => name.textContent);
        probe.elements = document.querySelectorAll("img, main script, iframe, [onerror]").length;
        probe.scripts = document.scripts.length;
        """,
        *films,
        title=names[3],
    )
    assert found == {
        "title": names[3], "labels": list(names), "chips": list(names), "elements": 0, "scripts": 2,
    }  # fmt: skip


@pytest.mark.by_default("size0-light", "size1-dark")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1000, 700), (390, 780)])
def test_a_screenshot_shows_the_scene_whole(size, scheme, show):
    page = show(walk(), size=size, media={"prefers-color-scheme": scheme}, mobile=size[0] < 500)
    picture = page.screenshot()
    red = (picture[..., 0] > 200) & (picture[..., 1] < 40) & (picture[..., 2] < 40)
    assert red.sum() > 300
    root = page.run("const r = document.documentElement; return [r.scrollWidth, r.clientWidth, r.scrollHeight]")
    assert root == [size[0], size[0], size[1]]
    box = page.run("const b = document.querySelector('.scene').getBoundingClientRect(); return [b.top, b.bottom]")
    assert 40 < box[0] < box[1] < size[1] - 150
    assert (picture[5].mean() < 90) == (scheme == "dark")


def test_the_shadow_has_the_corners_of_the_drawing(probed):
    sheets = (0.0, 0.4)
    films = [
        Trajectory2d((Scene(4.0 - 1e-9, 2.0, (Rect(0, 0, 4, 2, "#ffffff", radius),), ()),), None, {}, str(radius))
        for radius in sheets
    ]
    found = probed(
        """
        const radius = (node) => parseFloat(getComputedStyle(node).borderTopLeftRadius);
        const scenes = [...document.querySelectorAll("svg.scene")];
        probe.radii = scenes.map(radius);
        probe.drawn = scenes.map((node) => 0.4 * node.getBoundingClientRect().width / 4);
        """,
        *films,
    )
    assert found["radii"] == pytest.approx([8.0, found["drawn"][1]], rel=0.02)
    assert found["drawn"][1] > 12


@pytest.mark.full("covered")
def test_help_tells_only_what_there_is(probed):
    found = probed(
        """
        press("?");
        probe.title = text("#help-title");
        probe.words = text("dialog");
        at("dialog button").click();
        probe.closed = !at("dialog").open;
        """,
        machine(),
    )
    assert found["title"] == "Keys"
    assert "play and pause" in found["words"]
    assert "follow" not in found["words"]
    assert found["closed"]


@pytest.mark.full("covered")
def test_one_picture_has_no_playbar_and_a_long_film_says_what_is_left_out(probed, monkeypatch):
    assert probed('probe.bar = at(".playbar") !== null;', machine(1)) == {"bar": False}
    monkeypatch.setattr("kousoku.viz.film.MAX_FRAMES", 8)
    found = probed('probe.cut = text(".cut"); press("End"); await frame(); probe.end = text(".time");', walk(10))
    assert found == {"cut": "The last 2 frames are left out.", "end": "7 / 7 steps"}

"""Films at their limits: planes without end, many in a narrow window, no WebGL, and paper."""

from collections.abc import Sequence

import figures
import numpy as np
import pytest
from browser import LOOK
from chromium import Page

from kousoku.core.scene import Circle, Rect, Scene, Trajectory2d
from kousoku.core.scene3d import Body3d, Geom, Trajectory3d
from kousoku.viz import Animation, style

pytestmark = pytest.mark.browser
Films = Sequence[Trajectory2d | Trajectory3d]


@pytest.fixture
def show(browser, tabs, tmp_path):
    """Open a page with films that stand still."""

    def run(films: Films, size=(700, 600), scheme="light", before="", mobile=False) -> Page:
        file = Animation(tuple(films), "A title").save(tmp_path / f"film{len(tabs)}.html")
        media = {"prefers-reduced-motion": "reduce", "prefers-color-scheme": scheme}
        tabs.append(browser.open(file, size=size, media=media, before=before, mobile=mobile))
        return tabs[-1]

    return run


def along(wall: Geom) -> Trajectory3d:
    """A box that goes 300 m along a wall."""
    positions = np.zeros((3, 1, 3))
    positions[:, 0] = np.stack([np.linspace(0, 300, 3), np.zeros(3), np.full(3, 0.1)], axis=1)
    parts = Geom("plane", (0, 0, 1)), wall, Geom("box", (0.2, 0.1, 0.1), frame=0)
    return Trajectory3d(Body3d(parts), positions, np.tile([1.0, 0, 0, 0], (3, 1, 1)), 0.1)


def red_wall(size: tuple[float, float, float]) -> Geom:
    """An upright plane of these half sizes, along x."""
    return Geom("plane", size, color=(1, 0, 0, 1), position=(0, 2, 0), quaternion=(np.sqrt(0.5), np.sqrt(0.5), 0, 0))


@pytest.mark.by_default("size1-*")
@pytest.mark.parametrize(("size", "share"), [((0, 0, 1), 1.0), ((0, 2, 1), 1.0), ((50, 0, 1), 0.0)])
def test_a_plane_without_end_is_there_however_far_one_goes(size, share, show):
    page = show([along(red_wall(size))])
    script = "return [red(await look(() => scrub(0))), red(await look(() => scrub(2)))];"
    first, last = page.run(f"{LOOK}{script}")
    assert first > 1000
    assert last / first == pytest.approx(share, abs=0.02)


def test_without_webgl_each_environment_can_be_chosen(show):
    page = show([figures.walk(name=n) for n in "abc"], before="HTMLCanvasElement.prototype.getContext = () => null;")
    script = """
        const which = at(".view select + select");
        const chosen = async () => {
          await frame();
          return [which.value, document.querySelectorAll(".graph path.faint").length];
        };
        probe.first = await chosen();
        which.value = "1"; which.dispatchEvent(new Event("change")); probe.second = await chosen();
        press("3"); probe.third = await chosen();
        press("9"); probe.none = await chosen();
        press("0"); probe.all = await chosen();
    """
    found = page.run(f"{LOOK}{script}return probe;")
    assert found == {"first": ["-1", 0], "second": ["1", 2], "third": ["2", 2], "none": ["2", 2], "all": ["-1", 0]}


def dot(name: str = "", count: int = 3) -> Trajectory2d:
    scenes = (
        Scene(2, 1, (Rect(0, 0, 2, 1, "#ffffff"),), (Circle(0.3 * i + 0.3, 0.5, 0.2, "red"),)) for i in range(count)
    )
    return Trajectory2d(tuple(scenes), 0.1, {"reward": np.arange(float(count))}, name)


@pytest.mark.parametrize(("count", "width"), [(40, 390), (40, 320), (40, 768), (2, 390)])
def test_many_films_fit_the_width_of_a_narrow_window(count, width, show):
    page = show([dot(f"a long name of seed {i}") for i in range(count)], size=(width, 844), mobile=True)
    found = page.run("""
        const boxes = [...document.querySelectorAll("figure, svg.scene")].map((node) => node.getBoundingClientRect());
        const room = document.querySelector(".drawings");
        return { left: Math.min(...boxes.map((box) => box.left)), right: Math.max(...boxes.map((box) => box.right)),
          least: Math.min(...boxes.map((box) => box.width)), over: room.scrollWidth - room.clientWidth };
    """)
    assert found["left"] >= 0
    assert found["right"] <= width
    assert found["least"] >= 40
    assert found["over"] == 0


PRINTED = """
const boxes = [...document.querySelectorAll(".stage, .paper, .plot, svg.scene, .chip")];
const seen = (node) => node.getClientRects().length > 0;
const paper = document.querySelector(".paper");
const box = paper?.getBoundingClientRect();
return {
  right: Math.max(...boxes.map((node) => node.getBoundingClientRect().right)),
  bottom: Math.max(...boxes.map((node) => node.getBoundingClientRect().bottom)),
  width: document.documentElement.scrollWidth,
  controls: [...document.querySelectorAll("button:not(.chip), select, input")].filter(seen).length,
  stretched: paper ? box.width / box.height / (paper.width / paper.height) : 1,
  plot: document.querySelector(".plot").getBoundingClientRect().width,
  line: document.querySelector(".plot").getAttribute("viewBox").split(" ")[2],
  canvas: [...document.querySelectorAll("canvas")].filter(seen).map((node) => node.className),
};
"""


@pytest.mark.by_default("two in space", "one in the plane")
@pytest.mark.parametrize(
    ("films", "chosen"),
    [([figures.walk()], "key"), ([figures.walk()] * 2, "dark"), ([dot()], "dark"), ([dot()] * 40, "key")],
    ids=["one in space", "two in space", "one in the plane", "forty in the plane"],
)
def test_on_paper_it_is_light_and_whole_and_nothing_can_be_pressed(films, chosen, show):
    canvas = ["paper"] if isinstance(films[0], Trajectory3d) else []
    scheme = "dark" if chosen == "dark" else "light"
    page = show(films, size=(1300, 620), scheme=scheme)
    if chosen == "key":
        page.key("t")
    page.run(f"{LOOK}await frame(); await frame();")
    before = page.screenshot()
    page.run('window.dispatchEvent(new Event("beforeprint"));')
    page.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": scheme}])
    page.call("Emulation.setDeviceMetricsOverride", width=690, height=1000, deviceScaleFactor=1, mobile=False)
    found = page.run(PRINTED)
    assert found["right"] <= 690
    assert found["bottom"] <= 1000
    assert found["width"] <= 690
    assert (found["controls"], found["canvas"]) == (0, canvas)
    assert found["stretched"] == pytest.approx(1, abs=0.01)
    assert (found["plot"], found["line"]) == (680, "680")
    picture = page.screenshot()
    assert np.median(picture) > 200
    assert ((picture[..., 0] > 150) & (picture[..., 1:] < 60).all(axis=-1)).sum() > 200
    page.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": scheme}])
    page.call("Emulation.setDeviceMetricsOverride", width=1300, height=620, deviceScaleFactor=1, mobile=False)
    page.run(f'{LOOK}window.dispatchEvent(new Event("afterprint")); await frame(); await frame();')
    assert (np.abs(page.screenshot() - before).max(axis=-1) > 8).mean() < 0.02, "as it was"
    assert before[5].mean() < 90


def test_rules_for_dark_pages_are_not_for_paper():
    css = style.player_palette()
    assert css.count("@media screen") == css.count("@media") == 2
    assert css.count(":not([data-print])") > 2

"""Tests marked `browser` run in a headless Chromium, one for all of them; without any they are skipped."""

import os
import shutil
from collections.abc import Iterator

import pytest
from chromium import Chromium, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = os.environ.get("KOUSOKU_CHROMIUM") or next((path for name in NAMES if (path := shutil.which(name))), None)

# For the players. A look at the picture is taken in the frame in which it was drawn: `act` asks for one, and it is read
# right after.
LOOK = """
const probe = {};
const at = (selector) => document.querySelector(selector);
const text = (selector) => at(selector)?.textContent ?? null;
const key = (node, name) => node.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
const press = (name) => key(document.body, name);
const frame = () => new Promise((done) => requestAnimationFrame(done));
const canvas = at("canvas");
const read = () => {
  const small = document.createElement("canvas");
  [small.width, small.height] = [160, 100];
  const pen = small.getContext("2d");
  pen.drawImage(canvas, 0, 0, 160, 100);
  return [...pen.getImageData(0, 0, 160, 100).data];
};
const look = async (act) => {
  act();
  await frame();
  return read();
};
const differs = (a, b) => a.filter((x, i) => Math.abs(x - b[i]) > 8).length;
const red = (pixels) => {
  let count = 0;
  for (let i = 0; i < pixels.length; i += 4) {
    if (pixels[i + 3] > 200 && pixels[i] > 90 && pixels[i + 1] < 0.35 * pixels[i]) count += 1;
  }
  return count;
};
const scrub = (t) => {
  at("#scrub").value = t;
  at("#scrub").dispatchEvent(new Event("input"));
};
const touch = (type, id, x, y, more = {}) =>
  canvas.dispatchEvent(new PointerEvent(type, { pointerId: id, clientX: x, clientY: y, bubbles: true, ...more }));
const drag = (x, y, more = {}) => {
  touch("pointerdown", 1, 200, 150, { buttons: 1, ...more });
  touch("pointermove", 1, 200 + x, 150 + y, { buttons: 1, ...more });
  touch("pointerup", 1, 200 + x, 150 + y);
};
const time = () => text(".time").split(" ")[0];
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what needs a browser that is not here."""
    skip = pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome found; set KOUSOKU_CHROMIUM to its path")
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """Chromium, with a profile of its own."""
    running = Chromium(str(BROWSER), tmp_path_factory.mktemp("profile"))
    yield running
    running.close()


@pytest.fixture
def tabs() -> Iterator[list[Page]]:
    """Pages that a test opens and puts here: at its end nothing was logged, and each asked for itself alone."""
    opened: list[Page] = []
    yield opened
    for page in opened:
        assert_quiet(page)
        page.close()


def assert_quiet(page: Page) -> None:
    """Fails where a page logged something, or asked for more than itself."""
    page.run("")
    assert page.log == []
    assert len([address for address in page.requests if not address.startswith("data:image/")]) == 1

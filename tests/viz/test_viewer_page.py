"""The player in three dimensions in a real browser: what it draws, what it answers to, and that names stay text."""

import dataclasses

import figures
import numpy as np
import pytest
from browser import LOOK
from chromium import Page

from kousoku.core.scene3d import Body3d, Geom, Trajectory3d
from kousoku.core.whole_file import write_text
from kousoku.viz import film3d

pytestmark = pytest.mark.browser


@pytest.fixture
def show(browser, tabs, tmp_path):
    """Open a page with trajectories; afterwards nothing was logged and the page alone was asked for."""

    def run(*trajectories: Trajectory3d, title: str = "", size=(640, 640), media=None, before="", mobile=False) -> Page:
        page = film3d.page(trajectories or [figures.walk()], title)
        file = write_text(tmp_path / f"page{len(tabs)}.html", page)
        tabs.append(browser.open(file, size=size, media=media or {}, before=before, mobile=mobile))
        return tabs[-1]

    return run


@pytest.fixture
def probed(show):
    """What a script puts into `probe` on a page with trajectories."""

    def run(script: str, *trajectories: Trajectory3d, **options) -> dict:
        return show(*trajectories, **options).run(f"{LOOK}{script}\nreturn probe;")

    return run


@pytest.mark.slow_because("a browser plays in real time")
def test_it_plays_by_itself_and_answers_to_keys(probed):
    found = probed(
        """
        await frame(); await frame(); probe.playing = text(".primary");
        const [first, since] = [await look(() => {}), Number(time())];
        while (Number(time()) < since + 0.2) await frame();
        probe.plays = differs(first, await look(() => {}));
        press(" "); await frame(); probe.paused = text(".primary");
        press("Home"); await frame(); probe.home = time();
        press("ArrowLeft"); await frame(); probe.stays = time();
        press("ArrowRight"); press("ArrowRight"); await frame(); probe.two = time();
        press("End"); await frame(); probe.end = time();
        press("."); await frame(); probe.faster = at("select").value;
        for (let i = 0; i < 9; i += 1) press(",");
        await frame(); probe.slowest = at("select").value;
        press(" "); await frame(); probe.again = [text(".primary"), Number(time()) < 0.2];
        key(at(".primary"), " "); await frame(); probe.once = text(".primary");
        probe.requests = performance.getEntriesByType("resource").length;
        """
    )
    assert found.pop("plays") > 300
    assert found == {
        "playing": "Pause", "paused": "Play", "home": "0.00", "stays": "0.00", "two": "0.10", "end": "1.95",
        "faster": "2", "slowest": "0.1", "again": ["Pause", True], "once": "Pause", "requests": 0,
    }  # fmt: skip


def test_it_stops_at_the_end_and_moves_between_frames(probed):
    found = probed(
        """
        press("f");
        const still = await look(() => scrub(0));
        press(" ");
        while (Number(time()) < 0.3) await frame();
        probe.between = differs(still, await look(() => {}));
        press("."); press(".");
        while (text(".primary") === "Pause") await frame();
        probe.end = time();
        """,
        figures.walk(3, dt=1.0),
    )
    assert found["between"] > 100
    assert found["end"] == "2.00"


@pytest.mark.slow_because("a browser draws in real time")
def test_the_picture_follows_time_and_camera(probed):
    found = probed(
        """
        const start = await look(() => scrub(0));
        probe.colours = new Set(start.map((x) => x >> 4)).size;
        probe.head = red(start);
        const later = await look(() => scrub(20));
        probe.scrubbed = differs(start, later);
        probe.same = differs(start, await look(() => scrub(0)));
        for (const name of ["a", "d", "w", "s", "+", "-"]) {
          probe[name] = differs(start, await look(() => press(name)));
          probe[`${name} back`] = differs(start, await look(() => press("r")));
        }
        probe.drag = differs(start, await look(() => drag(80, 30)));
        await look(() => press("r"));
        probe.shift = differs(start, await look(() => drag(80, 30, { shiftKey: true })));
        await look(() => press("r"));
        probe.right = differs(start, await look(() => drag(80, 30, { buttons: 2 })));
        await look(() => press("r"));
        const wheel = new WheelEvent("wheel", { deltaY: 200, cancelable: true });
        probe.wheel = differs(start, await look(() => canvas.dispatchEvent(wheel)));
        await look(() => press("r"));
        const near = await look(() => {
          touch("pointerdown", 1, 200, 150); touch("pointerdown", 2, 240, 150);
          touch("pointermove", 2, 255, 150); touch("pointermove", 1, 195, 150);
          touch("pointerup", 1, 195, 150); touch("pointerup", 2, 255, 150);
        });
        probe.pinched = red(near) / probe.head;
        probe.back = differs(start, await look(() => press("r")));
        probe.shown = document.documentElement.dataset.ready;
        """
    )
    assert found["colours"] > 6
    assert found["head"] > 10
    changes = ("scrubbed", "a", "d", "w", "s", "+", "-", "drag", "shift", "right", "wheel")
    assert all(found[name] > 300 for name in changes), found
    assert all(found[name] == 0 for name in found if name.endswith("back") or name == "same"), found
    assert found["pinched"] > 1.5


@pytest.mark.full("more cases")
def test_the_camera_follows_or_stays(probed):
    found = probed(
        """
        probe.start = red(await look(() => scrub(0)));
        probe.with = red(await look(() => scrub(39)));
        await look(() => scrub(0));
        probe.pressed = [at(".view button").getAttribute("aria-pressed")];
        probe.same = red(await look(() => press("f")));
        probe.pressed.push(at(".view button").getAttribute("aria-pressed"));
        probe.without = red(await look(() => scrub(39)));
        probe.again = red(await look(() => press("f")));
        """,
        figures.walk(speed=1.0),
    )
    assert found["pressed"] == ["true", "false"]
    assert found["same"] == found["start"]
    assert found["without"] < 0.3 * found["start"]
    assert found["with"] == found["again"] > 0.6 * found["start"]


def test_contacts_are_shown_on_demand(probed):
    found = probed(
        """
        const without = await look(() => scrub(2));
        probe.quiet = text(".status");
        const shown = await look(() => press("c"));
        probe.two = text(".status");
        probe.arrows = differs(without, shown);
        await look(() => scrub(3)); probe.one = text(".status");
        await look(() => scrub(0)); probe.none = text(".status");
        await look(() => scrub(2));
        probe.gone = differs(without, await look(() => at(".view").children[2].click()));
        probe.after = text(".status");
        """
    )
    assert found.pop("arrows") > 60
    assert found == {
        "quiet": "", "two": "2 contacts, forces of 60.1 N", "one": "1 contact, forces of 40.1 N",
        "none": "0 contacts, forces of 0 N", "gone": 0, "after": "",
    }  # fmt: skip


@pytest.mark.full("more cases")
def test_contacts_of_the_environment_that_is_chosen_are_counted(probed):
    found = probed(
        """
        await look(() => scrub(2));
        await look(() => press("c")); probe.all = text(".status");
        await look(() => press("1")); probe.first = text(".status");
        """,
        figures.walk(),
        figures.walk(),
    )
    assert found == {"all": "4 contacts, forces of 120 N", "first": "2 contacts, forces of 60.1 N"}


@pytest.mark.full("more cases")
def test_what_one_sees_through_stands_before_the_floor(probed):
    ball = Geom("sphere", (0.5, 0, 0), 0, (1.0, 0.0, 0.0, 0.5))
    floor = Geom("plane", (0.0, 0.0, 1.0))
    place, turn = np.tile([0.0, 0.0, 0.5], (3, 1, 1)), np.tile([1.0, 0.0, 0.0, 0.0], (3, 1, 1))
    found = probed(
        """
        const pixels = await look(() => scrub(1));
        const i = 4 * (50 * 160 + 80);
        probe.middle = pixels.slice(i, i + 4);
        """,
        Trajectory3d(Body3d((floor, ball)), place, turn, 0.1),
    )
    red, green, _, _ = found["middle"]
    assert red > 1.3 * green > 60, "the floor shines through a red ball"


@pytest.mark.full("more cases")
def test_the_lowest_plane_is_the_floor_and_others_are_solids(probed):
    platform = Geom("plane", (6.0, 6.0, 1.0), color=(1.0, 0.0, 0.0, 1.0), position=(0.0, 0.0, 1.0))
    body = Body3d((Geom("plane", (0.0, 0.0, 1.0)), platform, Geom("sphere", (0.5, 0, 0), 0)))
    place, turn = np.tile([0.0, 0.0, 1.5], (3, 1, 1)), np.tile([1.0, 0.0, 0.0, 0.0], (3, 1, 1))
    found = probed("probe.red = red(await look(() => scrub(1)));", Trajectory3d(body, place, turn, 0.1))
    assert found["red"] > 0.3 * 160 * 100


@pytest.mark.full("more cases")
def test_a_return_begins_at_zero(probed):
    t = np.arange(40)
    values = {"return": np.sin(0.3 * t) * t - 0.1234 * t}
    walk = figures.walk(40)
    film = Trajectory3d(walk.body, walk.positions, walk.quaternions, walk.dt, values)
    found = probed(
        """
        await look(() => scrub(0));
        probe.now = at(".chip").textContent;
        """,
        film,
    )
    assert found["now"] == "return0"


@pytest.mark.full("more cases")
def test_values_are_drawn_under_the_scrub_bar(probed):
    found = probed(
        """
        await look(() => scrub(10));
        const lines = () => document.querySelectorAll(".graph path.line").length;
        const chips = [...document.querySelectorAll(".chip")];
        probe.now = chips.map((chip) => chip.textContent);
        probe.one = lines();
        chips[1].click(); probe.two = lines();
        chips[0].click(); chips[1].click(); probe.none = lines();
        chips[1].click();
        await look(() => scrub(3));
        probe.gap = chips[1].querySelector(".now").textContent;
        probe.pieces = at(".graph path.line").getAttribute("d").split("M").length - 1;
        const box = at(".graph path.line").getBoundingClientRect();
        const ends = [...document.querySelectorAll(".tick")].map((node) => node.getBoundingClientRect().right);
        probe.clear = ends.length === 2 && Math.max(...ends) < box.left;
        const go = { buttons: 1, clientX: box.left + box.width / 2, clientY: box.top + 20, bubbles: true };
        at(".plot").dispatchEvent(new PointerEvent("pointerdown", go));
        await frame(); probe.half = Number(time());
        probe.cursor = (at(".cursor").getBoundingClientRect().left - box.left) / box.width;
        """
    )
    assert found["now"] == ["reward0.141", "height1.00"]
    assert (found["one"], found["two"], found["none"]) == (1, 2, 0)
    assert found["gap"] == "\u2013"
    assert found["pieces"] == 2
    assert found["half"] == pytest.approx(0.975, abs=0.02)
    assert found["cursor"] == pytest.approx(0.5, abs=0.01)
    assert found["clear"]


def test_values_that_go_on_below_lie_above_a_shadow_until_their_end(show):
    """It is seen beside the buttons, in the room at the left edge."""
    values = {f"a value with a name {i}": np.arange(4.0) for i in range(14)}
    for shown, shaded in ((values, True), (dict(list(values.items())[:2]), False)):
        page = show(dataclasses.replace(figures.walk(4), values=shown), size=(700, 760))
        x, y = page.run(
            f"{LOOK} await frame(); const box = at('.chips').getBoundingClientRect();"
            "return [box.left + 1, box.bottom - 2];"
        )
        dark = [int(page.screenshot()[int(y), int(x)].max())]
        page.run("document.querySelector('.chips').scrollTop = 1e6; await new Promise(requestAnimationFrame);")
        dark.append(int(page.screenshot()[int(y), int(x)].max()))
        assert (dark[0] < 245) == shaded
        assert dark[1] == 255


@pytest.mark.by_default("600-*")
@pytest.mark.parametrize(("height", "rows"), [(760, 3.5), (600, 2.5)])
def test_more_values_than_fit_end_in_half_a_row(height, rows, probed):
    walk = figures.walk(4)
    values = {f"a value with a name {i}": np.arange(4.0) for i in range(14)}
    found = probed(
        """
        const box = at(".chips").getBoundingClientRect();
        const tops = [...document.querySelectorAll(".chip")].map((chip) => chip.getBoundingClientRect());
        const shown = (chip) => Math.min(1, Math.max(0, (box.bottom - chip.top) / chip.height));
        probe.rows = new Map(tops.map((chip) => [chip.top, shown(chip)])).values().reduce((sum, part) => sum + part, 0);
        """,
        Trajectory3d(walk.body, walk.positions, walk.quaternions, walk.dt, values),
        size=(700, height),
    )
    assert found["rows"] == pytest.approx(rows, abs=0.15)


@pytest.mark.full("more cases")
def test_numbers_of_all_environments_are_the_lowest_and_the_highest(probed):
    def film(values):
        walk = figures.walk(4)
        return Trajectory3d(walk.body, walk.positions, walk.quaternions, walk.dt, {"x": np.array(values)})

    found = probed(
        """
        const now = () => at(".chip .now").textContent;
        await look(() => scrub(0)); probe.first = now();
        await look(() => scrub(2)); probe.all = now();
        await look(() => press("2")); probe.one = now();
        await look(() => press("0")); probe.again = now();
        """,
        film([0.99999, 2.0, 3.0, 4.0]),
        film([1.0, 2.0, -5.0, 4.0]),
        film([1.0, np.nan, np.nan, np.nan]),
    )
    assert found == {"first": "1.00", "all": "\u22125.00 \u2026 3.00", "one": "\u22125.00", "again": found["all"]}


@pytest.mark.full("more cases")
def test_values_that_are_known_only_now_and_then_are_dots(probed):
    walk = figures.walk(5)
    values = {"x": np.array([np.nan, 1.0, np.nan, 2.0, np.inf])}
    found = probed(
        """
        const path = at(".graph path.line");
        probe.dots = path.getAttribute("d").match(/M[\\d. ]+h0/g).length;
        probe.bare = /NaN|Infinity/.test(path.getAttribute("d"));
        probe.cap = getComputedStyle(path).strokeLinecap;
        """,
        Trajectory3d(walk.body, walk.positions, walk.quaternions, walk.dt, values),
    )
    assert found == {"dots": 2, "bare": False, "cap": "round"}


@pytest.mark.full("more cases")
def test_times_that_are_shorter_than_hundredths(probed):
    walk = figures.walk(5)
    film = Trajectory3d(walk.body, walk.positions, walk.quaternions, 1e-5)
    assert probed('await look(() => scrub(3)); probe.time = text(".time");', film)["time"] == "0.00003 / 0.00004 s"


@pytest.mark.full("more cases")
def test_after_a_choice_by_pointer_keys_are_the_players_again(probed):
    found = probed(
        """
        const speed = at("select");
        speed.focus({ focusVisible: false });
        speed.value = "2"; speed.dispatchEvent(new Event("change"));
        probe.left = document.activeElement !== speed;
        speed.focus({ focusVisible: true });
        speed.dispatchEvent(new Event("change"));
        probe.stays = document.activeElement === speed;
        """
    )
    assert found == {"left": True, "stays": True}


@pytest.mark.full("more cases")
def test_environments_stand_side_by_side(probed):
    found = probed(
        """
        probe.both = red(await look(() => scrub(5)));
        probe.labels = [...document.querySelectorAll(".label")].map((label) => label.textContent);
        probe.choices = [...at(".view select + select").options].map((option) => option.textContent);
        probe.lines = document.querySelectorAll(".graph path.line").length;
        await look(() => press("2"));
        probe.chosen = text(".label.chosen");
        probe.which = at(".view select + select").value;
        probe.faint = document.querySelectorAll(".graph path.faint").length;
        await look(() => press("7"));
        probe.stays = at(".view select + select").value;
        await look(() => press("0"));
        probe.all = at(".view select + select").value;
        probe.back = red(await look(() => scrub(5)));
        await look(() => scrub(39));
        probe.end = time();
        """,
        figures.walk(20, name="left"),
        figures.walk(40),
        figures.walk(40, name="right", body=figures.body(("x",))),
    )
    assert found["labels"] == ["left", "2", "right"]
    assert found["choices"] == ["All", "left", "Environment 2", "right"]
    assert found["lines"] == 3
    assert (found["chosen"], found["which"], found["faint"]) == ("2", "1", 2)
    assert (found["stays"], found["all"], found["end"]) == ("1", "-1", "1.95")
    assert found["back"] == found["both"] > 0


@pytest.mark.full("more cases")
def test_light_and_dark(probed):
    found = probed(
        """
        const paper = () => getComputedStyle(document.body).backgroundColor;
        const light = await look(() => scrub(0));
        probe.light = paper();
        const dark = await look(() => press("t"));
        probe.dark = paper();
        probe.changed = differs(light, dark);
        await look(() => at(".corner button").click());
        probe.again = paper();
        """
    )
    assert (found["light"], found["dark"], found["again"]) == (
        "rgb(255, 255, 255)",
        "rgb(20, 23, 29)",
        "rgb(255, 255, 255)",
    )
    assert found["changed"] > 10_000


@pytest.mark.full("more cases")
def test_help_and_names_for_everything_that_can_be_pressed(probed):
    found = probed(
        """
        scrub(0);
        press("?");
        probe.open = at("dialog").open;
        press("End"); probe.kept = await frame().then(time);
        at("dialog button").click();
        probe.closed = !at("dialog").open;
        const named = (node) => node.getAttribute("aria-label") || node.textContent.trim();
        const all = document.querySelectorAll("button, select, input, canvas, svg");
        probe.nameless = [...all].filter((node) => !named(node)).length;
        """
    )
    assert found == {"open": True, "kept": "0.00", "closed": True, "nameless": 0}


@pytest.mark.slow_because("a browser draws what the pointer is over, in a hundred places")
def test_hostile_names_stay_text(probed):
    names = figures.HOSTILE
    one = figures.walk(body=figures.body(names, names[2]))
    values = dict.fromkeys(names, np.zeros(40))
    runs = [Trajectory3d(one.body, one.positions, one.quaternions, one.dt, values, None, name) for name in names]
    found = probed(
        """
        await look(() => scrub(0));
        await look(() => press("1"));
        const box = canvas.getBoundingClientRect();
        const hints = new Set();
        for (let x = 0.05; x < 1; x += 0.1) {
          for (let y = 0.05; y < 1; y += 0.1) {
            touch("pointermove", 1, box.left + x * box.width, box.top + y * box.height);
            if (!at(".hint").hidden) hints.add(text(".hint"));
          }
        }
        probe.hints = [...hints];
        probe.title = text("h1");
        probe.labels = [...document.querySelectorAll(".label")].map((label) => label.textContent);
        probe.chips = [...document.querySelectorAll(".chip .name")].map((name) => name.textContent);
        probe.elements = document.querySelectorAll("img, main script, iframe, [onerror]").length;
        probe.scripts = document.scripts.length;
        """,
        *runs,
        title=names[3],
    )
    assert found["hints"]
    assert set(found["hints"]) <= set(names)
    assert found["title"] == names[3]
    assert found["labels"] == found["chips"] == list(names)
    assert (found["elements"], found["scripts"]) == (0, 2)


@pytest.mark.full("more cases")
def test_real_mouse_and_keys(show):
    page = show(size=(900, 700), media={"prefers-reduced-motion": "reduce"})
    assert page.run("return document.querySelector('.primary').textContent") == "Play"
    start = page.screenshot()
    page.mouse("mousePressed", 300, 200, button="left", buttons=1, clickCount=1)
    for x in (340, 400, 460):
        page.mouse("mouseMoved", x, 220, button="left", buttons=1)
    page.mouse("mouseReleased", 460, 220, button="left", clickCount=1)
    turned = page.screenshot()
    page.mouse("mouseMoved", 100, 100)
    page.mouse("mouseWheel", 300, 200, deltaX=0, deltaY=-300)
    near = page.screenshot()
    page.key("c")
    page.key("ArrowRight")
    page.key("r")
    assert (np.abs(turned - start).max(axis=-1) > 8).sum() > 20_000
    assert (np.abs(near - turned).max(axis=-1) > 8).sum() > 20_000
    assert page.run("return document.querySelector('.status').textContent") == "1 contact, forces of 40.1 N"


@pytest.mark.full("covered")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1000, 700), (390, 780)])
def test_a_screenshot_shows_floor_and_figure(size, scheme, show):
    page = show(size=size, media={"prefers-color-scheme": scheme}, mobile=size[0] < 500)
    picture = page.screenshot()
    upper = picture[: len(picture) // 2]
    assert len(np.unique(upper.reshape(-1, 3), axis=0)) > 500
    assert ((upper[..., 0] > 100) & (upper[..., 1] < 0.45 * upper[..., 0])).sum() > 200
    assert (upper.mean() < 90) == (scheme == "dark")


def test_without_webgl_it_says_so_and_still_plays(probed):
    found = probed(
        """
        while (Number(time()) === 0) await frame();
        press("End"); await frame();
        probe.end = time();
        probe.sorry = text(".stage");
        probe.canvas = at("canvas") !== null;
        for (const name of ["c", "f", "r", "t", "a", "+", "1"]) press(name);
        await frame();
        """,
        before="HTMLCanvasElement.prototype.getContext = () => null;",
    )
    assert "WebGL 2, which this browser does not offer" in found["sorry"]
    assert (found["end"], found["canvas"]) == ("1.95", False)


@pytest.mark.full("covered")
def test_one_picture_has_no_playbar(probed):
    found = probed('probe.bar = at(".playbar") !== null; press(" "); await frame();', figures.walk(1))
    assert found == {"bar": False}


@pytest.mark.full("covered")
def test_fits_a_phone(probed):
    found = probed(
        """
        const root = document.documentElement;
        probe.widths = [root.clientWidth, root.scrollWidth];
        probe.height = canvas.getBoundingClientRect().height;
        probe.page = [root.scrollHeight, innerHeight];
        """,
        *(figures.walk(name=f"a long name of seed {k}") for k in range(3)),
        title="A long title " * 5,
        size=(390, 780),
        mobile=True,
    )
    assert found["widths"] == [390, 390]
    assert found["page"] == [780, 780]
    assert found["height"] > 300

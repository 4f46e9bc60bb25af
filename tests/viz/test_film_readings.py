"""Numbers that a film's page shows: each digit is right, however far the others reach, and none is told unasked."""

import base64

import figures
import numpy as np
import pytest
from browser import LOOK

from kousoku.core.scene import Circle, Scene, Trajectory2d
from kousoku.core.scene3d import Contacts3d, Trajectory3d
from kousoku.viz import Animation, film2d, film3d, packing

STEPS = np.arange(1000.0)
VALUES = {
    "return": STEPS,
    "cents": 0.01 * STEPS,
    "one far off": np.where(STEPS == 999, 1e6, 7.25),
    "to a million": np.linspace(0.5, 999_999.4, 1000),
    "over a million": np.linspace(-1e9, 1e9, 1000),
    "small": np.linspace(-0.0099, 0.0099, 1000),
    "tiny": 1e-30 * STEPS,
    "tinier than float32": 1e-300 * STEPS,
    "larger than float32": np.linspace(-1e39, 1e39, 1000),
    "largest": np.where(STEPS % 2 == 0, 1.79e308, -1.79e308),
    "large and small": np.where(STEPS % 2 == 0, 1e300, 1e-300),
    "wave": np.sin(STEPS),
    "halves": np.where(STEPS % 3 == 0, 1.005, 12.25),
    "gaps": np.where(STEPS % 5 == 0, np.nan, np.cos(STEPS)),
    "constant": np.full(1000, 9.81),
    "unknown": np.full(1000, np.nan),
}


def unpacked(data: dict) -> np.ndarray:
    raw = base64.b64decode(data["data"])
    if "bits" in data:
        return np.frombuffer(raw, f"<f{data['bits'] // 8}").astype(float)
    (low,), (high,) = data["low"], data["high"]
    steps = np.frombuffer(raw, "<u2")
    return np.where(steps == 65535, np.nan, 2 * (low / 2 + steps / 65534 * (high / 2 - low / 2)))


def shown(value: float) -> list[str]:
    """Three digits; of more before the point, all of them up to a million."""
    return [f"{value:.2e}", f"{value:.0f}"] if 1e3 <= abs(value) < 1e6 else [f"{value:.2e}"]


class TestPacking:
    @pytest.mark.parametrize("name", VALUES)
    def test_three_digits_of_every_number_are_right(self, name):
        (data,) = packing.packed_values({name: VALUES[name]})
        assert data["name"] == name
        assert [shown(x) for x in unpacked(data)] == [shown(x) for x in VALUES[name]]

    @pytest.mark.parametrize(
        ("values", "bits"),
        [
            (np.full(9, 9.81), None),
            (np.arange(9.0) > 4, None),
            (np.array([0.0, np.nan, np.inf]), None),
            (np.array([-1.5, 1.5, -1.5]), None),
            (np.arange(1000), 32),
            (np.linspace(-1, 1, 1000), 32),
            (np.array([7.25, 1e6, 0.0]), 32),
            (np.array([3e38, -3e38, 1.0]), 32),
            (np.array([1e39, 1.0, 7.25]), 64),
            (np.array([1e-46, 1.0, 1e-4]), 64),
            (np.array([1.7e308, 1.0, -1.7e308]), 64),
        ],
    )
    def test_as_few_bits_as_show_the_same(self, values, bits):
        (data,) = packing.packed_values({"x": values})
        assert data.get("bits") == bits

    def test_zero_stays_zero_and_infinities_are_unknown(self):
        (data,) = packing.packed_values({"x": np.array([-0.7, 0.0, np.inf, -np.inf, np.nan, 5.0])})
        found = unpacked(data)
        assert found[1] == 0.0
        assert np.isnan(found).tolist() == [False, False, True, True, True, False]

    def test_a_force_beside_one_that_is_ten_thousand_times_as_large(self):
        forces = np.zeros((40, 1, 3))
        forces[:, 0] = 3.7, -0.021, 9.81
        forces[20:22, 0] = (100.0, -37.3, 98_100.0), (0.0, 0.0, 20.0)
        one = figures.walk()
        touched = Contacts3d(np.zeros((40, 1, 3)), forces)
        film = Trajectory3d(one.body, one.positions, one.quaternions, one.dt, {}, touched)
        (run,) = film3d.payload([film], "")["runs"]
        np.testing.assert_allclose(unpacked(run["contacts"]["forces"]).reshape(-1, 3), forces[:, 0], rtol=1e-6)

    def test_films_in_the_plane_pack_them_too(self):
        (run,) = film2d.payload([flat({"return": 101 * STEPS[:50]})], "")["runs"]
        assert unpacked(run["values"][0]).tolist() == (101 * STEPS[:50]).tolist()


def flat(values: dict[str, np.ndarray]) -> Trajectory2d:
    count = len(next(iter(values.values())))
    scenes = tuple(Scene(2.0, 1.0, (), (Circle(0.1 + i / count, 0.5, 0.1, "red"),)) for i in range(count))
    return Trajectory2d(scenes, 0.1, values)


def pushed(newtons: np.ndarray, values: dict[str, np.ndarray]) -> Trajectory3d:
    """Something that a floor pushes."""
    one = figures.walk(len(newtons))
    forces = np.zeros((len(newtons), 1, 3))
    forces[:, 0, 2] = newtons
    touched = Contacts3d(np.zeros((len(newtons), 1, 3)), forces)
    return Trajectory3d(one.body, one.positions, one.quaternions, one.dt, values, touched)


@pytest.fixture
def probed(browser, tabs, tmp_path):
    """What a script puts into `probe` on a page with one film, which stands still."""

    def run(film: Trajectory2d | Trajectory3d, script: str, still: bool = True) -> dict:
        file = Animation((film,)).save(tmp_path / "film.html")
        media = {"prefers-reduced-motion": "reduce" if still else "no-preference"}
        tabs.append(browser.open(file, size=(900, 640), media=media, before="", mobile=False))
        return tabs[-1].run(f"{LOOK}{script}\nreturn probe;")

    return run


CHIPS = 'const chips = () => [...document.querySelectorAll(".chip .now")].map((node) => node.textContent);'

NUMBERS = {
    "0": [0.0, 1.0], "1.00": [1.0, 1000.0], "7.25": [7.25, 1e6], "\u22122.0e38": [-2e38, 3e38],
    "1.0e39": [1e39, 0.0], "\u22121.7e308": [-1.7e308, 1.7e308], "1.0e-30": [1e-30, 0.0], "9.81": [9.81, 98_100.0],
    "0.0010": [0.001, 1.0], "0.0013": [0.0013, 1.0], "0.0095": [0.0095, 1.0], "0.010": [0.01, 1.0],
    "9.9e-4": [0.00099, 1.0], "0.100": [0.09996, 1.0], "12345": [12_345.4, 1.0], "\u2013": [np.inf, 1.0],
}  # fmt: skip


@pytest.mark.browser
def test_a_page_shows_the_numbers_that_it_was_given(probed):
    values = {text: np.array([*numbers, 0.5]) for text, numbers in NUMBERS.items()}
    script = f"""{CHIPS} scrub(0); await frame(); probe.now = chips();
        for (const chip of document.querySelectorAll(".chip")) chip.click();
        probe.lines = [...document.querySelectorAll("path.line")].map((line) => line.getAttribute("d")).join();"""
    found = probed(flat(values), script)
    assert found["now"] == list(NUMBERS)
    assert not {"NaN", "Infinity"} & set(found["lines"].replace("M", " ").replace("L", " ").split())


@pytest.mark.browser
@pytest.mark.parametrize("constant", [1e20, -1.7e308])
def test_a_large_number_that_stays_has_a_line(constant, probed):
    found = probed(flat({"x": np.full(3, constant)}), 'probe.line = at("path.line").getAttribute("d");')
    assert found["line"].count("46.0") == 3


@pytest.mark.browser
def test_forces_and_readings_of_a_thousand_steps(probed):
    newtons = np.where(np.arange(200) == 199, 98_100.0, 9.81) + 0.01 * (np.arange(200) == 7)
    script = f"""{CHIPS} await look(() => press("c")); await look(() => scrub(3));
        [probe.now, probe.status] = [chips(), text(".status")];"""
    found = probed(pushed(newtons, {"return": 5.0 * STEPS[:200]}), script)
    assert found == {"now": ["15.0"], "status": "1 contact, forces of 9.81 N"}


@pytest.mark.browser
def test_a_screen_reader_is_not_told_every_frame(probed):
    script = """
        const live = 'output:not([aria-live="off"]), [aria-live]:not([aria-live="off"]), [role="status"], [role="log"]';
        probe.live = document.querySelectorAll(live).length;
        let writes = 0;
        const watch = new MutationObserver((records) => (writes += records.length));
        watch.observe(at("footer"), { childList: true, characterData: true, subtree: true });
        const begun = Number(time());
        while (Number(time()) < begun + 0.1) await frame();
        probe.playing = text(".primary");
        await frame(); writes = 0;
        press(" "); await frame(); await frame(); writes = 0;
        for (let i = 0; i < 5; i += 1) {
          scrub(2);
          await frame();
        }
        probe.writes = writes;
    """
    found = probed(flat({"constant": np.ones(300)}), script + "watch.disconnect();", still=False)
    assert (found["live"], found["playing"]) == (0, "Pause")
    assert found["writes"] <= 1, "time, once"

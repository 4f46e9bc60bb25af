"""Trajectories as a page: what was packed comes back, and names stay text."""

import base64
import hashlib
import json
import re

import figures
import numpy as np
import pytest
from fresh_process import refusals

from kousoku.core.errors import ConfigError
from kousoku.core.scene3d import Body3d, Contacts3d, Geom, Trajectory3d
from kousoku.viz import film3d, packing, style
from kousoku.viz.offline import asset


def array(text: str, dtype: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype)


def unpack(data: dict) -> np.ndarray:
    if "bits" in data:
        return array(data["data"], f"<f{data['bits'] // 8}").astype(float)[:, None]
    low, high = np.array(data["low"]), np.array(data["high"])
    steps = array(data["data"], "<u2").reshape(-1, len(low))
    return np.where(steps == 65535, np.nan, low + steps / 65534 * (high - low))


def unpack_quaternions(text: str) -> np.ndarray:
    words = array(text, "<u2").reshape(-1, 3).astype(int)
    largest = (words[:, 0] >> 15) * 2 + (words[:, 1] >> 15)
    small = ((words & 32767) / 32767 - 0.5) * np.sqrt(2)
    q = np.zeros((len(words), 4))
    for row, k, three in zip(q, largest, small, strict=True):
        row[np.arange(4) != k] = three
        row[k] = np.sqrt(1 - (three**2).sum())
    return q


def data_of(page: str) -> dict:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def random_walk(count: int, frames: int, reach: float = 1.0) -> Trajectory3d:
    rng = np.random.default_rng(7)
    way = np.cumsum(rng.normal(size=(count, 1, 3)), axis=0) * reach
    positions = way + rng.uniform(-1, 1, (count, frames, 3))
    geoms = tuple(Geom("sphere", (0.1, 0.0, 0.0), n) for n in range(frames))
    return Trajectory3d(Body3d(geoms), positions, rng.normal(size=(count, frames, 4)), 0.05)


class TestPacking:
    @pytest.mark.parametrize("reach", [0.0, 1.0, 1000.0])
    def test_positions_come_back_as_finely_however_far_the_walk(self, reach):
        trajectory = random_walk(50, 5, reach)
        (run,) = film3d.payload([trajectory], "")["runs"]
        centre = array(run["centre"], "<f4").reshape(50, 1, 3)
        back = unpack(run["positions"]).reshape(50, 5, 3)
        span = np.subtract(run["positions"]["high"], run["positions"]["low"]).reshape(5, 3)
        assert (span < 4).all()
        around = trajectory.positions - centre.astype(float)
        assert (np.abs(back - around) <= 0.5001 * span / 65534).all()

    def test_one_that_falls_for_ever_leaves_the_others_their_digits(self):
        trajectory = random_walk(50, 5)
        trajectory.positions[:, 4, 2] -= 10.0 * np.arange(50)
        (run,) = film3d.payload([trajectory], "")["runs"]
        span = np.subtract(run["positions"]["high"], run["positions"]["low"]).reshape(5, 3)
        assert (span[:4] < 5).all()
        assert span[4, 2] > 400

    def test_rotations_come_back_to_a_hundredth_of_a_degree(self):
        trajectory = random_walk(200, 5)
        (run,) = film3d.payload([trajectory], "")["runs"]
        q = trajectory.quaternions.reshape(-1, 4)
        q = q / np.linalg.norm(q, axis=1, keepdims=True)
        back = unpack_quaternions(run["quaternions"])
        np.testing.assert_allclose(np.linalg.norm(back, axis=1), 1.0, atol=1e-12)
        angle = 2 * np.arccos(np.minimum(1, np.abs((q * back).sum(axis=1))))
        assert np.rad2deg(angle).max() < 0.01

    @pytest.mark.parametrize("q", [*np.eye(4), *-np.eye(4), *(np.eye(4) + np.eye(4)[::-1]), -np.ones(4), np.ones(4)])
    def test_rotations_with_equal_components(self, q):
        text = packing.as_text(packing.smallest_three(q[None]), "<u2")
        (back,) = unpack_quaternions(text)
        assert abs(back @ (q / np.linalg.norm(q))) > 1 - 1e-8

    def test_what_never_moves_is_written_once(self):
        (run,) = film3d.payload([figures.walk()], "")["runs"]
        assert run["moving"] == [0, 1, 2, 3, 4]
        assert run["still"] == [[5, 2, 2, 0.1, 1, 0, 0, 0]]

    def test_one_that_only_turns_moves(self):
        x, q = np.zeros((2, 2, 3)), np.tile([1.0, 0, 0, 0], (2, 2, 1))
        q[1, 1] = (0, 1, 0, 0)
        (run,) = film3d.payload([Trajectory3d(Body3d(()), x, q, 0.1)], "")["runs"]
        assert (run["moving"], len(run["still"])) == ([1], 1)

    def test_nothing_moves(self):
        (run,) = film3d.payload([figures.walk(1)], "")["runs"]
        assert run["moving"] == []
        assert len(run["still"]) == figures.FRAMES
        assert array(run["centre"], "<f4").tolist() == [0, 0, 0]

    def test_values_keep_gaps(self):
        trajectory = figures.walk()
        (run,) = film3d.payload([trajectory], "")["runs"]
        for value in run["values"]:
            np.testing.assert_allclose(unpack(value)[:, 0], trajectory.values[value["name"]], atol=2 / 65534)
        assert np.isnan(unpack(run["values"][1])[3])

    def test_whole_numbers_and_flags_are_values(self):
        found = film3d.payload([dataclass_with(values={"n": np.arange(40), "done": np.arange(40) > 5})], "")
        whole, flags = found["runs"][0]["values"]
        np.testing.assert_allclose(unpack(whole)[:, 0], np.arange(40), atol=1e-3)
        assert unpack(flags)[:, 0].tolist() == [0.0] * 6 + [1.0] * 34

    def test_contacts_come_back(self):
        (run,) = film3d.payload([figures.walk(5)], "")["runs"]
        contacts = run["contacts"]
        assert array(contacts["counts"], "<u2").tolist() == [0, 1, 2, 1, 2]
        centre = array(run["centre"], "<f4").reshape(-1, 3)
        times = np.repeat(np.arange(5), [0, 1, 2, 1, 2])
        points = unpack(contacts["points"]) + centre[times]
        np.testing.assert_allclose(points[:, 0], [0.5, 1.0, 1.2, 1.5, 2.0, 2.2], atol=1e-3)
        np.testing.assert_allclose(
            unpack(contacts["forces"]).reshape(-1, 3)[:3], [[0, 3, 40], [0, 3, 40], [0, 0, 20]], atol=1e-3
        )

    def test_no_contacts(self):
        nothing = Contacts3d(np.full((40, 2, 3), np.nan), np.zeros((40, 2, 3)))
        for contacts in (None, nothing):
            assert film3d.payload([dataclass_with(contacts=contacts)], "")["runs"][0]["contacts"] is None

    def test_equal_bodies_are_written_once(self):
        found = film3d.payload([figures.walk(), figures.walk(3), figures.walk(body=figures.body(("x",)))], "")
        assert len(found["bodies"]) == 2
        assert [run["body"] for run in found["runs"]] == [0, 0, 1]


def dataclass_with(**changes) -> Trajectory3d:
    one = figures.walk()
    parts = {"values": one.values, "contacts": one.contacts} | changes
    return Trajectory3d(one.body, one.positions, one.quaternions, one.dt, parts["values"], parts["contacts"])


class TestPage:
    def test_a_thousand_frames_of_fourteen_bodies_are_small(self):
        page = film3d.page([random_walk(1000, 14, 0.1)], "Ant")
        assert len(page.encode()) - len(asset("solid.js").encode()) < 300_000

    def test_hostile_names_stay_text(self):
        names = figures.HOSTILE
        one = figures.walk(name=names[1], body=figures.body(names, names[2]))
        one = Trajectory3d(
            one.body, one.positions, one.quaternions, one.dt, dict.fromkeys(names, np.zeros(40)), None, names[0]
        )
        page = film3d.page([one, one], names[3])
        assert page.count("<script") - asset("solid.js").count("<script") == 2
        assert "<img" not in page.replace(asset("solid.js"), "")
        assert "<!--" not in page
        found = data_of(page)
        assert found["title"] == names[3]
        assert found["runs"][0]["name"] == names[0]
        assert [value["name"] for value in found["runs"][0]["values"]] == list(names)
        assert [geom["name"] for geom in found["bodies"][0]["geoms"][1:5]] == list(names)

    def test_policy_allows_what_is_in_the_page_alone(self):
        page = film3d.page([figures.walk()], "walk")
        (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
        assert policy.startswith("default-src 'none';")
        (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
        script = page.rsplit("<script>", 1)[1].rsplit("</script>", 1)[0]
        for text in (style, script):
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy

    def test_the_title_is_given_or_the_model_s(self):
        assert "<title>figure</title>" in film3d.page([figures.walk()])
        assert "<title>walk &lt;1&gt;</title>" in film3d.page([figures.walk()], "walk <1>")

    def test_both_schemes_can_be_chosen(self):
        css = style.player_palette()
        assert css.count("--ground:") == 3
        assert ":root[data-theme=dark]" in css


class TestBadInput:
    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"positions": np.zeros((4, 3))}, "positions"),
            ({"positions": np.zeros((0, 1, 3))}, "positions"),
            ({"quaternions": np.ones((4, 2, 4))}, "quaternions"),
            ({"quaternions": np.zeros((4, 1, 4))}, "quaternions"),
            ({"positions": np.array([[[0.0, 0, 0]]] * 3 + [[[np.nan, 0, 0]]])}, "positions"),
            ({"dt": 0.0}, "dt"),
            ({"dt": float("nan")}, "dt"),
            ({"values": {"reward": np.zeros(3)}}, "values['reward']"),
            ({"contacts": Contacts3d(np.zeros((3, 1, 3)), np.zeros((3, 1, 3)))}, "contacts.points"),
            ({"body": Body3d((Geom("sphere", (1.0, 0, 0), 1),))}, "geoms[0].frame"),
            ({"body": Body3d((), jointed=(0, 1))}, "jointed[1]"),
        ],
    )
    def test_trajectories(self, change, field):
        good = {"body": Body3d(()), "positions": np.zeros((4, 1, 3)), "quaternions": np.ones((4, 1, 4)), "dt": 0.1}
        Trajectory3d(**good)
        with pytest.raises(ConfigError) as caught:
            Trajectory3d(**(good | change))
        assert caught.value.field == field

    def test_the_time_of_the_first_bad_pose_is_named(self):
        x = np.zeros((5, 1, 3))
        x[3:] = np.inf
        with pytest.raises(ConfigError, match="time 3"):
            Trajectory3d(Body3d(()), x, np.ones((5, 1, 4)), 0.1)

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"kind": "mesh"}, "kind"),
            ({"size": (0.0, 0.0, 0.0)}, "size[0]"),
            ({"kind": "capsule", "size": (0.1, 0.0, 0.0)}, "size[1]"),
            ({"kind": "box", "size": (0.1, 0.1, float("inf"))}, "size[2]"),
            ({"color": (0.0, 0.0, 2.0, 1.0)}, "color[2]"),
            ({"position": (0.0, float("nan"), 0.0)}, "position[1]"),
            ({"frame": -2}, "frame"),
            ({"quaternion": (0.0, 0.0, 0.0, 0.0)}, "quaternion"),
        ],
    )
    def test_geoms(self, change, field):
        with pytest.raises(ConfigError) as caught:
            Geom(**({"kind": "sphere", "size": (0.1, 0.0, 0.0)} | change))
        assert caught.value.field == field

    def test_geoms_with_too_few_numbers(self):
        given = {"size": "(1.0,)", "color": "(1, 0, 0)", "position": "(1.0, 0.0)", "quaternion": "(1.0, 0.0, 0.0)"}
        calls = {
            name: f"Geom(**({{'kind': 'sphere', 'size': (1, 0, 0)}} | {{{name!r}: {x}}}))" for name, x in given.items()
        }
        said = refusals(calls, "from kousoku.core.scene3d import Geom")
        assert {name: text.split(":")[0] for name, text in said.items()} == {name: name for name in given}
        assert said["color"] == "color: got (3,); use an array of shape [4]"

    def test_contacts_of_other_shapes(self):
        with pytest.raises(ConfigError, match=r"contacts\.forces"):
            Contacts3d(np.zeros((4, 2, 3)), np.zeros((4, 1, 3)))

    def test_nothing_to_show_and_different_steps(self):
        with pytest.raises(ConfigError, match="at least one"):
            film3d.page([])
        with pytest.raises(ConfigError, match="dt"):
            film3d.page([figures.walk(dt=0.05), figures.walk(dt=0.1)])

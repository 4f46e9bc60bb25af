"""Tendons as cords: where MuJoCo draws them."""

import itertools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import kousoku as ks
from kousoku.core.scene3d import WORLD, Cord
from kousoku.physics import Model, load
from kousoku.physics.cords import HANGING, hanging
from kousoku.physics.scene import body3d, compiled_body3d, num_frames, poses

RADIUS = 0.12
PATHS = """<mujoco><asset><material name="red" rgba="1 0 0 1"/></asset>
  <worldbody><site name="a" pos="-.4 0 .1"/><site name="d" pos=".1 .5 .5"/><site name="in" pos=".02 .03 .01"/>
    <geom name="g" {geom}/>
    <body><joint type="slide" axis="0 0 1"/><geom size=".05" pos=".4 0 0"/><site name="b" pos=".4 .05 0"/>
      <body><joint type="slide" axis="0 1 0"/><geom size=".05"/><site name="c" pos="0 0 .06"/></body></body></worldbody>
  <tendon><spatial name="long" width=".01" material="red">
    <site site="a"/><geom geom="g" {side}/><site site="b"/><pulley divisor="2"/><site site="c"/><site site="d"/>
  </spatial></tendon></mujoco>"""
GEOMS = {"sphere": f'type="sphere" size="{RADIUS}"', "cylinder": f'type="cylinder" size="{RADIUS} .3" euler="80 0 0"'}
BALL = """<mujoco><worldbody><site name="up" pos="0 0 1"/><body name="ball"><joint type="slide" axis="1 0 0"/>
  <joint type="slide" axis="0 0 1"/><geom size=".03"/><site name="ball"/></body></worldbody>
  <tendon><spatial limited="true" range="0 .5" width=".01"><site site="up"/><site site="ball"/></spatial></tendon>
  </mujoco>"""


def drawn(model: mujoco.MjModel, qpos: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Both ends and the radius of what MuJoCo draws of tendons."""
    data, scene = mujoco.MjData(model), mujoco.MjvScene(model, 200)
    data.qpos[:] = qpos
    mujoco.mj_forward(model, data)
    shown = mujoco.mjtCatBit.mjCAT_ALL.value
    mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), None, mujoco.MjvCamera(), shown, scene)
    parts = [part for part in scene.geoms[: scene.ngeom] if part.objtype == mujoco.mjtObj.mjOBJ_TENDON]
    reaches = [part.size[2] * part.mat[:, 2] for part in parts]
    return [(part.pos - reach, part.pos + reach, part.size[0]) for part, reach in zip(parts, reaches, strict=True)]


def places(model: Model, cord: Cord, qpos: np.ndarray) -> np.ndarray:
    """Where a cord's points are in the world; no body may be turned."""
    found = np.asarray(jax.jit(ks.kernel(lambda q: poses(model, q)[0]))(jnp.asarray(qpos, jnp.float32)))
    assert found.shape == (num_frames(model), 3)
    return np.array([np.add(found[n] if n != WORLD else 0.0, place) for n, place in cord.points])


def distance(point: np.ndarray, parts: list[tuple[np.ndarray, np.ndarray, float]]) -> float:
    """How far a point is from what is drawn."""

    def one(start: np.ndarray, end: np.ndarray) -> float:
        way = end - start
        share = np.clip((point - start) @ way / max(way @ way, 1e-12), 0.0, 1.0)
        return float(np.linalg.norm(start + share * way - point))

    return min(one(start, end) for start, end, _ in parts)


@pytest.mark.parametrize("side", ["", 'sidesite="d"', 'sidesite="in"'])
@pytest.mark.parametrize("geom", GEOMS)
def test_round_a_geom_and_beyond_a_pulley(geom, side):
    theirs = mujoco.MjModel.from_xml_string(PATHS.format(geom=GEOMS[geom], side=side))
    model = load(theirs)
    round_it, behind = body3d(model).cords
    assert (round_it.name, round_it.radius, round_it.color) == ("long", 0.01, (1.0, 0.0, 0.0, 1.0))
    assert behind.points == ((1, (0.0, 0.0, 0.06)), (WORLD, (0.1, 0.5, 0.5)))
    centre = np.array(theirs.geom("g").pos)
    axis = np.zeros(3) if geom == "sphere" else np.array([0.0, -np.sin(np.deg2rad(80)), np.cos(np.deg2rad(80))])
    for qpos, near in (([0.0, 0.1], True), ([1.0, -0.2], False)):
        touches = near != ("in" in side)  # from within, what would go through the geom is straight
        parts = drawn(theirs, np.array(qpos))
        assert (len(parts) > 2) == touches
        points = places(model, round_it, np.array(qpos))
        from_axis = points - centre - ((points - centre) @ axis)[:, None] * axis
        on_it = np.abs(np.linalg.norm(from_axis, axis=1) - RADIUS) < 1e-5
        assert all(there or distance(point, parts) < 1e-5 for there, point in zip(on_it, points, strict=True))
        assert on_it.sum() == (5 if touches else 0)
        if touches:
            steps = np.linalg.norm(np.diff(points[1:-1], axis=0), axis=1)
            np.testing.assert_allclose(steps, steps[0], rtol=1e-3, atol=1e-6)
        both = np.concatenate([points, places(model, behind, np.array(qpos))])
        assert sum(np.linalg.norm(both - start, axis=1).min() < 1e-5 for start, *_ in parts) >= (3 if touches else 2)


def test_without_frames_of_its_own_a_way_round_a_geom_is_left_out():
    theirs = mujoco.MjModel.from_xml_string(PATHS.format(geom=GEOMS["sphere"], side=""))
    (behind,) = compiled_body3d(theirs).cords
    assert behind == body3d(load(theirs)).cords[1]
    string = mujoco.MjModel.from_xml_string(BALL)
    (straight,) = compiled_body3d(string).cords
    assert straight.points == ((WORLD, (0.0, 0.0, 1.0)), (0, (0.0, 0.0, 0.0)))


@pytest.mark.parametrize(
    "qpos", [(0.3, 0.8), (-0.1, 0.55), (0.02, 1.3), (0.0, 0.9), (0.0, 0.3), (0.4, 0.5), (0.0, 1.0)]
)
def test_a_slack_string_hangs(qpos):
    theirs, model = mujoco.MjModel.from_xml_string(BALL), load(BALL)
    (cord,) = body3d(model).cords
    points, parts = places(model, cord, np.array(qpos)), drawn(theirs, np.array(qpos))
    length = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
    assert length == pytest.approx(max(0.5, np.linalg.norm(np.subtract(qpos, (0.0, 1.0)))), rel=0.06)
    sideways = np.abs(points[:, 0]).max()
    if abs(qpos[0]) > 0.01:  # of what hangs straight down MuJoCo draws the ends' line alone
        assert max(distance(point, parts) for point in points) < 0.002
    assert sideways <= abs(qpos[0]) + 1e-6


@pytest.mark.parametrize("way", list(itertools.product((0.0, 1e-5, 0.3), (-0.4, 0.0, 0.4))))
def test_points_of_what_hangs_are_finite_and_even(way):
    x, z = way
    with jax.debug_nans(True):
        for length in (0.2, 0.5001, 3.0):
            ends = [jnp.zeros(3), jnp.array([x, 0.0, z], jnp.float32)]
            points = np.asarray(hanging(*ends, jnp.float32(length), jnp.array([0.0, 0.0, -9.81])))
            steps = np.linalg.norm(np.diff([ends[0], *points, ends[1]], axis=0), axis=1)
            assert np.isfinite(points).all()
            assert steps.sum() <= 1.001 * max(length, np.hypot(x, z))
            assert steps.max() < 1.5 * max(length, np.hypot(x, z)) / (HANGING + 1)


@pytest.mark.parametrize(
    ("before", "after", "hangs"),
    [
        ("", "", True),
        ('limited="true" range="0 .5"', 'stiffness="1" springlength="0 .4"', True),
        ('limited="true" range="0 .5"', "", False),
        ('range="0 .5"', 'range=".1 .5"', False),
        ('range="0 .5"', 'range="0 1e30"', False),
        ('width=".01"', 'width=".01" damping="1"', False),
        ('width=".01"', 'width=".01" frictionloss="1"', False),
        ('width=".01"', 'width=".01" stiffness="1" springlength=".4"', False),
        ("<worldbody>", '<option gravity="0 0 0"/><worldbody>', False),
        ("<worldbody>", '<option><flag gravity="disable"/></option><worldbody>', False),
        ("</mujoco>", '<actuator><motor tendon="t"/></actuator></mujoco>', False),
        ('<site site="up"/>', '<site site="up"/><site site="ball"/><site site="up"/>', False),
    ],
)
def test_which_tendons_hang(before, after, hangs):
    text = BALL.replace("<spatial", '<spatial name="t"').replace(before, after, 1)
    (cord,) = body3d(load(text)).cords
    assert (len(cord.points) == HANGING + 2) == hangs
    assert (len(drawn(mujoco.MjModel.from_xml_string(text), np.array([0.1, 0.9]))) > 3) == hangs


@pytest.mark.parametrize("look", ['group="3"', 'rgba="1 0 0 0"', ""], ids=["group", "transparent", "shown"])
def test_what_mujoco_does_not_show(look):
    text = BALL.replace('width=".01"', look or 'width=".02" rgba="0 0 1 .5"')
    model, theirs = load(text), mujoco.MjModel.from_xml_string(text)
    assert num_frames(model) == len(poses(model, np.zeros(2, np.float32))[0])
    if look:
        assert body3d(model).cords == compiled_body3d(theirs).cords == ()
        assert num_frames(model) == 1
    else:
        assert [(cord.radius, cord.color) for cord in body3d(model).cords] == [(0.02, (0.0, 0.0, 1.0, 0.5))]
        assert num_frames(model) == 1 + HANGING


def test_lengths_and_gravity_may_differ_from_lane_to_lane():
    model = load(BALL)

    def lowest(length: jax.Array, fall: jax.Array) -> jax.Array:
        other = model.with_numbers(tendon_range=jnp.stack([jnp.zeros(1), length[None]], axis=1), gravity=fall)
        return poses(other, jnp.array([0.1, 1.0], jnp.float32))[0][1:, 2].min()

    falls = jnp.array([[0.0, 0.0, -9.81], [0.0, 0.0, -9.81], [0.0, 0.0, 1.0]])
    found = jax.vmap(lowest)(jnp.array([0.4, 0.8, 0.8], jnp.float32), falls)
    np.testing.assert_allclose(found, [0.815, 0.612, 1.05], atol=0.002)

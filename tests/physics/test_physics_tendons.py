"""Tendons from site to site, through pulleys and round spheres and cylinders, beside C MuJoCo."""

from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import kousoku as ks
from kousoku.physics import Model, load
from kousoku.physics.algebra.scalar import ZERO, Num, nums, to_array, where
from kousoku.physics.algebra.vector import vec
from kousoku.physics.stages.com_pos import com_pos
from kousoku.physics.stages.kinematics import WORLD_FRAME, kinematics
from kousoku.physics.stages.tendon import tendons
from kousoku.physics.stages.wrapping import wrap

EXACT, ITERATED = 1e-12, 1e-5
"""Of C's ways along the inner side, which it finds to 1e-6, the moments are less exact than the lengths."""
SIDES = {"shortest": "", "beside": 'sidesite="beside"', "within": 'sidesite="within"'}
GEOMS = {
    "sphere": 'type="sphere" size=".15"',
    "cylinder": 'type="cylinder" size=".12 .2"',
    "tilted": 'type="cylinder" size=".12 .2" pos=".05 .02 0" euler="20 30 0"',
}


def scene(geom: str, side: str, start: str = "0 0 .4", end: str = "0 0 -.4") -> str:
    """Two free bodies and a tendon between them, past a geom that turns and slides; once more behind a pulley."""
    return f"""<mujoco><option><flag contact="disable"/></option><worldbody><site name="c" pos=".3 .1 -.4"/>
      <body><joint type="ball"/><joint type="slide" axis="1 .2 0"/>
        <geom name="g" {geom}/><geom size=".02" pos=".1 0 0"/>
        <site name="beside" pos=".3 .1 .05"/><site name="within" pos=".02 .03 .01"/></body>
      <body pos="{start}"><freejoint/><geom size=".05"/><site name="a"/></body>
      <body pos="{end}"><freejoint/><geom size=".05"/><site name="b"/></body></worldbody>
      <tendon><spatial><site site="a"/><geom geom="g" {side}/><site site="b"/><pulley divisor="2"/>
        <site site="c"/><geom geom="g" {side}/><site site="b"/></spatial></tendon></mujoco>"""


def ours(model: Model, qpos: jax.Array) -> jax.Array:
    """Length and moments of the first tendon [1 + nv]."""
    k = kinematics(model, nums(qpos))
    tendon = tendons(model, k, com_pos(model, k), nums(qpos))[0]
    return to_array([tendon.length, *(tendon.jac.get(d, ZERO) for d in range(model.nv))], qpos.dtype)


def theirs(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    moments = np.zeros((model.ntendon, model.nv))
    mujoco.mju_sparse2dense(moments, data.ten_J.ravel(), model.ten_J_rownnz, model.ten_J_rowadr, model.ten_J_colind)
    return np.concatenate([data.ten_length[:1], moments[0]])


def posed(text: str, count: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Random positions, what C says of them, and how many points the path has in each."""
    model = mujoco.MjModel.from_xml_string(text)
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    found, wraps, positions = [], [], rng.normal(0.0, 0.35, (count, model.nq))
    for qpos in positions:
        mujoco.mj_normalizeQuat(model, qpos)
        data.qpos[:] = qpos
        mujoco.mj_forward(model, data)
        found.append(theirs(model, data))
        wraps.append(int(data.ten_wrapnum[0]))
    return positions, np.stack(found), wraps


@pytest.mark.by_default("tilted-beside", "sphere-within")
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("geom", GEOMS)
def test_lengths_and_moments_past_a_geom(geom: str, side: str) -> None:
    text = scene(GEOMS[geom], SIDES[side])
    positions, wanted, wraps = posed(text, 500)
    assert len(set(wraps)) == 3, "each of both ways goes round the geom or past it"
    model = load(text)
    with jax.enable_x64(True):
        found = jax.jit(jax.vmap(ks.kernel(lambda q: ours(model, q))))(jnp.asarray(positions))
    np.testing.assert_allclose(found[:, 0], wanted[:, 0], atol=EXACT)
    np.testing.assert_allclose(found, wanted, atol=ITERATED if side == "within" else EXACT)
    short = jax.jit(jax.vmap(ks.kernel(lambda q: ours(model, q))))(jnp.asarray(positions, jnp.float32))
    error = np.abs(np.asarray(short) - wanted)
    assert np.isfinite(short).all()
    assert np.median(error.max(axis=1)) < 1e-6
    assert np.mean(error[:, 0] > 1e-4) < 0.02, "where a path is about to leave the geom, either is right"


AT_REST = [("0 0 .4", "0 0 -.4"), (".4 0 0", "-.4 0 0"), ("0 .5 0", "0 -.3 0"), ("0 0 .4", "0 0 .3"),
           (".4 0 .1", ".3 0 .2"), ("0 0 0", "0 0 .4"), ("0 0 .05", ".4 0 0"), ("0 .2 0", "0 .2 0")]  # fmt: skip


@pytest.mark.by_default("cylinder-beside-.4 0 0*", "cylinder-shortest-0 0 .05-*")
@pytest.mark.parametrize(("start", "end"), AT_REST)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("geom", ["sphere", "cylinder"])
def test_ends_in_line_with_the_centre(geom: str, side: str, start: str, end: str) -> None:
    """Both ways round are as long as each other there, and derivatives must not be NaN."""
    text = scene(GEOMS[geom], SIDES[side], start, end)
    model, reference = load(text), mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(reference)
    mujoco.mj_forward(reference, data)
    with jax.enable_x64(True):
        qpos = jnp.asarray(data.qpos)
        found, slopes = ours(model, qpos), jax.jacfwd(lambda q: ours(model, q))(qpos)
        slope = jax.grad(lambda q: ours(model, q)[0])(qpos)
    assert np.isfinite(slopes).all()
    assert np.isfinite(slope).all()
    np.testing.assert_allclose(found[0], data.ten_length[0], atol=EXACT)


@pytest.mark.parametrize("depth", [1e-8, 1e-6, 1e-4])
@pytest.mark.parametrize("geom", ["sphere", "cylinder"])
def test_a_way_that_grazes_a_geom_is_hardly_longer_than_a_straight_one(geom: str, depth: float) -> None:
    """In float32 rounding may turn the little angle round: it must not count as nearly a whole turn."""
    rng, count, radius = np.random.default_rng(0), 20_000, 0.1
    angle, left, right, x, y = (rng.uniform(low, high, count) for low, high in (
        (0.0, 6.3), (0.05, 0.5), (0.05, 0.5), (-0.2, 0.2), (-0.2, 0.2)))  # fmt: skip
    height = radius * (1.0 - depth * rng.random(count))
    out, along = np.stack([np.cos(angle), np.sin(angle)]), np.stack([-np.sin(angle), np.cos(angle)])
    tilted = geom == "cylinder"
    ends = [np.stack([*(out * height + along * way), tilted * z]) for way, z in ((-left, x), (right, y))]

    def lengths(start: jax.Array, end: jax.Array) -> tuple[jax.Array, jax.Array]:
        a, b = vec(nums(start)), vec(nums(end))
        way = wrap(a, b, WORLD_FRAME, Num(radius), not tilted, None)
        round_it = (way.first - a).norm() + way.length + (b - way.last).norm()
        straight = (b - a).norm()
        both = to_array([where(way.touches, round_it, straight), straight], start.dtype)
        return both[0], both[1]

    given = [jnp.asarray(end.T, jnp.float32) for end in ends]
    found, straight = jax.jit(jax.vmap(ks.kernel(lengths)))(*given)
    assert float(jnp.abs(found - straight).max()) < 2e-3


HINGES = """<mujoco><worldbody><site name="w" pos=".1 .2 .9"/><geom name="g" size=".1" pos=".2 .1 .4"/>
  <body><joint axis="0 1 0"/><geom size=".02" pos=".3 0 0"/>
    <site name="a" pos=".3 0 .1"/><site name="same" pos=".3 0 .1"/>
    <body pos=".3 0 0"><joint type="slide" axis="0 0 1"/><geom size=".02"/><site name="b" pos="0 .1 0"/></body></body>
  <body pos="1 0 0"><joint axis="1 0 0"/><geom size=".02" pos="0 .2 0"/><site name="d" pos="0 .2 0"/></body></worldbody>
  <tendon><spatial>{}</spatial></tendon></mujoco>"""
PATHS = {
    "world to body": "w b",
    "one body": "a same b",
    "parent to child": "a b",
    "between trees": "w a d b",
    "round a geom": "w g b",
    "pulley": "w a / a d / d b",
}


def path(words: str) -> str:
    """A path's elements: sites, "g" for the geom, "/" for a pulley."""
    tags = {"g": '<geom geom="g"/>', "/": '<pulley divisor="3"/>'}
    return "".join(tags.get(word, f'<site site="{word}"/>') for word in words.split())


@pytest.mark.parametrize("name", PATHS)
def test_moments_are_the_lengths_derivatives(name: str) -> None:
    text = HINGES.format(path(PATHS[name]))
    model, reference = load(text), mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(reference)
    data.qpos[:] = 0.3, -0.2, 0.5
    mujoco.mj_forward(reference, data)
    with jax.enable_x64(True):
        qpos = jnp.asarray(data.qpos)
        found, slope = ours(model, qpos), jax.grad(lambda q: ours(model, q)[0])(qpos)
    np.testing.assert_allclose(found, theirs(reference, data), atol=EXACT)
    np.testing.assert_allclose(slope, found[1:], atol=1e-9)


def test_sites_and_sizes_that_are_leaves() -> None:
    """Where sites are and how large the geom is may differ from lane to lane."""
    text = HINGES.format(path("w g b"))
    model = load(text)
    radii, shifts = np.array([0.05, 0.1, 0.2]), np.array([0.0, 0.1, -0.1])

    def length(radius: jax.Array, shift: jax.Array) -> jax.Array:
        sizes = jnp.asarray(model.geom_size).at[0, 0].set(radius)
        sites = jnp.asarray(model.site_pos).at[0, 2].add(shift)
        return ours(model.with_numbers(geom_size=sizes, site_pos=sites), jnp.zeros(3))[0]

    with jax.enable_x64(True):
        found = jax.vmap(length)(jnp.asarray(radii), jnp.asarray(shifts))
    reference: Any = mujoco.MjModel.from_xml_string(text)
    data, wanted = mujoco.MjData(reference), []
    for radius, shift in zip(radii, shifts, strict=True):
        reference.geom_size[0, 0], reference.site_pos[0, 2] = radius, 0.9 + shift
        mujoco.mj_forward(reference, data)
        wanted.append(data.ten_length[0])
    np.testing.assert_allclose(found, wanted, atol=EXACT)

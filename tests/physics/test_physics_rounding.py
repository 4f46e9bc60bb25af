"""What rounding must not do in float32: throw what slides, or spin what nothing touches; rows of a model that vary."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from physics_states import silent, stack, states

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.physics import State, any_contact, initial_state, load, simulate
from kousoku.physics.algebra.scalar import nums
from kousoku.physics.stages.kinematics import kinematics

BOX = """<mujoco><option cone="{}"/><default><geom friction="{}" condim="{}"/></default><worldbody>
<geom type="plane" size="3 3 .1"/>
<body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .2 .1"/></body></worldbody></mujoco>"""

STRAINED = """<mujoco><default><geom contype="0" conaffinity="0"/></default><worldbody><site name="wall" pos="{}"/>
<body pos="0 0 1"><freejoint/><geom type="box" size=".1 .05 .03"/></body>
<body pos=".25 0 1"><joint axis="0 1 0"/><joint axis="0 0 1"/><geom type="box" size=".1 .05 .03"/>
<site name="tip" pos="-.1 0 .02"/></body></worldbody>
<equality><connect site1="wall" site2="tip"/></equality></mujoco>"""


def moved(model, qvel, steps):
    """The state after some steps, in float32."""
    start = initial_state(model)
    start = State(start.qpos, jnp.asarray(qvel, jnp.float32), start.act, start.warmstart)
    return ks.kernel(lambda s: simulate(model, s, jnp.zeros(model.nu), steps, lambda f: None)[0])(start)


def moved_by_c(text, qvel, steps):
    with silent():
        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        data.qvel[:] = qvel
        for _ in range(steps):
            mujoco.mj_step(model, data)
    return data


# ---- low friction


@pytest.mark.by_default("6")
@pytest.mark.parametrize("condim", [3, 4, 6])
def test_a_box_slides_flat_however_low_the_friction(condim):
    """Edges of pyramids are as stiff as 1 / mu^2: of 0 (MuJoCo's 1e-5), 1e10 times as stiff as of 1."""
    frictions, qvel = np.array([0.0, 1e-4, 1e-3, 3e-3, 1e-2, 0.1]), [1.0, 0.3, 0.0, 0.0, 0.0, 2.0]
    model = load(BOX.format("pyramidal", "1 .005 .0001", condim))

    def slide(mu):
        friction = jnp.tile(jnp.stack([mu, mu, mu]), (model.ngeom, 1))
        return moved(model.with_numbers(geom_friction=friction), qvel, 300)

    found = jax.jit(jax.vmap(ks.kernel(slide)))(jnp.asarray(frictions, jnp.float32))
    for mu, qpos in zip(frictions, np.asarray(found.qpos), strict=True):
        cone = "pyramidal" if mu else "elliptic"  # without friction they are one, but C's solver ends before
        wanted = moved_by_c(BOX.format(cone, f"{mu} {mu} {mu}", condim), qvel, 300).qpos
        np.testing.assert_allclose(qpos[:3], wanted[:3], atol=1e-3)


@pytest.mark.by_default("0.0-6")
@pytest.mark.parametrize(("mu", "condim"), [(0.0, 6), (0.0, 3), (1e-3, 6)])
def test_a_step_of_low_friction_is_the_solution_in_float64(mu, condim):
    """A step that the line search cut short does not end the search: much may be left."""
    text = BOX.format("pyramidal", f"{mu} {mu} {mu}", condim).replace("0 0 .1", "0 0 .06", 1)
    with silent(), jax.enable_x64(True):
        theirs = mujoco.MjModel.from_xml_string(text)
        model, given = load(theirs), stack(states(theirs, 100, seed=0))
        theirs.opt.tolerance, theirs.opt.iterations = 0.0, 200
        data, wanted = mujoco.MjData(theirs), []
        for qpos, qvel in zip(given.qpos, given.qvel, strict=True):
            mujoco.mj_resetData(theirs, data)
            data.qpos[:], data.qvel[:] = qpos, qvel
            mujoco.mj_step(theirs, data)
            wanted.append(data.qvel.copy())

        def one(qpos, qvel):
            state = State(qpos, qvel, jnp.zeros(0), jnp.zeros(model.nv))
            return simulate(model, state, jnp.zeros(0), 1, lambda f: None)[0].qvel

        found = jax.jit(jax.vmap(ks.kernel(one)))(jnp.asarray(given.qpos), jnp.asarray(given.qvel))
    scale = 1.0 + np.abs(wanted).max(axis=1, keepdims=True)
    assert (np.abs(np.asarray(found) - wanted) / scale).max() < 1e-4


# ---- constraints that cannot hold


@pytest.mark.parametrize("wall", [".1 .1 .9", ".16 .01 1.02", ".15 0 1.02"])
def test_what_nothing_touches_turns_as_if_alone(wall):
    """A tip is drawn to where it cannot go; beside it a box falls freely."""
    qvel, text = [0.0, 0.0, 0.0, 0.126, -0.132, 0.64, 0.0, 0.0], STRAINED.format(wall)
    found = moved(load(text), qvel, 1000)
    alone = moved_by_c(text, qvel, 1000)
    np.testing.assert_allclose(found.qvel[:6], alone.qvel[:6], atol=2e-3)


# ---- rows that vary

DOOR = """<mujoco><worldbody><body name="frame" pos=".3 0 0"><geom type="box" size=".1 .1 .1"/></body>
<body name="ball" pos="0 0 0"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""


def turned(angle):
    return jnp.stack([jnp.cos(0.5 * angle), 0.0, 0.0, jnp.sin(0.5 * angle)])


def test_rows_are_as_whole_arrays():
    model = load(DOOR)
    assert model.id("body", "frame") == 1

    def touches(by_rows, x, angle):
        pos, quat = jnp.stack([x, 0.0, 0.0]), turned(angle)
        if not by_rows:
            pos, quat = jnp.asarray(model.body_pos).at[1].set(pos), jnp.asarray(model.body_quat).at[1].set(quat)
        else:
            pos, quat = {1: pos}, {1: quat}
        return any_contact(model.with_numbers(body_pos=pos, body_quat=quat), jnp.asarray(model.qpos0, jnp.float32))

    x, angle = jnp.meshgrid(jnp.linspace(0.15, 0.3, 31), jnp.linspace(0.0, 0.8, 9))
    found = [jax.vmap(lambda a, b, way=way: touches(way, a, b))(x.ravel(), angle.ravel()) for way in (True, False)]
    np.testing.assert_array_equal(*found)
    assert 0.1 < np.mean(found) < 0.9
    straight = np.asarray(found[0]).reshape(x.shape)[0]
    np.testing.assert_array_equal(straight, np.asarray(x)[0] < 0.2)


def test_rows_that_are_not_given_stay_constants():
    model = load(DOOR).with_numbers(body_pos={1: [0.5, 0.0, 0.0]})
    assert isinstance(model.body_pos[2], np.ndarray)
    np.testing.assert_allclose(model.body_pos[1], [0.5, 0.0, 0.0])


def test_rows_go_over_what_varies_already():
    model = load(DOOR)
    twice = model.with_numbers(body_pos={1: [0.5, 0.0, 0.0]}).with_numbers(body_pos={np.int64(2): [0.0, 1.0, 0.0]})
    assert jnp.asarray(twice.body_pos).tolist() == [[0.0] * 3, [0.5, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert twice.body_pos.shape == (3, 3)
    whole = model.with_numbers(body_pos=jnp.ones((3, 3))).with_numbers(body_pos={1: [0.5, 0.0, 0.0]})
    assert whole.body_pos.tolist() == [[1.0] * 3, [0.5, 0.0, 0.0], [1.0] * 3]
    assert whole.with_numbers(body_pos=jnp.zeros((3, 3))).body_pos.tolist() == [[0.0] * 3] * 3


@pytest.mark.parametrize("x64", [True, False])
def test_quaternions_of_bodies_are_made_of_length_one_as_in_c(x64):
    with jax.enable_x64(x64):
        model = load(DOOR)
        long = model.with_numbers(body_quat={1: 1.3 * turned(0.4)})
        short = model.with_numbers(body_quat={1: turned(0.4)})
        frames = [kinematics(m, nums(np.asarray(model.qpos0))).bodies[1] for m in (long, short)]
        found = [np.array([float(part.value) for part in frame.quat]) for frame in frames]
    np.testing.assert_allclose(*found, atol=1e-15 if x64 else 1e-7)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"body_pos": {3: [0.0] * 3}}, "row of body_pos: got 3; give the number of a body, 1 to 2"),
        ({"body_pos": {0: [0.0] * 3}}, "row of body_pos: got 0; give the number of a body, 1 to 2"),
        ({"body_pos": {"frame": [0.0] * 3}}, "row of body_pos: got 'frame'; give the number of a body, 1 to 2"),
        ({"body_pos": {1: [0.0] * 4}}, "body_pos[1]: got (4,); give an array of shape (3,)"),
        ({"body_pos": {1: [0.0, 0.0, np.nan]}}, "body_pos[1]: got nan; give"),
        ({"geom_size": {1: [0.1] * 3}}, "; give an array of shape (2, 3); rows may be given of body_pos and body_quat"),
    ],
)
def test_rows_that_no_model_has(numbers, message):
    with pytest.raises(ConfigError) as caught:
        load(DOOR).with_numbers(**numbers)
    assert message in str(caught.value)

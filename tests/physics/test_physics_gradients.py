"""Derivatives through steps: forward and reverse against finite differences, in float64, constraints included."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from physics_models import compiled
from physics_random import random_model
from physics_slopes import SMALL, assert_slopes_agree
from physics_states import silent, states

import kousoku as ks
from kousoku.physics import State, initial_state, load, simulate, step
from kousoku.physics.mjcf.load import from_mujoco

BALL = """<mujoco><option cone="{}" integrator="{}" solver="Newton" tolerance="1e-14" iterations="100"/><worldbody>
  <geom type="plane" size="5 5 .1" euler="0.1 0.05 0" friction=".3 .02 .01"/>
  <body pos="0 0 .1"><joint type="free" damping="0.01"/><geom size=".1" condim="{}"/>
    <geom type="box" size=".05 .02 .03" pos=".03 .01 .02" contype="0" conaffinity="0"/></body></worldbody></mujoco>"""
MODELS = [
    "limits", "connect_world", "elliptic ball", "springs", "fluid", "actuators_dynamics", "friction_loss",
    "equality_joint", "weld_sites", "four_bar", "hopper", "pyramidal ball", "implicit ball", "implicitfast ball",
]  # fmt: skip
BALLS = {
    "elliptic ball": ("elliptic", "Euler", 4),
    "pyramidal ball": ("pyramidal", "RK4", 3),
    "implicit ball": ("pyramidal", "implicit", 6),
    "implicitfast ball": ("elliptic", "implicitfast", 3),
}


def made(name: str):
    if name in BALLS:
        return mujoco.MjModel.from_xml_string(BALL.format(*BALLS[name]))
    with silent():
        model = compiled(name)
    model.opt.tolerance = 1e-14
    return model


@pytest.mark.full("covered")
@pytest.mark.parametrize("name", MODELS)
def test_jacobians_of_a_step(name):
    """By every position, velocity, activation and command."""
    theirs = made(name)
    parts = np.cumsum([theirs.nq, theirs.nv, theirs.na])
    given = states(theirs, 8, seed=1)
    with jax.enable_x64(True):
        model = from_mujoco(theirs)

        def moves(x):
            qpos, qvel, act, ctrl = jnp.split(x, parts)
            after = step(model, State(qpos, qvel, act, jnp.zeros(theirs.nv)), ctrl)
            return jnp.concatenate([after.qpos, after.qvel, after.act])

        at = jnp.stack([jnp.concatenate([s.qpos, s.qvel, s.act, s.ctrl]) for s in given])
        assert_slopes_agree(moves, at)


@pytest.mark.full("larger")
@pytest.mark.parametrize("name", MODELS)
def test_derivatives_by_every_number_of_the_model(name):
    """Each field along a direction of its own, from numbers a little off the file's, among which nothing is a tie."""
    check_numbers(made(name))


@pytest.mark.full("larger")
@pytest.mark.parametrize("seed", range(6))
def test_derivatives_by_every_number_of_random_models(seed):
    with silent():
        theirs = mujoco.MjModel.from_xml_string(random_model(seed, contacts=True, bodies=(2, 4)))
    theirs.opt.tolerance = 1e-14
    check_numbers(theirs)


def check_numbers(theirs):
    rng, model = np.random.default_rng(0), from_mujoco(theirs)
    held = {name: x for name, x in model.constants.items() if x.dtype == float and x.any() and "tolerance" not in name}
    assert len(held) > 25
    base = {name: x * (1.0 + 0.01 * rng.uniform(-1.0, 1.0, x.shape)) for name, x in held.items()}
    ways = {name: x * rng.uniform(-1.0, 1.0, x.shape) for name, x in base.items()}
    parts = np.cumsum([len(held), theirs.nq, theirs.nv, theirs.na])
    with jax.enable_x64(True):

        def moves(x):
            along, qpos, qvel, act, ctrl = jnp.split(x, parts)
            numbers = {name: base[name] + far * ways[name] for name, far in zip(held, along, strict=True)}
            after = step(model.with_numbers(**numbers), State(qpos, qvel, act, jnp.zeros(theirs.nv)), ctrl)
            return jnp.concatenate([after.qpos, after.qvel, after.act])

        given = states(theirs, 8, seed=1)
        at = jnp.stack([jnp.concatenate([jnp.zeros(len(held)), s.qpos, s.qvel, s.act, s.ctrl]) for s in given])
        assert_slopes_agree(moves, at)


@pytest.mark.full("covered")
def test_at_rest_orientations_follow_velocities():
    """Nothing turns, yet would, and by how much is not lost."""
    model = load(
        "<mujoco><option gravity='0 0 0'/><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
    )
    start = initial_state(model)

    def turned(spin):
        qvel = jnp.concatenate([jnp.zeros(3), spin])
        return step(model, State(start.qpos, qvel, start.act, start.warmstart), jnp.zeros(0)).qpos[4:]

    slopes = jax.jit(jax.jacfwd(ks.kernel(turned)))(jnp.zeros(3))
    np.testing.assert_allclose(slopes, 0.5 * model.timestep * np.eye(3), rtol=1e-5)


@pytest.mark.full("covered")
def test_a_gradient_by_a_mass_through_many_steps():
    """A weight on a spring, damped: reverse through a loop, by a number of the model."""
    model = load(
        """<mujoco><option gravity="0 0 -10" tolerance="1e-14"/><worldbody><body>
           <joint type="slide" axis="0 0 1" stiffness="50" damping="1" range="-.1 1" limited="true"/>
           <geom size=".1" mass="2"/></body></worldbody></mujoco>"""
    )

    def height(mass):
        heavier = model.with_numbers(body_mass=jnp.stack([jnp.zeros_like(mass), mass]))
        still = State(*(jnp.zeros(n, mass.dtype) for n in (1, 1, 0, 1)))
        return simulate(heavier, still, jnp.zeros(0, mass.dtype), 100, lambda f: jnp.zeros(0))[0].qpos[0]

    with jax.enable_x64(True):
        rise = ks.kernel(height)
        # After a fifth of a second the heavier weight lies on the end of its range.
        for mass in (0.3, 2.0):
            mass = jnp.asarray(mass)
            slope = jax.jit(jax.grad(rise))(mass)
            wanted = (rise(mass + SMALL) - rise(mass - SMALL)) / (2 * SMALL)
            np.testing.assert_allclose(slope, wanted, rtol=1e-5)
            assert abs(slope) > 1e-6


def test_a_contact_pushes_only_from_the_side_on_which_it_is():
    """One-sided: above the floor a ball's fall does not know of it, below it does."""
    model = load(
        """<mujoco><worldbody><geom type="plane" size="1 1 .1"/><body>
           <joint type="slide" axis="0 0 1"/><geom size=".1"/></body></worldbody></mujoco>"""
    )

    def speed(height):
        return step(model, State(height[None], jnp.zeros(1), jnp.zeros(0), jnp.zeros(1)), jnp.zeros(0)).qvel[0]

    slope = jax.jit(jax.vmap(jax.grad(ks.kernel(speed))))
    above, below = slope(jnp.array([0.1001, 0.0999]))
    assert above == 0.0
    assert below < -1.0


@pytest.mark.full("larger")
def test_a_robot_with_many_contacts_goes_in_reverse():
    """Ant's step, whose loops lie in one another: reverse, forward and differences agree along a direction."""
    env = ks.make("Ant-v5")
    key = jax.random.key(0)
    state, _ = env.reset(key)

    def reward(action):
        return env.step(key, state, action)[1].reward

    at, way = jnp.full(8, 0.1), jax.random.normal(key, (8,))
    slope = jax.jit(jax.grad(reward))(at) @ way
    np.testing.assert_allclose(slope, jax.jit(lambda a: jax.jvp(reward, (a,), (way,))[1])(at), rtol=1e-5)
    paid, far = jax.jit(reward), 3e-3
    np.testing.assert_allclose(slope, (paid(at + far * way) - paid(at - far * way)) / (2 * far), rtol=1e-3)

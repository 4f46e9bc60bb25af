"""Energy and momentum: against C, conserved in free flight; and the order of the integrators.

C MuJoCo is exact in stages but not a reference for what nature conserves: here the laws themselves are.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from physics_mjcf import mjcf
from physics_models import compiled
from physics_models_smooth import NO_CONTACT
from physics_states import Oracle, states
from scipy.spatial.transform import Rotation

import kousoku as ks
from kousoku.physics import Frames, State, energy, forward, initial_state, kinematics, load, sensors, step
from kousoku.physics.algebra.scalar import nums
from kousoku.physics.energy import kinetic, potential
from kousoku.physics.integration.rk4 import _turn_rates
from kousoku.physics.mjcf.load import from_mujoco
from kousoku.physics.mjcf.supported import OPTION_ENUMS
from kousoku.physics.stages.com_pos import com_pos
from kousoku.physics.stages.crb import crb
from kousoku.physics.stages.kinematics import kinematics as frames_of
from kousoku.physics.stages.tendon import tendons

EXACT = 1e-11
# Two bodies that swing about one another in empty space, without loss: a free joint, a hinge and a spring.
FLIGHT = mjcf(
    """<body name="all" pos="0 0 1"><freejoint/><geom type="box" size=".1 .2 .3"/>
      <body pos=".2 0 .1"><joint axis="0 1 .2" stiffness="2" pos="0 0 .1" springref=".3"/>
        <geom type="capsule" fromto="0 0 0 .4 .1 0" size=".05"/></body></body>""",
    "<sensor><subtreelinvel body='all'/><subtreeangmom body='all'/><e_potential/><e_kinetic/></sensor>",
    option='gravity="0 0 0" integrator="{}" timestep="{}"',
    head=NO_CONTACT,
)
SMALL = mjcf(
    """<body pos="0 0 1" euler="1 2 3"><joint type="ball" pos="0 .1 0"/><site pos="1 2 3" euler=".1 .2 .3"/>
      <geom type="box" size=".1 .2 .3" pos=".1 .2 0" euler=".3 .2 .1"/><site pos="1 0 0"/></body>""",
    option='gravity="1 2 -3"',
)
ARMS = mjcf(
    """<body pos="0 0 1" euler="10 20 30"><joint axis="0 1 0"/><site pos="1 2 3" euler=".1 .2 .3"/>
      <geom type="box" size=".1 .2 .3" pos=".1 .2 0" euler="30 20 10"/><geom size=".2" pos=".3 0 0"/>
      <body pos=".4 0 .1" euler="0 0 50"><joint type="slide" axis="1 0 0"/>
        <geom type="capsule" size=".1 .2" pos="0 .1 0" euler="40 0 0"/><site pos="0 .3 0" euler="0 60 0"/></body></body>
    <body pos="0 -1 0"><joint axis="1 0 0"/><geom type="box" size=".3 .1 .2" pos="0 .2 .1" euler="0 25 0"/></body>""",
)
MJCF = {"euler": "Euler", "rk4": "RK4"}
ORDERS = {"euler": 1, "implicit": 1, "implicitfast": 1, "rk4": 4}
SWING = mjcf(
    """<body pos="0 0 1"><joint name="swing" axis="0 1 0" damping=".1"/>
      <geom type="capsule" fromto="0 0 0 .4 0 0" size=".05"/>
      <body pos=".4 0 0"><joint type="ball" stiffness="1" damping=".02"/>
        <geom type="box" size=".1 .05 .02" pos=".1 0 0"/></body></body>""",
    '<actuator><general joint="swing" dyntype="filter" dynprm=".1" gainprm="3"/></actuator>',
    option='integrator="{}" timestep="{}"',
    head=NO_CONTACT,
)


@pytest.mark.by_default("hinge", "tendons")
@pytest.mark.parametrize(
    "name", ["springs", "tendons", "tendons_spatial", "tendons_round", "hinge", "actuators_site", "ant"]
)
def test_energy_is_cs(name):
    theirs = compiled(name)
    model, oracle = from_mujoco(theirs), Oracle(theirs)
    for state in states(theirs, 4, seed=4):
        wanted = oracle.forward(state)["energy"]
        qpos, k = nums(state.qpos), frames_of(model, nums(state.qpos))
        com = com_pos(model, k)
        ours = (
            potential(model, k, tendons(model, k, com, qpos), qpos).value,
            kinetic(crb(model, com), nums(state.qvel)).value,
        )
        np.testing.assert_allclose(ours, wanted, rtol=EXACT, atol=EXACT)


def moved(xml: str, qpos, qvel, timesteps, counts, ctrl: float = 0.0):
    """States after so many steps of so long, a lane for each, in the kernel; and what sensors measure of them."""
    model = from_mujoco(mujoco.MjModel.from_xml_string(xml))
    start = initial_state(model)
    command = jnp.full((model.nu,), ctrl)

    def run(dt, count):
        timed = model.with_numbers(timestep=dt)
        state = State(jnp.asarray(qpos), jnp.asarray(qvel), start.act, start.warmstart)
        state = jax.lax.fori_loop(0, count, lambda i, s: step(timed, s, command), state)
        return state.qpos, state.qvel, state.act, sensors(forward(timed, state, command))

    lanes = jnp.asarray(timesteps), jnp.asarray(counts, jnp.int32)
    return [np.asarray(x) for x in jax.jit(jax.vmap(ks.kernel(run)))(*lanes)]


@pytest.mark.full("covered")
def test_free_flight_conserves_momentum_and_energy():
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        qpos = np.r_[0.0, 0.0, 1.0, rng.normal(size=4), 0.5]
        qpos[3:7] /= np.linalg.norm(qpos[3:7])
        counts = np.array([0, 100, 500, 1000])
        *_, qvel, _, measured = moved(FLIGHT.format("RK4", 0.002), qpos, rng.normal(size=7), [0.002] * 4, counts)
    momentum, energies = measured[:, :6], measured[:, 6] + measured[:, 7]
    assert np.abs(momentum[0]).min() > 1e-3
    np.testing.assert_allclose(momentum, momentum[[0] * 4], rtol=0, atol=1e-9)
    np.testing.assert_allclose(energies, energies[[0] * 4], rtol=1e-9)
    # what is conserved are the sums: the parts do change
    assert np.ptp(measured[:, 6]) > 1e-2
    assert np.ptp(qvel[:, 3:], axis=0).min() > 1e-2


@pytest.mark.by_default("implicitfast-1")
@pytest.mark.parametrize(("integrator", "order"), [(name, ORDERS[name]) for name in OPTION_ENUMS[0].supported.split()])
def test_order_of_the_integrators(integrator, order):
    """The error after a quarter of a second falls as that power of the time step."""
    steps = np.array([8, 16, 32, 64, 2000]) if order > 1 else np.array([50, 100, 200, 400, 50_000])
    with jax.enable_x64(True):
        qpos, qvel = np.array([0.3, 1.0, 0.0, 0.0, 0.0]), np.array([0.5, 1.0, -2.0, 3.0])
        *found, _ = moved(
            SWING.format(MJCF.get(integrator, integrator), 0.01), qpos, qvel, 0.25 / steps, steps, ctrl=0.7
        )
    together = np.concatenate(found, axis=1)
    errors = np.abs(together[:-1] - together[-1]).max(axis=1)
    slope = np.polyfit(np.log(1 / steps[:-1]), np.log(errors), 1)[0]
    assert abs(slope - order) < 0.25, (slope, errors)


@pytest.mark.parametrize("size", [0.0, 1e-3, 0.5, 2.5])
def test_the_rate_of_a_turn_is_that_of_its_rotation_vector(size):
    """In the middle of a step of Runge and Kutta's: by differences of log(exp(u) exp(h w)), in float64."""
    model = load("<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>")
    u, w, h = size * np.array([0.6, -0.64, 0.48]), np.array([0.3, 2.0, -1.0]), 1e-5
    turned = [(Rotation.from_rotvec(u) * Rotation.from_rotvec(s * w)).as_rotvec() for s in (h, -h)]
    rates = _turn_rates(model, nums(np.array([7.0, 8.0, 9.0, *w])), nums(np.array([0.0, 0.0, 0.0, *u])))
    found = [rate.value for rate in rates]
    np.testing.assert_allclose(found, [7.0, 8.0, 9.0, *(turned[0] - turned[1]) / (2 * h)], rtol=1e-6, atol=1e-8)


@pytest.mark.full("covered")
def test_energy_and_frames_as_arrays():
    theirs = mujoco.MjModel.from_xml_string(SMALL)
    model, oracle = from_mujoco(theirs), Oracle(theirs)
    (state,) = states(theirs, 1, seed=5)
    wanted = oracle.forward(state)
    with jax.enable_x64(True):
        given = State(*(jnp.asarray(x) for x in (state.qpos, state.qvel, state.act, state.qacc_warmstart)))
        ours, frames = jax.jit(lambda s: (energy(model, s), kinematics(model, s.qpos)))(given)
    np.testing.assert_allclose(ours, wanted["energy"], rtol=EXACT)
    assert_same_frames(frames, wanted)
    nothing = from_mujoco(mujoco.MjModel.from_xml_string("<mujoco/>"))
    assert kinematics(nothing, jnp.zeros(0)).geom_xpos.shape == (0, 3)
    assert energy(nothing, initial_state(nothing)) == (0.0, 0.0)


def test_frames_of_a_state_are_cs():
    theirs = mujoco.MjModel.from_xml_string(ARMS)
    (state,) = states(theirs, 1, seed=5)
    with jax.enable_x64(True):
        frames = kinematics(from_mujoco(theirs), jnp.asarray(state.qpos))
    assert_same_frames(frames, Oracle(theirs).forward(state))


def assert_same_frames(frames, wanted):
    assert isinstance(frames, Frames)
    for name in ("xpos", "xquat", "xipos", "subtree_com", "geom_xpos", "site_xpos"):
        np.testing.assert_allclose(getattr(frames, name), wanted[name], rtol=EXACT, atol=EXACT)
    for ours, name in ((frames.xiquat, "ximat"), (frames.geom_xquat, "geom_xmat"), (frames.site_xquat, "site_xmat")):
        for turn, matrix in zip(ours, wanted[name], strict=True):
            found = np.zeros(9)
            mujoco.mju_quat2Mat(found, np.asarray(turn))
            np.testing.assert_allclose(found, matrix.ravel(), atol=EXACT)

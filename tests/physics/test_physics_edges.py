"""Where C MuJoCo has a rule of its own: ranges of activations in RK4, ends of edges, no mass, a quaternion of zeros."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from physics_models import compiled
from physics_states import silent

import kousoku as ks
from kousoku.core.errors import ConfigError
from kousoku.physics import (
    State,
    contacts,
    energy,
    forward,
    initial_state,
    inverse,
    kinematics,
    load,
    sensors,
    simulate,
    step,
)
from kousoku.physics.model import check_vector

INTEGRATORS = ("Euler", "RK4", "implicit", "implicitfast")
SLIDER = """<mujoco><option timestep="0.02" integrator="{integrator}"/><worldbody><body>
<joint name="j" type="slide" damping=".3" stiffness="2"/><geom size=".1" mass="1"/></body></worldbody>
<actuator><general joint="j" {dynamics}/></actuator></mujoco>"""
DYNAMICS = {
    "integrator": 'dyntype="integrator" actlimited="true" actrange="-.1 .1"',
    "filter": 'dyntype="filter" dynprm=".1" actlimited="true" actrange="-.1 .1"',
    "filterexact": 'dyntype="filterexact" dynprm=".05"',
    "early": 'dyntype="filterexact" dynprm=".05" actlimited="true" actrange="-.1 .1" actearly="true"',
}


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_activations_move_as_in_c(integrator, dynamics):
    text = SLIDER.format(integrator=integrator, dynamics=DYNAMICS[dynamics])
    with silent():
        theirs = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(theirs)
        data.ctrl[:] = 1.0
        mujoco.mj_step(theirs, data, 20)
    with jax.enable_x64(True):
        model = load(text)
        state = simulate(model, initial_state(model), jnp.ones(1), 20, lambda f: None)[0]
    for ours, c in ((state.act, data.act), (state.qpos, data.qpos), (state.qvel, data.qvel)):
        np.testing.assert_allclose(ours, c, atol=1e-12)


BOXES = """<mujoco><worldbody><body><freejoint/><geom type="box" size=".1 .09 .08" margin=".5"/></body>
<body><freejoint/><geom type="box" size=".1 .09 .13"/></body></worldbody></mujoco>"""


@pytest.mark.full("covered")
def test_edges_touch_where_they_come_nearest():
    """Also where that is the end of one: the points are C's, of boxes apart in all manners."""
    rng = np.random.default_rng(0)
    away = rng.normal(size=(300, 3))
    away *= rng.uniform(0.15, 0.35, (300, 1)) / np.linalg.norm(away, axis=1, keepdims=True)
    turns = rng.normal(size=(2, 300, 4))
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    qpos = np.concatenate([np.zeros((300, 3)), turns[0], away, turns[1]], axis=1)
    with jax.enable_x64(True):
        model = load(BOXES)

        def touching(qpos):
            found = contacts(model, State(qpos, jnp.zeros(12), jnp.zeros(0), jnp.zeros(12)), jnp.zeros(0))
            return found.active, jnp.concatenate([found.position, found.distance[:, None]], axis=1)

        active, found = map(np.asarray, jax.jit(jax.vmap(ks.kernel(touching)))(jnp.asarray(qpos)))
    theirs = mujoco.MjModel.from_xml_string(BOXES)
    data, alone = mujoco.MjData(theirs), 0
    for place, there, ours in zip(qpos, active, found, strict=True):
        data.qpos[:] = place
        mujoco.mj_forward(theirs, data)
        wanted = [[*x.pos, x.dist] for x in data.contact]
        assert len(wanted) == there.sum()
        for point in wanted:
            assert np.abs(ours[there] - point).max(axis=1).min() < 1e-9
        alone += len(wanted) == 1
    assert alone > 30, "edges are hardly tried"


BARE = """<mujoco><worldbody><body pos="1 0 0"><joint axis="0 1 0"/><geom size=".1" pos="0 0 .2"/>
<body name="bare" pos=".2 0 .1"><site name="s"/></body></body></worldbody>
<sensor><subtreecom body="bare"/><subtreelinvel body="bare"/></sensor></mujoco>"""


@pytest.mark.full("covered")
def test_a_body_without_mass_is_its_own_centre_also_where_masses_are_traced():
    with jax.enable_x64(True):
        model = load(BARE)
        state = State(jnp.array([0.3]), jnp.array([0.5]), jnp.zeros(0), jnp.zeros(1))

        def felt(mass):
            varied = model.with_numbers(body_mass=mass)
            return sensors(forward(varied, state, jnp.zeros(0))), kinematics(varied, state.qpos).subtree_com

        (known, coms), (traced, traced_coms) = felt(model.body_mass), jax.jit(felt)(jnp.asarray(model.body_mass))
        slopes = jax.jacrev(felt)(jnp.asarray(model.body_mass))
    theirs = mujoco.MjModel.from_xml_string(BARE)
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = 0.3, 0.5
    mujoco.mj_forward(theirs, data)
    for ours in (known, traced):
        np.testing.assert_allclose(ours, data.sensordata, atol=1e-14)
    for ours in (coms, traced_coms):
        np.testing.assert_allclose(ours, data.subtree_com, atol=1e-14)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(slopes))


def test_a_quaternion_of_zeros_is_no_turn():
    text = "<mujoco><worldbody><body><freejoint/><geom type='box' size='.1 .2 .3'/></body></worldbody></mujoco>"
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    data.qpos[:] = 0.0
    mujoco.mj_step(theirs, data)
    with jax.enable_x64(True):
        model = load(text)
        after = step(model, State(jnp.zeros(7), jnp.zeros(6), jnp.zeros(0), jnp.zeros(6)), jnp.zeros(0))
    np.testing.assert_allclose(after.qpos, data.qpos, atol=1e-14)
    np.testing.assert_allclose(after.qvel, data.qvel, atol=1e-14)


PENDULUM = load(SLIDER.format(integrator="Euler", dynamics=""))
START = initial_state(PENDULUM)
WRONG = {
    "ctrl: got 'shape [5]'; this model takes 1 numbers, an array of shape [1]": lambda: step(
        PENDULUM, START, jnp.zeros(5)
    ),
    "state.qpos: got 'shape [9]'; this model takes 1": lambda: step(
        PENDULUM, State(jnp.zeros(9), START.qvel, START.act, START.warmstart), jnp.zeros(1)
    ),
    "state.qvel: got 'shape [2]'": lambda: energy(PENDULUM, State(START.qpos, jnp.zeros(2), START.act, jnp.zeros(2))),
    "qacc: got 'shape [2]'": lambda: inverse(PENDULUM, START, jnp.zeros(2)),
    "qpos: got 'shape [2]'": lambda: kinematics(PENDULUM, jnp.zeros(2)),
    "ctrl: got 'int32'; give floating point numbers": lambda: check_vector("ctrl", jnp.zeros(1, jnp.int32), 1),
    "steps: got 0": lambda: simulate(PENDULUM, START, jnp.zeros(1), 0, lambda f: None),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_not_of_the_models_shapes_is_refused(message):
    with pytest.raises(ConfigError) as caught:
        WRONG[message]()
    assert message in str(caught.value)


@pytest.mark.by_default("limits_solimp_flat")
@pytest.mark.parametrize("name", ["box_stack", "limits_solimp_flat"])
def test_a_choice_between_known_numbers_has_the_states_dtype(name):
    """One box on another, of known sizes; a limit whose softness is known. The step is written, and not compiled."""
    model = load(compiled(name))
    after = jax.eval_shape(lambda state, ctrl: step(model, state, ctrl), initial_state(model), jnp.zeros(model.nu))
    assert {leaf.dtype for leaf in jax.tree.leaves(after)} == {jnp.dtype("float32")}

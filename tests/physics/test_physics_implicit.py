"""Implicit integrators: derivatives of forces by velocity and whole steps against C, free bodies, stability."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from physics_models import compiled
from physics_models_smooth import ARM
from physics_random import random_model
from physics_states import Oracle, silent, stack, states

import kousoku as ks
from kousoku.physics import State, energy, initial_state, load, simulate, step
from kousoku.physics.algebra.scalar import num, nums
from kousoku.physics.algebra.sparse import Pattern, solve_lu
from kousoku.physics.integration.implicit import _damping, _with_rne, free_bodies
from kousoku.physics.mjcf.load import from_mujoco
from kousoku.physics.stages.smooth import smooth

IMPLICIT, FAST = 2, 3
DERIVED = [
    "free_body", "ball", "several_joints", "two_trees", "springs", "fluid", "wind", "tendons", "actuators_general",
    "actuators_site", "actuators_dynamics", "actuator_force_limits", "implicit", "humanoid", "swimmer",
]  # fmt: skip
STEPPED = ["free_body", "fluid", "ball", "actuator_force_limits", "limits_implicit", "planar"]
OFTEN = {("ball", IMPLICIT), ("actuator_force_limits", FAST)}
RARE = {"several_joints", "springs", "wind", "actuators_dynamics", "implicit", "humanoid", "swimmer"}


@pytest.mark.by_default("actuator_force_limits", "fluid", "tendons")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.full("more cases")) if n in RARE else n for n in DERIVED]
)
def test_slopes_of_forces_are_cs(name):
    """C keeps M - h d force / d velocity's derivative in qDeriv."""
    with silent():
        theirs = compiled(name)
    _check_slopes(theirs)


@pytest.mark.full("covered")
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(i, marks=pytest.mark.full("more cases")) for i in range(2, 12))])
def test_slopes_of_forces_of_random_models(seed):
    with silent():
        theirs = mujoco.MjModel.from_xml_string(random_model(seed, contacts=False))
    _check_slopes(theirs)


def _check_slopes(theirs):
    theirs.opt.integrator = IMPLICIT
    model, h = from_mujoco(theirs), theirs.opt.timestep
    for state in states(theirs, 4, seed=1):
        data = mujoco.MjData(theirs)
        for name, value in state._asdict().items():
            if name != "time":
                getattr(data, name)[:] = value
        mujoco.mj_step(theirs, data)
        wanted = np.zeros((theirs.nv, theirs.nv))
        for i in range(theirs.nv):
            entries = slice(theirs.D_rowadr[i], theirs.D_rowadr[i] + theirs.D_rownnz[i])
            wanted[i, theirs.D_colind[entries]] = data.qDeriv[entries]
        given = (nums(np.asarray(x)) for x in (state.qpos, state.qvel, state.act, state.ctrl))
        s = smooth(model, *given)
        found = np.zeros((theirs.nv, theirs.nv))
        for (i, j), entry in _with_rne(model, s, _damping(model, s), nums(state.qvel)).items():
            found[i, j] = entry.value
        scale = 1.0 + np.abs(wanted).max(initial=0.0)
        assert np.abs(-found / h - wanted).max(initial=0.0) < 1e-10 * scale


def often(pairs):
    return [p if p in OFTEN else pytest.param(*p, marks=pytest.mark.full("more cases")) for p in pairs]


@pytest.mark.full("covered")
@pytest.mark.parametrize(("name", "integrator"), often([(name, kind) for name in STEPPED for kind in (IMPLICIT, FAST)]))
def test_steps(name, integrator):
    with silent():
        theirs = compiled(name)
    theirs.opt.tolerance, theirs.opt.integrator = 0.0, integrator
    given = states(theirs, 16, seed=3)
    oracle = Oracle(theirs)
    wanted = [oracle.step(state) for state in given]
    with jax.enable_x64(True):
        model, many = from_mujoco(theirs), stack(given)

        def moves(qpos, qvel, act, warmstart, ctrl):
            after = step(model, State(qpos, qvel, act, warmstart), ctrl)
            return after.qpos, after.qvel, after.act

        fields = many.qpos, many.qvel, many.act, many.qacc_warmstart, many.ctrl
        moved = jax.jit(jax.vmap(ks.kernel(moves)))(*map(jnp.asarray, fields))
    for i, after in enumerate(wanted):
        for ours, theirs_after in zip(moved, after, strict=True):
            scale = 1.0 + np.abs(theirs_after).max(initial=0.0)
            assert np.abs(np.asarray(ours)[i] - theirs_after).max(initial=0.0) < 1e-9 * scale


def test_which_bodies_are_free_and_alone():
    weight = '<geom size=".1" mass="{}" contype="0"/>'
    model = load(
        f"""<mujoco><worldbody>
          <body><freejoint/>{weight.format(1)}</body>
          <body><freejoint/>{weight.format(1)}<body><joint/>{weight.format(1)}</body></body>
          <body><freejoint/>{weight.format(1)}<body>{weight.format(0)}</body></body>
          <body><freejoint/>{weight.format(1)}<body>{weight.format(1)}</body></body>
          <body><joint type="ball"/>{weight.format(1)}</body></worldbody></mujoco>"""
    )
    assert free_bodies(model) == [range(6), range(13, 19), range(19, 25)]


@pytest.mark.full("covered")
@pytest.mark.parametrize("integrator", ["implicit", "implicitfast"])
def test_a_spinning_body_gains_no_energy(integrator):
    """Euler's method lets it spin ever faster."""
    top = """<mujoco><option gravity="0 0 0" timestep="0.02" integrator="{}"/><worldbody>
      <body><freejoint/><geom type="box" size=".3 .1 .05" density="1000"/></body></worldbody></mujoco>"""

    def gain(name: str) -> float:
        model = load(top.format(name))
        start = initial_state(model)
        start = State(start.qpos, jnp.array([0, 0, 0, 0.1, 8.0, 0.1], jnp.float32), start.act, start.warmstart)
        run = ks.kernel(lambda s: simulate(model, s, jnp.zeros(0), 300, lambda f: jnp.zeros(0))[0])
        return float(energy(model, jax.jit(run)(start))[1] / energy(model, start)[1])

    assert gain("Euler") > 1.01
    assert 0.2 < gain(integrator) < 1.0 + 1e-5


@pytest.mark.full("covered")
def test_damping_too_strong_for_an_explicit_step():
    """A velocity servo a hundred times stiffer than Euler's method bears."""
    servo = '<actuator><velocity joint="a" kv="1000"/></actuator>'
    text = f'<mujoco><option integrator="{{}}" gravity="0 0 0"/><worldbody>{ARM}</worldbody>{servo}</mujoco>'

    def speed(name: str) -> float:
        model = load(text.format(name))
        run = ks.kernel(lambda s: simulate(model, s, jnp.ones(model.nu), 20, lambda f: jnp.zeros(0))[0])
        return float(jax.jit(run)(initial_state(model)).qvel[0])

    assert abs(speed("implicitfast") - 1.0) < 1e-2
    assert not abs(speed("Euler") - 1.0) < 1.0


def test_elimination_in_the_pattern_of_a_tree():
    rng = np.random.default_rng(0)
    below = ((), (0,), (1, 0), (0,), (3, 0))
    dense = np.eye(5) * 4.0
    for i, columns in enumerate(below):
        for j in columns:
            dense[i, j], dense[j, i] = rng.normal(size=2)
    entries = {(i, j): num(dense[i, j]) for i in range(5) for j in range(5) if dense[i, j] != 0.0}
    right = rng.normal(size=5)
    found = [x.value for x in solve_lu(Pattern(below), entries, nums(right))]
    np.testing.assert_allclose(dense @ found, right, atol=1e-12)

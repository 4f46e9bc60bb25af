"""Inverse dynamics against C and against forward dynamics, and contacts as arrays against C's."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from physics_models import compiled
from physics_states import Oracle, silent, states

import kousoku as ks
from kousoku.physics import State, contacts, inverse, load
from kousoku.physics.algebra.scalar import to_array
from kousoku.physics.forward import forward
from kousoku.physics.mjcf.load import from_mujoco

INVERTED = ["tree", "fluid", "limits", "weld", "hopper"]
FLOOR = """<mujoco><option cone="{}" solver="Newton" tolerance="0" iterations="100"/><worldbody>
  <geom type="plane" size="5 5 .1" euler="0.1 0.05 0" friction=".3 .02 .01"/>
  <body pos="0 0 .12"><freejoint/><geom type="capsule" size=".1 .15" euler="0 80 0" condim="4"/></body>
  <body pos=".1 .1 .35"><freejoint/><geom size=".1" condim="1" priority="1" margin=".01"/></body>
  </worldbody></mujoco>"""


def together(given) -> State:
    """Several states as one, a lane each."""
    lanes = [State(*(jnp.asarray(x) for x in (s.qpos, s.qvel, s.act, s.qacc_warmstart))) for s in given]
    return jax.tree.map(lambda *xs: jnp.stack(xs), *lanes)


def commands(given) -> jax.Array:
    return jnp.stack([jnp.asarray(s.ctrl) for s in given])


@pytest.mark.parametrize("name", ["limits", "tree", "weld"])
def test_inverse_of_one_state_is_cs(name):
    """Without a program: nothing is compiled."""
    with silent():
        theirs = compiled(name)
    state, oracle = states(theirs, 3, seed=5)[1], Oracle(theirs)
    wished = 3.0 * np.random.default_rng(6).normal(size=theirs.nv)
    wanted = oracle.inverse(state, wished)
    assert (oracle.data.nefc > 0) == (name != "tree")
    with jax.enable_x64(True):
        given = jax.tree.map(lambda x: x[0], together([state]))
        found = inverse(from_mujoco(theirs), given, jnp.asarray(wished))
    np.testing.assert_allclose(found, wanted, atol=1e-9 * (1.0 + np.abs(wanted).max()))


@pytest.mark.full("covered")
@pytest.mark.parametrize("name", INVERTED)
def test_inverse_is_cs(name):
    with silent():
        theirs = compiled(name)
    given, oracle = states(theirs, 12, seed=5), Oracle(theirs)
    wished = 3.0 * np.random.default_rng(6).normal(size=(len(given), theirs.nv))
    wanted = np.array([oracle.inverse(state, qacc) for state, qacc in zip(given, wished, strict=True)])
    with jax.enable_x64(True):
        model = from_mujoco(theirs)
        invert = ks.kernel(lambda s, a: inverse(model, s, a))
        found = np.asarray(jax.jit(jax.vmap(invert))(together(given), jnp.asarray(wished)))
    assert np.abs(found - wanted).max() < 1e-9 * (1.0 + np.abs(wanted).max())


@pytest.mark.full("covered")
def test_inverse_gives_back_what_the_actuators_did():
    with silent():
        theirs = compiled("limits")
    theirs.opt.tolerance = 0.0
    given = states(theirs, 12, seed=7)
    with jax.enable_x64(True):
        model = from_mujoco(theirs)

        def there_and_back(state, ctrl):
            f = forward(model, state, ctrl)
            back = inverse(model, state, to_array(f.solution.qacc, ctrl.dtype))
            return back, to_array(f.smooth.actuation.qfrc_actuator, ctrl.dtype)

        back, pushed = map(np.asarray, jax.jit(jax.vmap(ks.kernel(there_and_back)))(together(given), commands(given)))
    assert np.abs(pushed).max() > 1.0
    np.testing.assert_allclose(back, pushed, atol=1e-8)


@pytest.mark.parametrize("cone", ["elliptic", pytest.param("pyramidal", marks=pytest.mark.full("more cases"))])
def test_contacts_are_cs(cone):
    theirs = mujoco.MjModel.from_xml_string(FLOOR.format(cone))
    given, oracle = states(theirs, 30, seed=8), Oracle(theirs)
    seen = 0
    with jax.enable_x64(True):
        model = from_mujoco(theirs)
        look = ks.kernel(lambda s, u: contacts(model, s, u))
        found = jax.jit(jax.vmap(look))(together(given), commands(given))
    found = jax.tree.map(np.asarray, found)
    for lane, state in enumerate(given):
        oracle.forward(state)
        data, force = oracle.data, np.zeros(6)
        active = found.active[lane].copy()
        assert active.sum() == sum(data.contact.efc_address >= 0)
        for i in range(data.ncon):
            mujoco.mj_contactForce(oracle.model, data, i, force)
            same = [k for k in np.flatnonzero(active) if set(found.geoms[k]) == set(data.contact.geom[i])]
            k = min(same, key=lambda k: np.abs(found.position[lane, k] - data.contact.pos[i]).max())
            active[k], seen = False, seen + 1
            frame = data.contact.frame[i].reshape(3, 3)
            np.testing.assert_allclose(found.position[lane, k], data.contact.pos[i], atol=1e-9)
            np.testing.assert_allclose(found.distance[lane, k], data.contact.dist[i], atol=1e-9)
            np.testing.assert_allclose(found.frame[lane, k], frame, atol=1e-9)
            scale = 1.0 + np.abs(force).max()
            np.testing.assert_allclose(found.force[lane, k] / scale, force / scale, atol=1e-7)
            np.testing.assert_allclose(found.world_force[lane, k] / scale, frame.T @ force[:3] / scale, atol=1e-7)
            np.testing.assert_allclose(found.world_torque[lane, k] / scale, frame.T @ force[3:] / scale, atol=1e-7)
        assert not active.any()
    assert seen > 20


def test_contacts_that_the_solver_lists_are_there_too():
    """Five balls on top of one another: ten pairs."""
    balls = "".join(
        f'<body pos="0 0 {0.19 * i}"><joint type="slide" axis="0 0 1"/><geom size=".1" mass="1" condim="1"/></body>'
        for i in range(5)
    )
    floor = '<geom type="plane" size="1 1 .1" pos="0 0 -.1" condim="1"/>'
    model = load(f'<mujoco><option gravity="0 0 -10"/><worldbody>{floor}{balls}</worldbody></mujoco>')
    state = State(*(jnp.zeros(n) for n in (5, 5, 0, 5)))
    found = jax.jit(ks.kernel(lambda s: contacts(model, s, jnp.zeros(0))))(state)
    touching = {pair for pair, active in zip(found.geoms, found.active, strict=True) if active}
    assert len(found.geoms) == 5 + 10
    assert touching == {(1, 2), (2, 3), (3, 4), (4, 5)}
    pairs = {pair: i for i, pair in enumerate(found.geoms)}
    assert all(found.world_force[pairs[pair], 2] > 1.0 for pair in touching)


def test_no_contacts():
    model = load("<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>")
    found = contacts(model, State(jnp.zeros(1), jnp.zeros(1), jnp.zeros(0), jnp.zeros(1)), jnp.zeros(0))
    assert found.force.shape == (0, 6)
    assert found.frame.shape == (0, 3, 3)
    assert found.geoms == ()

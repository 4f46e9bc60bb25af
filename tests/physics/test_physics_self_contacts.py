"""Contacts between moving bodies that are listed while there are any: many pairs, of several kinds and condims."""

import functools
import operator

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from physics_slopes import assert_slopes_agree
from physics_states import Oracle, stack, states

import kousoku as ks
from kousoku.physics import State, forward, initial_state, step
from kousoku.physics.algebra.scalar import to_array
from kousoku.physics.constraint import self_contacts
from kousoku.physics.mjcf.load import from_mujoco
from kousoku.physics.scene import contacts3d

MANY_BODIES = """
<mujoco>
  <option timestep="0.004"/>
  <default><geom density="300" margin="0.005" solref="0.03 1"/></default>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <geom type="plane" size="5 5 1" pos="-.3 0 0" euler="0 60 0"/>
    <geom type="plane" size="5 5 1" pos=".3 0 0" euler="0 -60 0"/>
    <body pos="0 0 .2"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
      <geom size=".15" condim="1"/></body>
    <body pos=".1 0 .5"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><joint axis="0 1 0"/>
      <geom type="capsule" size=".1 .1" condim="3" friction=".6 .01 .001" euler="0 90 0"/></body>
    <body pos="-.1 0 .8"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
      <geom size=".12" condim="{condim}" friction=".9 .02 .002"/></body>
    <body pos="0 0 1.1"><freejoint/><geom size=".13" condim="1" solref="-800 -20"/></body>
    <body pos=".05 0 1.4"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
      <geom type="capsule" size=".08 .15" condim="3"/></body>
  </worldbody>
</mujoco>
"""


BEADS = f"""
<mujoco>
  <worldbody>
    {
    "".join(
        f'''<body pos="{i * 0.15} 0 0"><joint type="slide" axis="1 0 0"/>
      <geom size=".1" condim="1" density="{300 + 100 * i}"/></body>'''
        for i in range(5)
    )
}
  </worldbody>
</mujoco>
"""
"""Five of them on one wire: ten pairs, of which neighbours touch."""


def many_bodies(condim: int) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(MANY_BODIES.format(condim=condim))


def touching(theirs, count):
    """States in which moving bodies touch each other."""
    moving = theirs.geom_bodyid > 0
    oracle = Oracle(theirs)

    def touches(state):
        geoms = oracle.forward(state)["contact_geom"]
        return len(geoms) and moving[geoms].all(axis=1).any()

    found = [state for state in states(theirs, 120, seed=4) if touches(state)]
    assert len(found) >= count
    return found[:: len(found) // count][:count]


@pytest.mark.parametrize(
    "condim", [4, *(pytest.param(condim, marks=pytest.mark.full("more cases")) for condim in (1, 6))]
)
def test_steps_are_c_mujocos(condim):
    theirs = many_bodies(condim)
    theirs.opt.tolerance = 0.0
    given = touching(theirs, 24)
    oracle, many = Oracle(theirs), stack(given)
    with jax.enable_x64(True):
        model = from_mujoco(theirs)
        assert len(self_contacts.split_candidates(model)[1]) == 10

        def moves(qpos, qvel, warmstart):
            after = step(model, State(qpos, qvel, jnp.zeros(0), warmstart), jnp.zeros(0))
            return after.qpos, after.qvel

        qpos, qvel = jax.jit(jax.vmap(ks.kernel(moves)))(*map(jnp.asarray, (many.qpos, many.qvel, many.qacc_warmstart)))
    for i, state in enumerate(given):
        wanted = oracle.step(state)
        np.testing.assert_allclose(qpos[i], wanted[0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(qvel[i], wanted[1], rtol=1e-8, atol=1e-8)


def test_geoms_that_move_as_one_are_not_listed():
    """A named pair of one body, among many bodies: C has a contact of it, without rows."""
    text = MANY_BODIES.format(condim=1).replace(
        '<geom size=".13"', '<geom name="a" size=".1"/><geom name="b" size=".13"'
    )
    theirs = mujoco.MjModel.from_xml_string(
        text.replace("</worldbody>", "</worldbody><contact><pair geom1='a' geom2='b'/></contact>")
    )
    model = from_mujoco(theirs)
    listed = self_contacts.split_candidates(model)[1]
    assert len(listed) == 14
    assert all(model.geom_bodyid[c.geom1] != model.geom_bodyid[c.geom2] for c in listed)


@pytest.mark.parametrize("given", [{"geom_size"}, {"geom_size", "geom_rbound"}], ids=["sizes", "and reaches"])
def test_geoms_that_have_grown_touch_as_far_as_they_reach(given):
    """Sizes are leaves; those of the file would not touch. A reach that is given is taken as it is."""
    small = mujoco.MjModel.from_xml_string(BEADS.replace('size=".1"', 'size=".1" mass="1"'))
    small.geom_size[:, 0] = small.geom_rbound[:] = 0.01
    grown = {
        "geom_size": small.geom_size * np.array([[10.0], [10.0], [1.0], [10.0], [10.0]]),
        "geom_rbound": np.ones(5),
    }

    def count(numbers):
        with jax.enable_x64(True):
            model = from_mujoco(small).with_numbers(**{name: numbers[name] for name in given})
            return jax.jit(lambda s: forward(model, s, jnp.zeros(0)).contact_list.length)(initial_state(model))

    assert len(self_contacts.split_candidates(from_mujoco(small))[1]) == 10
    assert count({name: getattr(small, name) for name in grown}) == 0
    assert count(grown) == 2
    if len(given) == 2:
        assert count({**grown, "geom_rbound": np.full(5, 1e-3)}) == 0


@pytest.mark.full("larger")
@pytest.mark.parametrize("condim", [None, *(condim for condim in (1, 4))])
def test_derivatives_of_accelerations_and_of_what_is_felt(condim):
    """By every position and velocity, forward and reverse, beside finite differences."""
    theirs = many_bodies(condim) if condim else mujoco.MjModel.from_xml_string(BEADS)
    theirs.opt.tolerance = 1e-14
    given = stack(touching(theirs, 8))
    with jax.enable_x64(True):
        model = from_mujoco(theirs)

        def moves(x):
            qpos, qvel = jnp.split(x, [theirs.nq])
            f = forward(model, State(qpos, qvel, jnp.zeros(0), jnp.zeros(theirs.nv)), jnp.zeros(0))
            felt = functools.reduce(operator.add, (x for e in f.cfrc_ext_moving[1:] for x in (*e.rot, *e.lin)))
            return to_array([*f.solution.qacc, felt], qpos.dtype)

        at = jnp.concatenate([jnp.asarray(given.qpos), jnp.asarray(given.qvel)], axis=1)
        assert_slopes_agree(moves, at, difference=1e-12)


@pytest.mark.full("larger")
def test_what_is_shown_and_felt_is_the_same_as_of_contacts_written_out(monkeypatch):
    theirs = many_bodies(1)
    given = stack(touching(theirs, 8))
    with jax.enable_x64(True):
        model = from_mujoco(theirs)

        def felt(qpos, qvel):
            f = forward(model, State(qpos, qvel, jnp.zeros(0), jnp.zeros_like(qvel)), jnp.zeros(0))
            wrenches = f.cfrc_ext_moving[1:]
            external = jnp.stack([jnp.stack([jnp.asarray(x.value) for x in (*e.rot, *e.lin)]) for e in wrenches])
            points, forces = contacts3d(f)
            there = jnp.isfinite(points[:, 0])
            return external, jnp.where(there[:, None], forces, 0.0).sum(0), there.sum()

        lanes = jnp.asarray(given.qpos), jnp.asarray(given.qvel)
        listed = [np.asarray(x) for x in jax.vmap(ks.kernel(felt))(*lanes)]
        monkeypatch.setattr(self_contacts, "MOST_WRITTEN_OUT", 100)
        written_out = [np.asarray(x) for x in jax.vmap(ks.kernel(lambda *state: felt(*state)))(*lanes)]
    assert int(listed[2].sum()) == int(written_out[2].sum()) > 8
    for ours, theirs_ in zip(listed[:2], written_out[:2], strict=True):
        np.testing.assert_allclose(ours, theirs_, rtol=1e-6, atol=1e-6)

"""What is computed only where it is there: the same numbers and derivatives as computed everywhere."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.physics import State, forward, inverse, load
from kousoku.physics.algebra.scalar import ONE, Num, maximum, sqrt, to_array
from kousoku.physics.constraint import contact as contact_rows
from kousoku.physics.constraint.jacobian import Constraint, jacobian
from kousoku.physics.contacts import contacts_of
from kousoku.physics.control_flow.cond import cond_or_zeros, cond_update

# Binary fractions, so that a distance can be the margin to the last bit.
DUMBBELL = """<mujoco><option cone="{}" tolerance="1e-14"/><worldbody>
  <geom type="plane" size="5 5 .1" friction=".5 .02 .01"/>
  <body><joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/><joint axis="0 1 0"/>
    <geom size=".125" pos=".25 0 0" margin=".03125" condim="{condim}"/>
    <geom size=".125" pos="-.25 0 0" margin=".03125" condim="{condim}"/></body></worldbody></mujoco>"""
MARGIN = 0.15625  # the height of the margin


def heights():
    """Groups of lanes: all in the air; in the air, at the margin, the next number below it, deeper, one end down."""
    high, low = np.full(8, 0.5), np.array([0.5, MARGIN, np.nextafter(MARGIN, 0), 0.12, 0.14, 0.11, 0.2, 0.21])
    tilt = np.where(np.arange(16) > 13, 0.4, 0.0)
    return jnp.stack([np.zeros(16), np.concatenate([high, low]), tilt], axis=1)


def everywhere(model, s, contact, sides, jacs):
    """A contact of one moving body without a branch."""
    weights, aref = contact_rows._weights_and_aref(model, s, contact, jacs)
    cost = contact_rows._cost(model, contact, weights)
    return Constraint(cost, aref, jacobian(model, s.com_pos, jacs), jacs, contact)


def moves(model, *, all_of_it=True):
    """The acceleration, and all else that contacts are asked for, as one vector."""

    def of(qpos):
        speed, none = jnp.asarray([0.3, -0.5, 0.7], qpos.dtype), jnp.zeros(0, qpos.dtype)
        state = State(qpos, speed, none, jnp.zeros_like(speed))
        f = forward(model, state, none)
        found = to_array(f.solution.qacc, qpos.dtype)
        if not all_of_it:
            return found
        load, there = to_array([*f.cfrc_ext_moving[1].rot, *f.cfrc_ext_moving[1].lin], qpos.dtype), contacts_of(f)
        asked = [inverse(model, state, 10.0 * speed), load, there.world_force.ravel()]
        return jnp.concatenate([found, *asked, there.active.astype(qpos.dtype)])

    return of


@pytest.mark.full("covered")
@pytest.mark.parametrize(
    ("cone", "condim"), [("elliptic", 4), pytest.param("pyramidal", 3, marks=pytest.mark.full("more cases"))]
)
def test_contacts_in_branches_are_those_without(cone, condim, monkeypatch):
    model = load(DUMBBELL.format(cone, condim=condim))
    with jax.enable_x64(True):
        given = heights()
        found = np.asarray(jax.vmap(ks.kernel(moves(model)))(given))
        monkeypatch.setattr(contact_rows, "_conditional", everywhere)
        wanted = np.asarray(jax.vmap(ks.kernel(moves(model)))(given))
    assert wanted[:, -2:].any(1).tolist() == [False] * 10 + [True] * 6
    assert wanted[-1, -2:].tolist() in ([0.0, 1.0], [1.0, 0.0])
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.full("larger")
def test_derivatives_where_contacts_are_not_there():
    """By friction too: plain JAX, which computes both sides, in reverse, and the kernel forwards."""
    given, weights = load(DUMBBELL.format("elliptic", condim=3)), np.array([0.2, 1.0, 0.5])

    def pushed(x):
        friction = jnp.asarray(given.geom_friction, x.dtype) * jnp.stack([x[3], x[4], x[4]])[:, None]
        return moves(given.with_numbers(geom_friction=friction), all_of_it=False)(x[:3]) @ weights

    with jax.enable_x64(True):
        at = heights()[9:]
        x = jnp.concatenate([at, jnp.asarray([[1.0, 0.6]] * len(at))], axis=1)
        ahead = np.asarray(jax.jit(jax.vmap(jax.jacfwd(ks.kernel(pushed))))(x))
        plain = np.asarray(jax.jit(jax.grad(lambda x: jax.vmap(pushed)(x).sum()))(x))
    assert (np.abs(ahead[1:, 1]) > 1.0).all()
    assert (np.abs(ahead[2:, 3:]).max(1) > 1e-3).any()
    assert (ahead[0] == 0.0).all()
    np.testing.assert_allclose(plain, ahead, rtol=1e-8, atol=1e-9)


def test_only_what_is_wanted():
    """Zeros elsewhere, in place of what is not known; a number from outside may be among what is made.

    A change is none elsewhere, by itself.
    """

    def of(x):
        made = cond_or_zeros(Num(x) > 1.0, lambda: {"root": sqrt(Num(x - 1.0)), "one": [ONE, Num(x)]})
        assert made["one"][0] is ONE
        more = maximum(Num(x - 1.0), 0.0)
        moved = cond_update(x > 1.0, lambda: [Num(x) + more, 3.0 + more], [Num(x), Num(3.0)], x.dtype)
        return made["root"].value, made["one"][1].value, *(n.value for n in moved)

    xs = jnp.array([-1.0, 1.0, 5.0])
    wanted = np.array([[0, 0, 2], [0, 0, 5], [-1, 1, 9], [3, 3, 7]])
    np.testing.assert_allclose(jax.vmap(of)(xs), wanted)
    np.testing.assert_allclose(jax.vmap(ks.kernel(of))(xs), wanted)
    with jax.disable_jit():
        np.testing.assert_allclose(np.transpose([of(x) for x in xs]), wanted)
    assert cond_or_zeros(True, lambda: ONE) is ONE
    assert np.isfinite(jax.vmap(jax.grad(lambda x: of(x)[0]))(xs)).all()

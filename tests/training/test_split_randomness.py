"""Splitting a body by its key: the same values, and nothing random left inside."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.agents.tabular.q_learning import QLearning
from kousoku.collectors.slot import plain_slots
from kousoku.collectors.streams import step_keys
from kousoku.training.loop.iteration import iterate, start
from kousoku.training.loop.split_randomness import split_by_key
from kousoku.training.metrics.metric_sums import Recording


def body(fixed, carry, key):
    """Draws of its own, draws whose size depends on the carry, and a nested compiled function."""
    a, b = jax.random.split(key)
    noise = jax.random.normal(a, (3,)) * fixed
    coin = jax.random.uniform(b) < carry[1]
    inner = jax.jit(lambda x, y: jnp.where(coin, x, y))(noise, carry[0])
    return carry[0] + inner, jnp.clip(carry[1] + noise[0] * 0.1, 0.0, 1.0)


def test_rest_of_draw_is_the_body():
    fixed, carry = jnp.float32(2.0), (jnp.arange(3.0), jnp.float32(0.5))
    draw, rest = split_by_key(body, fixed, carry, jax.random.key(0))
    for seed in range(20):
        key = jax.random.key(seed)
        expected = body(fixed, carry, key)
        found = rest(fixed, carry, draw(fixed, key))
        jax.tree.map(np.testing.assert_array_equal, expected, found)
        carry = found


def primitives(jaxpr) -> set[str]:
    found = set()
    for eqn in jaxpr.eqns:
        found.add(eqn.primitive.name)
        for value in eqn.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                found |= primitives(inner)
    return found


@pytest.mark.full("covered")
def test_a_q_learning_step_has_no_random_draw_left_in_its_loop():
    env, agent = ks.make("WindyGridWorld-v0", slip=0.2), QLearning()
    slots = plain_slots(env)
    state = start(agent, env, slots, jax.random.key(0), Recording())

    def step(fixed, state, key):
        return iterate(fixed, slots, state, step_keys(key, jnp.int32(3)))

    draw, rest = split_by_key(step, agent, state, jax.random.key(0))
    drawn = jax.make_jaxpr(draw)(agent, jax.random.key(0))
    left = jax.make_jaxpr(rest)(agent, state, draw(agent, jax.random.key(0)))
    random = {"threefry2x32", "random_bits", "random_split", "random_fold_in", "shift_left"}
    assert random & primitives(drawn.jaxpr)
    assert not random & primitives(left.jaxpr)
    jax.tree.map(
        np.testing.assert_array_equal,
        step(agent, state, jax.random.key(5)),
        rest(agent, state, draw(agent, jax.random.key(5))),
    )

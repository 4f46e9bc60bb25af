"""A million steps of every environment under random actions: numbers stay numbers, and no lane blows up."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from own_envs import OWN_ENVS

import kousoku as ks
from kousoku.collectors.slot import advance, begin

pytestmark = pytest.mark.reference

OPTIONS = {"CustomGrid-v0": {"map": "S.#\n..G"}}
LANES, STEPS = 2000, 500


OFTEN = ("Acrobot-v1", "Balls-v0", "Blackjack-v1", "CartPole-v1", "CustomGrid-v0", "DriftingBandit-v0", "Taxi-v4")


def _case(id):
    """One of each kind by default."""
    return pytest.param(id, marks=() if id in OFTEN else pytest.mark.full("more cases"))


def random_rollout(env, steps):
    """(key) -> sums of rewards and observations, how many episodes ended, and how many of them blew up."""

    def walk(key):
        start_key, step_key = jax.random.split(key)

        def step(carry, key):
            lane, total, ended, diverged = carry
            action_key, env_key = jax.random.split(key)
            lane, taken, end = advance(env, lane, env.action_space.sample(action_key), env_key)
            seen = sum(jnp.sum(leaf.astype(jnp.float32)) for leaf in jax.tree.leaves(taken.next_obs))
            total = total + taken.reward + seen * jnp.float32(1e-3)
            ended = ended + end.ended.astype(jnp.int32)
            blown_up = jnp.asarray(getattr(taken.info, "diverged", False)).astype(jnp.int32)
            return (lane, total, ended, diverged + blown_up), None

        begun = begin(env, start_key), jnp.float32(0.0), jnp.int32(0), jnp.int32(0)
        return jax.lax.scan(step, begun, jax.random.split(step_key, steps))[0][1:]

    return walk


@pytest.mark.by_default("CustomGrid-v0")
@pytest.mark.parametrize("id", [_case(id) for id in OWN_ENVS])
def test_a_million_steps(id):
    env = ks.make(id, **OPTIONS.get(id, {}))
    keys = jax.random.split(jax.random.key(0), LANES)
    totals, ended, diverged = jax.vmap(ks.kernel(random_rollout(env, STEPS)))(keys)
    assert np.isfinite(np.asarray(totals)).all()
    assert int(diverged.sum()) == 0
    assert int(ended.sum()) > 0 or env.time_limit is None or env.time_limit > STEPS

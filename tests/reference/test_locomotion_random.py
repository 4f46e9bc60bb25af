"""A million steps of every robot under random actions: numbers stay numbers, and lanes that blow up are counted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.training.rollout import advance, begin

IDS = [id for id in ks.list_envs() if id.endswith("-v5")] + ["CartPoleSwingUp-v0", "RandomAnt-v0"]
LANES = 2000


def wandered(env, steps):
    """(key) -> sums of rewards and observations, how many episodes ended, and how many of them blew up."""
    low, high = (np.asarray(x, np.float32) for x in (env.action_space.low, env.action_space.high))

    def walk(key):
        start_key, step_key = jax.random.split(key)

        def step(carry, key):
            lane, total, ended, diverged = carry
            action_key, env_key = jax.random.split(key)
            action = jax.random.uniform(action_key, env.action_space.shape, jnp.float32, low, high)
            lane, taken, end = advance(env, lane, action, env_key)
            total = total + taken.reward + jnp.sum(taken.next_obs) * jnp.float32(1e-3)
            ended = ended + end.ended.astype(jnp.int32)
            return (lane, total, ended, diverged + taken.info.diverged.astype(jnp.int32)), None

        begun = begin(env, start_key), jnp.float32(0.0), jnp.int32(0), jnp.int32(0)
        return jax.lax.scan(step, begun, jax.random.split(step_key, steps))[0][1:]

    return walk


@pytest.mark.full
@pytest.mark.parametrize("id", IDS)
def test_a_million_steps(id):
    env = ks.make(id)
    keys = jax.random.split(jax.random.key(0), LANES)
    totals, ended, diverged = jax.vmap(ks.kernel(wandered(env, 1_000_000 // LANES)))(keys)
    assert np.isfinite(np.asarray(totals)).all()
    assert int(diverged.sum()) == 0
    assert int(ended.sum()) > 0 or env.time_limit > 1_000_000 // LANES

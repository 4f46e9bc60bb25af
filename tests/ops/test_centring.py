"""Rewards that are centred: the same advantages, whatever the constant; and the constant that TD learning finds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kousoku.ops.advantages import gae
from kousoku.ops.centring import (
    DWARFED,
    centred,
    constant_value,
    dwarfing_value,
    observe_steps,
)
from kousoku.ops.normalisation import no_moments

STEPS = 12
FLAGS = st.lists(st.booleans(), min_size=STEPS, max_size=STEPS).map(jnp.array)
NUMBERS = st.lists(st.floats(-4, 4, width=32), min_size=STEPS, max_size=STEPS).map(jnp.float32)
NEAR = {"rtol": 1e-4, "atol": 1e-3}


@given(NUMBERS, NUMBERS, NUMBERS, FLAGS, FLAGS, st.floats(-50, 50), st.floats(0, 1), st.floats(0, 1))
def test_advantages_are_what_they_were(rewards, values, after, terminated, truncated, constant, discount, decay):
    """Values less a constant learn from centred rewards what the values learn from the rewards."""
    plain = gae(rewards, values, after, terminated, truncated, discount, decay)
    shaped = centred(rewards[:, None], 1.0, terminated[:, None], constant, discount)[:, 0]
    less = gae(shaped, values - constant, after - constant, terminated, truncated, discount, decay)
    np.testing.assert_allclose(less, plain, **NEAR)


@given(NUMBERS, FLAGS, FLAGS, st.floats(-50, 50), st.floats(0, 1))
def test_returns_are_those_of_the_centred_rewards(rewards, terminated, truncated, constant, discount):
    def running(rewards):
        total, every = 0.0, []
        for reward, over in zip(np.asarray(rewards, float), np.asarray(terminated | truncated), strict=True):
            total = discount * total + reward
            every.append(total)
            total = 0.0 if over else total
        return jnp.array(every, jnp.float32)[:, None]

    shaped = centred(rewards[:, None], 1.0, terminated[:, None], constant, discount)
    sums = running(rewards), running(jnp.ones(STEPS))
    found = centred(*sums, terminated[:, None], constant, discount)
    np.testing.assert_allclose(found, running(shaped[:, 0]), **NEAR)


@pytest.mark.parametrize("discount", [0.0, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("ends", [0.0, 0.05, 1.0])
def test_the_constant_is_where_td_learning_ends(ends, discount):
    """b = E[r + gamma (1 - terminated) b], and centred rewards are 0 on average; without such a b, nothing is."""
    key = jax.random.key(0)
    rewards = 7.0 + jax.random.normal(key, (50, 8))
    terminated = jax.random.uniform(key, (50, 8)) < ends
    moments = observe_steps(no_moments((2,)), rewards[:20], terminated[:20])
    moments = observe_steps(moments, rewards[20:], terminated[20:])
    b = constant_value(moments, discount)
    if discount == 1.0 and ends == 0.0:
        assert b == 0.0
        return
    goes_on = 1.0 - np.asarray(terminated, float)
    np.testing.assert_allclose(b, np.mean(np.asarray(rewards) + discount * goes_on * float(b)), rtol=1e-4)
    np.testing.assert_allclose(np.mean(centred(rewards, 1.0, terminated, b, discount)), 0.0, atol=2e-4)


@pytest.mark.parametrize(("mean", "taken"), [(1.01 * DWARFED, True), (-1.01 * DWARFED, True), (0.99 * DWARFED, False)])
def test_only_a_constant_that_dwarfs_the_rest_is_taken_off(mean, taken):
    rewards = mean + jnp.tile(jnp.array([-1.0, 1.0]), (4, 3))
    moments = observe_steps(no_moments((2,)), rewards, jnp.zeros((4, 6), bool))
    found = dwarfing_value(moments, 0.9)
    np.testing.assert_allclose(found, 10.0 * mean if taken else 0.0, rtol=1e-5)


@pytest.mark.parametrize("reward", [-1.0, 1.0, 0.1, 1e6])
def test_rewards_that_are_all_alike_stay(reward):
    """One for each step that goes on, or one for each that is lost: what they add up to is what matters."""
    moments = no_moments((2,))
    for i in range(40):
        moments = observe_steps(moments, jnp.full((16, 5), reward), jnp.arange(80).reshape(16, 5) == i)
        assert dwarfing_value(moments, 0.99) == 0.0

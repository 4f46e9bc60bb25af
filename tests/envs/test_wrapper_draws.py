"""What wrappers draw: keys of repeated steps, and for how long an action sticks."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kousoku import wrappers
from kousoku.core.env import Env
from kousoku.core.spaces import Box, Discrete
from kousoku.core.timestep import Timestep


class Coins(Env):
    """Shows the words that it was given: the reward of a step is a draw."""

    time_limit: int | None = None

    @property
    def observation_space(self) -> Box:
        return Box(0.0, 1.0, ())

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    def reset(self, key: Any) -> tuple[Any, Timestep]:
        return (), Timestep(jnp.float32(0.0), jnp.float32(0.0), jnp.array(False), jnp.array(False))

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, Timestep]:
        drawn = jax.random.uniform(key)
        return (), Timestep(drawn, drawn, jnp.array(False), jnp.array(False))


def test_every_step_of_a_repeat_has_a_key_of_its_own():
    """Three draws, of which the last is seen and all are summed: those of the keys that the step's is split into."""
    wrapped, key = wrappers.RepeatAction(Coins(), 3), jax.random.key(2)
    _, timestep = wrapped.step(key, wrapped.reset(key)[0], jnp.int32(0))
    draws = [float(jax.random.uniform(k)) for k in jax.random.split(key, 3)]
    assert len(set(draws)) == 3
    assert float(timestep.reward) == pytest.approx(sum(draws), rel=1e-6)
    assert float(timestep.obs) == draws[-1]


def test_an_action_sticks_for_any_of_the_steps_from_the_least_to_the_largest():
    wrapped = wrappers.StickyAction(Coins(), 0.999, (2, 4))
    drawn = jax.vmap(wrapped._draw_duration)(jax.random.split(jax.random.key(0), 300))
    assert min(np.bincount(drawn)[2:]) > 70
    assert set(np.asarray(drawn).tolist()) == {2, 3, 4}

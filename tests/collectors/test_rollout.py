"""Where episodes end and begin: truncation, true successors, fresh starts."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.collectors.slot import advance, begin
from kousoku.core.env import Env
from kousoku.core.spaces import Box, Discrete
from kousoku.core.timestep import Timestep


def counter(length: int, time_limit: int | None = None):
    """A corridor whose observation counts the steps: state i leads to i + 1; the last one terminates."""
    states = np.arange(length)
    model = ks.TabularModel(
        probability=np.ones((length, 1, 1)),
        next_state=np.minimum(states + 1, length - 1)[:, None, None],
        reward=np.ones((length, 1, 1)),
        terminated=(states >= length - 2)[:, None, None],
        start=np.eye(length)[0],
    )
    return ks.finite(model, time_limit=time_limit)


def walk(env, steps: int):
    """Transitions and episode ends of one lane that takes action 0, as lists of NumPy values."""
    lane = begin(env, jax.random.key(0))
    step = jax.jit(lambda lane, key: advance(env, lane, jnp.int32(0), key))
    seen = []
    for i in range(steps):
        lane, transition, end = step(lane, jax.random.key(i))
        seen.append(jax.device_get((transition, end)))
    return seen


def test_next_obs_is_the_true_successor_also_where_an_episode_ends():
    seen = walk(counter(4), 9)
    assert [int(t.obs) for t, _ in seen] == [0, 1, 2] * 3
    assert [int(t.next_obs) for t, _ in seen] == [1, 2, 3] * 3
    assert [bool(t.terminated) for t, _ in seen] == [False, False, True] * 3
    assert not any(bool(t.truncated) for t, _ in seen)


def test_a_time_limit_truncates_and_does_not_terminate():
    seen = walk(counter(100, time_limit=3), 6)
    assert [bool(t.truncated) for t, _ in seen] == [False, False, True] * 2
    assert not any(bool(t.terminated) for t, _ in seen)
    assert [int(t.next_obs) for t, _ in seen] == [1, 2, 3] * 2


def test_a_natural_end_on_the_limit_step_sets_both_flags():
    seen = walk(counter(4, time_limit=3), 3)
    assert bool(seen[2][0].terminated)
    assert bool(seen[2][0].truncated)


@pytest.mark.parametrize("limit", [1, 5])
def test_returns_and_lengths_of_episodes(limit):
    seen = walk(counter(100, time_limit=limit), 2 * limit)
    ends = [end for _, end in seen if end.ended]
    assert [int(end.length) for end in ends] == [limit, limit]
    assert [float(end.episode_return) for end in ends] == [limit, limit]


@pytest.mark.full("covered")
def test_every_reset_draws_a_fresh_start():
    size = 64
    model = ks.TabularModel(
        np.ones((size, 1, 1)), np.zeros((size, 1, 1), int), np.zeros((size, 1, 1)), np.ones((size, 1, 1), bool),
        np.full(size, 1 / size),
    )  # fmt: skip
    env = ks.finite(model)
    starts = np.array([int(t.obs) for t, _ in walk(env, 1000)])
    counts = np.bincount(starts, minlength=size)
    chi_square = ((counts - 1000 / size) ** 2 / (1000 / size)).sum()
    assert chi_square < 124.8, "99.999% of the distribution with 63 degrees of freedom"


class Drawn(Env):
    """Shows what it draws at each step and each start, by the same function of the key; every second step ends."""

    time_limit: int | None = 2

    @property
    def observation_space(self) -> Box:
        return Box(0.0, 1.0, ())

    @property
    def action_space(self) -> Discrete:
        return Discrete(1)

    def reset(self, key: Any) -> tuple[Any, Timestep]:
        return (), Timestep(jax.random.uniform(key), jnp.float32(0.0), jnp.array(False), jnp.array(False))

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, Timestep]:
        return self.reset(key)


def test_a_step_and_the_start_that_follows_it_have_random_bits_of_their_own():
    env, key = Drawn(), jax.random.key(0)
    slot = begin(env, key)
    seen = [float(slot.obs)]
    for i in range(1, 5):
        slot, made, end = advance(env, slot, jnp.int32(0), jax.random.fold_in(key, i))
        seen += [float(made.next_obs)] + [float(slot.obs)] * bool(end.ended)
    assert len(seen) == len(np.unique(seen)) == 7

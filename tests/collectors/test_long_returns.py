"""Returns of long episodes: no reward is lost beside a large sum, wherever episodes are played."""

import contextlib

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks
from kousoku.collectors.host_slots import HostSlots
from kousoku.collectors.slot import advance, at_staggered_ages, begin, begin_next
from kousoku.compiler import use_kernels
from kousoku.core.env import Env
from kousoku.core.host import HostEnv
from kousoku.core.spaces import Box, Discrete
from kousoku.core.timestep import Timestep

LARGE, SMALL, STEPS = 2.0**24, 0.99, 200
RETURN = np.float32(LARGE + (STEPS - 1) * float(np.float32(SMALL)))
"""A float32 of 2^24 takes no single 0.99: a plain sum stays there."""
KEY = jax.random.key(0)


class Paying(Env):
    """Pays 2^24 at first and then a little at each step, whatever is done, and ends after 200 steps."""

    time_limit: int | None = eqx.field(static=True, default=None)
    tabular: bool = eqx.field(static=True, default=False)

    @property
    def observation_space(self):
        return Discrete(1) if self.tabular else Box(0.0, 1.0, (1,))

    @property
    def action_space(self):
        return Discrete(2)

    def reset(self, key):
        no = jnp.array(False)
        return jnp.int32(0), Timestep(self._seen(), jnp.float32(0), no, no)

    def step(self, key, state, action):
        reward = jnp.where(state == 0, jnp.float32(LARGE), jnp.float32(SMALL))
        no = jnp.array(False)
        return state + 1, Timestep(self._seen(), reward, state + 1 >= STEPS, no)

    def _seen(self):
        return jnp.int32(0) if self.tabular else jnp.zeros(1, jnp.float32)


def agent_of(id):
    if id == "ppo":
        return ks.make_agent(id, num_envs=2, num_steps=STEPS, minibatches=1, epochs=1, hidden=(2,))
    if id == "dqn":
        return ks.make_agent(
            id, num_envs=2, num_steps=STEPS, capacity=800, batch_size=4, learning_starts=0, hidden=(2,)
        )
    if id == "ars":
        return ks.make_agent(id, num_directions=2, top_directions=1, num_envs=2, max_episode_steps=20_000)
    return ks.make_agent(id)


PLAYED = {"kernels": contextlib.nullcontext, "XLA": lambda: use_kernels(False)}
"""How programs are compiled."""


@pytest.mark.by_default("kernels-q_learning", "kernels-ppo", "XLA-ars")
@pytest.mark.parametrize("id", ["q_learning", "ppo", "dqn", "ars"])
@pytest.mark.parametrize("how", PLAYED)
def test_training_tells_the_return_of_a_long_episode(id, how):
    with PLAYED[how]():
        found = returns_of(agent_of(id), Paying(tabular=id == "q_learning"), 8 * STEPS if id == "ars" else 2 * STEPS)
    np.testing.assert_allclose(found, RETURN, rtol=1e-6)


def test_so_does_the_readable_loop():
    found = returns_of(agent_of("q_learning"), Paying(tabular=True), STEPS, loop="python")
    np.testing.assert_array_equal(found, [RETURN])


def returns_of(agent, env, steps, **settings):
    """The returns that reports tell."""
    run = ks.train(agent, env, steps=steps, record_every=STEPS, eval_episodes=0, out="", **settings)
    returns = run.curves["return"]
    assert np.isfinite(returns[-1]).all()
    return returns[np.isfinite(returns)]


@pytest.mark.by_default("kernels-q_learning", "XLA-q_learning")
@pytest.mark.parametrize("id", ["q_learning", "ppo"])
@pytest.mark.parametrize("how", PLAYED)
def test_so_does_an_evaluation_that_may_be_long(how, id):
    env = Paying(tabular=id == "q_learning")
    with PLAYED[how]():
        run = ks.train(agent_of(id), env, steps=2 * STEPS, eval_episodes=0, out="")
        assert run.evaluate(2, max_steps=10_001).returns.tolist() == [[RETURN] * 2]
        assert run.evaluate(2, max_steps=10_000).returns.tolist() == [[LARGE] * 2], "bits and speed of before"


@pytest.mark.parametrize(("time_limit", "long"), [(None, True), (10_001, True), (10_000, False)])
def test_only_a_slot_whose_episodes_may_be_long_has_a_rest(time_limit, long):
    env = Paying(time_limit)
    slots = jax.vmap(lambda key: begin(env, key))(jax.random.split(KEY, 3))
    slots = slots if time_limit is None else at_staggered_ages(slots, time_limit)

    def step(slots, key):
        return jax.vmap(lambda *one: advance(env, *one))(slots, jnp.zeros(3, jnp.int32), jax.random.split(key, 3))[::2]

    after, ends = jax.lax.scan(step, slots, jax.random.split(KEY, STEPS))
    np.testing.assert_array_equal(ends.episode_return[-1], np.full(3, RETURN if long else LARGE))
    assert (after.return_rest is not None) == long
    assert jax.tree.structure(after) == jax.tree.structure(slots)
    if long:
        fresh, _ = begin_next(env, jax.tree.map(lambda x: x[0], slots), KEY)
        assert fresh.return_rest == 0.0
        np.testing.assert_array_equal(after.return_rest, 0.0)


class _Vector:
    """Two slots of `Paying` on the host; the second ends its episode after one step more."""

    def __init__(self):
        self.at = np.zeros(2, int)

    def reset(self, slots=None):
        self.at[slots if slots is not None else slice(None)] = 0
        return [np.zeros((2 if slots is None else len(slots), 1), np.float32)]

    def step(self, actions):
        reward = np.where(self.at == 0, LARGE, SMALL).astype(np.float32)
        self.at += 1
        return [np.zeros((2, 1), np.float32)], reward, self.at >= STEPS + np.arange(2), np.zeros(2, bool)

    def close(self):
        pass


def test_so_do_slots_on_the_host():
    env = Paying()
    slots = HostSlots(HostEnv("Paying", env.observation_space, env.action_space, lambda seeds: _Vector()), [0, 1])
    steps = [slots.step([np.zeros(2, np.int32)]) for _ in range(STEPS + 1)]
    first, second = steps[STEPS - 1], steps[STEPS]
    assert first.ended.tolist() == [True, False]
    assert (first.episode_return.tolist(), first.episode_return.dtype) == ([RETURN, RETURN], np.float32)
    assert second.episode_return.tolist() == [LARGE, np.float32(LARGE + STEPS * float(np.float32(SMALL)))]
    assert (slots.episode_return.tolist(), slots.episode_return.dtype) == ([LARGE, 0.0], np.float32)

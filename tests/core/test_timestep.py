"""Timesteps of plain numbers: an environment may give a constant reward, flag or observation as Python has it."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import kousoku as ks

NO = jnp.array(False)


@pytest.mark.parametrize("reward", [1, 1.0, np.float64(1), np.float32(1), np.int64(1)])
@pytest.mark.parametrize("flag", [True, np.True_])
def test_plain_numbers_and_flags_become_arrays(reward: Any, flag: Any):
    made = ks.Timestep(0, reward, flag, flag)
    for value, dtype, held in ((made.reward, "float32", 1), (made.terminated, "bool", True), (made.obs, "int32", 0)):
        assert isinstance(value, jax.Array)
        assert (value.dtype.name, value.shape, value.weak_type, value.item()) == (dtype, (), False, held)
    step = ks.Transition(made.obs, made.obs, reward, flag, flag, made.obs)
    assert step.reward.dtype == jnp.float32
    assert step.terminated.dtype == step.truncated.dtype == jnp.bool_


def test_parts_of_an_observation_become_arrays():
    pixels = np.uint8(3)
    obs = ks.Timestep({"place": 2, "height": 0.5, "pixels": pixels}, 0, False, False).obs
    assert (obs["place"].dtype, obs["height"].dtype) == (jnp.int32, jnp.float32)
    assert obs["pixels"] is pixels, "what has a dtype keeps it"


def test_arrays_stay_as_they_are():
    reward = jnp.float32(2)
    made = ks.Timestep(reward, reward, NO, NO)
    assert made.obs is made.reward is reward
    assert made.terminated is made.truncated is NO


class Constant(ks.Env):
    """Pays a number of Python's for each step; all else is plain, too, as far as `plain` says."""

    pay: float = eqx.field(static=True, default=1.0)
    plain: bool = eqx.field(static=True, default=False)
    time_limit: int | None = eqx.field(static=True, default=5)

    @property
    def observation_space(self) -> ks.Discrete:
        return ks.Discrete(8)

    @property
    def action_space(self) -> ks.Discrete:
        return ks.Discrete(2)

    def reset(self, key):
        return jnp.int32(0), ks.Timestep(0 if self.plain else jnp.int32(0), 0.0, False, False)

    def step(self, key, state, action):
        after = jnp.minimum(state + 1, 7)
        return after, ks.Timestep(0 if self.plain else after, self.pay, False if self.plain else after > 5, False)


@pytest.mark.parametrize("loop", ["compiled", "python"])
@pytest.mark.parametrize("agent", ["q_learning", "n_step_sarsa"])
def test_agents_learn_where_the_reward_is_a_number_of_pythons(agent: str, loop: str):
    run = ks.train(agent, Constant(), steps=20, loop=loop, eval_episodes=1, out="")
    assert run.record.evaluation["return"].item() == 5


def test_agents_learn_where_a_whole_timestep_is_plain():
    env = Constant(pay=2, plain=True)
    run = ks.train("n_step_sarsa", env, steps=20, eval_episodes=1, out="")
    assert run.record.evaluation["return"].item() == 10
    ks.check_env(env, steps=10)

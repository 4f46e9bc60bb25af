"""Our environments in other libraries' own tests and training loops."""

import unittest
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from counting import Counting

import kousoku as ks

pytestmark = pytest.mark.peers


@pytest.fixture(autouse=True)
def dtypes_as_others_have_them():
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


class TestDmEnv:
    @pytest.fixture(autouse=True)
    def library(self):
        self.dm_env = pytest.importorskip("dm_env")

    def test_it_passes_dm_envs_own_tests(self):
        from dm_env import test_utils

        class Case(test_utils.EnvironmentTestMixin):
            def make_object_under_test(self):
                return ks.to_dm_env("CartPole-v1")

        from absl.testing import absltest

        case = type("Case", (Case, absltest.TestCase), {})
        result = unittest.TestResult()
        unittest.TestLoader().loadTestsFromTestCase(case).run(result)
        assert result.testsRun > 3
        assert not result.failures + result.errors

    @pytest.mark.parametrize(("length", "limit", "discount"), [(2, None, 0.0), (9, 2, 1.0)])
    def test_the_discount_is_0_where_the_task_ended_only(self, length, limit, discount):
        env = ks.to_dm_env(Counting(length=length), max_episode_steps=limit)
        assert env.reset().first()
        assert env.step(0).discount == 1.0
        last = env.step(0)
        assert last.last()
        assert (last.reward, last.discount, last.observation[1]) == (2.0, discount, 2.0)
        again = env.step(1)
        assert again.first()
        assert again.observation[1] == 0.0

    def test_specs_hold_what_it_gives(self):
        for id in ("Pendulum-v1", "Taxi-v4", "Blackjack-v1"):
            env = ks.to_dm_env(id)
            env.observation_spec().validate(env.reset().observation)
            env.action_spec().validate(np.zeros(env.action_spec().shape, env.action_spec().dtype))


class TestGymnax:
    @pytest.fixture(autouse=True)
    def library(self):
        pytest.importorskip("gymnax")

    @pytest.mark.filterwarnings("ignore:Explicitly requested dtype int64")
    def test_a_loop_in_purejaxrls_manner_runs_on_gymnaxs_wrappers(self):
        from gymnax.environments import spaces
        from gymnax.wrappers.purerl import FlattenObservationWrapper, LogWrapper

        env = ks.to_gymnax("CartPole-v1")
        assert isinstance(env.action_space(env.default_params), spaces.Discrete)
        assert isinstance(env.observation_space(env.default_params), spaces.Box)
        params, wrapped = env.default_params, LogWrapper(FlattenObservationWrapper(env))
        obs, state = jax.vmap(wrapped.reset, (0, None))(jax.random.split(jax.random.PRNGKey(0), 8), params)

        def step(carry, key):
            obs, state = carry
            keys = jax.random.split(key, 8)
            actions = jax.vmap(wrapped.action_space(params).sample)(keys)
            obs, state, reward, done, info = jax.vmap(wrapped.step, (0, 0, 0, None))(keys, state, actions, params)
            return (obs, state), (reward, done, info["returned_episode_returns"])

        _, (reward, done, returns) = jax.lax.scan(step, (obs, state), jax.random.split(jax.random.PRNGKey(1), 100))
        assert reward.sum() == 800
        assert done.any()
        assert 8 < float(returns[-1].mean()) < 60


class TestBrax:
    @pytest.fixture(autouse=True)
    def library(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.envs = pytest.importorskip("brax.envs")

    @pytest.mark.filterwarnings("ignore")
    def test_it_runs_in_braxs_wrappers(self):
        env = ks.to_brax("Pendulum-v1")
        assert isinstance(env, self.envs.Env)
        assert (env.observation_size, env.action_size, env.episode_length) == (3, 1, 200)
        wrapped = self.envs.training.wrap(env, episode_length=5)
        state = jax.jit(wrapped.reset)(jax.random.split(jax.random.PRNGKey(0), 4))
        step = jax.jit(wrapped.step)
        seen = []
        for _ in range(6):
            state = step(state, jnp.zeros((4, 1)))
            seen.append((float(state.done[0]), float(state.info["truncation"][0])))
        assert seen == [(0, 0)] * 4 + [(1, 1), (0, 0)]

    @pytest.mark.filterwarnings("ignore")
    def test_actions_are_scaled_to_bounds(self):
        env = ks.to_brax("Pendulum-v1")
        ours = ks.make("Pendulum-v1")
        state = env.reset(jax.random.PRNGKey(0))
        after = env.step(state, jnp.array([1.0]))
        _, timestep = ours.step(jax.random.key(0), state.pipeline_state, jnp.array([2.0]))
        assert np.allclose(after.obs, timestep.obs, atol=1e-6)
        assert jax.tree.structure(state) == jax.tree.structure(after)

    @pytest.mark.parametrize("id", ["CartPole-v1", "Taxi-v4"])
    def test_what_brax_cannot_take_is_refused(self, id):
        with pytest.raises(ks.ConfigError, match="space"):
            ks.to_brax(id)


class TestStableBaselines3:
    @pytest.fixture(autouse=True)
    def library(self):
        self.sb3 = pytest.importorskip("stable_baselines3")

    def test_ends_are_told_as_it_expects(self):
        envs = ks.to_sb3_vec(Counting(length=9), 2, max_episode_steps=2)
        envs.seed(3)
        start = envs.reset()
        assert np.array_equal(start[0], ks.to_gymnasium(Counting(length=9)).reset(seed=3)[0])
        envs.step(np.array([0, 0]))
        obs, _, done, infos = envs.step(np.array([0, 0]))
        assert done.all()
        assert infos[0]["TimeLimit.truncated"]
        assert infos[0]["terminal_observation"].tolist() == [start[0, 0], 2]
        assert obs[:, 1].tolist() == [0, 0]
        assert not ks.to_sb3_vec(Counting(length=1), 1).env_is_wrapped(object)[0]

    @pytest.mark.filterwarnings("ignore")
    def test_its_ppo_learns_on_them(self):
        from stable_baselines3.common.vec_env import VecMonitor

        envs = VecMonitor(ks.to_sb3_vec("CartPole-v1", 32))
        model = self.sb3.PPO("MlpPolicy", envs, n_steps=64, batch_size=512, n_epochs=10, device="cpu", seed=0)
        model.learn(30_000)
        assert np.mean([info["r"] for info in model.ep_info_buffer]) > 60

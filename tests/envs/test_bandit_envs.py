"""The bandit: statistics of its arms, rewards and drift, what `info` tells, and what it refuses."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from kousoku.core.errors import ConfigError
from kousoku.envs import make
from kousoku.envs.bandits.bandit import BanditState, bandit

N = 20_000


def keys(seed, n=N):
    return jax.random.split(jax.random.key(seed), n)


def is_normal(sample, mean, std):
    return stats.kstest((np.asarray(sample, np.float64).ravel() - mean) / std, "norm").pvalue > 1e-4


def means_after_reset(env, seed=0):
    return np.asarray(jax.jit(jax.vmap(env.reset))(keys(seed))[0].means)


def test_arms_are_drawn_anew_at_every_reset():
    means = means_after_reset(bandit(arms=4, mean=2.0, mean_spread=0.5))
    assert means.shape == (N, 4)
    assert is_normal(means, 2.0, 0.5)
    assert abs(np.corrcoef(means[:, 0], means[:, 1])[0, 1]) < 4 / np.sqrt(N)
    assert len(np.unique(means)) > 0.99 * means.size


def test_bernoulli_arms_are_uniform():
    means = means_after_reset(bandit(arms=3, reward="bernoulli"))
    assert stats.kstest(means.ravel(), "uniform").pvalue > 1e-4


def test_the_ids_are_the_ten_armed_testbed_and_exercise_2_5():
    testbed, drifting = make("Bandit-v0"), make("DriftingBandit-v0")
    assert testbed.action_space.n == drifting.action_space.n == 10
    assert testbed.observation_space.n == 1
    assert testbed.time_limit is None
    assert is_normal(means_after_reset(testbed), 0.0, 1.0)
    assert not np.any(means_after_reset(drifting))
    assert (drifting.drift, testbed.drift) == (0.01, 0.0)


@pytest.mark.full("covered")
def test_rewards_scatter_about_the_pulled_arm():
    env = bandit(arms=3, reward_std=2.0)
    state = BanditState(jnp.array([-1.0, 0.0, 5.0], jnp.float32))
    for arm, mean in enumerate((-1.0, 0.0, 5.0)):
        after, timestep = jax.vmap(env.step, in_axes=(0, None, None))(keys(arm), state, jnp.int32(arm))
        assert is_normal(timestep.reward, mean, 2.0)
        assert np.array_equal(after.means, np.broadcast_to(state.means, (N, 3)))
        assert not np.any(timestep.terminated | timestep.truncated)
        assert not np.any(timestep.obs)


def test_bernoulli_rewards_are_zero_or_one():
    env = bandit(arms=2, reward="bernoulli")
    state = BanditState(jnp.array([0.2, 1.0], jnp.float32))
    step = jax.vmap(env.step, in_axes=(0, None, None))
    rewards = np.asarray(step(keys(1), state, jnp.int32(0))[1].reward)
    assert set(np.unique(rewards)) == {0.0, 1.0}
    assert stats.binomtest(int(rewards.sum()), N, 0.2).pvalue > 1e-4
    assert np.all(np.asarray(step(keys(2), state, jnp.int32(1))[1].reward) == 1.0)


def test_every_arm_drifts_by_itself_after_every_pull():
    env = bandit(arms=3, drift=0.1, reward_std=0.0)
    state = BanditState(jnp.array([0.0, 1.0, -2.0], jnp.float32))
    after, timestep = jax.vmap(env.step, in_axes=(0, None, None))(keys(3), state, jnp.int32(1))
    moves = np.asarray(after.means) - np.asarray(state.means)
    for arm in range(3):
        assert is_normal(moves[:, arm], 0.0, 0.1)
    assert abs(np.corrcoef(moves[:, 0], moves[:, 1])[0, 1]) < 4 / np.sqrt(N)
    assert np.all(np.asarray(timestep.reward) == 1.0)


def test_reward_and_drift_are_independent():
    env = bandit(arms=2, drift=0.1)
    state = BanditState(jnp.zeros(2, jnp.float32))
    after, timestep = jax.vmap(env.step, in_axes=(0, None, None))(keys(4), state, jnp.int32(0))
    for arm in range(2):
        assert abs(np.corrcoef(after.means[:, arm], timestep.reward)[0, 1]) < 4 / np.sqrt(N)


@pytest.mark.full("covered")
def test_a_random_walk_spreads_like_the_square_root_of_its_length():
    env, steps = bandit(arms=4, mean_spread=0.0, drift=0.01), 100

    def walk(key):
        reset_key, step_key = jax.random.split(key)
        state, _ = env.reset(reset_key)
        state, _ = jax.lax.scan(
            lambda s, k: (env.step(k, s, jnp.int32(0))[0], None), state, jax.random.split(step_key, steps)
        )
        return state.means

    means = np.asarray(jax.jit(jax.vmap(walk))(keys(5, 2000))).ravel()
    assert is_normal(means, 0.0, 0.01 * np.sqrt(steps))


def test_info_tells_the_best_arm_before_the_drift():
    env = bandit(arms=3, drift=10.0)
    state = BanditState(jnp.array([1.0, 4.0, 3.5], jnp.float32))
    for arm, optimal, regret in ((0, 0.0, 3.0), (1, 1.0, 0.0), (2, 0.0, 0.5)):
        for seed in range(5):
            info = env.step(jax.random.key(seed), state, jnp.int32(arm))[1].info
            assert (float(info.optimal), float(info.regret)) == (optimal, regret)
            assert info.optimal.dtype == info.regret.dtype == jnp.float32


def test_arms_that_tie_are_all_optimal():
    env = bandit(arms=3, mean_spread=0.0)
    state, timestep = env.reset(jax.random.key(0))
    assert (float(timestep.info.optimal), float(timestep.info.regret)) == (0.0, 0.0)
    for arm in range(3):
        assert float(env.step(jax.random.key(1), state, jnp.int32(arm))[1].info.optimal) == 1.0


def test_a_reset_deals_new_arms_and_a_restart_keeps_them():
    env = bandit(time_limit=5)
    state, _ = env.reset(jax.random.key(0))
    fresh, _ = env.reset(jax.random.key(1))
    assert not np.any(np.asarray(fresh.means) == np.asarray(state.means))
    again, timestep = env.restart(jax.random.key(2), state)
    assert np.all(np.asarray(again.means) == np.asarray(state.means))
    assert (int(timestep.obs), float(timestep.reward)) == (0, 0.0)


def test_numbers_are_leaves_so_that_many_bandits_run_in_one_program():
    env = bandit(arms=2, mean_spread=0.0, reward_std=0.0)
    reset = jax.vmap(lambda mean: dataclasses.replace(env, mean=mean).reset(jax.random.key(0))[0].means)
    means = reset(jnp.array([1.0, 2.0, 3.0], jnp.float32))
    assert means.tolist() == [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("arms", 0),
        ("arms", -3),
        ("arms", 2**40),
        ("mean", float("nan")),
        ("mean", float("inf")),
        ("mean_spread", -1.0),
        ("mean_spread", float("inf")),
        ("reward_std", -0.5),
        ("reward_std", float("nan")),
        ("drift", -0.01),
        ("drift", float("nan")),
        ("reward", "gaussian"),
        ("reward", ""),
        ("time_limit", 0),
    ],
)
def test_a_bad_value_is_refused_by_name(field, value):
    with pytest.raises(ConfigError) as error:
        make("Bandit-v0", **{field: value})
    assert error.value.field == field
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("options", [{"mean": 1.0}, {"mean_spread": 0.0}, {"reward_std": 2.0}, {"drift": 0.1}])
def test_bernoulli_arms_refuse_the_numbers_of_normal_ones(options):
    with pytest.raises(ConfigError, match="Bernoulli") as error:
        bandit(reward="bernoulli", **options)
    assert error.value.field == next(iter(options))


def test_a_word_is_no_number():
    unchecked = getattr(bandit, "__wrapped__", bandit)
    for field in ("arms", "mean", "mean_spread", "reward_std", "drift", "time_limit"):
        with pytest.raises(ConfigError) as error:
            unchecked(**{field: "many"})
        assert error.value.field == field

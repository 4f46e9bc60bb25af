"""The scale of returns by which rewards are divided: against every return in float64, and on two devices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import kousoku as ks
from kousoku.collectors.replay import Replay
from kousoku.collectors.return_scale import add_rewards, no_returns, scale_of

GAMMA, SLOTS = 0.9, 4
REWARD = np.random.default_rng(0).normal(size=(40, SLOTS)).astype(np.float32) + np.arange(SLOTS, dtype=np.float32)
ENDED = np.random.default_rng(1).random((40, SLOTS)) < 0.1


def every_return(reward, ended):
    found, running = [], np.zeros(reward.shape[1])
    for row, last in zip(reward.astype(np.float64), ended, strict=True):
        running = GAMMA * running + row
        found.append(running.copy())
        running[last] = 0.0
    return np.array(found)


def collected(reward, ended, parts=5):
    statistics = no_returns(reward.shape[1])
    for rows in np.array_split(np.arange(len(reward)), parts):
        statistics = add_rewards(statistics, jnp.asarray(reward[rows]), jnp.asarray(ended[rows]), GAMMA)
    return statistics


@pytest.mark.by_default("1000000.0")
@pytest.mark.parametrize("limit", [5.0, 0.5, 1e6])
def test_it_is_the_standard_deviation_of_returns_or_what_keeps_the_largest_below_the_limit(limit):
    found = scale_of(collected(REWARD, ENDED), limit, None)
    returns = every_return(REWARD, ENDED)
    wanted = max(np.sqrt(returns.var() + 1e-8), np.abs(returns).max() / limit)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert (wanted == returns.std()) <= (limit > 1e3)


def test_devices_that_share_slots_have_the_scale_of_all():
    statistics = collected(REWARD, ENDED)
    mesh = Mesh(np.array(jax.devices()[:2]), ("d",))
    on_each = jax.shard_map(
        lambda part: scale_of(part, 5.0, "d")[None], mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False
    )
    both = jax.jit(on_each)(statistics)
    np.testing.assert_allclose(both, np.full(2, scale_of(statistics, 5.0, None)), rtol=1e-5)
    assert both[0] == both[1]


class Payer(ks.Env):
    """Each step is worth 100, for ever."""

    @property
    def observation_space(self):
        return ks.Box(0.0, 1.0, (1,))

    @property
    def action_space(self):
        return ks.Box(-1.0, 1.0, (1,))

    @property
    def time_limit(self):
        return 20

    def reset(self, key):
        return jnp.float32(0.0), self._at(jnp.float32(0.0))

    def step(self, key, state, action):
        return state, self._at(jnp.float32(100.0))

    def _at(self, reward):
        return ks.Timestep(jnp.ones(1), reward, jnp.array(False), jnp.array(False))


def test_critics_learn_values_of_at_most_the_limit_and_tell_them_in_units_of_rewards():
    """Values of 1,000 are learned as values of 2; the estimate is in rewards again."""
    options = {"hidden": (16,), "num_envs": 4, "learning_starts": 40, "batch_size": 32, "update_ratio": 1, "tau": 0.1}
    agent = ks.make_agent("ddpg", normalise_rewards=True, return_limit=2.0, learning_rate=3e-3, discount=0.9, **options)
    run = ks.train(agent, Payer(), steps=3_000, out="", eval_episodes=0, progress=False)
    learned, told = run.curves["qf_values"][-1, 0], run.curves["value_estimate"][:, 0]
    told = told[np.isfinite(told)][-3:].mean()
    scale = 100 * (1 - 0.9**20) / (1 - 0.9) / 2.0
    assert learned == pytest.approx(1000.0 / scale, rel=0.1)
    assert told == pytest.approx(1000.0, rel=0.1)


def test_what_cannot_work_is_refused():
    for limit in (0.0, -1.0, float("inf")):
        with pytest.raises(ks.ConfigError, match="return_limit"):
            Replay(return_limit=limit)
    with pytest.raises(ks.ConfigError, match="normalise_rewards"):
        ks.make_agent("sac", normalise_rewards=1)

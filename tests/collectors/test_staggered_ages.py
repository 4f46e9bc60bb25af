"""Slots whose first episodes begin at staggered ages: ends are spread, and only whole episodes are told."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rollouts import learned, leaves_equal, tiny_ppo
from test_rollout import counter

import kousoku as ks
from kousoku.collectors.differentiated import DifferentiatedRollouts
from kousoku.collectors.replay import Replay
from kousoku.collectors.rollouts import Rollouts
from kousoku.collectors.slot import advance, at_staggered_ages, begin, plain_slots
from kousoku.core.collector import TrainState
from kousoku.training.loop.iteration import start
from kousoku.training.metrics.metric_sums import Recording

KEY = jax.random.key(0)


def ends_of(count: int, limit: int, steps: int, length: int = 1000):
    """(transitions, ends, whether told), [T, B]: episodes are cut, or end by themselves after `length` steps."""
    env = counter(length + 1, time_limit=limit)
    slots = at_staggered_ages(jax.vmap(lambda key: begin(env, key))(jax.random.split(KEY, count)), limit)

    def step(slots, key):
        actions = jnp.zeros(count, jnp.int32)
        slots, made, end = jax.vmap(lambda *one: advance(env, *one))(slots, actions, jax.random.split(key, count))
        return slots, (made, end, end.ended_whole)

    return jax.device_get(jax.lax.scan(step, slots, jax.random.split(KEY, steps))[1])


@pytest.mark.by_default("3-1")
@pytest.mark.parametrize(("count", "limit"), [(4, 8), (8, 4), (5, 7), (1, 3), (3, 1)])
def test_ends_are_spread_over_the_time_limit(count, limit):
    """However the one divides the other, each step ends as many episodes as its neighbours, or one more."""
    _, end, _ = ends_of(count, limit, 3 * limit)
    each = end.ended.sum(axis=1)
    assert each.max() - each.min() <= 1
    np.testing.assert_array_equal(each.reshape(3, limit).sum(axis=1), [count] * 3)


@pytest.mark.by_default("4-8")
@pytest.mark.parametrize(("count", "limit"), [(4, 8), (8, 4), (5, 7)])
def test_a_shortened_episode_is_truncated_and_not_told(count, limit):
    made, end, told = ends_of(count, limit, 4 * limit)
    ages = np.arange(count) * limit // count
    first = end.ended.argmax(axis=0)
    np.testing.assert_array_equal(first, limit - ages - 1)
    at = (first, np.arange(count))
    assert made.truncated[at].all()
    assert not made.terminated.any()
    np.testing.assert_array_equal(made.next_obs[at], made.obs[at] + 1)  # what a value is bootstrapped from
    np.testing.assert_array_equal(told[at], ages == 0)
    assert (end.length[told] == limit).all()
    assert (end.episode_return[told] == limit).all()
    later = np.arange(4 * limit)[:, None] > first
    np.testing.assert_array_equal(told & later, end.ended & later)


def test_a_first_episode_that_ends_by_itself_is_not_told_either():
    """To tell those alone which end before the clock would tell of short ones only."""
    made, end, told = ends_of(4, 8, 40, length=3)
    first = end.ended.argmax(axis=0)
    np.testing.assert_array_equal(first, [2, 2, 2, 1])  # the last one is cut at the age of 6, after two steps
    np.testing.assert_array_equal(made.terminated[first, np.arange(4)], [True, True, True, False])
    np.testing.assert_array_equal(told[first, np.arange(4)], [True, False, False, False])
    assert (end.length[told] == 3).all()


@pytest.mark.parametrize("kind", [Rollouts, DifferentiatedRollouts, Replay])
@pytest.mark.parametrize(
    ("options", "limit", "staggered"),
    [
        ({"num_envs": 4, "num_steps": 2}, 8, True),
        ({"num_envs": 4, "num_steps": 2, "staggered": False}, 8, False),
        ({"num_envs": 4, "num_steps": 8}, 8, False),
        ({"num_envs": 4, "num_steps": 7}, 8, True),
        ({"num_envs": 1, "num_steps": 2}, 8, False),
        ({"num_envs": 4, "num_steps": 2}, None, False),
    ],
)
def test_slots_are_staggered_where_a_rollout_is_shorter_than_an_episode(kind, options, limit, staggered):
    collector = kind(**options)
    agent = tiny_ppo()
    env = counter(10, time_limit=limit)
    slots = collector.init(agent, agent.init(env.spec, KEY), plain_slots(env), KEY)[0]
    assert (slots.whole is not None) == staggered
    assert slots.episode_step.tolist() == ([0, 2, 4, 6] if staggered else [0] * options["num_envs"])


@pytest.mark.full("covered")
@pytest.mark.parametrize("agent", ["ppo", "a2c"])
def test_every_return_and_length_that_is_recorded_is_of_a_whole_episode(agent):
    """And every report tells some, from the first whole episode on; without staggered ages every fifth would."""
    options = {"num_envs": 8, "num_steps": 5} | ({"minibatches": 2, "epochs": 1} if agent == "ppo" else {})
    env = counter(1000, time_limit=50)
    run = ks.train(ks.make_agent(agent, hidden=(4,), **options), env, steps=8 * 200, record_every=80, out="")
    told = np.isfinite(run.curves["return"][:, 0])
    np.testing.assert_array_equal(told, np.arange(1, 21) * 80 > 8 * 50 - 1)
    assert (run.curves["length"][told] == 50).all()
    assert (run.curves["return"][told] == 50).all()
    assert run.record.facts["episodes"] == run.curves["episodes"].sum() == 4 + 7 * 3


@pytest.mark.full("more cases")
@pytest.mark.parametrize("seeds", [1, 3])
def test_bits_are_the_same_on_any_number_of_devices_that_share_slots_or_agents(seeds):
    agent, env = tiny_ppo(num_steps=2, minibatches=1), counter(1000, time_limit=8)
    one, two = (learned(agent, env, 12, seeds=seeds, devices=devices) for devices in (1, 2))
    leaves_equal(one.slots, two.slots)
    leaves_equal(one.metrics.episodes, two.metrics.episodes)


def test_a_single_environment_has_no_clock_but_its_own():
    agent = ks.make_agent("q_learning")
    env = counter(10, time_limit=8)
    state: TrainState = start(agent, env, plain_slots(env), KEY, Recording())
    assert state.slots.whole is None
    assert int(state.slots.episode_step) == 0

"""The loop of agents that learn from rollouts: one meaning, same bits, whatever the number of anything."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rollouts import (
    Recall,
    Walk,
    begin,
    begun,
    collect,
    collected,
    learned,
    leaves_equal,
    loop_of,
    metrics_of,
    of_member,
    sums_of,
    tiny_ppo,
)

from kousoku import train
from kousoku.agents.deep.a2c import A2C
from kousoku.collectors.rollouts import Rollouts
from kousoku.collectors.streams import member_key
from kousoku.compiler import use_kernels
from kousoku.core.agent import Agent
from kousoku.core.env import Env
from kousoku.core.spaces import Box, Discrete, MultiDiscrete
from kousoku.core.timestep import Timestep
from kousoku.envs.classic.pendulum import Pendulum
from kousoku.nn import ActorCriticConfig, clip_to
from kousoku.ops.schedules import Linear
from kousoku.training.evaluation.act import act_greedily
from kousoku.training.loop import grouped, program
from kousoku.training.metrics.drain import drain_metrics

KEY = jax.random.key(0)
AGENT, WALK = tiny_ppo(), Walk()
RATES = [1e-4, 3e-3, 3e-2]
CLOSE = {"rtol": 2e-4, "atol": 2e-5}
"""A few updates of a small net: matrix products of other shapes add in another order."""


def test_same_seed_same_bits():
    a, b, other = (learned(AGENT, WALK, 3, seeds=[seed]) for seed in (7, 7, 8))
    leaves_equal(a, b)
    assert (a.slots.obs != other.slots.obs).any()
    assert int(a.agent.step[0]) == 3 * 32


@pytest.mark.by_default("2")
@pytest.mark.parametrize("together", [1, 2, 4])
def test_agent_i_of_four_is_agent_i_alone(together, monkeypatch):
    """However many of them advance at once."""
    monkeypatch.setattr(grouped, "CACHED_SAMPLES", together * AGENT.learns_from.gradient_samples)
    assert loop_of(AGENT, WALK, seeds=4).program.per_vmap == together
    many = learned(AGENT, WALK, 2, seeds=4)
    for seed in (0, 3):
        leaves_equal(of_member(many, seed), of_member(learned(AGENT, WALK, 2, seeds=[seed])), **CLOSE)


@pytest.mark.full("more cases")
def test_a_sweep_point_is_the_run_with_that_value():
    swept = learned(AGENT, WALK, 2, learning_rate=RATES)
    for i in (0, 2):
        alone = learned(dataclasses.replace(AGENT, learning_rate=RATES[i]), WALK, 2)
        leaves_equal(of_member(swept, i), of_member(alone), **CLOSE)
    weights = swept.agent.network.value_head.linear.weight
    assert np.abs(weights[0] - weights[2]).max() > 0.01


@pytest.mark.full("covered")
@pytest.mark.parametrize(
    ("name", "held", "values"),
    [
        ("target_kl", None, [1e-9, 1e9]),
        ("value_clip", None, [1e-6, 1e6]),
        ("learning_rate", Linear(1.0, 0.0, 9), RATES),
    ],
)
def test_a_sweep_gives_numbers_where_there_was_none_or_a_schedule(name, held, values):
    agent = dataclasses.replace(AGENT, **{name: held})
    swept = learned(agent, WALK, 2, **{name: values})
    for i, value in enumerate(values):
        leaves_equal(
            of_member(swept, i), of_member(learned(dataclasses.replace(agent, **{name: value}), WALK, 2)), **CLOSE
        )
    weights = swept.agent.network.value_head.linear.weight
    assert np.abs(weights[0] - weights[1]).max() > 1e-4


@pytest.mark.full("more cases")
@pytest.mark.parametrize("seeds", [1, 3], ids=["environments spread", "agents spread, an odd number"])
def test_two_devices_give_what_one_gives(seeds):
    """Statistics of observations and rewards, and every sum that is recorded, are over all environments."""
    assert jax.device_count() == 2
    one, two = (learned(AGENT, WALK, 2, seeds=seeds, devices=devices) for devices in (1, 2))
    leaves_equal(two, one, **CLOSE)
    assert (sums_of(one).episodes > 0).all()


def test_the_devices_of_one_agent_agree_to_the_bit():
    loop = loop_of(AGENT, WALK, devices=2)
    assert loop.program.divided == "envs"
    state, at = loop.run(loop.start(), 0, 64)
    assert at == 64
    for leaf in jax.tree.leaves(state.agent):
        first, second = (np.asarray(shard.data) for shard in leaf.addressable_shards)
        np.testing.assert_array_equal(first, second)
    assert {shard.data.shape[1] for shard in state.slots.obs.addressable_shards} == {2}


@pytest.mark.full("covered")
def test_devices_are_as_many_as_divide_the_environments():
    assert loop_of(tiny_ppo(num_envs=3, minibatches=1), WALK, devices=2).program.mesh is None
    assert loop_of(AGENT, WALK, seeds=5, devices=2).members.keys.shape == (6,)
    assert loop_of(AGENT, WALK, devices=2).program.mesh is not None


@pytest.mark.full("covered")
def test_what_happens_to_an_environment_does_not_depend_on_how_many_there_are():
    """The noise of 4 environments is that of the first 4 of 64, to the bit; actions within rounding."""
    few, many = AGENT, tiny_ppo(num_envs=64)
    a, b = begun(few, WALK, KEY), begun(many, WALK, KEY)
    leaves_equal(a.agent, b.agent)
    leaves_equal(a.slots, jax.tree.map(lambda x: x[:4], b.slots))
    (a, short, _), (b, long, _) = collected(few, WALK, a, KEY, 3), collected(many, WALK, b, KEY, 3)
    np.testing.assert_array_equal(short.obs[..., 0], long.obs[:, :4, 0])
    np.testing.assert_array_equal(short.terminated, long.terminated[:, :4])
    np.testing.assert_allclose(short.action, long.action[:, :4], atol=1e-5)


@pytest.mark.full("covered")
def test_no_two_draws_are_the_same():
    """Of starts, steps, environments, updates, agents: all noise differs."""
    noise = []
    for seed in (0, 1):
        key, state = member_key(jnp.uint32(seed)), begun(AGENT, WALK, member_key(jnp.uint32(seed)))
        noise.append(np.asarray(state.slots.obs[:, 0]))
        for update in (0, 1):
            state, rollout, _ = collected(AGENT, WALK, state, key, update)
            noise.append(np.asarray(rollout.reward - rollout.next_obs[..., 1]).ravel())
    drawn = np.concatenate(noise)
    assert len(np.unique(drawn)) == len(drawn) == 2 * (4 + 2 * 32)


class Teller(Agent):
    """An agent that tells the key that it would split off first."""

    learns_from: Rollouts = Rollouts(4, 8)

    def init(self, spec, key):
        return jnp.float32(0.0)

    def act(self, state, obs, carry, key, *, greedy=False):
        return jnp.int32(0), (), jax.random.key_data(jax.random.split(key)[0])

    def update(self, state, data, key, *, axis=None):
        return state, {}


class Told(Env):
    """An environment whose observation is the key that it was given; episodes last a step, so that it often resets."""

    time_limit: int | None = eqx.field(static=True, default=1)
    observation_space = MultiDiscrete((2, 2))
    action_space = Discrete(2)

    def reset(self, key):
        obs = jax.random.key_data(key)
        return obs, Timestep(obs, jnp.float32(0.0), jnp.array(False), jnp.array(False))

    def step(self, key, state, action):
        return self.reset(key)


@pytest.mark.full("covered")
def test_agent_and_environment_never_get_the_same_key():
    """Not even one that was made twice in the same way, which the checker of keys used twice cannot see.

    `advance` splits the environment's key, and its step gets the first half: as here the agent tells.
    """
    with use_kernels(False):
        agent, env = Teller(), Told()
        state = begun(agent, env, KEY)
        words = [state.slots.obs]
        for update in (0, 1):
            state, rollout, _ = collected(agent, env, state, KEY, update)
            words += [rollout.extras, rollout.next_obs, rollout.obs[1:], state.slots.obs]
    words = np.concatenate([np.asarray(part).reshape(-1, 2) for part in words])
    assert len(np.unique(words, axis=0)) == len(words) == 4 + 2 * (3 * 32)


TWO = {"num_envs": 2, "num_steps": 2, "hidden": (3,)}


@pytest.mark.full("more cases")
@pytest.mark.parametrize(
    ("agent", "space"),
    [
        (tiny_ppo(**TWO), Box(-0.5, 0.5, (2,))),
        (tiny_ppo(**TWO), Discrete(3)),
        (tiny_ppo(**TWO, recurrent="gru", recurrent_size=2), Discrete(3)),
        (A2C(num_envs=2, num_steps=2, network=ActorCriticConfig(hidden=(3,))), MultiDiscrete((2, 3))),
    ],
    ids=["ppo", "ppo of choices", "recurrent ppo", "a2c"],
)
def test_no_key_is_used_twice(agent, space):
    """Three updates, step by step: compiled, the checker misses what a loop uses again."""
    env = Walk(space)
    with use_kernels(False), jax.debug_key_reuse(True), jax.disable_jit():
        key = jax.random.key(0)
        state = begin(agent, env, jax.random.clone(key))
        for i in range(3):
            own = jax.random.fold_in(key, 100 + i)
            state, rollout, _ = collect(agent, env, state, jax.random.clone(key), jnp.int32(i))
            state = eqx.tree_at(lambda x: x.agent, state, agent.update(state.agent, rollout, own)[0])


@pytest.mark.full("covered")
def test_actions_are_clipped_for_the_environment_alone():
    _, rollout, _ = collected(AGENT, WALK, begun(AGENT, WALK, KEY), KEY, 0)
    assert np.abs(rollout.action).max() > 0.5
    got = np.clip(rollout.action, -0.5, 0.5).sum(-1)
    np.testing.assert_allclose(rollout.next_obs[..., 1], got, atol=1e-6)


def test_successors_are_true_and_episodes_end_by_themselves_or_by_the_clock():
    state, rollout, steps = collected(AGENT, WALK, begun(AGENT, WALK, KEY), KEY, 0)
    state, later, _ = collected(AGENT, WALK, state, KEY, 1)
    both = jax.tree.map(lambda a, b: np.concatenate([a, b]), rollout, later)
    ended = both.terminated | both.truncated
    goes_on = ~ended[:-1]
    np.testing.assert_array_equal(both.next_obs[:-1][goes_on], both.obs[1:][goes_on])
    start = both.obs[1:][~goes_on]
    assert len(start) > 3
    assert (np.abs(start[:, 0] - 100) < 6).all()
    assert (start[:, 1] == 0).all()
    length = np.zeros(4, int)
    for t in range(16):
        length += 1
        np.testing.assert_array_equal(both.truncated[t], length == 7)
        length[ended[t]] = 0
    np.testing.assert_array_equal(steps.end.ended, ended[:8])


@pytest.mark.full("covered")
def test_a_carry_begins_anew_with_its_episode():
    agent = tiny_ppo(recurrent="gru", recurrent_size=6, shared=True)
    state, rollout, _ = collected(agent, WALK, begun(agent, WALK, KEY), KEY, 0)
    for update in range(1, 4):
        state, rollout, _ = collected(agent, WALK, state, KEY, update)
        ended = np.asarray(rollout.terminated | rollout.truncated)[-1]
        carry = np.asarray(state.carry)
        assert (carry[ended] == 0).all()
        assert (carry[~ended] != 0).any(axis=1).all()
        assert (np.asarray(state.data)[:, ended] == 0).all(), "the discounted return and steps, too"
        assert (np.asarray(state.data)[:, ~ended] != 0).all()
        if ended.any():
            return
    raise AssertionError("no episode ended with a rollout")


def test_sums_are_those_of_the_rollouts():
    """Of the first rollout, which can be had again: nothing had been learned before it."""
    state, key = learned(AGENT, WALK, 1), member_key(jnp.uint32(0))
    _, rollout, steps = collected(AGENT, WALK, begun(AGENT, WALK, key), key, 0)
    sums, end = of_member(sums_of(state)), steps.end
    assert int(sums.episodes) == int(end.ended.sum()) > 0
    assert int(sums.length_sum) == int(jnp.where(end.ended, end.length, 0).sum())
    np.testing.assert_allclose(sums.reward_sum, rollout.reward.sum(), rtol=1e-4)
    np.testing.assert_allclose(sums.return_sum, jnp.where(end.ended, end.episode_return, 0).sum(), rtol=1e-4, atol=1e-4)
    moments = state.agent.observations
    np.testing.assert_allclose(moments.mean[0], np.asarray(rollout.obs).reshape(-1, 2).mean(0), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(moments.variance[0], np.asarray(rollout.obs).reshape(-1, 2).var(0), rtol=1e-3)
    names = {"approx_kl", "clipfrac", "entropy", "explained_variance", "gradient_norm", "learning_rate", "policy_loss"}
    assert set(metrics_of(state)) == names | {"value_loss"}


def test_ten_updates_compile_one_program_and_the_state_is_given_away():
    loop = loop_of(AGENT, WALK)
    state, at = loop.run(loop.start(), 0, 32)
    made = program._compiled(loop.program)
    compiled = made._cache_size()
    for update in range(1, 11):
        before = state
        state, at = loop.run(state, at, 32 * (update + 1))
        assert all(leaf.is_deleted() for leaf in jax.tree.leaves(before.agent))
    assert at == 11 * 32
    other = loop_of(dataclasses.replace(AGENT, learning_rate=1e-2), WALK, seeds=[5])
    assert program._compiled(other.program) is made
    other.run(loop_of(AGENT, WALK).start(), 0, 320)
    assert made._cache_size() == compiled


@pytest.mark.full("covered")
@pytest.mark.parametrize(
    "agent",
    [AGENT, A2C(num_envs=4), tiny_ppo(recurrent="lstm", target_kl=0.1), tiny_ppo(learning_rate=Linear(1.0, 0.1, 9))],
)
def test_the_state_keeps_its_structure(agent):
    """No leaf changes shape or dtype in an update, and no type is weak."""
    loop = loop_of(agent, WALK)
    before = jax.eval_shape(lambda: program._start(loop.program, loop.members, loop._sums, None))
    args = loop.program, loop.members
    after = jax.eval_shape(lambda state: grouped.advance(*args, state, jnp.int32(0), jnp.int32(1)), before)
    assert jax.tree.structure(before) == jax.tree.structure(after)
    for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert not a.weak_type
        assert not b.weak_type


@pytest.mark.full("covered")
def test_schedules_are_read_at_the_count_of_environment_steps():
    agent = tiny_ppo(learning_rate=Linear(0.01, 0.0, 320))
    loop = loop_of(agent, WALK)
    state, at = loop.start(), 0
    for update in range(3):
        state, at = loop.run(state, at, at + 32)
        np.testing.assert_allclose(metrics_of(state)["learning_rate"], 0.01 * (1 - update / 10), rtol=1e-5)
        state = drain_metrics(loop.placement, ())(state).state


def test_a_call_makes_whole_rollouts_and_no_more_than_its_share(monkeypatch):
    monkeypatch.setattr(program, "CALL", 64)
    loop = loop_of(AGENT, WALK)
    state, at = loop.run(loop.start(), 0, 33)
    assert at == 64
    assert int(sums_of(state).updates[0]) == int(state.metrics.iterations[0]) == 2
    state, at = loop.run(state, at, 10_000)
    assert at == 128
    for every, iterations in ((1, 1), (32, 1), (33, 2), (100, 2)):
        to_report = f"a report after {every} steps is reached by one call, unless that is more than its share"
        assert loop_of(AGENT, WALK, every=every).iterations_per_call == iterations, to_report


@pytest.mark.full("covered")
def test_policies_are_asked_alike():
    agent, env = tiny_ppo(recurrent="gru"), Recall()
    begun_state = begun(agent, env, KEY)
    state, obs = begun_state.agent, begun_state.slots.obs[0]
    carry = agent.initial_carry(state)
    action, after = act_greedily(agent, state, obs, carry, KEY, env.action_space)
    assert int(action) in (0, 1)
    assert jax.tree.structure(after) == jax.tree.structure(carry)
    box = Box((-1.0, 0.0), (1.0, 0.5), (2,))
    np.testing.assert_array_equal(clip_to(box, jnp.array([-3.0, 3.0])), [-1.0, 0.5])
    assert int(clip_to(Discrete(3), jnp.int32(2))) == 2


@pytest.mark.full("more cases")
@pytest.mark.parametrize(
    "options", [{"recurrent": "lstm", "recurrent_size": 6}, {"target_kl": 0.01}, {"value_clip": 0.2}]
)
def test_other_agents_too_are_the_same_on_two_devices(options):
    agent = tiny_ppo(**options)
    one, two = (learned(agent, WALK, 2, devices=devices) for devices in (1, 2))
    leaves_equal(two, one, **CLOSE)
    a2c = A2C(num_envs=4, network=ActorCriticConfig(hidden=(8,)), normalise_advantages=True)
    one, two = (learned(a2c, WALK, 2, devices=devices) for devices in (1, 2))
    leaves_equal(two, one, **CLOSE)


@pytest.mark.full("covered")
@pytest.mark.films
def test_a_step_is_traced_twice_by_a_whole_training(tmp_path):
    """For rollouts, and for evaluation and film: a robot's takes seconds. Before that, what is not ours is checked."""
    traced = []

    class Counted(Pendulum):
        def step(self, key, state, action):
            traced.append(action)
            return super().step(key, state, action)

    agent = tiny_ppo()
    run = train(agent, Counted(), steps=64, eval_episodes=2, devices=1, out=str(tmp_path / "run"), progress=False)
    assert run.record.film is not None
    assert len(traced) == 1 + 2

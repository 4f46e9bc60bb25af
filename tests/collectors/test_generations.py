"""Generations: which policy plays which episode from which start, what is told of it, and how steps are counted."""

import dataclasses
import re
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from forked import in_a_forked_process
from fresh_process import refusals
from rollouts import Walk, fast_jit, learned, leaves_equal, loop_of, of_member, sums_of

from kousoku.collectors.episodes import PlayEpisodes
from kousoku.collectors.generations import Generations
from kousoku.collectors.slot import kernel_slots, plain_slots
from kousoku.compiler import backends
from kousoku.compiler.config import use_kernels
from kousoku.core.agent import Agent
from kousoku.core.collector import TrainState
from kousoku.core.env import Env
from kousoku.core.spaces import Box
from kousoku.core.timestep import Timestep
from kousoku.nn import clip_to
from kousoku.nn.observation_stats import init_obs_stats

KEY = jax.random.key(5)


class Told(Agent):
    """A population whose candidate i is the number i; it acts by it, and keeps what it was told."""

    population_size: int = eqx.field(static=True, default=6)
    num_envs: int = eqx.field(static=True, default=6)
    episodes: int = eqx.field(static=True, default=1)
    limit: int = eqx.field(static=True, default=50)
    starts: int | None = eqx.field(static=True, default=None)

    @property
    def learns_from(self) -> Generations:
        return Generations(self.population_size, self.num_envs, self.episodes, self.limit, self.starts)

    def init(self, spec: Any, key: Any) -> Any:
        zeros = jnp.zeros(self.population_size)
        return {"returns": zeros, "lengths": zeros, "told": init_obs_stats(spec.observation_space)}

    def ask(self, state: Any, key: Any) -> Any:
        return jnp.arange(self.population_size, dtype=jnp.float32), state

    def policy(self, state: Any, candidate: Any) -> Any:
        return candidate

    def shared(self, state: Any) -> Any:
        return jnp.float32(0.01)

    def statistics(self, state: Any) -> Any:
        return state["told"]

    @staticmethod
    def act_by(policy: Any, shared: Any, obs: Any) -> Any:
        return jnp.full(2, shared * policy)

    def act(self, state: Any, obs: Any, carry: Any, key: Any, *, greedy: bool = False) -> Any:
        return jnp.zeros(2), carry, None

    def update(self, state: Any, data: Any, key: Any, *, axis: str | None = None) -> Any:
        told = jax.tree.map(lambda x: x[0], data.observed)
        return {"returns": data.episode_return, "lengths": data.length, "told": told}, {}


@fast_jit
def begun(agent: Any, env: Env, key: Any) -> TrainState:
    first = agent.init(env.spec, key)
    return TrainState(first, *agent.learns_from.init(agent, first, kernel_slots(env), key), ())


def generation(agent: Any, env: Env, state: TrainState, slots: Any = kernel_slots) -> Any:
    """(state, data, steps) of one generation of slots that are compiled by the kernel, or by XLA."""

    @fast_jit
    def collected(state: TrainState) -> Any:
        collector = agent.learns_from
        return collector.collect(
            agent, slots(env), state, collector.keys(KEY, jnp.int32(0), collector.num_envs, None), None
        )

    return collected(state)


def by_hand(env: Env, key: Any, env_state: Any, action: Any, limit: int) -> tuple[float, int, list[Any]]:
    """Return, length and observations of an episode that is played as one would write it in Python."""
    reset_key, walk_key = jax.random.split(key)
    state, timestep = env.restart(reset_key, env_state)
    total, length, seen = 0.0, 0, []
    limit = limit if env.time_limit is None else min(limit, env.time_limit)
    while True:
        seen.append(np.asarray(timestep.obs))
        state, timestep = env.step(jax.random.fold_in(walk_key, length), state, clip_to(env.action_space, action))
        total, length = total + float(timestep.reward), length + 1
        if timestep.terminated or timestep.truncated or length >= limit:
            return total, length, seen


def start_key(generation: int, number: int) -> Any:
    stream = jax.random.fold_in(jax.random.fold_in(jax.random.fold_in(KEY, 3), 0), generation)
    return jax.random.fold_in(stream, number)


@pytest.mark.by_default("plain_slots")
@pytest.mark.parametrize("slots", [kernel_slots, plain_slots])
def test_episodes_are_those_played_by_hand(slots):
    """Every candidate's return and length, the moments of a slot's observations, and the steps in all."""
    agent, env = Told(), Walk()
    state, data, steps = generation(agent, env, begun(agent, env, KEY), slots)
    env_state = begun(agent, env, KEY).slots.env_state
    played = [by_hand(env, start_key(0, i), env_state[i], jnp.full(2, 0.01 * i), 50) for i in range(6)]
    np.testing.assert_allclose(data.episode_return, [total for total, _, _ in played], rtol=1e-5)
    np.testing.assert_array_equal(data.length, [length for _, length, _ in played])
    for i, (_, length, seen) in enumerate(played):
        moments = of_member(data.observed, i)
        assert moments.count.tolist() == [0, length]
        np.testing.assert_allclose(moments.mean, np.mean(seen, axis=0), rtol=1e-5)
        np.testing.assert_allclose(moments.variance, np.var(seen, axis=0), rtol=1e-3, atol=1e-4)
    assert int(steps.taken) == int(data.steps) == sum(length for _, length, _ in played)
    assert state.data.generation.tolist() == [[0, 1]] * 6


@pytest.mark.full("covered")
@pytest.mark.parametrize("num_envs", [1, 2, 3, 6, 12])
@pytest.mark.parametrize("slots", [kernel_slots, plain_slots])
def test_a_queue_plays_the_same_episodes(slots, num_envs):
    """Two episodes of six candidates in fewer slots, one after the other: each the one that its own slot plays."""
    env = Walk()
    whole, queue = Told(episodes=2, num_envs=12), Told(episodes=2, num_envs=num_envs)
    _, expected, _ = generation(whole, env, begun(whole, env, KEY))
    _, data, steps = generation(queue, env, begun(queue, env, KEY), slots)
    np.testing.assert_array_equal(data.length, expected.length)
    np.testing.assert_allclose(data.episode_return, expected.episode_return, rtol=1e-6)
    assert int(steps.taken) == int(jnp.sum(expected.length * 2))
    assert int(jnp.sum(data.observed.count[:, 1])) == int(steps.taken)


@pytest.mark.parametrize("num_envs", [1, 2, 3, 4, 6, 12])
def test_what_slots_tell_of_episodes_comes_to_their_candidates(num_envs):
    """Two episodes of six candidates: of episode 2 c and 2 c + 1 of candidate c, in however many slots."""
    collector = Told(episodes=2, num_envs=num_envs, starts=3).learns_from
    which = collector._episodes_of(jnp.arange(num_envs, dtype=jnp.int32))
    assert sorted(np.ravel(which)) == list(range(12))
    np.testing.assert_array_equal(collector._of_candidates(which), 2.0 * np.arange(6) + 0.5)
    numbers = np.asarray(jax.random.key_data(collector._starts(KEY, which)))
    number_of = {i: tuple(numbers[place]) for place, i in np.ndenumerate(np.asarray(which))}
    assert [number_of[i] == number_of[i + 6] for i in range(6)] == [True] * 6
    assert len(set(number_of.values())) == 6


def test_a_slot_that_plays_several_episodes_tells_of_each_and_of_all_it_saw():
    env, keys = Walk(), jax.random.split(KEY, 3)
    policies, statistics = jnp.array([5.0, -3.0, 1.0]), init_obs_stats(env.observation_space)
    first, _ = env.reset(KEY)
    play = fast_jit(PlayEpisodes(Told.act_by, 3, 50))
    found, _ = play(env, policies, jnp.float32(0.01), statistics, keys, first)
    played = [by_hand(env, key, first, jnp.full(2, 0.01 * p), 50) for key, p in zip(keys, policies, strict=True)]
    np.testing.assert_allclose(found.episode_return, [total for total, _, _ in played], rtol=1e-5)
    np.testing.assert_array_equal(found.length, [length for _, length, _ in played])
    seen = np.concatenate([seen for _, _, seen in played])
    assert found.observed.count.tolist() == [0, len(seen)]
    np.testing.assert_allclose(found.observed.mean, seen.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(found.observed.variance, seen.var(axis=0), rtol=1e-3, atol=1e-4)


@pytest.mark.full("covered")
@pytest.mark.parametrize("starts", [1, 4, 8])
def test_some_candidates_begin_alike(starts):
    """Without an action's influence, candidates that begin alike have the same episode; others have another."""
    agent, env = Told(starts=starts, population_size=8, num_envs=8), Walk()
    still = eqx.tree_at(lambda env: env.action_space, env, Box(-1e-9, 1e-9, (2,)))
    _, data, _ = generation(agent, still, begun(agent, still, KEY))
    returns = np.asarray(data.episode_return).reshape(-1, starts)
    np.testing.assert_allclose(returns, returns[:1].repeat(len(returns), 0), atol=1e-5)
    assert len(np.unique(np.round(returns, 4))) == starts


@pytest.mark.full("covered")
@pytest.mark.parametrize(("limit", "time_limit", "longest"), [(3, 7, 3), (50, 4, 4), (5, None, 5)])
def test_episodes_are_cut(limit, time_limit, longest):
    agent, env = Told(limit=limit, population_size=24, num_envs=24), Walk(time_limit=time_limit)
    _, data, _ = generation(agent, env, begun(agent, env, KEY))
    assert int(data.length.max()) == longest
    assert int(data.length.min()) < longest  # by the coin


class Ages(Env):
    """Its age goes on through restarts: each step of its life is rewarded with the age."""

    time_limit: int | None = eqx.field(static=True, default=2)

    @property
    def observation_space(self) -> Box:
        return Box(-np.inf, np.inf, (1,))

    @property
    def action_space(self) -> Box:
        return Box(-1.0, 1.0, (2,))

    def reset(self, key: Any) -> tuple[Any, Timestep]:
        return self._at(jnp.float32(0.0))

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, Timestep]:
        return self._at(state + 1.0)

    def restart(self, key: Any, state: Any) -> tuple[Any, Timestep]:
        return self._at(state)

    def _at(self, age: Any) -> tuple[Any, Timestep]:
        return age, Timestep(age[None], age, jnp.array(False), jnp.array(False))


@pytest.mark.full("covered")
def test_an_environment_lives_on_through_generations():
    """A slot of a changing environment restarts in what its last episode left, as it does for other agents."""
    agent, env = Told(population_size=4, num_envs=2), Ages()
    state = begun(agent, env, KEY)
    state, first, _ = generation(agent, env, state)
    _, second, _ = generation(agent, env, state)
    assert first.episode_return.tolist() == [3.0, 3.0, 7.0, 7.0]
    assert second.episode_return.tolist() == [11.0, 11.0, 15.0, 15.0]


def test_as_many_steps_are_taken_as_are_asked_for():
    """A member makes generations until the steps are taken that it was asked for, however the asking is divided."""
    agent, env = Told(), Walk()
    most = agent.learns_from.iteration_steps
    assert most == 300
    loop = loop_of(agent, env, seeds=3)
    state, at = loop.start(), 0
    while at < 2 * most:
        state, at = loop.run(state, at, 2 * most)
    sums = sums_of(state)
    assert at == 2 * most
    assert (sums.steps >= at).all()
    assert (sums.steps < at + most).all()
    np.testing.assert_array_equal(sums.length_sum, sums.steps)
    np.testing.assert_array_equal(np.asarray(state.data.due)[:, 0], at - sums.steps)
    assert (sums.iterations > 5).all()  # a coin ends episodes long before the limit
    assert (sums.episodes == 6 * sums.iterations).all()
    in_two = loop_of(agent, env, seeds=3)
    again, at = in_two.start(), 0
    for until in (most, 2 * most):
        again, at = in_two.run(again, at, until)
    leaves_equal(again, state)


@pytest.mark.parametrize(("divides", "kernels", "devices"), [(True, True, 1), (True, False, 2), (False, True, 2)])
def test_cores_of_one_processor_share_a_kernel_and_other_devices_a_generation(divides, kernels, devices, monkeypatch):
    """On two cores as two devices ARS made 48% to 93% of the steps that one device makes with both."""
    platform = dataclasses.replace(backends.current(), divides_cores=divides)
    monkeypatch.setattr(backends, "current", lambda: platform)
    with use_kernels(kernels):
        assert Generations(population_size=8, num_envs=8).num_devices(3) == devices


@pytest.mark.full("covered")
@pytest.mark.parametrize("options", [{}, {"episodes": 2, "num_envs": 4}], ids=["plain", "queue"])
def test_two_devices_tell_the_same_bits(options):
    env = Walk()
    leaves_equal(learned(Told(**options), env, 4, devices=2), learned(Told(**options), env, 4, devices=1))


FOUR = """
import os
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
import json
import jax, numpy as np
import kousoku as ks
from kousoku.compiler.frontend.keys import is_key

def learned(devices, agent, **options):
    how = dict(steps=2000, record_every=500, eval_episodes=0, out="", progress=False)
    run = ks.train(ks.make_agent(agent, **options), "Pendulum-v1", devices=devices, **how)
    assert run.record.facts["device"]["count"] == devices
    told = {name: curve for name, curve in run.curves.items() if name != "seconds"}
    leaves = jax.tree.leaves((run.trained_member("member").state, told))
    return [np.asarray(jax.random.key_data(x) if is_key(x) else x) for x in leaves]

def same(agent, **options):
    one, *more = (learned(devices, agent, **options) for devices in (1, 2, 4))
    return [all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True)) for other in more]

small = {"max_episode_steps": 40}
print(json.dumps([
    same("ars", num_directions=8, **small),
    same("pgpe", population_size=16, episodes=2, num_envs=8, **small),
    same("openai_es", population_size=16, **small),
    same("sep_cma_es", population_size=16, **small),
]))
"""


@pytest.mark.full("processes")
def test_one_two_and_four_devices_learn_the_same_bits():
    assert in_a_forked_process(FOUR) == [[True, True]] * 4


@pytest.mark.full("covered")
def test_a_member_does_not_depend_on_the_others():
    env = Walk()
    leaves_equal(of_member(learned(Told(), env, 4, seeds=(0, 1, 2)), 2), of_member(learned(Told(), env, 4, seeds=(2,))))


def test_equal_functions_are_one():
    """The kernel's cache knows a function by what it does."""
    play = PlayEpisodes(Told.act_by, 2, 30)
    assert hash(play) == hash(PlayEpisodes(Told.act_by, 2, 30))
    assert play == PlayEpisodes(Told.act_by, 2, 30) != PlayEpisodes(Told.act_by, 2, 31)


def test_what_cannot_be_divided_is_refused():
    messages = refusals(
        {
            "num_envs": "Generations(6, 4)",
            "many": "Generations(6, 12)",
            "starts": "Generations(5, 5, starts=6)",
            "long": "Generations(100_000, 100_000, max_episode_steps=100_000)",
            "none": "Generations(0, 1)",
        },
        "from kousoku.collectors.generations import Generations",
    )
    told = {
        "num_envs": "num_envs: got 4; .*use 3",
        "many": "num_envs: got 12; .*use 6",
        "starts": "starts: got 6; .*at most 5",
        "long": "max_episode_steps: got 100000; .*shorter",
        "none": "population_size: got 0",
    }
    for name, pattern in told.items():
        assert re.search(pattern, messages[name]), messages[name]

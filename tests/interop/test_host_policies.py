"""Policies of agents that learned on the host, in the library's own environment, and how that is copied and seeded."""

from __future__ import annotations

import copy
import importlib
import runpy
from collections import deque, namedtuple
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium import spaces

import kousoku as ks
from kousoku.core.env import EnvSpec
from kousoku.core.spaces import Box, Dict, Discrete
from kousoku.export.runtime import parts_of
from kousoku.interop.host.values import leaves_of, written
from kousoku.training.evaluation.policy import Policy

PYTHONS = importlib.import_module("random").Random
"""The class of Python's generators: one with a seed of its own is not the one that all share."""


class Shop(gymnasium.Env):
    """Rooms 1 to 5 in a row; action 1 goes left, 2 right; room 5 pays."""

    observation_space, action_space = spaces.Discrete(5, start=1), spaces.Discrete(2, start=1)

    def reset(self, *, seed=None, options=None):
        self.room, self.steps = 1, 0
        return self.room, {}

    def step(self, action):
        assert action in (1, 2)
        self.steps += 1
        self.room = max(1, min(5, self.room + (1 if action == 2 else -1)))
        return self.room, float(self.room == 5), self.room == 5, self.steps >= 20, {}


def played(policy: Any, env: Any) -> int:
    """The steps of an episode."""
    obs, _ = env.reset()
    for steps in range(1, 100):
        obs, _, terminated, truncated, _ = env.step(policy(obs))
        if terminated or truncated:
            return steps
    raise AssertionError("it never ends")


def test_a_policy_speaks_the_numbers_of_the_environment(tmp_path):
    run = ks.train("q_learning", ks.from_gymnasium(Shop), steps=2000, out="", eval_episodes=2, progress=False)
    policy = ks.load_policy(run)
    assert played(policy, Shop()) == run.record.evaluation["length"].max() == 4
    assert policy([1, 2, 3, 4]).tolist() == [2, 2, 2, 2]
    assert played(copy.deepcopy(policy), Shop()) == 4
    with pytest.raises(ks.ConfigError, match=r"observation: got 0; use whole numbers from 1 to 5"):
        policy(0)
    act = runpy.run_path(str(policy.save(tmp_path / "policy.py")))["act"]
    assert played(act, Shop()) == 4
    with pytest.raises(ValueError, match="use whole numbers from 1 to 5"):
        act(0)


class Doors(gymnasium.Env):
    """Several doors at once, in a Dict: those of "hall" are 2 and 3, those of "yard" -1 to 1."""

    observation_space = spaces.Dict(
        {"hall": spaces.MultiDiscrete([2, 2], start=[2, 0]), "x": spaces.Box(-1.0, 1.0, (1,))}
    )
    action_space = spaces.MultiDiscrete([2, 3], start=[2, -1])

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return {"hall": np.array([2, 1]), "x": np.zeros(1, np.float32)}, {}

    def step(self, action):
        assert self.action_space.contains(np.asarray(action)), action
        self.steps += 1
        return {"hall": np.array([3, 0]), "x": np.zeros(1, np.float32)}, 1.0, False, self.steps >= 5, {}


def test_so_it_does_in_parts_of_several_numbers():
    run = ks.train(
        "ppo", ks.from_gymnasium(Doors), steps=64, num_envs=2, num_steps=8, out="", eval_episodes=1, progress=False
    )
    policy = ks.load_policy(run)
    assert played(policy, Doors()) == 5
    with pytest.raises(ks.ConfigError, match=r"use whole numbers from \(2, 0\) to \(3, 1\)|use whole numbers from"):
        policy({"hall": np.array([0, 0]), "x": np.zeros(1, np.float32)})


Seen = namedtuple("Seen", ("count", "where"))


@dataclass
class Watched:
    count: Any
    where: Any


def test_parts_are_those_of_a_dict_a_tuple_by_place_or_fields():
    agent = ks.make_agent("ppo", hidden=(8,), init="lecun_normal")
    named = EnvSpec(Dict({"count": Discrete(9), "where": Box(-1.0, 1.0, (2,))}), Discrete(3))
    placed = EnvSpec(Dict({"0": Discrete(9), "1": Box(-1.0, 1.0, (2,))}), Discrete(3))
    by_name, by_place = (Policy(agent, agent.init(spec, jax.random.key(0)), spec) for spec in (named, placed))
    where = [0.25, -0.5]
    expected = by_name({"count": 4, "where": where})
    assert by_name(Seen(4, where)) == by_name(Watched(4, where)) == expected
    assert by_name(Seen([4, 4], [where, where])).tolist() == [expected] * 2
    assert by_place((4, where)) == by_place([4, where]) == by_place({"0": 4, "1": where})
    for wrong, told in (((4,), "got 'tuple'; give a part '1'"), (4, "got 'int'; give a part '0'")):
        with pytest.raises(ks.ConfigError, match=f"observation: {told}"):
            by_place(wrong)
    with pytest.raises(ks.ConfigError, match=r"observation: got 'ndarray'; give a part 'count'"):
        by_name(np.zeros(3))


class Lottery:
    """A lottery of dm_env's protocol that draws from one of NumPy's or Python's generators, somewhere within it."""

    def __init__(self, generator: Any) -> None:
        self.task = SimpleNamespace(parts=[{"draw": generator}])

    def _drawn(self) -> float:
        generator = self.task.parts[0]["draw"]
        return float(generator.random())

    def _step(self, first: bool) -> Any:
        seen = np.array([self._drawn()])
        last = not first and self.steps == 3
        return SimpleNamespace(observation=seen, reward=seen[0], discount=float(not last), last=lambda: last)

    def reset(self) -> Any:
        self.steps = 0
        return self._step(first=True)

    def step(self, action: Any) -> Any:
        self.steps += 1
        return self._step(first=False)

    def action_spec(self) -> Any:
        return SimpleNamespace(num_values=2, shape=(), dtype=np.int32)

    def observation_spec(self) -> Any:
        return SimpleNamespace(shape=(1,), dtype=np.float64)

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    "generator", [np.random.default_rng(0), np.random.RandomState(0), PYTHONS(0)], ids=["new", "old", "python"]
)
def test_copies_of_an_environment_of_dm_envs_differ_by_their_slots_seeds(generator):
    env = ks.from_dm_env(Lottery(generator))

    def first(seeds):
        vector = env.make_vector(seeds)
        drawn = vector.reset()[0][:, 0].tolist()
        vector.close()
        return drawn

    drawn = first([1, 2, 3, 4])
    assert len(set(drawn)) == 4
    assert first([4, 1]) == [drawn[3], drawn[0]]


@pytest.mark.parametrize(
    "held", [lambda draw: draw.random, lambda draw: partial(draw.random), lambda draw: deque([draw.random])]
)
def test_generators_are_found_within_functions_and_queues(held):
    class Hidden(Lottery):
        def _drawn(self) -> float:
            draw = self.task.parts[0]["draw"]
            return float((draw[0] if isinstance(draw, deque) else draw)())

    for generator in (np.random.default_rng(0), np.random.RandomState(np.random.PCG64(0))):
        vector = ks.from_dm_env(Hidden(held(generator))).make_vector([1, 2, 3])
        assert len(set(vector.reset()[0][:, 0].tolist())) == 3
        vector.close()


class Negated(gymnasium.RewardWrapper):
    """A wrapper of one's own that notes nothing for Gymnasium."""

    def reward(self, reward):
        return -reward


def test_an_environment_is_copied_as_it_is_with_wrappers_of_ones_own():
    changed = Negated(gymnasium.make("CartPole-v1"))
    changed.unwrapped.theta_threshold_radians = 1e-4
    env = ks.from_gymnasium(changed)
    vector = env.make_vector([0, 1])
    vector.reset()
    _, reward, terminated, _ = vector.step([np.zeros(2, np.int32)])
    vector.close()
    assert reward.tolist() == [-1.0, -1.0]
    assert terminated.tolist() == [True, True]


class Uncopied(gymnasium.Env):
    """It holds what cannot be copied."""

    observation_space, action_space = spaces.Discrete(2), spaces.Discrete(2)

    def __init__(self):
        self.held = (i for i in range(3))

    def reset(self, *, seed=None, options=None):
        return 0, {}

    def step(self, action):
        return 0, 0.0, True, False, {}


def test_one_that_cannot_be_copied_is_made_again_where_its_wrappers_are_noted():
    """So is one that could: a copy would share what lies outside of Python."""
    gymnasium.register("Uncopied-v0", Uncopied)
    vector = ks.from_gymnasium(gymnasium.make("Uncopied-v0")).make_vector([0])
    assert vector.reset()[0].tolist() == [0]
    vector.close()
    with pytest.raises(ks.ConfigError, match=r"every slot needs a copy, which it does not allow .*; give a function"):
        ks.from_gymnasium(Negated(gymnasium.make("Uncopied-v0")))


@pytest.mark.parametrize(
    ("space", "given", "told"),
    [
        (spaces.Box(0, 255, (2,), np.uint8), [0.25, 0.75], "an observation has 0.25, which is not in Box"),
        (spaces.Box(0, 255, (2,), np.uint8), [300, -1], "an observation has 300, which is not in Box"),
        (spaces.Box(0, 255, (2,), np.uint8), [np.nan, 1.0], "an observation has nan, which is not in Box"),
        (spaces.Box(-9, 9, (2,), np.int16), [40_000, 1], "an observation has 40000, which is not in Box"),
        (spaces.Box(-9, 9, (2,), np.int64), [0.5, 1.0], "an observation has 0.5, which is not in Box"),
        (spaces.Box(0, 255, (2,), np.uint8), [3.0, 255.0], None),
        (spaces.Box(0, 255, (2,), np.uint8), [3, 255], None),
        (spaces.Box(-9, 9, (2,), np.int64), [2**40, 1], None),
    ],
)
def test_whole_observations_are_whole_and_fit(space, given, told):
    if told is None:
        (array,) = written(leaves_of(space), [np.array(given)])
        assert array[0].tolist() == [min(int(x), 2**31 - 2) for x in given]
    else:
        with pytest.raises(ValueError, match=told):
            written(leaves_of(space), [np.array(given)])


@pytest.mark.parametrize(
    ("space", "given", "refused"),
    [
        (spaces.Discrete(5), [3.0, np.float32(3), 3], [3.5, 5.0, 2**40, np.nan]),
        (spaces.Discrete(5, start=1), [3.0, 5.0], [0.0, 0.5]),
        (spaces.MultiDiscrete([2, 3]), [np.array([1.0, 2.0])], [np.array([1.0, 3.0])]),
        (spaces.Box(0, 255, (2,), np.uint8), [np.array([3.0, 255.0]), [3, 255]], [[0.25, 1.0], [256.0, 1.0], [-1, 0]]),
        (spaces.Box(-(2**63), 2**63 - 1, (2,), np.int64), [np.array([2**40, -(2**40)]), [2.0**40, 3.0]], [[0.5, 1.0]]),
        (spaces.Box(0, 2**32 - 1, (2,), np.uint32), [np.array([2**32 - 5, 3], np.uint32)], [[-1, 3], [np.inf, 0.0]]),
        (spaces.Box(0, 2**64 - 1, (2,), np.uint64), [np.array([2**63 + 7, 3], np.uint64)], [[-1, 3]]),
    ],
    ids=str,
)
def test_a_policy_takes_what_training_takes(space, given, refused, tmp_path):
    """It sees the same numbers: those beyond 32 bits, and whole ones in floats."""

    class Telling(Shop):
        observation_space = space

    env = ks.from_gymnasium(Telling)
    spec = EnvSpec(env.observation_space, Discrete(3))
    agent = ks.make_agent("ppo", hidden=(8,), init="lecun_normal")
    policy = Policy(agent, agent.init(spec, jax.random.key(0)), spec, starts=env.starts)
    act = runpy.run_path(str(policy.save(tmp_path / "policy.py")))["act"]
    for obs in given:
        (trained_on,) = written(leaves_of(space), [obs])
        start = env.starts.observation[0] or 0
        assert policy(obs) == act(obs) == policy(trained_on[0] + np.int32(start))
        assert np.array_equal(parts_of(obs, policy._parts, Policy)[0][0] - np.int32(start), trained_on)
    for obs in refused:
        with pytest.raises(ks.ConfigError, match="observation: got"):
            policy(obs)
        with pytest.raises(ValueError, match="observation: got"):
            act(obs)

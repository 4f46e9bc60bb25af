"""Repeated actions at the time limit: an episode is truncated where the clock ran out, as Gymnasium's wrappers say."""

import itertools
from typing import Any

import gymnasium
import gymnasium.wrappers as theirs
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Int

import kousoku as ks
from kousoku.collectors.host_slots import HostSlots
from kousoku.collectors.slot import advance, at_staggered_ages, begin, take_step
from kousoku.envs import wrappers as ours

LONGEST = 16


class Ending(ks.Env):
    """A task that ends at a step."""

    at: Int[Array, ""]
    time_limit: int | None = None

    @property
    def observation_space(self):
        return ks.Box(0.0, float(LONGEST), ())

    @property
    def action_space(self):
        return ks.Discrete(2)

    def reset(self, key):
        return jnp.int32(0), ks.Timestep(jnp.float32(0), jnp.float32(0), jnp.array(False), jnp.array(False))

    def step(self, key, state, action):
        steps = state + 1
        obs = steps.astype(jnp.float32)
        return steps, ks.Timestep(obs, jnp.float32(1), steps == self.at, jnp.array(False))


class Theirs(gymnasium.Env):
    """The same for Gymnasium."""

    observation_space = gymnasium.spaces.Box(0.0, float(LONGEST), (), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, at: int) -> None:
        self.at, self.steps = at, 0

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return np.float32(0), {}

    def step(self, action):
        self.steps += 1
        return np.float32(self.steps), 1.0, self.steps == self.at, False, {}


def episode_of_theirs(env: gymnasium.Env) -> list[tuple[float, bool, bool]]:
    """The rewards and flags of an episode."""
    env.reset()
    told: list[tuple[float, bool, bool]] = []
    while not told or not (told[-1][1] or told[-1][2]):
        _, reward, terminated, truncated, _ = env.step(0)
        told.append((float(reward), bool(terminated), bool(truncated)))
    return told


def episodes_of_ours(wrap: Any, limit: int) -> list[list[tuple[float, bool, bool]]]:
    """The rewards and flags of the episodes that end at steps from 1 on."""

    def episode(at: Array) -> Any:
        env = wrap(Ending(at, time_limit=limit))

        def step(slot: Any, _: Any) -> Any:
            slot, made, _ = take_step(env, slot, jnp.int32(0), jax.random.key(0))
            return slot, (made.reward, made.terminated, made.truncated)

        return jax.lax.scan(step, begin(env, jax.random.key(0)), None, LONGEST)[1]

    told = jax.device_get(jax.jit(jax.vmap(episode))(jnp.arange(1, LONGEST, dtype=jnp.int32)))
    return [_to_the_end(*(leaf[i] for leaf in told)) for i in range(LONGEST - 1)]


def _to_the_end(reward: Any, terminated: Any, truncated: Any) -> list[tuple[float, bool, bool]]:
    length = int(np.argmax(terminated | truncated)) + 1
    return list(zip(reward[:length].tolist(), terminated[:length].tolist(), truncated[:length].tolist(), strict=True))


def check(wrap: Any, wrap_theirs: Any, limit: int) -> None:
    """Compares all episodes; some are cut short within the last action, and some are not."""
    expected = [episode_of_theirs(wrap_theirs(theirs.TimeLimit(Theirs(at), limit))) for at in range(1, LONGEST)]
    assert episodes_of_ours(wrap, limit) == expected


@pytest.mark.by_default("5-2", "12-4", "13-5")
@pytest.mark.reference
@pytest.mark.parametrize(("limit", "repeats"), list(itertools.product(range(5, 14), range(2, 6))))
def test_flags_are_gymnasiums(limit, repeats):
    check(lambda env: ours.RepeatAction(env, repeats), lambda env: theirs.RepeatAction(env, repeats), limit)


STACKS = {
    "repeats of repeats": (
        lambda env: ours.RepeatAction(ours.RepeatAction(env, 2), 3),
        lambda env: theirs.RepeatAction(theirs.RepeatAction(env, 2), 3),
    ),
    "repeats once, of repeats": (
        lambda env: ours.RepeatAction(ours.RepeatAction(env, 4), 1),
        lambda env: theirs.RepeatAction(theirs.RepeatAction(env, 4), 1),
    ),
    "a limit around": (
        lambda env: ours.TimeLimit(ours.RepeatAction(env, 4), 2),
        lambda env: theirs.TimeLimit(theirs.RepeatAction(env, 4), 2),
    ),
    "a later limit around": (
        lambda env: ours.TimeLimit(ours.RepeatAction(env, 4), 9),
        lambda env: theirs.TimeLimit(theirs.RepeatAction(env, 4), 9),
    ),
    "a limit between": (
        lambda env: ours.RepeatAction(ours.TimeLimit(ours.RepeatAction(env, 2), 5), 3),
        lambda env: theirs.RepeatAction(theirs.TimeLimit(theirs.RepeatAction(env, 2), 5), 3),
    ),
    "others inside and around": (
        lambda env: ours.StickyAction(ours.RepeatAction(ours.FrameStackObservation(env, 2), 5), 0.0),
        lambda env: theirs.StickyAction(theirs.RepeatAction(theirs.FrameStackObservation(env, 2), 5), 0.0),
    ),
    "a clip around": (
        lambda env: ours.ClipReward(ours.RepeatAction(env, 5), 0.0, 2.5),
        lambda env: theirs.ClipReward(theirs.RepeatAction(env, 5), 0.0, 2.5),
    ),
}


@pytest.mark.by_default("repeats of repeats", "a limit between", "others inside and around")
@pytest.mark.reference
@pytest.mark.parametrize("name", STACKS)
def test_flags_of_stacked_wrappers_are_gymnasiums(name):
    check(*STACKS[name], 12)


def at_its_end(at: int) -> tuple[int, ks.Env]:
    """Actions until an episode of 12 steps at most, 5 for each action, is over, and the environment."""
    return -(-at // 5), ours.RepeatAction(Ending(jnp.int32(at), time_limit=12), 5)


@pytest.mark.parametrize(("at", "flags"), [(11, (True, False)), (12, (True, True)), (13, (False, True))])
def test_collectors_tell_the_same_and_begin_the_next_episode(at, flags):
    actions, env = at_its_end(at)
    slot, key = begin(env, jax.random.key(0)), jax.random.key(1)
    for _ in range(2 * actions):
        slot, made, end = advance(env, slot, jnp.int32(0), key)
    assert (bool(made.terminated), bool(made.truncated), bool(end.ended)) == (*flags, True)
    assert float(made.next_obs) == min(at, 12)
    assert float(slot.obs) == 0


@pytest.mark.parametrize(("at", "flags"), [(11, (True, False)), (12, (True, True)), (13, (False, True))])
def test_every_door_tells_the_same(at, flags):
    actions, env = at_its_end(at)
    one, vector, pool = ks.to_gymnasium(env), ks.to_gymnasium_vec(env, 2), ks.to_envpool(env, 2)
    one.reset(seed=0), vector.reset(seed=0), pool.reset()
    for _ in range(actions):
        told = one.step(0), vector.step(np.zeros(2, np.int32)), pool.step(np.zeros(2, np.int32))
    for _, _, terminated, truncated, _ in told:
        assert (np.ravel(terminated)[0], np.ravel(truncated)[0]) == flags
    slots = HostSlots(ks.from_gymnasium(lambda: ks.to_gymnasium(env)), [0, 1])
    for _ in range(actions):
        step = slots.step([np.zeros(2, np.int32)])
    slots.close()
    assert (step.terminated[0], step.truncated[0]) == flags


def test_the_first_episode_of_a_staggered_slot_is_truncated_where_it_took_all_steps():
    """Its clock began before it: all repeats of its last action are taken."""
    _, env = at_its_end(5)
    slots = at_staggered_ages(jax.vmap(lambda key: begin(env, key))(jax.random.split(jax.random.key(0), 3)), 3)
    _, made, _ = jax.vmap(lambda slot: take_step(env, slot, jnp.int32(0), jax.random.key(0)))(slots)
    assert made.terminated.tolist() == [True] * 3
    assert made.truncated.tolist() == [False, False, True]


class Never(ks.Wrapper):
    """A wrapper that lets no episode terminate."""

    def step(self, key, state, action):
        state, timestep = self.env.step(key, state, action)
        return state, ks.Timestep(timestep.obs, timestep.reward, jnp.array(False), timestep.truncated, timestep.info)


@pytest.mark.parametrize("repeats", [2, 3])
def test_the_limit_holds_where_nobody_ends_the_episode_before(repeats):
    """Though the task ended within the last action."""
    limit, actions = 11, -(-11 // repeats)
    for episode in episodes_of_ours(lambda env: Never(ours.RepeatAction(env, repeats)), limit):
        assert len(episode) == actions
        assert episode[-1][1:] == (False, True)

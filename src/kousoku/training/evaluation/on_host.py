"""Greedy evaluation in environments on the host: the episodes of every member, in a vector of slots."""

from __future__ import annotations

import functools
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key, PRNGKeyArray

from ...collectors.env_kernel import EnvStructure
from ...collectors.host_slots import HostSlots, HostStep
from ...collectors.streams import seed_of
from ...core.host import HostEnv
from ...core.spaces import element_like
from ...ops.trees import select
from ..population import Population
from .act import act_greedily

EVALUATION_STREAM = 0x6576616C
MOST_SLOTS = 16
"""Slots of a member in which its episodes are played, one after the other in each."""


def evaluate_on_host(
    population: Population, agents: Any, keys: Key[Any, " N"], episodes: int, max_steps: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Plays greedy episodes of each of N members: (return, length, truncated, cut), [N, episodes] each.

    Of a vector that exists already as many slots play as it has. Episode e is played in slot e modulo their number,
    whatever the lengths of others, and counts once. The same keys play the same episodes where the environment's
    randomness is all from its seed.

    Args:
        population: the members, whose environment is on the host.
        agents: what each has learned, [N, ...].
        keys: [N] of everything random.
        episodes: of each member.
        max_steps: where an episode is cut.

    Raises:
        EnvError: if an environment fails.
    """
    env, count = population.env(0), keys.shape[0]
    assert isinstance(env, HostEnv)
    width = min(episodes, MOST_SLOTS) if env.count is None else env.count // count
    begin, act = evaluation_programs(population.structure, population.envs.structure)
    streams, seeds, carry = begin(population.numbers.agent, agents, keys, jnp.arange(width))
    leaves, structure = jax.tree.flatten((population.numbers.agent, agents))
    results, ended, t = SlotResults(count, width, episodes), np.ones((count, width), bool), 0
    slots = HostSlots(env, jax.device_get(seeds).reshape(-1).tolist())
    try:
        while results.open.any():
            obs = [leaf.reshape(count, width, *leaf.shape[1:]) for leaf in slots.obs]
            carry, actions = act(structure, leaves, carry, obs, ended, streams, np.uint32(t % 2**32))
            step = slots.step([np.asarray(leaf).reshape(-1, *leaf.shape[2:]) for leaf in actions], max_steps)
            ended, t = step.ended.reshape(count, width), t + 1
            results.note(step)
    finally:
        slots.close()
    return results.in_order()


class SlotResults:
    """The results of episodes: of N members, in W slots each, as many of each slot as count."""

    def __init__(self, members: int, slots: int, episodes: int) -> None:
        self._episodes = episodes
        self._wanted = [len(range(slot, episodes, slots)) for slot in range(slots)]
        self._played = np.zeros((members, slots), int)
        shape = (members, slots, max(self._wanted))
        self._returns, self._lengths = np.zeros(shape, np.float32), np.zeros(shape, np.int32)
        self._truncated, self._cut = np.zeros(shape, bool), np.zeros(shape, bool)

    @property
    def open(self) -> np.ndarray:
        """Whether more episodes of a slot are to be played, [N, W]."""
        return self._played < self._wanted

    def note(self, step: HostStep) -> None:
        """Notes the episodes that ended with a step of all slots."""
        members, slots = self._played.shape
        for n, slot in np.argwhere(step.ended.reshape(members, slots) & self.open):
            at, place = n * slots + slot, (n, slot, self._played[n, slot])
            self._returns[place], self._lengths[place] = step.episode_return[at], step.length[at]
            self._truncated[place] = step.truncated[at] and not step.terminated[at]
            self._cut[place] = step.cut[at]
            self._played[n, slot] += 1

    def in_order(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Returns (return, length, truncated, cut) in the order of the episodes' numbers, [N, E] each."""

        def by_number(part: np.ndarray) -> np.ndarray:
            return part.swapaxes(1, 2).reshape(len(part), -1)[:, : self._episodes]

        return by_number(self._returns), by_number(self._lengths), by_number(self._truncated), by_number(self._cut)


@functools.lru_cache(maxsize=64)
def evaluation_programs(agent: Any, env: EnvStructure) -> tuple[Any, Any]:
    """Returns the compiled programs that begin an evaluation and choose its actions."""
    act = partial(_act, agent, env.with_arrays(None))
    return jax.jit(partial(_begin, agent)), jax.jit(act, static_argnums=0)


def _begin(
    agent: Any, numbers: Any, agents: Any, keys: Key[Array, " N"], slots: Int[Array, " B"]
) -> tuple[Any, Array, Any]:
    """Returns the members' keys of this evaluation, a seed below 2^31 for each slot [N, B], and first carries."""

    def one(numbers: Any, state: Any, key: PRNGKeyArray) -> tuple[Any, Array, Any]:
        stream = jax.random.fold_in(key, EVALUATION_STREAM)
        seeds = jax.vmap(lambda i: seed_of(jax.random.fold_in(stream, i)))(slots)
        carry = eqx.combine(numbers, agent).initial_carry(state)
        wide = jax.tree.map(lambda x: jnp.broadcast_to(x, (*slots.shape, *jnp.shape(x))), carry)
        return stream, seeds, wide

    return jax.vmap(one)(numbers, agents, keys)


def _act(
    agent: Any,
    env: HostEnv,
    structure: Any,
    leaves: list[Array],
    carry: Any,
    obs: list[Array],
    ended: Array,
    streams: Key[Array, " N"],
    t: Array,
) -> tuple[Any, list[Array]]:
    """Returns the next carries and the greedy actions as environments take them, leaves [N, B, ...]."""
    tree = jax.tree.structure(element_like(env.observation_space))

    def one(numbers: Any, state: Any, carry: Any, obs: list[Array], ended: Array, stream: PRNGKeyArray) -> Any:
        made = eqx.combine(numbers, agent)
        initial = made.initial_carry(state)

        def slot(obs: Any, carry: Any, ended: Array, key: PRNGKeyArray) -> Any:
            before = select(ended, initial, carry)
            return act_greedily(made, state, obs, before, key, env.action_space)

        keys = jax.random.split(jax.random.fold_in(stream, t), ended.shape[0])
        action, after = jax.vmap(slot)(jax.tree.unflatten(tree, obs), carry, ended, keys)
        return after, jax.tree.leaves(action)

    numbers, agents = jax.tree.unflatten(structure, leaves)
    return jax.vmap(one)(numbers, agents, carry, obs, ended, streams)

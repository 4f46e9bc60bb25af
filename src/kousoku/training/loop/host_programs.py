"""The programs of the loop over environments on the host: they begin, choose actions, and learn from what was taken."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Integer, Key, PRNGKeyArray, PyTree, UInt32

from ...collectors.env_kernel import EnvStructure
from ...collectors.slot import EnvSlot, plain_slots
from ...collectors.streams import Stream, seed_of
from ...compiler import few_lanes
from ...core.agent import Agent
from ...core.collector import EpisodeEnd, TakenSteps, TrainState, acting_keys_of
from ...core.leaves import key_like
from ...core.spaces import element_like
from ...core.timestep import Transition
from ...nn import clip_to
from ...ops.trees import select
from ..metrics.metric_sums import MetricSums
from ..population import MemberNumbers, first, member_of
from .iteration import begin, block_ended, iterate


class Acting(NamedTuple):
    """The state of acting, carried from step to step on the device.

    Attributes:
        carry: what the agents carry, [N, B, ...], before it begins anew where an episode has just ended.
        chosen: (actions as the agents chose them, extras of `act`) of the iteration's steps so far, [N, T, B, ...].
    """

    carry: PyTree[Array]
    chosen: Any


class HostRecord(NamedTuple):
    """The steps of an iteration as the host knows them, [T, N, B, ...]; of single steps [N, ...].

    Attributes:
        obs, next_obs: leaves, in the order of `jax.tree.leaves`.
        reward, terminated, truncated, ended, episode_return, length: as of `HostStep`.
    """

    obs: list[Any]
    next_obs: list[Any]
    reward: Any
    terminated: Any
    truncated: Any
    ended: Any
    episode_return: Any
    length: Any


class SlotsAfter(NamedTuple):
    """The slots after the last step of an iteration, [N, B, ...]; of single steps [N, ...].

    Attributes:
        obs: leaves, in the order of `jax.tree.leaves`.
        length, episode_return: of the episodes so far.
    """

    obs: list[Any]
    length: Any
    episode_return: Any


@dataclass(frozen=True)
class HostProgram:
    """The static half of the programs: equal ones share their compiled code.

    Attributes:
        agent, env: without their numbers and arrays.
    """

    agent: Any
    env: EnvStructure

    @property
    def batched(self) -> bool:
        """Whether a member has an axis of slots."""
        return self.agent.learns_from.batched


class HostPrograms:
    """The compiled programs of a `HostProgram`; see the functions of this module."""

    def __init__(self, program: HostProgram) -> None:
        self.start = jax.jit(partial(_start, program))
        self.begin_acting = jax.jit(partial(_begin_acting, program))
        self.acting_keys = jax.jit(partial(_acting_keys, program))
        self.seeds = jax.jit(partial(_seeds, program.agent.learns_from.num_envs))
        self.act = jax.jit(partial(_act, program), static_argnums=0, donate_argnums=2)
        self.act_in_slot = few_lanes(_slot_acting(program))
        self.learn = jax.jit(partial(_learn, program), donate_argnums=2)


programs_of = functools.lru_cache(maxsize=64)(HostPrograms)


def _member(program: HostProgram, numbers: Any) -> tuple[Agent, Any]:
    return member_of(program, MemberNumbers(numbers, None), None)


def _start(program: HostProgram, numbers: Any, keys: Key[Array, " N"], sums: MetricSums, trained: Any) -> TrainState:
    """Makes every member's state: networks one after the other, as batched linear algebra may hang on a processor.

    The slots are empty until environments have begun.
    """

    def one(numbers: Any, key: PRNGKeyArray) -> TrainState:
        agent, env = _member(program, numbers)
        nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), element_like(env.observation_space))
        slot = EnvSlot((), nothing, jnp.int32(0), jnp.float32(0.0))
        slots = plain_slots(env)._replace(begin=lambda key: slot)
        return begin(agent, env, slots, key, sums, trained)

    return jax.lax.map(lambda args: one(*args), (numbers, keys))


def _seeds(num_envs: int, keys: Key[Array, " N"], iteration: Integer[Array, ""]) -> Array:
    """Returns a seed below 2^31 for each slot, [N, B], of the member's key, the slot and the iteration it begins at."""

    def one(key: PRNGKeyArray) -> Array:
        begun = jax.random.fold_in(jax.random.fold_in(key, Stream.FIRST_EPISODE), iteration)
        slots = jnp.arange(num_envs, dtype=jnp.int32)
        return jax.vmap(lambda i: seed_of(jax.random.fold_in(begun, i)))(slots)

    return jax.vmap(one)(keys)


def _acting_keys(program: HostProgram, keys: Key[Array, " N"], iteration: Int[Array, ""]) -> Key[Array, "N ..."]:
    """Returns the keys of acting in an iteration, [N, T, B]; of single steps [N]."""
    return jax.vmap(partial(acting_keys_of, program.agent.learns_from), (0, None))(keys, iteration)


def _begin_acting(
    program: HostProgram, numbers: Any, agents: Any, data: Any, iteration: Int[Array, ""]
) -> tuple[Acting, Any, Any]:
    """Returns what acting begins with in new episodes; agents and collectors' data, in which those before end."""

    def one(numbers: Any, state: Any, data: Any) -> tuple[Acting, Any, Any]:
        agent, env = _member(program, numbers)
        state = agent.give_up_episode(state)
        collector, carry = agent.learns_from, agent.initial_carry(state)
        seen = element_like(env.observation_space)
        action, _, extras = jax.eval_shape(partial(agent.act, state), seen, carry, key_like())
        slots = (collector.num_envs,) if program.batched else ()
        steps = (collector.num_steps, *slots) if program.batched else ()
        acting = Acting(
            jax.tree.map(lambda x: jnp.broadcast_to(x, (*slots, *jnp.shape(x))), carry),
            jax.tree.map(lambda x: jnp.zeros((*steps, *x.shape), x.dtype), (action, extras)),
        )
        return acting, state, collector.give_up_episodes(data, iteration)

    return jax.vmap(one)(numbers, agents, data)


def _slot_acting(program: HostProgram) -> Callable[..., Any]:
    """Returns the choice of a slot's action as a function of arrays alone, so that another process knows its trace."""

    def act_in_slot(
        numbers: Any, state: Any, carry: Any, obs: list[Array], ended: Bool[Array, ""], words: UInt32[Array, " W"]
    ) -> tuple[Any, list[Array], Any]:
        return _act_in_slot(program, numbers, state, carry, obs, ended, jax.random.wrap_key_data(words))

    return act_in_slot


def act_shapes(program: HostProgram, numbers: Any, agents: Any) -> tuple[Any, ...]:
    """Returns the arguments of `HostPrograms.act_in_slot` by their shapes, given those of all members."""

    def one(numbers: Any, state: Any) -> tuple[Any, ...]:
        agent, env = _member(program, numbers)
        seen = jax.tree.leaves(element_like(env.observation_space))
        obs = [jnp.zeros(leaf.shape, leaf.dtype) for leaf in seen]
        return numbers, state, agent.initial_carry(state), obs, jnp.array(False), jax.random.key_data(jax.random.key(0))

    return jax.eval_shape(lambda *members: one(*first(members)), numbers, agents)


def _act_in_slot(
    program: HostProgram,
    numbers: Any,
    state: Any,
    carry: Any,
    obs: list[Array],
    ended: Bool[Array, ""],
    key: PRNGKeyArray,
) -> tuple[Any, list[Array], Any]:
    """Chooses the action of one slot.

    Args:
        program: whose.
        numbers, state: of the agent.
        carry: what it carries, of the episode before if that has ended.
        obs: leaves of what it sees.
        ended: whether the episode ended with the step before.
        key: of the action.

    Returns:
        What is carried on; leaves of the action as the environment takes it; the agent's own with its extras.
    """
    agent, env = _member(program, numbers)
    observed = jax.tree.unflatten(jax.tree.structure(element_like(env.observation_space)), obs)
    action, carry, extras = agent.act(state, observed, select(ended, agent.initial_carry(state), carry), key)
    return carry, jax.tree.leaves(clip_to(env.action_space, action)), (action, extras)


def _act(
    program: HostProgram,
    structure: Any,
    leaves: list[Array],
    acting: Acting,
    obs: list[Array],
    ended: Bool[Array, "N ..."],
    keys: Key[Array, "N ..."],
    t: Int[Array, ""],
) -> tuple[Acting, list[Array]]:
    """Chooses the actions of one step.

    Args:
        program: whose.
        structure: of (numbers, agent states).
        leaves: of the same, [N, ...]: to flatten them at each step would take as long as a small network.
        acting: before the step.
        obs: leaves of what the agents see, [N, B, ...].
        ended: whether each slot's episode ended with the step before, [N, B].
        keys: of the iteration, [N, T, B].
        t: which of its steps this is.

    Returns:
        What is carried on; the actions as the environment takes them, leaves [N, B, ...].
    """
    numbers, agents = jax.tree.unflatten(structure, leaves)

    def one(numbers: Any, state: Any, acting: Acting, obs: list[Array], ended: Array, keys: Array) -> Any:
        slot = partial(_act_in_slot, program, numbers, state)
        if not program.batched:
            carry, action, chosen = slot(acting.carry, obs, ended, keys)
            return Acting(carry, chosen), action
        now = jax.lax.dynamic_index_in_dim(keys, t, keepdims=False)
        carry, action, made = jax.vmap(slot)(acting.carry, obs, ended, now)
        put = lambda all, one: jax.lax.dynamic_update_index_in_dim(all, one, t, 0)  # noqa: E731
        return Acting(carry, jax.tree.map(put, acting.chosen, made)), action

    return _each(one, numbers, agents, acting, obs, ended, keys)


def _each(function: Any, *args: Any) -> Any:
    """Returns what a function of one member gives of all, [N, ...]; a single one is spared the axis."""
    if jax.tree.leaves(args)[0].shape[0] == 1:
        return jax.tree.map(lambda x: x[None], function(*first(args)))
    return jax.vmap(function)(*args)


def _learn(
    program: HostProgram,
    numbers: Any,
    keys: Key[Array, " N"],
    state: TrainState,
    acting: Acting,
    record: HostRecord,
    after: SlotsAfter,
    iteration: Int[Array, ""],
) -> TrainState:
    """Has every member's collector gather the steps of an iteration and learn from them.

    Args:
        program: whose.
        numbers, keys: of the members, [N, ...].
        state: before the iteration.
        acting: after its last step.
        record: its steps.
        after: the slots after it.
        iteration: its number.
    """

    def one(numbers: Any, key: PRNGKeyArray, state: TrainState, *told: Any) -> TrainState:
        agent, env = _member(program, numbers)
        collector = agent.learns_from
        slots = plain_slots(env)._replace(taken=_taken(agent, env, state.agent, *told))
        made = iterate(agent, slots, state, collector.keys(key, iteration, collector.num_envs, None))
        return block_ended(made)

    members_first = jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), record) if program.batched else record
    return _each(one, numbers, keys, state, acting, members_first, after)


def _taken(agent: Agent, env: Any, state: Any, acting: Acting, record: HostRecord, after: SlotsAfter) -> TakenSteps:
    """Returns one member's steps as its collector gathers them."""
    tree = jax.tree.structure(element_like(env.observation_space))
    obs, next_obs, seen = (jax.tree.unflatten(tree, leaves) for leaves in (record.obs, record.next_obs, after.obs))
    slot_axes = after.length.ndim
    initial = agent.initial_carry(state)

    def transition(obs: Any, reward: Any, terminated: Any, truncated: Any, next_obs: Any, chosen: Any) -> Transition:
        action, extras = chosen
        return Transition(obs, action, reward, terminated, truncated, next_obs, None, extras)

    def slot(obs: Any, length: Any, episode_return: Any) -> EnvSlot:
        return EnvSlot((), obs, length, episode_return)

    steps = obs, record.reward, record.terminated, record.truncated, next_obs, acting.chosen
    last = record.ended[-1] if slot_axes else record.ended
    return TakenSteps(
        _over(slot, slot_axes)(seen, after.length, after.episode_return),
        _over(lambda ended, carry: select(ended, initial, carry), slot_axes)(last, acting.carry),
        _over(transition, record.ended.ndim)(*steps),
        EpisodeEnd(record.ended, record.episode_return, record.length),
    )


def _over(function: Callable[..., Any], axes: int) -> Callable[..., Any]:
    """Returns a function of one as one of many, along so many first axes."""
    for _ in range(axes):
        function = jax.vmap(function)
    return function

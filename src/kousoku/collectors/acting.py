"""Acting in several slots at once: they begin, and move on by T steps."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from ..core.collector import SlotFunctions, TakenSteps, TrainState
from ..core.timestep import Transition
from ..ops.trees import select
from .slot import EnvSlot, at_staggered_ages, told_to_agent
from .streams import IterationKeys, Stream


def begin_slots(
    agent: Any,
    agent_state: Any,
    slots: SlotFunctions,
    key: PRNGKeyArray,
    num_envs: int,
    num_steps: int | None = None,
) -> tuple[Any, Any]:
    """Makes (slots, carry), [B, ...], before the first step; slot i has a key of its own, whatever their number.

    Args:
        agent, agent_state: who is to act in them.
        slots: how a slot begins.
        key: the member's.
        num_envs: B.
        num_steps: T of an iteration, where first episodes begin at staggered ages if it is shorter than the time limit;
            None where all begin at 0.
    """
    first_key = jax.random.fold_in(key, Stream.FIRST_EPISODE)
    indices = jnp.arange(num_envs, dtype=jnp.int32)
    slot = jax.vmap(lambda i: slots.begin(jax.random.fold_in(first_key, i)))(indices)
    if slots.time_limit is not None and are_staggered(num_envs, num_steps, slots.time_limit):
        slot = at_staggered_ages(slot, slots.time_limit)
    carry = agent.initial_carry(agent_state)
    return slot, jax.tree.map(lambda x: jnp.broadcast_to(x, (num_envs, *jnp.shape(x))), carry)


def are_staggered(num_envs: int, num_steps: int | None, time_limit: int) -> bool:
    """Returns whether first episodes begin at staggered ages: of several slots whose iterations are shorter."""
    return num_steps is not None and num_envs > 1 and num_steps < time_limit


def slot_numbers(num_slots: int, axis: str | None) -> Int[Array, " B"]:
    """Returns the numbers of the slots on this device."""
    offset = 0 if axis is None else jax.lax.axis_index(axis) * num_slots
    return offset + jnp.arange(num_slots, dtype=jnp.int32)


def act_and_advance(
    agent: Any, slots: SlotFunctions, state: TrainState, keys: IterationKeys, add_reward: Any = None
) -> tuple[tuple[EnvSlot, Any, Any], tuple[Transition, Any, Any]]:
    """Takes T steps in all slots, in the policy of the agent's present state; or gathers those that were taken.

    Args:
        agent: who acts.
        slots: how they advance.
        state: before the first step.
        keys: of each step and slot, [T, B].
        add_reward: (data, reward [B], ended [B]) -> (data, value to keep of the step); None to leave the data alone.

    Returns:
        (slots, carry, data) after the last step; transitions, kept values and episode ends, [T, B, ...].
    """
    if slots.taken is not None:
        return _gathered(slots.taken, state.data, add_reward)
    initial = agent.initial_carry(state.agent)

    def step(now: tuple[EnvSlot, Any, Any], keys: tuple[Array, Array]) -> tuple[tuple[EnvSlot, Any, Any], Any]:
        (slot, carry, data), (act_keys, env_keys) = now, keys
        action, carry, extras = jax.vmap(lambda o, c, k: agent.act(state.agent, o, c, k))(slot.obs, carry, act_keys)
        slot, made, end = jax.vmap(slots.advance)(slot, action, env_keys)
        carry = jax.vmap(lambda ended, c: select(ended, initial, c))(end.ended, carry)
        data, kept = (data, None) if add_reward is None else add_reward(data, made.reward, end.ended)
        return (slot, carry, data), (told_to_agent(made, action, extras), kept, end)

    return jax.lax.scan(step, (state.slots, state.carry, state.data), (keys.act, keys.env))


def _gathered(
    taken: TakenSteps, data: Any, add_reward: Any
) -> tuple[tuple[EnvSlot, Any, Any], tuple[Transition, Any, Any]]:
    """Returns what `act_and_advance` does, of steps that were taken before."""
    kept = None
    if add_reward is not None:
        data, kept = jax.lax.scan(
            lambda data, told: add_reward(data, *told), data, (taken.made.reward, taken.end.ended)
        )
    return (taken.slots, taken.carry, data), (taken.made, kept, taken.end)


def without_info(made: Transition) -> Transition:
    """Returns transitions without what the environment says beside them, which nobody learns from."""
    return eqx.tree_at(lambda t: t.info, made, None, is_leaf=lambda x: x is None)

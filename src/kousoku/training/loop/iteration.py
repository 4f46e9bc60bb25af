"""One iteration of one member: collect, learn, record. Every loop is made of this."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PRNGKeyArray

from ...collectors.streams import agent_key
from ...core.agent import Agent
from ...core.collector import SlotFunctions, TrainState
from ...core.env import Env
from ..metrics.metric_sums import MetricSums, Recording, add_iteration, end_block, zero_sums


def start(
    agent: Agent, env: Env, slots: SlotFunctions, key: PRNGKeyArray, recording: Recording, trained: Any = None
) -> TrainState:
    """Makes a member's training state before its first step.

    Args:
        agent, env: who learns, and where.
        slots: how its environments begin and advance.
        key: the member's.
        recording: what is recorded.
        trained: the state of an agent that was trained before, to go on from; None for none.
    """
    collector = agent.learns_from
    agent_state = agent.init(env.spec, agent_key(key))
    if trained is not None:
        agent_state = adopted(agent, agent_state, trained)
    slot, carry, data = collector.init(agent, agent_state, slots, key)
    state = TrainState(agent_state, slot, carry, data, ())
    return dataclasses.replace(state, metrics=_zero_sums(agent, env, slots, state, recording))


def adopted(agent: Agent, fresh: Any, trained: Any) -> Any:
    """Returns what an agent adopts of a trained state, with all that is no array as in the fresh one."""
    return jax.tree.unflatten(jax.tree.structure(fresh), jax.tree.leaves(agent.adopt(fresh, trained)))


def _zero_sums(agent: Agent, env: Env, slots: SlotFunctions, state: TrainState, recording: Recording) -> MetricSums:
    """Returns the sums before the first step, made from the shapes of what an iteration gives."""
    collector = agent.learns_from

    def shapes(state: TrainState) -> Any:
        keys = collector.keys(jax.random.key(0), jnp.int32(0), collector.num_envs, None)
        collected, data, steps = collector.collect(agent, slots, state, keys, None)
        return steps, collector.learn(agent, collected, data, keys, None)[1]

    steps, metrics = jax.eval_shape(shapes, state)
    return zero_sums(recording, env, steps, metrics, collector.iteration_steps == 1)


def block_ended(state: TrainState, ends: Bool[Array, ""] | None = None) -> TrainState:
    """Returns the state with a block's metrics added to those before it, if the block `ends`; None if so."""
    return dataclasses.replace(state, metrics=end_block(state.metrics, ends))


def iterate(agent: Agent, slots: SlotFunctions, state: TrainState, keys: Any, axis: str | None = None) -> TrainState:
    """Collects, learns and records.

    Args:
        agent: who learns.
        slots: how its environments begin and advance.
        state: before the iteration.
        keys: of the iteration, as the agent's collector makes them.
        axis: of the devices that share the environments.
    """
    collector = agent.learns_from
    collected, data, steps = collector.collect(agent, slots, state, keys, axis)
    learned, metrics, updates = collector.learn(agent, collected, data, keys, axis)
    shared = axis if collector.rounds_over_devices else None
    sums = add_iteration(state.metrics, steps, metrics, updates, shared)
    return dataclasses.replace(learned, metrics=sums)

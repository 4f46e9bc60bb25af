"""One iteration of one member: collect, learn, record. Every loop is made of this."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, PRNGKeyArray, PyTree

from ...collectors.env_kernel import EnvStructure, partition_env
from ...collectors.slot import kernel_slots, plain_slots
from ...collectors.streams import agent_key
from ...core.agent import Agent
from ...core.collector import Collector, SlotFunctions, Steps, TrainState
from ...core.env import Env
from ...core.errors import ConfigError
from ...core.host import HostEnv
from ...core.ours import is_ours
from ...core.update_check import returned_parts
from ..metrics.metric_sums import MetricSums, Recording, add_iteration, end_block, zero_sums
from ..population import is_leaf_number


class Shapes(NamedTuple):
    """The shapes of what one member begins with and first collects.

    Attributes:
        state: before the first step.
        data: what its first iteration learns from.
        steps: of that iteration.
    """

    state: TrainState
    data: Any
    steps: Steps


def slots_of(agent: Agent, env: Env, shared: Any = ()) -> SlotFunctions:
    """Returns how an agent's environments begin and advance: of several, by kernels within a program of XLA's.

    One on the host gives shapes alone, and is not worth a kernel.

    Args:
        agent, env: who acts, and where.
        shared: the arrays of the agent's collector, see `Collector.shared`.
    """
    kernels = agent.learns_from.batched and not isinstance(env, HostEnv)
    return (kernel_slots if kernels else plain_slots)(env)._replace(shared=shared)


def shapes_of(agent: Agent, env: Env, recording: Recording, unknown: Any = is_leaf_number) -> Shapes:
    """Returns the shapes of a member's first iteration; nothing is computed.

    JAX traces it once for all members and runs of agents that differ in numbers alone.

    Args:
        agent, env: who learns, and where.
        recording: what is recorded.
        unknown: which leaves of the agent are numbers that members may differ in, as `equinox.partition` takes it.

    Raises:
        ConfigError: for a metric that is no scalar, or has the name of what training records itself.
    """
    numbers, structure = eqx.partition(agent, unknown)
    arrays, env_structure = partition_env(env)
    of_one = jax.tree.map(lambda x: jax.ShapeDtypeStruct(np.shape(x), np.float32), numbers)
    key = jax.eval_shape(lambda: jax.random.key(0))
    shared = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), agent.learns_from.shared)
    return _first_iteration.eval_shape(structure, env_structure, recording, of_one, arrays, shared, key)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _first_iteration(
    structure: Any,
    env_structure: EnvStructure,
    recording: Recording,
    numbers: PyTree,
    arrays: Any,
    shared: Any,
    key: PRNGKeyArray,
) -> Shapes:
    agent, env = eqx.combine(numbers, structure), env_structure.with_arrays(arrays)
    collector, slots = agent.learns_from, slots_of(agent, env, shared)
    state = begin(agent, env, slots, key, ())
    keys = collector.keys(key, jnp.int32(0), collector.num_envs, None)
    kind = type(collector).__name__
    fix = "return three things: the state, what is learned from, and the steps"
    made = collector.collect(agent, slots, state, keys, None)
    collected, data, steps = returned_parts(f"{kind}.collect", made, 3, fix)
    _check_steps(collector, steps)
    fix = "return three things: the state, sums of the metrics, and the number of updates"
    metrics = returned_parts(f"{kind}.learn", collector.learn(agent, collected, data, keys, None), 3, fix)[1]
    of_steps, of_metrics = jax.eval_shape(lambda: (steps, metrics))
    sums = zero_sums(recording, env, of_steps, of_metrics, collector.iteration_steps == 1)
    return Shapes(dataclasses.replace(state, metrics=sums), data, steps)


def _check_steps(collector: Collector, steps: Steps) -> None:
    """Refuses steps of a collector of one's own that are not as many as it says: all counts rest on it.

    Raises:
        ConfigError: with both numbers.
    """
    needed = (collector.num_steps, collector.num_envs) if collector.batched else ()
    if not is_ours(type(collector)) and steps.taken is None and jnp.shape(steps.reward) != needed:
        fix = f"num_steps x num_envs is {list(needed)}: give rewards and ends of so many steps"
        raise ConfigError(f"{type(collector).__name__}.collect", f"steps {list(jnp.shape(steps.reward))}", fix)


def sums_before(agent: Agent, env: Env, recording: Recording) -> MetricSums:
    """Returns the metric sums of a member before its first step: zeros of NumPy's."""
    shapes = shapes_of(agent, env, recording).state.metrics
    return jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)


def begin(
    agent: Agent, env: Env, slots: SlotFunctions, key: PRNGKeyArray, sums: Any, trained: Any = None
) -> TrainState:
    """Makes a member's training state before its first step.

    Args:
        agent, env: who learns, and where.
        slots: how its environments begin and advance.
        key: the member's.
        sums: the metric sums that it begins with.
        trained: the state of an agent that was trained before, to go on from; None for none.
    """
    collector = agent.learns_from
    agent_state = agent.init(env.spec, agent_key(key))
    if trained is not None:
        agent_state = adopted(agent, agent_state, trained)
    made = collector.init(agent, agent_state, slots, key)
    fix = "return three things: the slots, what is carried from step to step, and the data"
    slot, carry, data = returned_parts(f"{type(collector).__name__}.init", made, 3, fix)
    return TrainState(agent_state, slot, carry, data, sums)


def start(
    agent: Agent, env: Env, slots: SlotFunctions, key: PRNGKeyArray, recording: Recording, trained: Any = None
) -> TrainState:
    """Makes a member's training state as `begin` does, with the sums of what is to be recorded."""
    sums = jax.tree.map(jnp.asarray, sums_before(agent, env, recording))
    return begin(agent, env, slots, key, sums, trained)


def adopted(agent: Agent, fresh: Any, trained: Any) -> Any:
    """Returns what an agent adopts of a trained state, with all that is no array as in the fresh one."""
    return jax.tree.unflatten(jax.tree.structure(fresh), jax.tree.leaves(agent.adopt(fresh, trained)))


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

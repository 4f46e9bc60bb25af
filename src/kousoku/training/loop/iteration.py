"""One iteration of one member: collect, learn, record. Every loop is made of this."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, PRNGKeyArray, PyTree

from ...collectors.env_kernel import EnvStructure, partition_env
from ...collectors.slot import kernel_slots, plain_slots
from ...collectors.streams import agent_key
from ...compiler import kernels_are_on, on_arrays
from ...core.agent import Agent
from ...core.collector import SlotFunctions, Steps, TrainState
from ...core.collector_check import begun, collected, learned
from ...core.env import Env
from ...core.env_leaves import has_hash
from ...core.host import HostEnv
from ...core.leaves import key_like
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
    shared = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), agent.learns_from.shared)
    return _first_iteration.eval_shape(structure, env_structure, recording, of_one, arrays, shared, key_like())


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
    after, data, steps = collected(collector, state, collector.collect(agent, slots, state, keys, None))
    _, metrics, updates = learned(collector, after, _learn(agent, after, data, keys, None))
    of_steps, of_metrics = jax.eval_shape(lambda: (steps, metrics))
    each_is_an_update = collector.iteration_steps == 1 and updates is None
    sums = zero_sums(recording, env, of_steps, of_metrics, each_is_an_update)
    return Shapes(dataclasses.replace(state, metrics=sums), data, steps)


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
    slot, carry, data = begun(collector, collector.init(agent, agent_state, slots, key))
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


def _learn(agent: Agent, state: TrainState, data: Any, keys: Any, axis: str | None) -> Any:
    """Calls the collector's `learn`: traced once, for the shapes of the first iteration and for the program.

    What has values of NumPy's, or no hash, is traced for each: these may decide what Python does.

    Args:
        agent, state, data, keys, axis: as `Collector.learn` takes them; the state without metrics, whose sums are not
            known at first.
    """
    leaves, structure = jax.tree.flatten((agent, state, data, keys))
    known = (leaf for leaf in leaves if not isinstance(leaf, jax.Array))
    if not has_hash(structure) or any(eqx.is_array(leaf) or not has_hash(leaf) for leaf in known):
        return agent.learns_from.learn(agent, state, data, keys, axis)
    return _learn_traced_once(agent, state, data, keys, axis, kernels_are_on())


@partial(cast(Any, eqx.filter_jit), inline=True)
def _learn_traced_once(agent: Agent, state: TrainState, data: Any, keys: Any, axis: str | None, kernels: bool) -> Any:
    """Calls the collector's `learn`; what is traced depends on whether kernels are on."""
    del kernels
    return agent.learns_from.learn(agent, state, data, keys, axis)


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
    acted, data, steps = collector.collect(agent, slots, state, keys, axis)
    alone = dataclasses.replace(acted, metrics=())
    after, metrics, updates = _learn(agent, alone, data, keys, axis)
    shared = axis if collector.rounds_over_devices else None
    record = partial(add_iteration, axis=shared)
    if shared is not None:  # in a kernel, devices wait for each other for a microsecond, and not for a hundred
        record = on_arrays(record, shared)
    return dataclasses.replace(after, metrics=record(state.metrics, steps, metrics, updates))

"""Data sets from runs: what a replay buffer holds, and what a policy does."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from ...collectors.acting import act_and_advance, begin_slots, slot_numbers, without_info
from ...collectors.env_kernel import EnvStructure, partition_env
from ...collectors.slot import kernel_slots
from ...collectors.streams import IterationKeys, key_of, slot_keys
from ...core.agent import Agent
from ...core.collector import TrainState
from ...core.dataset import Dataset
from ...core.env import Env
from ...core.errors import ConfigError
from ...core.host import HostEnv
from ...core.spaces import Space
from ...core.timestep import Transition
from ...nn import clip_to
from ...ops.trees import to_device
from ..guards.collector_answers import kept
from ..io import checkpoints, former_checkpoints, tree_io
from ..loop.iteration import shapes_of
from ..metrics.metric_sums import Recording
from ..population import is_leaf_number

SLOTS = 8
"""Environments that act at once for a data set."""


class Actor(eqx.Module):
    """An agent that acts greedily or not, with actions within their bounds.

    Attributes:
        agent: whose policy it is.
        space: where actions lie.
        greedy: whether it does not explore.
    """

    agent: Agent
    space: Space
    greedy: bool = eqx.field(static=True)

    def initial_carry(self, state: Any) -> Any:
        """Returns the agent's."""
        return self.agent.initial_carry(state)

    def act(self, state: Any, obs: Any, carry: Any, key: PRNGKeyArray) -> tuple[Any, Any, None]:
        """Chooses an action as the environment takes it."""
        action, carry, _ = self.agent.act(state, obs, carry, key, greedy=self.greedy)
        return clip_to(self.space, action), carry, None


def acted(agent: Agent, state: Any, env: Env, env_id: str, steps: int, seed: int, greedy: bool) -> Dataset:
    """Acts in several environments at once, and returns what came of it, one environment after the other.

    Args:
        agent, state: who acts, and what it has learned.
        env, env_id: where, and its name.
        steps: in all.
        seed: of all that is random.
        greedy: whether it does not explore.

    Raises:
        ConfigError: for an environment on the host.
    """
    if isinstance(env, HostEnv):
        raise ConfigError("env", env.name, "it runs on the host: record it there, and make a kousoku.Dataset")
    numbers, structure = eqx.partition(Actor(agent, env.action_space, greedy), is_leaf_number)
    arrays, env_structure = partition_env(env)
    count = min(SLOTS, steps)
    rounds = -(-steps // count)
    made = jax.device_get(_act(structure, env_structure, count, rounds, numbers, arrays, state, key_of(seed)))
    rows = jax.tree.map(lambda x: np.swapaxes(np.asarray(x), 0, 1), made)
    return _joined(rows, env, env_id, steps)


@eqx.filter_jit
def _act(
    structure: Any,
    env_structure: EnvStructure,
    count: int,
    rounds: int,
    numbers: Any,
    arrays: Any,
    state: Any,
    key: PRNGKeyArray,
) -> Transition:
    """Takes steps in each of the slots; transitions [T, B, ...]."""
    actor, slots = eqx.combine(numbers, structure), kernel_slots(env_structure.with_arrays(arrays))
    slot, carry = begin_slots(actor, state, slots, key, count)
    keys: IterationKeys = slot_keys(key, to_device(np.int32(0)), rounds, slot_numbers(count, None))
    _, (made, _, _) = act_and_advance(actor, slots, TrainState(state, slot, carry, (), ()), keys)
    return without_info(made)


def replayed(folder: Path | None, agent: Agent, env: Env, env_id: str, member: int) -> Dataset:
    """Returns what the replay buffer of a run's agent held at its last checkpoint, oldest first in each slot.

    Raises:
        ConfigError: for an agent without such a buffer, or a run without a checkpoint.
    """
    collector = agent.learns_from
    if not collector.keeps_transitions:
        raise ConfigError("agent", type(agent).__name__, "it has no replay buffer; `collect` records what it does")
    saved = None if folder is None else checkpoints.newest(folder)
    if saved is None:
        fix = "its buffer is in its last checkpoint, and there is none; save the run, or use `collect`"
        raise ConfigError("run", None if folder is None else str(folder), fix)
    shapes = TrainState((), (), (), shapes_of(agent, env, Recording()).state.data, ())
    leaves = dict(zip(saved.paths, saved.leaves, strict=True))
    places = [former_checkpoints.place_in(saved.format, path) for path in tree_io.paths(shapes)]
    found = [leaves[place][member] if place in leaves else None for place in places]
    data = jax.tree.unflatten(jax.tree.structure(shapes), found).data
    iterations = saved.progress.step // collector.iteration_steps
    limit = None if isinstance(env, HostEnv) else env.time_limit  # first episodes on the host begin at 0, all of them
    rows, begun_before = kept(collector, data, iterations, limit)
    clipped = jax.device_get(jax.vmap(jax.vmap(lambda action: clip_to(env.action_space, action)))(rows.action))
    rows = eqx.tree_at(lambda t: t.action, rows, clipped)
    data = _joined(rows, env, env_id, rows.reward.size, begun_before)
    if not isinstance(env, HostEnv):
        return data
    given_up = _given_up(rows.reward.shape, saved.progress.step, saved.progress.resumed_at).reshape(-1)
    return dataclasses.replace(data, broken_off=data.broken_off | (given_up & data.truncated & ~data.terminated))


def _given_up(shape: tuple[int, int], step: int, resumed_at: Sequence[int]) -> np.ndarray:
    """Returns which of the newest transitions [B, T] were the last before a run went on, on the host, in new episodes.

    Args:
        shape: (B, T).
        step: steps of all slots, of which the last are here.
        resumed_at: steps at which another process went on.
    """
    slots, kept = shape
    marks = np.zeros(shape, bool)
    places = kept - 1 - (step - np.asarray(resumed_at, np.int64)) // slots
    marks[:, places[places >= 0]] = True
    return marks


def _joined(rows: Transition, env: Env, env_id: str, steps: int, begun_before: np.ndarray | None = None) -> Dataset:
    """Returns the first transitions of [B, T, ...], slot by slot, as a data set; the last of each slot ends there.

    Args:
        rows: the transitions.
        env, env_id: where they were made, and its name.
        steps: how many.
        begun_before: [B] whether the first of each slot is in an episode's midst; None for nowhere.
    """
    midway = np.zeros(np.shape(rows.truncated), bool)
    midway[:, 0] = False if begun_before is None else begun_before
    last = np.zeros(np.shape(rows.truncated), bool)
    last[:, -1] = True
    joined: Any = jax.tree.map(lambda x: np.asarray(x).reshape(-1, *x.shape[2:])[:steps], rows)
    broken_off = last.reshape(-1)[:steps]
    broken_off[-1] = True
    broken_off &= ~(joined.terminated | joined.truncated)
    observations, actions = env.observation_space, env.action_space
    return Dataset(
        joined.obs,
        joined.action,
        joined.reward,
        joined.terminated,
        joined.truncated | broken_off,
        joined.next_obs,
        observations,
        actions,
        env_id,
        broken_off=broken_off,
        begun_before=midway.reshape(-1)[:steps] if midway.any() else None,
    )

"""Greedy evaluation: whole episodes, each with a key of its own, each counted once whatever its length."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, PyTree

from ..core.agent import Agent, RolloutAgent
from ..core.env import Env
from ..ops.trees import select
from .devices import filled, usable
from .parts import Structure, env_parts, on_parts, restarted, stepped
from .policy import choose, first_memory

EVALUATION_STREAM = 0x6576616C


class Lived(NamedTuple):
    """What a lane is after training: what its agent has learned, and the world that it lives in.

    An evaluation begins with a `restart` of that world: a maze whose wall has moved stays as it is now, and a bandit
    keeps its arms.
    """

    agent_state: Any
    env_state: Any


class Episodes(NamedTuple):
    """Finished episodes: `truncated` ones reached a time limit, the environment's or the evaluation's."""

    episode_return: Float[Any, "N E"]
    length: Int[Any, "N E"]
    truncated: Bool[Any, "N E"]


class _Walk(NamedTuple):
    env_state: Any
    obs: Any
    episode_return: Array
    length: Array
    terminated: Array
    truncated: Array
    memory: Any


def greedy_episode(
    agent: Agent | RolloutAgent, lived: Lived, env: Env, key: PRNGKeyArray, max_steps: int
) -> tuple[Float[Array, ""], Int[Array, ""], Bool[Array, ""]]:
    """One greedy episode from a fresh start: (return, length, truncated).

    Nothing is learned: the agent's state is read only. An environment without a time limit is cut at `max_steps`.
    """
    limit = max_steps if env.time_limit is None else env.time_limit
    reset_key, walk_key = jax.random.split(key)
    arrays, structure = env_parts(env)
    env_state, timestep = on_parts(restarted, structure)(arrays, reset_key, lived.env_state)
    memory = first_memory(agent, lived.agent_state)
    walk = _Walk(env_state, timestep.obs, jnp.float32(0), jnp.int32(0), jnp.array(False), jnp.array(False), memory)
    move = partial(on_parts(stepped, structure), arrays)

    def going(walk: _Walk) -> Array:
        return ~(walk.terminated | walk.truncated)

    def step(walk: _Walk) -> _Walk:
        act_key, env_key = jax.random.split(jax.random.fold_in(walk_key, walk.length))
        action, memory = choose(agent, lived.agent_state, walk.obs, walk.memory, act_key, env.action_space)
        env_state, timestep = move(env_key, walk.env_state, action)
        length = walk.length + 1
        following = _Walk(
            env_state,
            timestep.obs,
            walk.episode_return + timestep.reward,
            length,
            timestep.terminated,
            timestep.truncated | (length >= limit),
            memory,
        )
        return select(going(walk), following, walk)

    walk = jax.lax.while_loop(going, step, walk)
    return walk.episode_return, walk.length, walk.truncated & ~walk.terminated


class Evaluation(NamedTuple):
    """The static half of an evaluation: equal ones share their compiled code.

    Attributes:
        agent, env: without their numbers and arrays.
        max_steps: where an episode is cut.
        mesh: the devices; None for one.
        by_lane: what the devices share out: the lanes, or the episodes of each lane.
    """

    agent: Any
    env: Structure
    max_steps: int
    mesh: Mesh | None
    by_lane: bool


def _specs(evaluation: Evaluation) -> tuple[P, ...]:
    """How numbers, lived, env_arrays, keys and index are shared out."""
    lane, episode = (P("part"), P()) if evaluation.by_lane else (P(), P("part"))
    return lane, lane, P(), lane, episode


@partial(jax.jit, static_argnums=0)
def _episodes(evaluation: Evaluation, *args: Any) -> tuple[Array, Array, Array]:
    """All episodes; the arguments are those of `_share`."""
    play = partial(_share, evaluation)
    if evaluation.mesh is not None:
        made = P("part") if evaluation.by_lane else P(None, "part")
        play = jax.shard_map(play, mesh=evaluation.mesh, in_specs=_specs(evaluation), out_specs=made, check_vma=False)
    return play(*args)


def _share(
    evaluation: Evaluation,
    numbers: PyTree,
    lived: Lived,
    env_arrays: PyTree,
    keys: Key[Array, " N"],
    index: Int[Array, " E"],
) -> tuple[Array, Array, Array]:
    """One device's episodes; the numbers of the episodes are their index."""
    env = evaluation.env.with_arrays(env_arrays)

    def lane(numbers: PyTree, lived: Lived, key: PRNGKeyArray) -> tuple[Array, Array, Array]:
        agent = eqx.combine(numbers, evaluation.agent)
        episode_keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(index)
        return jax.vmap(lambda k: greedy_episode(agent, lived, env, k, evaluation.max_steps))(episode_keys)

    return jax.vmap(lane)(numbers, lived, keys)


def evaluate_lanes(
    structure: Any,
    numbers: PyTree,
    lived: Lived,
    env: Env,
    keys: Key[Any, " N"],
    episodes: int,
    max_steps: int,
    num_devices: int | None = None,
) -> Episodes:
    """`episodes` greedy episodes of each of N lanes, as NumPy [N, episodes]; keys are [N].

    All devices take part, or so many: they share the lanes, or, where these are fewer, the episodes of each.
    """
    devices, lanes = usable(num_devices), keys.shape[0]
    by_lane = lanes >= len(devices)
    used = len(devices) if by_lane else min(len(devices), episodes)
    mesh = Mesh(np.array(devices[:used]), ("part",)) if used > 1 else None
    env_arrays, env_structure = env_parts(env)
    evaluation = Evaluation(structure, env_structure, max_steps, mesh, by_lane)
    streams = jax.vmap(lambda key: jax.random.fold_in(key, EVALUATION_STREAM))(keys)
    numbers, lived, streams = filled((numbers, lived, streams), used if by_lane else 1)
    index = filled(jnp.arange(episodes, dtype=jnp.int32), 1 if by_lane else used)
    args: Any = numbers, lived, env_arrays, streams, index
    if mesh is not None:
        args = jax.device_put(args, tuple(NamedSharding(mesh, spec) for spec in _specs(evaluation)))
    return Episodes(*(np.asarray(part)[:lanes, :episodes] for part in _episodes(evaluation, *args)))

"""Greedy evaluation: whole episodes, each with a key of its own, each counted once whatever its length."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, PyTree

from ...collectors.env_kernel import EnvStructure, env_kernel, partition_env, restart_env, step_env
from ...compiler import decide, kernel
from ...core.agent import Agent
from ...core.env import Env
from ...core.host import HostEnv
from ...ops.long_sums import add, rest_for
from ...ops.trees import select, to_device, tree_bytes
from ..devices import pad_to, select_devices
from ..guards.changed_code import forget_changed_code
from ..guards.key_reuse import keys_unchecked
from ..population import MemberNumbers, Population, first, member_of
from .act import act_greedily
from .on_host import EVALUATION_STREAM, evaluate_on_host

COPIES = 64 << 20
"""Bytes that what was learned may take where each episode has a lane of a kernel, and so a copy of its own."""
MANY = 16
"""Members that fill a kernel's lanes by themselves, their episodes one after the other."""


class FinalState(NamedTuple):
    """A member after training: what its agent has learned, and the state of its (first) environment.

    An evaluation begins with a `restart` of that environment: a maze whose wall has moved stays as it is now, and a
    bandit keeps its arms.
    """

    agent_state: Any
    env_state: Any


class Episodes(NamedTuple):
    """Finished episodes.

    Attributes:
        episode_return, length: of each.
        truncated: whether it reached a time limit, the environment's or the evaluation's.
        cut: whether it was the evaluation's: of an environment that would have gone on.
    """

    episode_return: Float[Any, "N E"]
    length: Int[Any, "N E"]
    truncated: Bool[Any, "N E"]
    cut: Bool[Any, "N E"]


class _Walk(NamedTuple):
    env_state: Any
    obs: Any
    episode_return: Array
    length: Array
    terminated: Array
    truncated: Array
    cut: Array
    carry: Any
    return_rest: Array | None


def greedy_episode(
    agent: Agent, final: FinalState, env: Env, key: PRNGKeyArray, max_steps: int
) -> tuple[Float[Array, ""], Int[Array, ""], Bool[Array, ""], Bool[Array, ""]]:
    """Plays one greedy episode from a new start: (return, length, truncated, cut), as `Episodes` has them.

    Nothing is learned: the agent's state is read only. An environment without a time limit is cut at `max_steps`.
    """
    limit = max_steps if env.time_limit is None else env.time_limit
    reset_key, walk_key = jax.random.split(key)
    arrays, structure = partition_env(env)
    env_state, timestep = env_kernel(restart_env, structure)(arrays, reset_key, final.env_state)
    carry = agent.initial_carry(final.agent_state)
    no = jnp.array(False)
    walk = _Walk(env_state, timestep.obs, jnp.float32(0), jnp.int32(0), no, no, no, carry, rest_for(limit))
    move = partial(env_kernel(step_env, structure), arrays)

    def going(walk: _Walk) -> Array:
        return ~(walk.terminated | walk.truncated)

    def step(walk: _Walk) -> _Walk:
        act_key, env_key = jax.random.split(jax.random.fold_in(walk_key, walk.length))
        action, carry = act_greedily(agent, final.agent_state, walk.obs, walk.carry, act_key, env.action_space)
        env_state, timestep = move(env_key, walk.env_state, action)
        episode_return, rest = add(walk.episode_return, walk.return_rest, timestep.reward)
        length = walk.length + 1
        reached, ended = length >= limit, timestep.terminated | timestep.truncated
        cut = reached & ~ended if env.time_limit is None else walk.cut
        ends = timestep.terminated, timestep.truncated | reached, cut
        following = _Walk(env_state, timestep.obs, episode_return, length, *ends, carry, rest)
        return select(going(walk), following, walk)

    walk = jax.lax.while_loop(going, step, walk)
    return walk.episode_return, walk.length, walk.truncated & ~walk.terminated, walk.cut


class EvaluationProgram(NamedTuple):
    """The static half of an evaluation: equal ones share their compiled code.

    Attributes:
        agent, env: without their numbers and arrays.
        max_steps: where an episode is cut.
        mesh: the devices; None for one.
        by_member: what the devices share out: the population, or the episodes of each member.
    """

    agent: Any
    env: EnvStructure
    max_steps: int
    mesh: Mesh | None
    by_member: bool


def _specs(program: EvaluationProgram) -> tuple[P, ...]:
    """Returns how numbers, final, env_arrays, keys and index are shared out."""
    member, episode = (P("part"), P()) if program.by_member else (P(), P("part"))
    return member, member, P(), member, episode


@partial(jax.jit, static_argnums=0)
def _episodes(program: EvaluationProgram, *args: Any) -> tuple[Array, Array, Array, Array]:
    """Plays all episodes; the arguments are those of `_share`."""
    play = partial(_share, program)
    if program.mesh is not None:
        made = P("part") if program.by_member else P(None, "part")
        play = jax.shard_map(play, mesh=program.mesh, in_specs=_specs(program), out_specs=made, check_vma=False)
    return play(*args)


def _share(
    program: EvaluationProgram,
    numbers: MemberNumbers,
    final: FinalState,
    env_arrays: PyTree,
    keys: Key[Array, " N"],
    index: Int[Array, " E"],
) -> tuple[Array, Array, Array, Array]:
    """Plays one device's episodes; the numbers of the episodes are their index.

    Those of agents that learn at each step are a kernel, where that is worth it: with a lane for each of many members,
    or, if what they learned is small enough to be copied, for each episode.
    """

    members, lanes = keys.shape[0], keys.shape[0] * index.shape[0]
    episode = partial(_episode, program)
    every = jax.vmap(episode, in_axes=(None, None, None, None, 0))
    alone = *first((numbers, final)), env_arrays, keys[0], index[0]
    stepwise = program.agent.learns_from.iteration_steps == 1
    if stepwise and decide(episode, *alone, lanes=lanes, in_axes=(0, 0, None, 0, 0)).take:
        if members >= MANY:
            every = kernel(lambda *member: jax.lax.map(partial(episode, *member[:-1]), member[-1]))
        elif lanes * tree_bytes(first(final)) <= COPIES:
            every = jax.vmap(kernel(episode), in_axes=(None, None, None, None, 0))
    return jax.vmap(every, in_axes=(0, 0, None, 0, None))(numbers, final, env_arrays, keys, index)


def _episode(
    program: EvaluationProgram,
    numbers: MemberNumbers,
    final: FinalState,
    env_arrays: PyTree,
    key: PRNGKeyArray,
    number: Int[Array, ""],
) -> tuple[Array, Array, Array, Array]:
    """Plays one episode of one member."""
    agent, env = member_of(program, numbers, env_arrays)
    episode_key = jax.random.fold_in(jax.random.fold_in(key, EVALUATION_STREAM), number)
    return greedy_episode(agent, final, env, episode_key, program.max_steps)


@keys_unchecked()
def evaluate_population(
    population: Population,
    final: FinalState,
    keys: Key[Any, " N"],
    episodes: int,
    max_steps: int,
    num_devices: int | None = None,
) -> Episodes:
    """Plays `episodes` greedy episodes of each of N members in its environment, as NumPy [N, episodes]; keys are [N].

    All devices take part, or so many: they share the population, or, where these are fewer, the episodes of each.
    Of environments on the host, see `on_host`.
    """
    forget_changed_code(population.structure, population.env(0))
    if isinstance(population.env(0), HostEnv):
        return Episodes(*evaluate_on_host(population, final.agent_state, keys, episodes, max_steps))
    devices, members = select_devices(num_devices), keys.shape[0]
    by_member = members >= len(devices)
    used = len(devices) if by_member else min(len(devices), episodes)
    mesh = Mesh(np.array(devices[:used]), ("part",)) if used > 1 else None
    envs = population.envs
    program = EvaluationProgram(population.structure, envs.structure, max_steps, mesh, by_member)
    parts = used if by_member else 1
    numbers, keys = pad_to((population.numbers, keys), parts)
    final = pad_to(final, parts)  # by itself: it may lie on several devices
    index = pad_to(to_device(np.arange(episodes, dtype=np.int32)), 1 if by_member else used)
    args: Any = numbers, final, envs.arrays, keys, index
    if mesh is not None:
        args = jax.device_put(args, tuple(NamedSharding(mesh, spec) for spec in _specs(program)))
    return Episodes(*(part[:members, :episodes] for part in jax.device_get(_episodes(program, *args))))

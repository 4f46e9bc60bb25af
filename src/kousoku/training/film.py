"""An episode as a film: what an environment looked like at every step, and what it said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray, PyTree

from ..compiler.function import kernel
from ..core.agent import Agent, RolloutAgent
from ..core.env import Drawable, Env
from ..core.scene import Readable, Timed, Trajectory2d
from ..core.scene3d import Contacts3d, Drawable3d, Touching3d, Trajectory3d
from ..core.timestep import Timestep
from .evaluate import Lived
from .lanes import Lanes, lane
from .policy import choose, first_memory

MAX_FRAMES = 1000
FILM_STREAM = 0x66696C6D

Film = Trajectory2d | Trajectory3d
Act = Callable[[PyTree[Array], PRNGKeyArray], PyTree[Array]]


class Played(NamedTuple):
    """An episode of T steps on the host: T + 1 states and timesteps, T actions."""

    states: list[Any]
    timesteps: list[Timestep]
    actions: list[Any]


def is_drawable(env: Env) -> bool:
    """Whether there can be films of it."""
    return isinstance(env, Drawable3d | Drawable)


def lane_film(lanes: Lanes, lived: Lived, env: Env, i: int, name: str = "") -> Film | None:
    """One greedy episode of a lane; None if the environment cannot be drawn."""
    agent, alone = lane(lanes.numbers, lanes.structure, i), jax.tree.map(lambda leaf: leaf[i], lived)
    return greedy_film(agent, alone, env, jax.random.fold_in(lanes.keys[i], FILM_STREAM), name)


def greedy_film(agent: Agent | RolloutAgent, lived: Lived, env: Env, key: PRNGKeyArray, name: str = "") -> Film | None:
    """One greedy episode from a fresh start; None if the environment cannot be drawn."""
    if not is_drawable(env):
        return None
    dynamic, static = eqx.partition((agent, lived.agent_state), eqx.is_array)

    @jax.jit
    def act(dynamic: Any, obs: PyTree[Array], memory: Any, key: PRNGKeyArray) -> tuple[PyTree[Array], Any]:
        agent, state = eqx.combine(dynamic, static)
        return choose(agent, state, obs, memory, key, env.action_space)

    memory = first_memory(agent, lived.agent_state)

    def act_on(obs: PyTree[Array], key: PRNGKeyArray) -> PyTree[Array]:
        nonlocal memory
        action, memory = act(dynamic, obs, memory, key)
        return action

    return film(env, play(env, act_on, key, lived.env_state), name)


def play(env: Env, act: Act, key: PRNGKeyArray, before: Any = None, max_steps: int = MAX_FRAMES) -> Played:
    """One episode, cut after `max_steps`.

    Args:
        env: the environment.
        act: from an observation and a key to an action.
        key: of everything random in it.
        before: a state of the environment, after which this episode begins; None for a first episode.
        max_steps: where it is cut, if the environment's time limit does not come first.
    """
    reset_key, walk_key = jax.random.split(key)
    state, timestep = env.reset(reset_key) if before is None else env.restart(reset_key, before)
    move = eqx.filter_jit(lambda env, key, state, action: kernel(env.step)(key, state, action))
    played = Played([state], [timestep], [])
    limit = max_steps if env.time_limit is None else min(max_steps, env.time_limit)
    for i in range(limit):
        act_key, env_key = jax.random.split(jax.random.fold_in(walk_key, i))
        action = act(timestep.obs, act_key)
        state, timestep = move(env, env_key, state, action)
        for kept, new in zip(played, (state, timestep, action), strict=True):
            kept.append(new)
        if timestep.terminated or timestep.truncated:
            break
    return Played(*(jax.device_get(part) for part in played))


def film(env: Env, played: Played, name: str = "") -> Film:
    """The pictures of an episode; in three dimensions where the environment is. States that are no numbers end it."""
    values = _values(env, played)
    dt = float(np.mean(env.dt)) if isinstance(env, Timed) else None
    if not isinstance(env, Drawable3d):
        return Trajectory2d(tuple(env.scene(state) for state in played.states), dt, values, name)  # type: ignore[attr-defined]
    states = _stacked(played.states)
    positions, quaternions = (np.asarray(part) for part in jax.vmap(kernel(env.poses))(states))
    sound = np.isfinite(positions).all(axis=(1, 2)) & np.isfinite(quaternions).all(axis=(1, 2))
    count = len(positions) if np.all(sound) else max(1, int(np.argmin(sound)))
    contacts = _contacts(env, played, states)
    return Trajectory3d(
        env.body3d(),
        positions[:count],
        quaternions[:count],
        float(np.mean(env.dt)),
        {name: value[:count] for name, value in values.items()},
        None if contacts is None else Contacts3d(contacts.points[:count], contacts.forces[:count]),
        name,
    )


def _contacts(env: Env, played: Played, states: Any) -> Contacts3d | None:
    """Under the action that was taken in each state; in the last state, under the action before."""
    if not isinstance(env, Touching3d) or not played.actions:
        return None
    actions = _stacked([*played.actions, played.actions[-1]])
    points, forces = jax.vmap(kernel(env.contacts3d))(states, actions)
    return Contacts3d(np.asarray(points), np.asarray(forces))


def _values(env: Env, played: Played) -> dict[str, np.ndarray]:
    """Reward, return, the scalars of the info, the action if it is one number, and what the environment reads off."""
    rewards = np.array([float(timestep.reward) for timestep in played.timesteps])
    values = {"reward": np.concatenate([[np.nan], rewards[1:]]), "return": np.cumsum(rewards)}
    infos = _scalars([timestep.info for timestep in played.timesteps[1:]])
    first = _scalars([played.timesteps[0].info])
    values |= {name: np.concatenate([first.get(name, [np.nan]), value]) for name, value in infos.items()}
    if played.actions and all(np.size(action) == 1 for action in played.actions):
        actions = [float(np.asarray(action).reshape(())) for action in played.actions]
        values["action"] = np.array([*actions, np.nan])
    if isinstance(env, Readable):
        read = jax.vmap(kernel(env.readings))(_stacked(played.states))
        names = env.readings(played.states[0])  # in their own order: compiled functions sort them
        values |= {name: np.asarray(read[name], np.float64) for name in names}
    else:
        values |= {n: v for n, v in _scalars(played.states, floats=True).items() if n not in values}
    return values


def _scalars(trees: list[Any], *, floats: bool = False) -> dict[str, np.ndarray]:
    """The scalars of trees of equal structure, by the last name on their path."""
    found: dict[str, list[float]] = {}
    for tree in trees:
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
            named = bool(path) and np.ndim(leaf) == 0 and np.asarray(leaf).dtype.kind in ("f" if floats else "fiu")
            if named:
                found.setdefault(str(getattr(path[-1], "name", getattr(path[-1], "key", path[-1]))), []).append(
                    float(leaf)
                )
    return {name: np.array(value) for name, value in found.items() if len(value) == len(trees)}


def _stacked(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]), *trees)

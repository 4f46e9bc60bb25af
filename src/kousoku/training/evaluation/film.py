"""An episode as a film: what an environment looked like at every step, and what it said."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key, PRNGKeyArray, PyTree

from ...collectors.env_kernel import env_kernel, partition_env, restart_env, step_env
from ...compiler import kernel
from ...core.action_mask import counts_of, legal_actions
from ...core.agent import Agent
from ...core.agent_check import is_like_action
from ...core.env import Drawable, Env
from ...core.errors import ConfigError, check_takes, shorten
from ...core.host import HostEnv
from ...core.leaves import words
from ...core.scene import Readable, Scene, Timed, Trajectory2d
from ...core.scene3d import Contacts3d, Drawable3d, Touching3d, Trajectory3d
from ...core.spaces import Discrete, MultiDiscrete, Space, element_like
from ...core.timestep import Timestep, named_parts
from ...core.wrapper import Wrapper, steps_per_action, unwrapped, unwrapped_action, unwrapped_state
from ...nn.actor_critic import legal_only
from ...ops.distributions import Categorical, MultiCategorical
from ...ops.trees import arrays_on_device, to_device
from ..guards.key_reuse import keys_unchecked
from ..io.tree_io import pick_member
from ..population import Population
from .act import act_greedily, begin_carry
from .evaluate import FinalState
from .host_film import host_film, member_on_host, policy_on_host, warn_early_end

MAX_FRAMES = 1000
MOST_FILMS = 100
FILM_STREAM = 0x66696C6D
OWN_VALUES = ("reward", "return", "action")
"""Names of a film's values that are not the info's: a part of it that is called so has `info.` before its name."""
DRAWING_SECONDS = 60.0
"""How long drawing a film in the plane may take: it ends there, which is told. Others' code takes up to 3 s a state."""

Film = Trajectory2d | Trajectory3d
Act = Callable[[Env, PyTree[Array], Any, PRNGKeyArray], tuple[PyTree[Array], Any]]


class Played(NamedTuple):
    """An episode of T steps on the host, in stacked NumPy arrays.

    Attributes:
        states: [T + 1, ...].
        actions: [T, ...].
        said: what the environment said after each step [T, ...].
        first: what it said at the beginning; its `info` may be None where later ones are not.
    """

    states: Any
    actions: Any
    said: Timestep
    first: Timestep


def is_drawable(env: Env) -> bool:
    """Returns whether there can be films of an environment."""
    if isinstance(env, HostEnv):
        return env.make_drawn is not None
    return isinstance(unwrapped(env), Drawable3d | Drawable)


def makes_svg(env: Env) -> bool:
    """Returns whether pictures of an environment are drawings as SVG, as it says by `draws_svg`."""
    return bool(getattr(unwrapped(env), "draws_svg", False))


def member_film(population: Population, final: FinalState, i: int, name: str = "") -> Film | None:
    """Films one greedy episode of a member in its environment; None if that cannot be drawn."""
    key, env = _film_key(population.keys, to_device(np.int32(i))), population.env(i)
    if isinstance(env, HostEnv):
        if not is_drawable(env):
            return None
        return host_film(env, *member_on_host(population, final.agent_state, i, key), name, MAX_FRAMES, DRAWING_SECONDS)
    return greedy_film(population.agent(i), pick_member(final, i), env, key, name)


@jax.jit
def _film_key(keys: Key[Array, " N"], i: Int[Array, ""]) -> PRNGKeyArray:
    """Returns the key of a member's film: one small program instead of three."""
    return jax.random.fold_in(keys[i], FILM_STREAM)


def greedy_film(agent: Agent, final: FinalState, env: Env, key: PRNGKeyArray, name: str) -> Film | None:
    """Films one greedy episode from a new start; None if the environment cannot be drawn."""
    if not is_drawable(env):
        return None
    carry = begin_carry(agent, final.agent_state)
    return film(env, play(env, _Greedy(agent, final.agent_state), key, final.env_state, carry), name)


class _Greedy(eqx.Module):
    """The greedy policy of an agent."""

    agent: Any
    state: Any

    def __call__(self, env: Env, obs: PyTree[Array], carry: Any, key: PRNGKeyArray) -> tuple[PyTree[Array], Any]:
        return act_greedily(self.agent, self.state, obs, carry, key, env.action_space)


@keys_unchecked()
def play(
    env: Env, act: Act, key: PRNGKeyArray, before: Any = None, carry: Any = (), max_steps: int = MAX_FRAMES
) -> Played:
    """Plays one episode, in one compiled call.

    Args:
        env: the environment.
        act: from the environment, an observation, a carry and a key to an action and the next carry.
        key: of everything random in it.
        before: a state of the environment, after which this episode begins; None for a first episode.
        carry: at the beginning.
        max_steps: where it is cut, if the environment's time limit does not come first.
    """
    limit = max_steps if env.time_limit is None else min(max_steps, env.time_limit)
    walked = _walk(arrays_on_device(env), act, key, before, carry, limit)
    states, first, actions, said, over = jax.device_get(walked)
    length = int(np.argmax(over)) + 1 if over.any() else limit
    actions, said = jax.tree.map(lambda leaf: leaf[:length], (actions, said))
    return Played(jax.tree.map(lambda leaf: leaf[: length + 1], states), actions, said, first)


@eqx.filter_jit
def _walk(env: Env, act: Act, key: PRNGKeyArray, before: Any, carry: Any, limit: int) -> Any:
    """Takes `limit` steps, also beyond an episode's end: returns what `Played` holds, and which of the steps end it."""
    reset_key, walk_key = jax.random.split(key)
    arrays, structure = partition_env(env)
    restart = partial(env_kernel(restart_env, structure), arrays)
    begun, first = kernel(env.reset)(reset_key) if before is None else restart(reset_key, before)
    move = partial(env_kernel(step_env, structure), arrays)

    def step(now: Any, i: Array) -> Any:
        state, obs, carry = now
        act_key, env_key = jax.random.split(jax.random.fold_in(walk_key, i))
        action, carry = act(env, obs, carry, act_key)
        state, timestep = move(env_key, state, action)
        over = timestep.terminated | timestep.truncated
        return (state, timestep.obs, carry), (state, action, timestep, over)

    _, (states, actions, said, over) = jax.lax.scan(step, (begun, first.obs, carry), jnp.arange(limit))
    states = jax.tree.map(lambda one, more: jnp.concatenate([one[None], more]), begun, states)
    return states, first, actions, said, over


def policy_film(env: Env, policy: Callable[[Any, Any], Any], key: PRNGKeyArray, name: str, max_steps: int) -> Film:
    """Films one episode of what a function does: from an observation and a key to an action.

    Raises:
        ConfigError: if it gives what is no action of the environment.
    """
    check_takes("policy", policy, ("obs", "key"))
    if isinstance(env, HostEnv):
        checked = lambda obs, key: _as_action(policy(obs, key), env.action_space)  # noqa: E731
        return host_film(env, *policy_on_host(env, checked, key), name, max_steps, DRAWING_SECONDS)

    def act(env: Env, obs: Any, carry: Any, key: PRNGKeyArray) -> Any:
        return _as_action(policy(obs, key), env.action_space), carry

    played = play(env, act, key, max_steps=max_steps)
    if isinstance(env.action_space, Discrete | MultiDiscrete):  # of boxes the environment takes the nearest
        for action in np.unique(played.actions, axis=0):
            if not env.action_space.contains(action):
                raise ConfigError("policy", action.tolist(), f"the action space is {env.action_space}")
    return film(env, played, name)


def random_policy(space: Space) -> Callable[[Any, PRNGKeyArray], PyTree[Array]]:
    """Returns the policy that draws any action of a space, of those that are legal where the observation has a mask."""

    def choose(obs: Any, key: PRNGKeyArray) -> PyTree[Array]:
        counts = counts_of(space)
        if counts is None or legal_actions(obs, counts) is None:
            return space.sample(key)
        one = isinstance(counts, int)
        uniform = Categorical(jnp.zeros(counts)) if one else MultiCategorical(jnp.zeros(sum(counts)), counts)
        return legal_only(uniform, obs).sample(key).astype(element_like(space).dtype)

    return choose


def _as_action(given: Any, space: Space) -> PyTree[Array]:
    """Returns an action of the space; refuses, when traced, another shape, and fractions for whole numbers."""
    if not is_like_action(given, space):
        raise ConfigError("policy", words(given), f"it should give an action of {shorten(space)}")
    return jax.tree.map(lambda leaf, like: jnp.asarray(leaf, like.dtype), given, element_like(space))


def film(env: Env, played: Played, name: str = "") -> Film:
    """Makes the film of an episode; in three dimensions where the environment is. States that are no numbers end it.

    A wrapper's film is of the innermost environment, a picture for each of the wrapper's steps.
    """
    each, (env, played) = steps_per_action(env), _unwrapped(env, played)
    if not isinstance(env, Drawable3d):
        return _flat_film(env, _cut_at_divergence(played), name, each)
    values = _values(env, played)
    positions, quaternions = jax.device_get(jax.vmap(kernel(env.poses))(jax.device_put(played.states)))
    finite = np.isfinite(positions).all(axis=(1, 2)) & np.isfinite(quaternions).all(axis=(1, 2))
    count = len(positions) if np.all(finite) else max(1, int(np.argmin(finite)))
    contacts = _contacts(env, played)
    return Trajectory3d(
        env.body3d(),
        positions[:count],
        quaternions[:count],
        each * float(np.mean(env.dt)),
        {name: value[:count] for name, value in values.items()},
        None if contacts is None else Contacts3d(contacts.points[:count], contacts.forces[:count]),
        name,
    )


def _unwrapped(env: Env, played: Played) -> tuple[Env, Played]:
    """Returns the innermost environment, and what it was given and was in."""
    if not isinstance(env, Wrapper):
        return env, played
    actions = jax.device_get(jax.vmap(partial(unwrapped_action, env))(jax.device_put(played.actions)))
    return unwrapped(env), played._replace(states=unwrapped_state(env, played.states), actions=actions)


def _flat_film(env: Any, played: Played, name: str, each: int) -> Trajectory2d:
    """Makes the film of an episode whose pictures are `each` steps of the environment from one another."""
    values = _values(env, played)
    scenes = _scenes(env, played.states, _length(played) + 1)
    values = {name: value[: len(scenes)] for name, value in values.items()}
    return Trajectory2d(scenes, each * float(np.mean(env.dt)) if isinstance(env, Timed) else None, values, name)


def _scenes(env: Any, states: Any, count: int) -> tuple[Scene, ...]:
    """Draws the states [count, ...], each different one once: an agent that knows no way out often stands still."""
    drawn: dict[tuple[bytes, ...], Scene] = {}
    scenes, until = [], time.monotonic() + DRAWING_SECONDS
    for i in range(count):
        if scenes and time.monotonic() > until:
            warn_early_end(i, DRAWING_SECONDS)
            break
        bits = tuple(leaf[i].tobytes() for leaf in jax.tree.leaves(states))
        if bits not in drawn:
            drawn[bits] = env.scene(_frame(states, i))
        scenes.append(drawn[bits])
    return tuple(scenes)


def _cut_at_divergence(played: Played) -> Played:
    """Cuts the episode before the first state in which a number is no longer finite."""
    floats = (leaf for leaf in jax.tree.leaves(played.states) if np.issubdtype(leaf.dtype, np.floating))
    finite = np.ones(_length(played) + 1, bool)
    for leaf in floats:
        finite &= (np.isfinite(leaf) | ~np.isfinite(leaf[:1])).reshape(len(leaf), -1).all(axis=1)
    if finite.all():
        return played
    count = int(np.argmin(finite))  # at least one, as the first counts as finite
    states = jax.tree.map(lambda leaf: leaf[:count], played.states)
    actions, said = jax.tree.map(lambda leaf: leaf[: count - 1], (played.actions, played.said))
    return Played(states, actions, said, played.first)


def _contacts(env: Env, played: Played) -> Contacts3d | None:
    """Returns contacts under the action that was taken in each state; in the last state, under the action before."""
    if not isinstance(env, Touching3d) or not _length(played):
        return None
    actions = jax.tree.map(lambda leaf: np.concatenate([leaf, leaf[-1:]]), played.actions)
    found = jax.vmap(kernel(env.contacts3d))(*jax.device_put((played.states, actions)))
    return Contacts3d(*jax.device_get(found))


def _values(env: Env, played: Played) -> dict[str, np.ndarray]:
    """Returns reward, return, scalars of the info, an action that is one number, and what the environment reads off."""
    rewards = np.asarray(played.said.reward, np.float64)
    values = {"reward": np.append(np.nan, rewards), "return": np.append(0.0, np.cumsum(rewards))}
    first = _scalars(jax.tree.map(lambda leaf: np.asarray(leaf)[None], played.first.info))
    told = _scalars(played.said.info)
    for name, value in told.items():
        shown = f"info.{name}" if name in OWN_VALUES else name
        while shown != name and shown in told:
            shown = f"info.{shown}"
        values[shown] = np.append(first.get(name, np.nan), value)
    action = jax.tree.leaves(played.actions)
    if len(action) == 1 and _length(played) and action[0].size == _length(played):
        values["action"] = np.append(action[0].reshape(-1).astype(np.float64), np.nan)
    if isinstance(env, Readable):
        names: list[str] = []  # in their own order: compiled functions sort them
        jax.eval_shape(lambda state: names.extend(env.readings(state)), _frame(played.states, 0))
        read = jax.device_get(jax.vmap(kernel(env.readings))(jax.device_put(played.states)))
        values |= {name: np.asarray(read[name], np.float64) for name in names}
    else:
        values |= {n: v for n, v in _scalars(played.states, floats=True).items() if n not in values}
    return values


def _scalars(tree: Any, *, floats: bool = False) -> dict[str, np.ndarray]:
    """Returns the scalars of a stacked tree, [T] each, by the last name on their path; of two of a name by the path."""
    kinds = "f" if floats else "fiu"
    found = [
        (path, name, leaf.astype(np.float64))
        for (path, leaf), (name, _) in zip(jax.tree_util.tree_leaves_with_path(tree), named_parts(tree), strict=True)
        if path and isinstance(leaf, np.ndarray) and leaf.ndim == 1 and leaf.dtype.kind in kinds
    ]
    last = [str(getattr(path[-1], "name", getattr(path[-1], "key", path[-1]))) for path, _, _ in found]
    return {short if last.count(short) == 1 else name: leaf for short, (_, name, leaf) in zip(last, found, strict=True)}


def _length(played: Played) -> int:
    """Counts the steps of the episode."""
    return len(played.said.reward)


def _frame(stacked: Any, i: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[i, ...], stacked)

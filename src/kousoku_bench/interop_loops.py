"""Environments of JAX libraries under random actions, each by its library's own means: vmap and its own auto-reset.

Actions are drawn as beside them in ours: one that the mask allows where a mask is observed, else any.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key, PRNGKeyArray, PyTree

from kousoku.core.action_mask import ACTION_MASK
from kousoku.core.spaces import Discrete
from kousoku.ops.exploration import pick

Keys = Key[Array, " N"]


@dataclass(frozen=True)
class Loop:
    """A way to run N environments.

    Attributes:
        start: keys [N] -> what is carried.
        run: (how many steps, keys [N], what is carried) -> what is carried then.
    """

    start: Callable[[Keys], Any]
    run: Callable[[int, Keys, Any], Any]


def stepped(start: Callable[[Keys], Any], step: Callable[[Any, Keys], Any]) -> Loop:
    """Returns the loop that scans over `step`: (what is carried, keys [N]) -> what is carried."""

    def run(steps: int, keys: Keys, carry: Any) -> Any:
        each = jax.vmap(lambda key: jax.random.split(key, steps), out_axes=1)(keys)
        return jax.lax.scan(lambda carry, now: (step(carry, now), None), carry, each)[0]

    return Loop(start, run)


def random_action(space: Any, obs: Any, key: PRNGKeyArray) -> PyTree[Array]:
    """Draws an action; where a mask says what is allowed, each of those with the same probability."""
    mask = obs.get(ACTION_MASK) if isinstance(obs, dict) else None
    if mask is None or not isinstance(space, Discrete) or mask.shape != (space.n,):
        return space.sample(key)
    return random_allowed(mask, key)


def random_allowed(mask: Array, key: PRNGKeyArray) -> Array:
    """Draws one of the actions that a mask [A] allows; the last of all where it allows none."""
    return jnp.minimum(pick(mask, jax.random.bits(key, (), jnp.uint32)), mask.shape[0] - 1)


def opponent(obs: Array, mask: Array, key: Array) -> Array:
    """Draws an allowed action for the other player of a game of Pgx's, as for the first."""
    del obs
    return random_allowed(mask, jax.random.wrap_key_data(key))


def own_loop(library: str, id: str, env: Any) -> Loop:
    """Returns how a library itself runs an environment.

    Args:
        library: one of `LOOPS`.
        id: the library's.
        env: the environment as ours, whose spaces say what actions there are.
    """
    return LOOPS[library](id, env)


def _one_by_one(
    start: Callable[[Array], Any], step: Callable[[Any, Array, Array], Any], act: Callable[[Any, PRNGKeyArray], Any]
) -> Loop:
    """Returns the loop over functions of one environment, with the raw keys that these take.

    Args:
        start: a raw key -> what is carried.
        step: (what is carried, action, raw key) -> what is carried.
        act: (what is carried, a key) -> action.
    """

    def next(carry: Any, key: PRNGKeyArray) -> Any:
        action_key, step_key = jax.random.split(key)
        return step(carry, act(carry, action_key), jax.random.key_data(step_key))

    return stepped(jax.vmap(lambda key: start(jax.random.key_data(key))), jax.vmap(next))


def _gymnax(id: str, env: Any) -> Loop:
    theirs, params = importlib.import_module("gymnax").make(id)
    return _of_gymnax(theirs, params, env)


def _craftax(id: str, env: Any) -> Loop:
    theirs = importlib.import_module("craftax.craftax_env").make_craftax_env_from_name(id, auto_reset=True)
    return _of_gymnax(theirs, theirs.default_params, env)


def _of_gymnax(theirs: Any, params: Any, env: Any) -> Loop:
    """Returns the loop of gymnax's protocol; observation, state and reward are carried."""

    def step(carry: Any, action: Array, key: Array) -> Any:
        obs, state, reward, _, _ = theirs.step(key, carry[1], action, params)
        return obs, state, carry[2] + reward

    def start(key: Array) -> Any:
        return *theirs.reset(key, params), jnp.float32(0.0)

    return _one_by_one(start, step, lambda carry, key: env.action_space.sample(key))


def _brax(id: str, env: Any) -> Loop:
    wrap = importlib.import_module("brax.envs.wrappers.training").wrap
    return _of_brax(wrap(env.theirs.it, episode_length=env.time_limit), env)


def _playground(id: str, env: Any) -> Loop:
    wrap = importlib.import_module("mujoco_playground").wrapper.wrap_for_brax_training
    return _of_brax(wrap(env.theirs.it, episode_length=env.time_limit), env)


def _of_brax(theirs: Any, env: Any) -> Loop:
    """Returns the loop of Brax's protocol, whose wrappers are of many environments."""

    def step(state: Any, keys: Keys) -> Any:
        return theirs.step(state, jax.vmap(env.action_space.sample)(keys))

    return stepped(lambda keys: theirs.reset(jax.random.key_data(keys)), step)


def _jumanji(id: str, env: Any) -> Loop:
    theirs = importlib.import_module("jumanji.wrappers").AutoResetWrapper(env.theirs.it)
    spec = theirs.action_spec

    def act(carry: Any, key: PRNGKeyArray) -> Array:
        mask = getattr(carry[1].observation, ACTION_MASK, None)
        flat = {} if mask is None or env.nvec is None else {ACTION_MASK: mask.reshape(-1)}
        seen = flat or ({} if mask is None else {ACTION_MASK: mask})
        action = random_action(env.action_space, seen, key)
        if env.nvec is not None:
            action = jnp.stack(jnp.unravel_index(action, env.nvec))
        return jnp.reshape(action, spec.shape).astype(spec.dtype)

    return _one_by_one(theirs.reset, lambda carry, action, key: theirs.step(carry[0], action), act)


def _navix(id: str, env: Any) -> Loop:
    theirs = env.theirs.it
    act = lambda timestep, key: env.action_space.sample(key)  # noqa: E731
    return _one_by_one(theirs.reset, lambda timestep, action, key: theirs.step(timestep, action), act)


def _xminigrid(id: str, env: Any) -> Loop:
    theirs = importlib.import_module("xminigrid.wrappers").GymAutoResetWrapper(env.theirs.it)
    act = lambda timestep, key: env.action_space.sample(key)  # noqa: E731
    step = lambda timestep, action, key: theirs.step(env.params, timestep, action)  # noqa: E731
    return _one_by_one(partial(theirs.reset, env.params), step, act)


def _pgx(id: str, env: Any) -> Loop:
    """Returns the loop of Pgx, in which every player moves once in a step."""
    theirs = env.theirs.it
    move = importlib.import_module("pgx.experimental.wrappers").auto_reset(theirs.step, theirs.init)
    players = theirs.num_players

    def step(state: Any, key: PRNGKeyArray) -> Any:
        for own in jax.random.split(key, players):
            action_key, move_key = jax.random.split(own)
            state = move(state, random_allowed(state.legal_action_mask, action_key), jax.random.key_data(move_key))
        return state

    return stepped(jax.vmap(lambda key: theirs.init(jax.random.key_data(key))), jax.vmap(step))


LOOPS: dict[str, Callable[[str, Any], Loop]] = {
    "gymnax": _gymnax,
    "craftax": _craftax,
    "brax": _brax,
    "playground": _playground,
    "jumanji": _jumanji,
    "pgx": _pgx,
    "navix": _navix,
    "xminigrid": _xminigrid,
}

"""One environment as gymnax has them: pure functions that begin the next episode by themselves."""

from __future__ import annotations

import importlib.util
import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray, PyTree

from ...collectors.env_kernel import env_kernel, partition_env
from ...collectors.slot import EnvSlot, advance_clipped, begin, take_step
from ...core.env import Env
from ...core.errors import ConfigError, check_count, check_keys, error_text
from ...core.spaces import LARGEST, Box, Dict, Discrete, MultiDiscrete, Space
from ...core.timestep import Transition
from ...nn import clip_to
from .actions import action_reader
from .limits import with_limit_inside
from .stepper import made
from .stepping import as_key

LIMIT = "max_steps_in_episode"


class GymnaxParams(eqx.Module):
    """The environment as the parameters that gymnax's functions take: its numbers are leaves.

    Attributes:
        env: the environment.
    """

    env: Env

    @property
    def max_steps_in_episode(self) -> int:
        """The time limit; without one, the largest int32."""
        return LARGEST if self.env.time_limit is None else self.env.time_limit

    def replace(self, **changes: Any) -> GymnaxParams:
        """Returns parameters of another environment (`env`), or with another time limit (`max_steps_in_episode`).

        Raises:
            ConfigError: for other names, what is no time limit, or an environment that cannot have it: see
                `with_limit_inside`.
        """
        check_keys("parameter", changes, ("env", LIMIT))
        env = made(changes["env"]) if "env" in changes else self.env
        if LIMIT not in changes:
            return GymnaxParams(env)
        limit = check_count(LIMIT, changes[LIMIT], high=LARGEST)
        return GymnaxParams(with_limit_inside(LIMIT, env, limit))


class GymnaxLike:
    """An environment of ours with gymnax's methods; `to_gymnax` makes it.

    `step` begins the next episode where one ends: `done` is `terminated | truncated`, and `info` has both, the
    `discount` 1 - terminated, and `next_obs`, what the action led to, also where `obs` is a new episode's. Under
    `jax.vmap` a step is one kernel.
    """

    def __init__(self, env: Env, name: str) -> None:
        self.env, self.name = env, name
        self._actions = action_reader(env.action_space)

    @property
    def default_params(self) -> GymnaxParams:
        """The environment itself."""
        return GymnaxParams(self.env)

    @property
    def num_actions(self) -> int:
        """How many actions there are, or how many numbers an action has."""
        space = self.env.action_space
        return space.n if isinstance(space, Discrete) else sum(math.prod(part.shape) for part in _parts(space))

    def observation_space(self, params: GymnaxParams | None = None) -> Any:
        """Returns where observations lie, in gymnax's class where gymnax is installed."""
        return _space((params or self.default_params).env.observation_space)

    def action_space(self, params: GymnaxParams | None = None) -> Any:
        """Returns where actions lie, in gymnax's class where gymnax is installed."""
        return _space((params or self.default_params).env.action_space)

    def reset(self, key: PRNGKeyArray, params: GymnaxParams | None = None) -> tuple[PyTree[Array], EnvSlot]:
        """Begins an episode: returns (obs, state)."""
        slot = self._call(begin, params, as_key("key", key))
        return slot.obs, slot

    def step(
        self, key: PRNGKeyArray, state: EnvSlot, action: PyTree[Array], params: GymnaxParams | None = None
    ) -> tuple[PyTree[Array], EnvSlot, Array, Array, dict[str, Any]]:
        """Takes one action, and begins the next episode if that ends one: returns (obs, state, reward, done, info).

        Raises:
            ConfigError: for an action of another shape, or what is no key.
        """
        slot, made, end = self._taken(advance_clipped, key, state, action, params)
        return slot.obs, slot, made.reward, end.ended, _info(made)

    def reset_env(self, key: PRNGKeyArray, params: GymnaxParams | None = None) -> tuple[PyTree[Array], EnvSlot]:
        """Begins an episode, as `reset`."""
        return self.reset(key, params)

    def step_env(
        self, key: PRNGKeyArray, state: EnvSlot, action: PyTree[Array], params: GymnaxParams | None = None
    ) -> tuple[PyTree[Array], EnvSlot, Array, Array, dict[str, Any]]:
        """Takes one action and stays where it led: returns what `step` does, and raises what it does."""
        slot, made, end = self._taken(_take_step_clipped, key, state, action, params)
        return slot.obs, slot, made.reward, end.ended, _info(made)

    def _taken(self, function: Any, key: Any, state: EnvSlot, action: Any, params: GymnaxParams | None) -> Any:
        as_our_key = as_key("key", key)
        env = (params or self.default_params).env
        actions = self._actions if env is self.env else action_reader(env.action_space)
        return self._call(function, params, state, actions.in_jax(action), as_our_key)

    def _call(self, function: Any, params: GymnaxParams | None, *args: Any) -> Any:
        arrays, structure = partition_env((params or self.default_params).env)
        return env_kernel(function, structure)(arrays, *args)


def _take_step_clipped(env: Env, slot: EnvSlot, action: PyTree[Array], key: PRNGKeyArray) -> Any:
    """Takes a step under an action that is clipped to its bounds."""
    return take_step(env, slot, clip_to(env.action_space, action), key)


def to_gymnax(env: str | Env, **options: Any) -> GymnaxLike:
    """Makes an object with gymnax's methods of an id or an environment of ours; gymnax is not needed.

    Args:
        env: an id, or an environment.
        options: of an environment by id; `max_episode_steps` is a time limit in the place of its own.

    Raises:
        ConfigError: for an unknown id or option.

    Examples:
        >>> import jax
        >>> env = to_gymnax("CartPole-v1")
        >>> keys = jax.random.split(jax.random.key(0), 8)
        >>> obs, state = jax.vmap(env.reset, (0, None))(keys, env.default_params)
        >>> step = jax.vmap(env.step, (0, 0, 0, None))
        >>> obs, state, reward, done, info = step(keys, state, jnp.ones(8, jnp.int32), env.default_params)
        >>> obs.shape, float(reward.sum())
        ((8, 4), 8.0)
    """
    return GymnaxLike(made(env, **options), env if isinstance(env, str) else type(env).__name__)


def _parts(space: Space) -> list[Any]:
    """Returns the spaces that a Dict holds, or the space itself."""
    return [part for inner in space.spaces.values() for part in _parts(inner)] if isinstance(space, Dict) else [space]


def _info(made: Transition) -> dict[str, Any]:
    discount = 1.0 - made.terminated.astype(jnp.float32)
    flags = {"terminated": made.terminated, "truncated": made.truncated}
    return {"discount": discount, **flags, "next_obs": made.next_obs}


def _space(space: Space) -> Any:
    """Returns a space in gymnax's class, which its users test for; ours where gymnax is absent.

    Raises:
        ConfigError: for vectors of whole numbers, which gymnax has no space for, or a gymnax that cannot be imported.
    """
    if importlib.util.find_spec("gymnax") is None:
        return space
    try:
        spaces = importlib.import_module("gymnax.environments.spaces")
    except Exception as error:  # what another package raises when it does not fit to what else is installed
        fix = f"gymnax is installed and cannot be imported ({error_text(error)}); 0.0.9 or later works, or none"
        raise ConfigError("space", "to_gymnax", fix) from error
    match space:
        case Discrete():
            return spaces.Discrete(space.n)
        case Box():
            low, high = (
                jnp.broadcast_to(jnp.asarray(end, space.dtype), space.shape) for end in (space.low, space.high)
            )
            return spaces.Box(low, high, space.shape, space.dtype)
        case MultiDiscrete():
            raise ConfigError("space", space, "gymnax has no such space: use the one of the environment itself")
        case _:
            return spaces.Dict({name: _space(part) for name, part in space.spaces.items()})

"""Environments of gymnax, and of all that keep its protocol: `reset_env`, `step_env` and parameters."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ...core.env import Env, EnvSpec
from ...core.errors import ConfigError, check_count, check_finite, check_flag, check_keys, is_number
from ...core.promotion import their_promotion
from ...core.scene import Scene
from ..out.gymnax_like import GymnaxLike
from ..out.limits import with_limit_inside
from .foreign import (
    NEVER,
    Foreign,
    ForeignEnv,
    call,
    check_id,
    checked_limit,
    imported,
    inner_name,
    recipe,
    shapes_of,
)
from .pictures.gymnax import picture_of
from .spaces import acted, observed

LIBRARY, LOWEST = "gymnax", "0.0.9"
LIMITS = ("max_steps_in_episode", "max_timesteps")
"""The parameter that holds the time limit: gymnax's and Craftax's."""
READ_LIMIT = ("DiscountingChain-bsuite",)
"""Environments of gymnax's that observe how much of the limit has passed."""


class GymnaxEnv(ForeignEnv):
    """An environment with gymnax's protocol.

    Gymnax up to 0.0 says `done` for the end of the task as for the time limit, and notes it in the state. Here the task
    has ended if a step under parameters without a limit says so. What is observed and rewarded is that of a step under
    the limit, where it may read it (a clock in the observation).

    Attributes:
        params: its parameters; numbers that a program takes, so that they may differ between environments.
        theirs, their_spec, time_limit: see `ForeignEnv`.
        reads_limit: whether what is observed or rewarded may depend on the limit.
    """

    theirs: Foreign = eqx.field(static=True)
    their_spec: EnvSpec
    time_limit: int | None = eqx.field(static=True)
    params: Any
    reads_limit: bool = eqx.field(static=True)

    def begin(self, key: Array) -> tuple[Any, PyTree[Array]]:
        obs, state = self.theirs.it.reset_env(key, self.params)
        return state, obs

    def take(self, key: Array, state: Any, action: Any) -> tuple[Any, PyTree[Array], Array, Any, Any]:
        step, unlimited = self.theirs.it.step_env, without_limit(self.params)
        obs, after, reward, done, _ = step(key, state, action, unlimited)
        if self.reads_limit and unlimited is not self.params:
            obs, _, reward, _, _ = step(key, state, action, self.params)
        return after, obs, reward, done, False


class DrawnGymnaxEnv(GymnaxEnv):
    """One of gymnax's whose states can be drawn."""

    kind_name: ClassVar[str] = "GymnaxEnv"

    def scene(self, state: Any) -> Scene:
        """Draws a state; see `pictures.gymnax`."""
        picture = picture_of(self.theirs.it)
        assert picture is not None  # `wrapped`
        with their_promotion():
            return picture(self.theirs.it, self.params, jax.tree.map(jnp.asarray, state))


def without_log(env: Any) -> Any:
    """Returns an environment without gymnax's LogWrapper, which changes nothing but its info.

    Raises:
        ConfigError: for what has not gymnax's methods, or another wrapper whose `reset_env` and `step_env` are those of
            the environment inside, so that what it does would be lost.
    """
    while type(env).__name__ == "LogWrapper":
        env = env._env
    for name in ("reset_env", "step_env", "observation_space", "action_space"):
        if not callable(getattr(env, name, None)):
            fix = f"it has no method {name}; give an environment with gymnax's protocol, and (env, params) as two"
            raise ConfigError("env", type(env).__name__, fix)
    if inner_name(env) is not None and not hasattr(type(env), "step_env"):
        fix = "its step_env is that of the environment inside, which goes past it: give that, and use kousoku.wrappers"
        raise ConfigError("env", type(env).__name__, fix)
    return env


def limit_name(params: Any) -> str | None:
    """Returns the name of the parameter that holds the time limit; None if there is none."""
    return next((name for name in LIMITS if hasattr(params, name)), None)


def check_params(params: Any, own: Any) -> None:
    """Refuses parameters that lack what an environment's own have, as those of another environment do.

    Raises:
        ConfigError: naming the first that is missing.
    """
    known = [field.name for field in dataclasses.fields(own)] if dataclasses.is_dataclass(own) else []
    missing = next((name for name in known if not hasattr(params, name)), None)
    if missing is not None or limit_name(params) != limit_name(own):
        lack = "" if missing is None else f"it has no {missing}; "
        raise ConfigError("params", params, f"{lack}give the environment's own, such as its default_params")


def without_limit(params: Any) -> Any:
    """Returns parameters under which no episode ends by the clock."""
    name = limit_name(params)
    if name is None:
        return params
    held = getattr(params, name)
    never = type(held)(NEVER) if isinstance(held, int | float) else jnp.full_like(held, NEVER)
    return params.replace(**{name: never})


def from_gymnax(env: Any, params: Any = None, *, time_limit: int | None = None, reads_limit: bool = True) -> Env:
    """Makes an environment of one with gymnax's protocol; what `kousoku.to_gymnax` made is the one that it was made of.

    Args:
        env: gymnax's, or one with `reset_env(key, params)` and `step_env(key, state, action, params)`.
        params: its parameters; by default `env.default_params`.
        time_limit: steps after which an episode is truncated; by default that of the parameters.
        reads_limit: whether what is observed or rewarded may depend on the limit; without, each step is computed once.

    Raises:
        ConfigError: for what has not these methods, or parameters that are no dataclass with `replace`.
    """
    check_flag("reads_limit", reads_limit)
    bare = without_log(env)
    if isinstance(bare, GymnaxLike):
        return _ours(bare, params, time_limit)
    return wrapped(bare, params, time_limit, None, reads_limit)


def _ours(env: GymnaxLike, params: Any, time_limit: int | None) -> Env:
    """Returns the environment of ours that has gymnax's methods there.

    Raises:
        ConfigError: for parameters that are not its own, or a time limit that it cannot have.
    """
    params = env.default_params if params is None else params
    check_params(params, env.default_params)
    limit = checked_limit(time_limit)
    return params.env if limit is None else with_limit_inside("time_limit", params.env, limit)


@their_promotion()
def wrapped(
    env: Any,
    params: Any,
    time_limit: int | None,
    made_from: str | None,
    reads_limit: bool = True,
    kind: type[GymnaxEnv] | None = None,
) -> GymnaxEnv:
    """Makes an environment of one with gymnax's protocol: see `from_gymnax`.

    Args:
        env, params, time_limit: as there.
        made_from: see `Foreign`.
        reads_limit: see `GymnaxEnv`.
        kind: of what is made; by default one that is drawn as gymnax's of that name, if it is.
    """
    env = without_log(env)
    params = env.default_params if params is None else params
    check_params(params, getattr(env, "default_params", params))
    name = limit_name(params)
    if name is not None and time_limit is not None:
        params = params.replace(**{name: type(getattr(params, name))(checked_limit(time_limit))})
    if name is not None:
        time_limit = int(getattr(params, name))
    obs, _ = shapes_of(env, lambda key: env.reset_env(key, params))
    spaces = observed(obs, env.observation_space(params)), acted(env.action_space(params))
    limit = checked_limit(time_limit)
    kind = kind or (DrawnGymnaxEnv if picture_of(env) else GymnaxEnv)
    return kind(
        theirs=Foreign(env, made_from),
        their_spec=EnvSpec(*spaces, limit),
        time_limit=limit,
        params=params,
        reads_limit=reads_limit,
    )


def ids() -> list[str]:
    """Returns the ids of all environments of the installed gymnax."""
    return list(_gymnax().registered_envs)


@their_promotion()
def numbers(id: str) -> dict[str, float]:
    """Returns the parameters of an environment that are numbers, by name, with their values."""
    check_id(LIBRARY, id, ids())
    return numbers_of(_made(id)[1])


def numbers_of(params: Any) -> dict[str, float]:
    """Returns the parameters that are numbers, by name; the time limit is an option of ours."""
    held = {field.name: getattr(params, field.name) for field in dataclasses.fields(params)}
    return {name: value for name, value in held.items() if is_number(value) and name not in LIMITS}


@their_promotion()
def make(id: str, *, time_limit: int | None = None, **options: Any) -> GymnaxEnv:
    """Makes one of gymnax's environments by its id.

    Args:
        id: as of `gymnax.make`.
        time_limit: steps after which an episode is truncated; by default gymnax's.
        options: parameters by name, and arguments of the environment's class.

    Raises:
        ConfigError: for an unknown id or option, or if gymnax is not installed.
    """
    check_id(LIBRARY, id, ids())
    params = _made(id)[1]
    fields = [field.name for field in dataclasses.fields(params)]
    own = {name: value for name, value in options.items() if name not in fields}
    check_own(id, own, fields)
    env, params = _made(id, **own)
    params = replaced(params, {name: value for name, value in options.items() if name in fields})
    return wrapped(env, params, time_limit, recipe(LIBRARY, id, own), reads_limit=id in READ_LIMIT)


def replaced(params: Any, changes: dict[str, Any]) -> Any:
    """Returns parameters with other values.

    Raises:
        ConfigError: for what is no number where one was.
    """
    for name, value in changes.items():
        held = getattr(params, name)
        if name in LIMITS:
            check_count(name, value, high=NEVER)
        elif is_number(held):
            check_finite(name, value)
        elif isinstance(held, bool) and not hasattr(value, "dtype"):
            check_flag(name, value)
    return params.replace(**changes)


def check_own(id: str, own: dict[str, Any], fields: list[str]) -> None:
    """Refuses options that are neither parameters nor arguments of the environment's class.

    Raises:
        ConfigError: with the nearest name.
    """
    if own:
        taken = inspect.signature(type(_made(id)[0])).parameters
        check_keys(f"option of {LIBRARY}:{id}", own, [*fields, *taken, "time_limit"])


def _made(id: str, **own: Any) -> tuple[Any, Any]:
    """Returns an environment of gymnax's with its parameters.

    Raises:
        ConfigError: with what gymnax says, such as that it cannot download what it needs.
    """
    return call(LIBRARY, id, lambda **own: _gymnax().make(id, **own), own)


def _gymnax() -> Any:
    return imported(LIBRARY, "gymnax", "gymnax", LOWEST)

"""Checks of what a robot's task returns: types and shapes, which are known while a program is traced."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from ...core.errors import ConfigError
from ...core.leaves import kind_words

VECTOR = "return one vector: jnp.concatenate([...]) of vectors, jnp.stack([...]) of numbers"
INFO = "give RobotInfo(), or an eqx.Module of your own with a field `diverged: Any = False`"


def checked(method: str, returned: Any, kind: type, fix: str) -> Any:
    """Returns what a method of the task returned.

    Raises:
        ConfigError: if it is of another kind, with the fix.
    """
    if not isinstance(returned, kind):
        raise ConfigError(method, kind_words(returned), fix)
    return returned


def check_start(qpos: Any, qvel: Any, numbers: Any, nq: int, nv: int) -> None:
    """Refuses positions or velocities that are no arrays of a model's shapes, and numbers without names.

    Raises:
        ConfigError: naming what is wrong.
    """
    for name, value, size in (("start.qpos", qpos, nq), ("start.qvel", qvel, nv)):
        if not eqx.is_array_like(value) or not hasattr(value, "shape"):
            raise ConfigError(name, kind_words(value), f"give an array of {size} numbers: jnp.array(..., jnp.float32)")
        if value.shape != (size,):
            raise ConfigError(name, kind_words(value), f"this model takes {size} numbers, an array of shape [{size}]")
    checked("start.numbers", numbers, dict, "give a dict of arrays, by the names of mjModel's fields")


def check_observation(obs: Any) -> Array:
    """Returns what `observe` returned as an array.

    Raises:
        ConfigError: if it is no vector.
    """
    if not hasattr(obs, "shape") or not eqx.is_array_like(obs):
        raise ConfigError("observe", kind_words(obs), VECTOR)
    if len(obs.shape) != 1:
        fix = "return one vector, an array of shape [n]; jnp.ravel(...) makes one"
        raise ConfigError("observe", kind_words(obs), fix)
    return jnp.asarray(obs)


def check_outcome(reward: Any, terminated: Any, info: Any) -> None:
    """Refuses a reward or a flag that is no scalar, and an info without a flag `diverged` or with other than numbers.

    Raises:
        ConfigError: naming what is wrong.
    """
    if not eqx.is_array_like(reward) or jnp.shape(reward) != ():
        raise ConfigError("outcome.reward", kind_words(reward), "give one number, an array of shape []")
    if not eqx.is_array_like(terminated) or jnp.shape(terminated) != () or jnp.result_type(terminated) != jnp.bool_:
        fix = "give one flag: a comparison of numbers, or False"
        raise ConfigError("outcome.terminated", kind_words(terminated), fix)
    if not hasattr(info, "diverged"):
        raise ConfigError("outcome.info", kind_words(info), f"it has no flag `diverged`: {INFO}")
    leaves = jax.tree_util.tree_flatten_with_path(info)[0]
    for path, leaf in leaves:
        if not eqx.is_array_like(leaf):
            raise ConfigError(f"outcome.info{jax.tree_util.keystr(path)}", kind_words(leaf), f"give numbers; {INFO}")
    if not any(leaf is info.diverged for _, leaf in leaves):
        raise ConfigError("outcome.info.diverged", kind_words(info.diverged), f"it is no field to fill in: {INFO}")

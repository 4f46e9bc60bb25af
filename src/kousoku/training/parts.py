"""An environment in two parts: arrays that programs take, and a structure that they are compiled for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ..compiler import Kernel, kernel
from ..core.env import Env
from ..core.timestep import Timestep


@dataclass(frozen=True)
class Structure:
    """A tree without its arrays, for `jax.jit` to compare and hash: trees may hold dicts, which have no hash.

    Attributes:
        leaves: what is left of the leaves.
        shape: how they lie in the tree.
    """

    leaves: tuple[Any, ...]
    shape: Any

    def with_arrays(self, arrays: Any) -> Any:
        """The whole tree."""
        return eqx.combine(arrays, jax.tree.unflatten(self.shape, self.leaves))


def env_parts(env: Env) -> tuple[Any, Structure]:
    """(arrays and numbers on the device, structure)."""
    numbers, structure = eqx.partition(env, lambda x: eqx.is_array_like(x) and not isinstance(x, (str, bytes)))
    leaves, shape = jax.tree.flatten(structure)
    return jax.tree.map(jnp.asarray, numbers), Structure(tuple(leaves), shape)


def stepped(env: Env, key: PRNGKeyArray, state: Any, action: Any) -> tuple[Any, Timestep]:
    """A step, for `on_parts`."""
    return env.step(key, state, action)


def restarted(env: Env, key: PRNGKeyArray, state: Any) -> tuple[Any, Timestep]:
    """A restart, for `on_parts`."""
    return env.restart(key, state)


@functools.lru_cache(maxsize=64)
def on_parts(function: Callable[..., Any], structure: Structure) -> Kernel:
    """`function(env, *rest)` as a kernel of the environment's arrays and the rest.

    One for all programs that call the same function of the same environment, so that it is traced once; and of
    arguments alone, so that what it was traced to is known in another process: a robot's step takes seconds to trace.
    """

    def run(arrays: Any, *rest: Any) -> Any:
        return function(structure.with_arrays(arrays), *rest)

    run.__qualname__ = function.__qualname__
    return kernel(run)

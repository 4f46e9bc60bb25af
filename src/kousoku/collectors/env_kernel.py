"""An environment as arrays that programs take and a structure that they are compiled for; its functions as kernels."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray

from ..compiler import Kernel, kernel
from ..core.env import Env
from ..core.env_leaves import is_traced
from ..core.timestep import Timestep
from ..ops.trees import to_device


@dataclass(frozen=True)
class EnvStructure:
    """An environment without its arrays, for `jax.jit` to compare and hash: it may hold dicts, which have no hash.

    Attributes:
        leaves: what is left of the leaves.
        shape: how they lie in the tree.
    """

    leaves: tuple[Any, ...]
    shape: Any

    def with_arrays(self, arrays: Any) -> Any:
        """Returns the whole environment."""
        return eqx.combine(arrays, jax.tree.unflatten(self.shape, self.leaves))


def partition_env(env: Env) -> tuple[Any, EnvStructure]:
    """Returns (arrays and numbers on the device, structure)."""
    numbers, structure = eqx.partition(env, is_traced)
    leaves, shape = jax.tree.flatten(structure)
    return jax.tree.map(to_device, numbers), EnvStructure(tuple(leaves), shape)


def step_env(env: Env, key: PRNGKeyArray, state: Any, action: Any) -> tuple[Any, Timestep]:
    """Takes a step of an environment: a function for `env_kernel`."""
    return env.step(key, state, action)


def restart_env(env: Env, key: PRNGKeyArray, state: Any) -> tuple[Any, Timestep]:
    """Restarts an environment: a function for `env_kernel`."""
    return env.restart(key, state)


@functools.lru_cache(maxsize=64)
def env_kernel(function: Callable[..., Any], structure: EnvStructure) -> Kernel:
    """Returns `function(env, *rest)` as a kernel of the environment's arrays and the rest.

    There is one for all programs that call the same function of the same environment, so that it is traced once; and
    it is a function of arguments alone, so that its trace is known in another process: a robot's step takes seconds to
    trace. The first argument after the environment may be overwritten: it is the slot, of a function that advances one.
    """

    def run(arrays: Any, *rest: Any) -> Any:
        return function(structure.with_arrays(arrays), *rest)

    run.__qualname__ = getattr(function, "__qualname__", type(function).__name__)
    return kernel(run, donate_argnums=1)

"""An environment in two parts: arrays that programs take, and a structure that they are compiled for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..core.env import Env


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

"""Timesteps that environments of every family make."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, PyTree

from ..core.timestep import Timestep


def first_timestep(obs: PyTree[Array]) -> Timestep:
    """Returns the timestep of a reset."""
    return Timestep(obs, jnp.float32(0.0), jnp.array(False), jnp.array(False))


def never() -> Bool[Array, ""]:
    """Returns False, as a flag."""
    return jnp.array(False)

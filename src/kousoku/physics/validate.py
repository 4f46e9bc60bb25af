"""What is given to the engine is of the model's shapes: more numbers would go unseen, fewer end somewhere within."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from ..core.errors import ConfigError
from .model import Model, State


def check_state(model: Model, state: State) -> None:
    """Refuse a state of another model.

    Raises:
        ConfigError: naming the part, its shape and the right one.
    """
    for name, size in (("qpos", model.nq), ("qvel", model.nv), ("act", model.na), ("warmstart", model.nv)):
        check_vector(f"state.{name}", getattr(state, name), size)


def check_vector(name: str, given: Any, size: int) -> None:
    """Refuse what is no vector of so many floating point numbers.

    Raises:
        ConfigError: naming it, its shape and the right one.
    """
    shape, dtype = jnp.shape(given), jnp.result_type(given)
    if shape != (size,):
        raise ConfigError(name, f"shape {list(shape)}", f"this model takes {size} numbers, an array of shape [{size}]")
    if not jnp.issubdtype(dtype, jnp.floating):
        raise ConfigError(name, str(dtype), "give floating point numbers")

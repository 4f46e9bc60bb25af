"""Sets that observations and actions are drawn from.

The names and meanings are Gymnasium's. A space is a frozen value; `sample` is a pure function of a key.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .errors import ConfigError, check_count


class Discrete(eqx.Module):
    """The whole numbers 0 .. n-1, as an int32 scalar.

    Examples:
        >>> space = Discrete(4)
        >>> space.contains(3), space.contains(4), space.contains(1.0)
        (True, False, False)
    """

    n: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        check_count("Discrete.n", self.n)

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.int32)

    def sample(self, key: PRNGKeyArray) -> Array:
        """A uniform element, int32 []."""
        return jax.random.randint(key, (), 0, self.n, jnp.int32)

    def contains(self, x: Any) -> bool:
        """Whether a concrete value is an element."""
        value = np.asarray(x)
        return value.shape == () and np.issubdtype(value.dtype, np.integer) and bool(0 <= value < self.n)


class MultiDiscrete(eqx.Module):
    """Vectors of whole numbers, component i in 0 .. nvec[i]-1, as int32 [len(nvec)]."""

    nvec: tuple[int, ...] = eqx.field(static=True, converter=lambda v: tuple(int(n) for n in v))

    def __check_init__(self) -> None:
        for i, n in enumerate(self.nvec):
            check_count(f"MultiDiscrete.nvec[{i}]", n)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.nvec),)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.int32)

    def sample(self, key: PRNGKeyArray) -> Array:
        """A uniform element, int32 [len(nvec)]."""
        return jax.random.randint(key, self.shape, 0, jnp.asarray(self.nvec, jnp.int32), jnp.int32)

    def contains(self, x: Any) -> bool:
        """Whether a concrete value is an element."""
        value = np.asarray(x)
        if value.shape != self.shape or not np.issubdtype(value.dtype, np.integer):
            return False
        return bool(np.all((value >= 0) & (value < np.asarray(self.nvec))))


class Box(eqx.Module):
    """Arrays of one shape with every entry in [low, high]; a bound may be infinite.

    `sample` is uniform where both bounds are finite, exponential from the finite bound where one is, and normal where
    none is, as in Gymnasium.

    Examples:
        >>> space = Box(-1.0, 1.0, (2,))
        >>> space.contains(np.zeros(2, np.float32)), space.contains(np.zeros(3, np.float32))
        (True, False)
    """

    low: float = eqx.field(static=True)
    high: float = eqx.field(static=True)
    shape: tuple[int, ...] = eqx.field(static=True, default=(), converter=tuple)
    dtype: np.dtype = eqx.field(static=True, default=np.dtype(np.float32), converter=np.dtype)

    def __check_init__(self) -> None:
        if math.isnan(self.low) or math.isnan(self.high) or self.low > self.high:
            raise ConfigError("Box", (self.low, self.high), "use low <= high, both numbers")

    def sample(self, key: PRNGKeyArray) -> Array:
        """A random element, of the space's shape and dtype."""
        if np.issubdtype(self.dtype, np.integer):
            return jax.random.randint(key, self.shape, int(self.low), int(self.high) + 1, self.dtype)
        below, above = math.isfinite(self.low), math.isfinite(self.high)
        if below and above:
            return jax.random.uniform(key, self.shape, self.dtype, self.low, self.high)
        if below:
            return self.low + jax.random.exponential(key, self.shape, self.dtype)
        if above:
            return self.high - jax.random.exponential(key, self.shape, self.dtype)
        return jax.random.normal(key, self.shape, self.dtype)

    def contains(self, x: Any) -> bool:
        """Whether a concrete value is an element; the dtype has to be castable without loss of kind."""
        value = np.asarray(x)
        if value.shape != self.shape or not np.can_cast(value.dtype, self.dtype, "same_kind"):
            return False
        return bool(np.all((value >= self.low) & (value <= self.high)))


class Dict(eqx.Module):
    """Named spaces; an element is a dict with the same names."""

    spaces: dict[str, Any]

    def sample(self, key: PRNGKeyArray) -> dict[str, Any]:
        """A random element, one key for each entry."""
        keys = jax.random.split(key, len(self.spaces))
        return {name: space.sample(k) for (name, space), k in zip(self.spaces.items(), keys, strict=True)}

    def contains(self, x: Any) -> bool:
        """Whether a concrete value is an element."""
        if not isinstance(x, Mapping) or set(x) != set(self.spaces):
            return False
        return all(space.contains(x[name]) for name, space in self.spaces.items())


Space = Discrete | MultiDiscrete | Box | Dict

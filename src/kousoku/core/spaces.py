"""Sets that observations and actions are drawn from.

The names and meanings are Gymnasium's. A space is a frozen value; `sample` is a pure function of a key.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .errors import ConfigError, check_count

LARGEST = 2**31 - 1


def as_array(x: Any) -> np.ndarray:
    """A concrete value as an array; what is none (a ragged list, say) as an array of objects."""
    try:
        return np.asarray(x)
    except ValueError:
        return np.array(None)


def _counts(field: str, values: Iterable[Any], low: int = 1) -> tuple[int, ...]:
    return tuple(check_count(f"{field}[{i}]", n, low=low, high=LARGEST) for i, n in enumerate(values))


class Discrete(eqx.Module):
    """The whole numbers 0 .. n-1, as an int32 scalar.

    Examples:
        >>> space = Discrete(4)
        >>> space.contains(3), space.contains(4), space.contains(1.0)
        (True, False, False)
    """

    n: int = eqx.field(static=True, converter=partial(check_count, "Discrete.n", high=LARGEST))

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
        value = as_array(x)
        return value.shape == () and np.issubdtype(value.dtype, np.integer) and bool(0 <= value < self.n)


class MultiDiscrete(eqx.Module):
    """Vectors of whole numbers, component i in 0 .. nvec[i]-1, as int32 [len(nvec)]."""

    nvec: tuple[int, ...] = eqx.field(static=True, converter=partial(_counts, "MultiDiscrete.nvec"))

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
        value = as_array(x)
        if value.shape != self.shape or not np.issubdtype(value.dtype, np.integer):
            return False
        return bool(np.all((value >= 0) & (value < np.asarray(self.nvec))))


class Box(eqx.Module):
    """Arrays of one shape with every entry in [low, high]; a bound of floating point numbers may be infinite.

    `sample` is uniform where both bounds are finite, exponential from the finite bound where one is, and normal where
    none is, as in Gymnasium.

    Examples:
        >>> space = Box(-1.0, 1.0, (2,))
        >>> space.contains(np.zeros(2, np.float32)), space.contains(np.zeros(3, np.float32))
        (True, False)
    """

    low: float = eqx.field(static=True, converter=float)
    high: float = eqx.field(static=True, converter=float)
    shape: tuple[int, ...] = eqx.field(static=True, default=(), converter=partial(_counts, "Box.shape", low=0))
    dtype: np.dtype = eqx.field(static=True, default=np.dtype(np.float32), converter=np.dtype)

    def __check_init__(self) -> None:
        bounds, kind = (self.low, self.high), self.dtype.kind
        if not (self.low <= self.high and self.low < math.inf and self.high > -math.inf):
            raise ConfigError("Box", bounds, "use low <= high, both numbers")
        if kind not in "iuf":
            raise ConfigError("Box.dtype", self.dtype.name, "use a dtype of whole or floating point numbers")
        if kind == "f":
            largest = float(np.finfo(self.dtype).max)
            if not all(math.isinf(bound) or abs(bound) <= largest for bound in bounds):
                raise ConfigError("Box", bounds, f"use bounds within {largest:g} of 0, as {self.dtype.name} ends there")
        else:
            low, high = max(np.iinfo(self.dtype).min, -LARGEST - 1), min(np.iinfo(self.dtype).max, LARGEST - 1)
            if not all(low <= bound <= high and bound.is_integer() for bound in bounds):
                raise ConfigError("Box", bounds, f"use whole numbers from {low} to {high} for {self.dtype.name}")

    def sample(self, key: PRNGKeyArray) -> Array:
        """A random element, of the space's shape and dtype."""
        if self.dtype.kind in "iu":
            return jax.random.randint(key, self.shape, int(self.low), int(self.high) + 1, self.dtype)
        below, above = math.isfinite(self.low), math.isfinite(self.high)
        if below and above:
            u = jax.random.uniform(key, self.shape, self.dtype)
            return jnp.clip(self.low * (1 - u) + self.high * u, self.low, self.high)
        if below:
            return self.low + jax.random.exponential(key, self.shape, self.dtype)
        if above:
            return self.high - jax.random.exponential(key, self.shape, self.dtype)
        return jax.random.normal(key, self.shape, self.dtype)

    def contains(self, x: Any) -> bool:
        """Whether a concrete value is an element: whole numbers are in both kinds of box, fractions in a float one."""
        value = as_array(x)
        if value.shape != self.shape or value.dtype.kind not in ("iuf" if self.dtype.kind == "f" else "iu"):
            return False
        return bool(np.all((value >= self.low) & (value <= self.high)))


class Dict(eqx.Module):
    """Named spaces; an element is a dict with the same names."""

    spaces: dict[str, Any]

    def sample(self, key: PRNGKeyArray) -> dict[str, Any]:
        """A random element, one key for each entry; in the order of the names, as JAX keeps no other."""
        keys = jax.random.split(key, len(self.spaces))
        return {name: self.spaces[name].sample(k) for name, k in zip(sorted(self.spaces), keys, strict=True)}

    def contains(self, x: Any) -> bool:
        """Whether a concrete value is an element."""
        if not isinstance(x, Mapping) or set(x) != set(self.spaces):
            return False
        return all(space.contains(x[name]) for name, space in self.spaces.items())


Space = Discrete | MultiDiscrete | Box | Dict

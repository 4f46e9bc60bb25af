"""Sets that observations and actions are drawn from.

The names and meanings are Gymnasium's. A space is a frozen value; `sample` is a pure function of a key.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .as_text import in_a_line
from .dtypes import ends_of, narrowed
from .errors import LARGEST_SIZE, ConfigError, check_count, is_number
from .leaves import key_like

LARGEST = LARGEST_SIZE

Bound = float | tuple[Any, ...]


def as_array(x: Any) -> np.ndarray:
    """Returns a concrete value as an array; what is none (a ragged list, say) as an array of objects."""
    try:
        return np.asarray(x)
    except ValueError:
        return np.array(None)


def _counts(field: str, values: Any, low: int = 1) -> tuple[int, ...]:
    listed = isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping, Set))
    if not listed or getattr(values, "ndim", 1) == 0:
        whole = is_number(values) and values % 1 == 0 and low <= values <= LARGEST
        raise ConfigError(field, values, f"use ({values:.0f},)" if whole else "use a tuple of whole numbers")
    return tuple(check_count(f"{field}[{i}]", n, low=low, high=LARGEST) for i, n in enumerate(values))


class Discrete(eqx.Module):
    """The whole numbers 0 .. n-1, as an int32 scalar.

    Examples:
        >>> space = Discrete(4)
        >>> space.contains(3), space.contains(4), space.contains(1.0)
        (True, False, False)
    """

    n: int = eqx.field(static=True, converter=partial(check_count, "Discrete.n", high=LARGEST))

    def __init__(self, n: int, start: int = 0) -> None:
        """Takes Gymnasium's `start` to refuse any but 0."""
        if np.ndim(start) or start != 0:
            fix = "elements are counted from 0: leave it out, and subtract it from what the environment gives"
            raise ConfigError("Discrete.start", start, fix)
        self.n = n

    def __repr__(self) -> str:
        return in_a_line(self)

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.int32)

    def sample(self, key: PRNGKeyArray) -> Array:
        """Draws an element uniformly, int32 []."""
        return jax.random.randint(key, (), 0, self.n, jnp.int32)

    def contains(self, x: Any) -> bool:
        """Returns whether a concrete value is an element."""
        value = as_array(x)
        return value.shape == () and np.issubdtype(value.dtype, np.integer) and bool(0 <= value < self.n)


class MultiDiscrete(eqx.Module):
    """Vectors of whole numbers, component i in 0 .. nvec[i]-1, as int32 [len(nvec)]."""

    nvec: tuple[int, ...] = eqx.field(static=True, converter=partial(_counts, "MultiDiscrete.nvec"))

    def __repr__(self) -> str:
        return in_a_line(self)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.nvec),)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.int32)

    def sample(self, key: PRNGKeyArray) -> Array:
        """Draws an element uniformly, int32 [len(nvec)]."""
        return jax.random.randint(key, self.shape, 0, jnp.asarray(self.nvec, jnp.int32), jnp.int32)

    def contains(self, x: Any) -> bool:
        """Returns whether a concrete value is an element."""
        value = as_array(x)
        if value.shape != self.shape or not np.issubdtype(value.dtype, np.integer):
            return False
        return bool(np.all((value >= 0) & (value < np.asarray(self.nvec))))


def _bound(field: str, value: Any) -> Bound:
    """Returns a bound as one number, or as tuples of numbers."""
    if isinstance(value, (tuple, list)) or getattr(value, "ndim", 0):
        return tuple(_bound(field, entry) for entry in value)
    try:
        if isinstance(value, (str, bytes, complex, np.complexfloating)):  # `float` reads them, or drops a half
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigError(field, value, "use a number, or one for each entry") from error


def _level(bound: Any) -> Any:
    """Returns the one number of a bound that is the same for all entries, and another bound as it is."""
    entries = as_array(bound)
    return entries.flat[0].item() if entries.size and (entries == entries.flat[0]).all() else bound


def _dtype(dtype: Any) -> np.dtype:
    try:
        if dtype is None:  # NumPy's float64
            raise TypeError
        return np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError) as error:
        raise ConfigError("Box.dtype", dtype, "use one of NumPy's for numbers, such as 'float32'") from error


class Box(eqx.Module):
    """Arrays of one shape with every entry in [low, high]; a bound of floating point numbers may be infinite.

    A bound is one number for all entries, or one for each. `sample` is uniform where both bounds are finite,
    exponential from the finite bound where one is, and normal where none is, as in Gymnasium.

    Examples:
        >>> space = Box(-1.0, 1.0, (2,))
        >>> space.contains(np.zeros(2, np.float32)), space.contains(np.zeros(3, np.float32))
        (True, False)
        >>> Box((0.0, -math.inf), (1.0, math.inf), (2,)).contains([0.5, 1e9])
        True
    """

    low: Bound = eqx.field(static=True, converter=partial(_bound, "Box.low"))
    high: Bound = eqx.field(static=True, converter=partial(_bound, "Box.high"))
    shape: tuple[int, ...] = eqx.field(static=True, default=(), converter=partial(_counts, "Box.shape", low=0))
    dtype: np.dtype = eqx.field(static=True, default=np.dtype(np.float32), converter=_dtype)

    def __reduce__(self) -> tuple[type[Box], tuple[Any, ...]]:
        """Copies and pickles as what it is made of: a dtype of its own, as pickle makes one, would be told apart."""
        return Box, (self.low, self.high, self.shape, self.dtype.str)

    def __repr__(self) -> str:
        return in_a_line(self, seen_as={"low": _level, "high": _level})

    def __check_init__(self) -> None:
        bounds, kind = (self.low, self.high), self.dtype.kind
        low, high = as_array(self.low), as_array(self.high)
        if not {low.shape, high.shape} <= {(), self.shape} or "O" in (low.dtype.kind, high.dtype.kind):
            fix = f"use bounds that are one number, or of the shape {self.shape}"
            same = low.shape == high.shape and "O" not in (low.dtype.kind, high.dtype.kind) and self.shape == ()
            raise ConfigError("Box", bounds, f"give the shape, too: Box(low, high, {low.shape})" if same else fix)
        if not np.all((low <= high) & (low < math.inf) & (high > -math.inf)):
            raise ConfigError("Box", bounds, "use low <= high, both numbers")
        if kind not in "iuf":
            raise ConfigError("Box.dtype", self.dtype.name, "use a dtype of whole or floating point numbers")
        if kind == "f":
            largest = float(np.finfo(self.dtype).max)
            if not all(np.all(np.isinf(bound) | (abs(bound) <= largest)) for bound in (low, high)):
                raise ConfigError("Box", bounds, f"use bounds within {largest:g} of 0, as {self.dtype.name} ends there")
        else:
            least, most = ends_of(self.dtype)
            if not all(
                np.all((least <= bound) & (bound <= most) & (np.floor(bound) == bound)) for bound in (low, high)
            ):
                raise ConfigError("Box", bounds, f"use whole numbers from {least} to {most} for {self.dtype.name}")

    def sample(self, key: PRNGKeyArray) -> Array:
        """Draws a random element, of the space's shape and dtype."""
        if self.dtype.kind in "iu":
            low, high = np.asarray(self.low, np.int32), np.asarray(self.high, np.int32)
            return jax.random.randint(key, self.shape, low, high + np.int32(1), self.dtype)
        low, high = np.asarray(self.low, self.dtype), np.asarray(self.high, self.dtype)
        below, above = np.isfinite(low), np.isfinite(high)
        if below.all() and above.all():
            return self._uniform(key, low, high)
        inside_key, tail_key, normal_key = jax.random.split(key, 3)
        inside = self._uniform(inside_key, np.where(below, low, 0), np.where(above, high, 0))
        if (below != above).any():  # what no entry needs is not compiled
            tail = jax.random.exponential(tail_key, self.shape, self.dtype)
            inside = jnp.where(below & above, inside, jnp.where(below, low + tail, high - tail))
        anywhere = jax.random.normal(normal_key, self.shape, self.dtype)
        return jnp.where(below | above, inside, anywhere)

    def _uniform(self, key: PRNGKeyArray, low: np.ndarray, high: np.ndarray) -> Array:
        u = jax.random.uniform(key, self.shape, self.dtype)
        return jnp.clip(low * (1 - u) + high * u, low, high)

    def contains(self, x: Any) -> bool:
        """Returns whether a concrete value is an element: whole numbers may be in any box, fractions only in floats.

        Value and bounds are compared as numbers of the space's dtype where that is a floating point dtype: 0.6 is in
        a float32 box that ends at 0.6, although the float32 nearest to it is larger.
        """
        value = as_array(x)
        if value.shape != self.shape or value.dtype.kind not in ("iuf" if self.dtype.kind == "f" else "iu"):
            return False
        low, high = np.asarray(self.low), np.asarray(self.high)
        if self.dtype.kind == "f":
            with np.errstate(over="ignore"):
                value, low, high = (bound.astype(self.dtype) for bound in (value, low, high))
        return bool(np.all((value >= low) & (value <= high)))


def narrowed_box(low: Any, high: Any, shape: tuple[int, ...], dtype: Any) -> Box:
    """Returns the Box that holds the numbers of another library's, in at most 32 bits.

    A bound of whole numbers is the nearest one that ours may have. The largest number of float32, and any beyond it, is
    infinite: they say so for no bound. A bound that all entries share is one number.
    """
    return Box(_narrowed_bound(low, dtype), _narrowed_bound(high, dtype), shape, narrowed(dtype))


def _narrowed_bound(bound: Any, dtype: Any) -> Any:
    wide = np.asarray(bound, np.float64)
    wide = np.where(abs(wide) >= np.finfo(np.float32).max, np.copysign(np.inf, wide), wide)
    return _level(np.clip(wide, *ends_of(dtype))) if wide.size else 0.0


def _parts(spaces: Any) -> dict[Any, Any]:
    if not isinstance(spaces, Mapping):
        raise ConfigError("Dict.spaces", spaces, "use a dict of spaces by name")
    try:
        sorted(spaces)
    except TypeError as error:
        raise ConfigError("Dict.spaces", list(spaces), "its names have no order; use texts alone") from error
    for name, space in spaces.items():
        if not isinstance(space, Space):
            fix = "use one of kousoku's spaces: Box, Discrete, MultiDiscrete or Dict"
            raise ConfigError(f"Dict.spaces[{name!r}]", space, fix)
    return dict(spaces)


class Dict(eqx.Module):
    """Named spaces; an element is a dict with the same names."""

    spaces: dict[str, Any]

    def __init__(self, spaces: Any) -> None:
        """Takes spaces by name, of which JAX need not know an order yet."""
        self.spaces = _parts(spaces)

    def __repr__(self) -> str:
        return f"Dict(spaces={{{', '.join(f'{name!r}: {space!r}' for name, space in self.spaces.items())}}})"

    def __hash__(self) -> int:
        return hash(frozenset(self.spaces.items()))

    def sample(self, key: PRNGKeyArray) -> dict[str, Any]:
        """Draws a random element, one key for each entry; in the order of the names, as JAX keeps no other."""
        keys = jax.random.split(key, len(self.spaces))
        return {name: self.spaces[name].sample(k) for name, k in zip(sorted(self.spaces), keys, strict=True)}

    def contains(self, x: Any) -> bool:
        """Returns whether a concrete value is an element."""
        if not isinstance(x, Mapping) or set(x) != set(self.spaces):
            return False
        return all(space.contains(x[name]) for name, space in self.spaces.items())


Space = Discrete | MultiDiscrete | Box | Dict


def element_like(space: Space) -> Any:
    """Returns an element of a space by its shapes and dtypes."""
    return jax.eval_shape(space.sample, key_like())

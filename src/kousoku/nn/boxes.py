"""Actions of a Box: its bounds, and distributions over actions of any shape."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, PRNGKeyArray, PyTree

from ..core.errors import ConfigError
from ..core.spaces import Box, Dict, Space, as_array
from ..ops.distributions import Distribution


class Reshaped(Distribution):
    """A distribution over vectors as one over arrays of another shape, entries in C order.

    Attributes:
        base: the distribution over vectors.
        shape: of an action.
    """

    base: Distribution
    shape: tuple[int, ...] = eqx.field(static=True)

    def sample(self, key: PRNGKeyArray) -> Float[Array, "..."]:
        return self.base.sample(key).reshape(self.shape)

    def log_prob(self, action: Float[Array, "..."]) -> Float[Array, ""]:
        return self.base.log_prob(action.reshape(-1))

    def entropy(self) -> Float[Array, ""]:
        return self.base.entropy()

    def mode(self) -> Float[Array, "..."]:
        return self.base.mode().reshape(self.shape)

    def kl(self, other: Reshaped) -> Float[Array, ""]:
        return self.base.kl(other.base)

    def sample_and_log_prob(self, key: PRNGKeyArray) -> tuple[Float[Array, "..."], Float[Array, ""]]:
        action, log_prob = self.base.sample_and_log_prob(key)
        return action.reshape(self.shape), log_prob


def shaped(distribution: Distribution, space: Box) -> Distribution:
    """Returns a distribution over vectors as one over a box's actions: itself, where these are vectors."""
    return distribution if len(space.shape) == 1 else Reshaped(distribution, space.shape)


def size_of(space: Box) -> int:
    """Returns how many components an action has."""
    return math.prod(space.shape)


def clip_to(space: Space, action: PyTree[Array]) -> PyTree[Array]:
    """Returns the action an environment may take: a Box's is clipped to its bounds, any other's is left as it is.

    A Dict's are each what its own space says. Agents with a `NormalHead` clip only what they send to the environment;
    probabilities are those of the action that was drawn.
    """
    if isinstance(space, Dict):
        return {name: clip_to(part, action[name]) for name, part in space.spaces.items()}
    if not isinstance(space, Box):
        return action
    if space.dtype.kind in "iu" and jnp.issubdtype(action.dtype, jnp.integer):  # float32 would round large bounds
        most = jnp.iinfo(action.dtype)
        ends = (np.clip(np.asarray(end, np.int64), most.min, most.max) for end in (space.low, space.high))
        low, high = (jnp.asarray(end, action.dtype) for end in ends)
        return jnp.clip(action, jnp.broadcast_to(low, space.shape), jnp.broadcast_to(high, space.shape))
    low, high = (bound.reshape(space.shape).astype(action.dtype) for bound in bounds(space))
    return jnp.clip(action, low, high)


def bounds(space: Box) -> tuple[Float32[Array, " A"], Float32[Array, " A"]]:
    """Returns both bounds of every component of an action, in C order."""
    low, high = (np.broadcast_to(np.asarray(bound, np.float32), space.shape) for bound in (space.low, space.high))
    return jnp.asarray(low.reshape(-1)), jnp.asarray(high.reshape(-1))


def centre_and_reach(space: Box) -> tuple[Float32[np.ndarray, " A"], Float32[np.ndarray, " A"]]:
    """Returns the middle of every component's bounds, and half of their distance: what -1 and 1 of the unit box are
    counted by.

    They are 0 and 1 where both bounds are equal, or their distance is no float32, which the largest numbers' is not.
    """
    ends = (np.asarray(bound, np.float32) for bound in (space.low, space.high))
    low, high = (np.broadcast_to(end, space.shape).reshape(-1) for end in ends)
    with np.errstate(over="ignore", invalid="ignore"):
        known = np.isfinite(high - low) & (low < high)
    low, high = np.where(known, low, np.float32(-1.0)), np.where(known, high, np.float32(1.0))
    half = np.float32(0.5)
    return half * (low + high), half * (high - low)


def check_bounded(field: str, value: Any, instead: str, space: Box) -> None:
    """Refuses a box that no bounded distribution can fill.

    Args:
        field, value: of what asks for bounds.
        instead: what to do.
        space: the actions.

    Raises:
        ConfigError: where a bound is infinite, or a component has low = high.
    """
    if not (np.isfinite(as_array(space.low)).all() and np.isfinite(as_array(space.high)).all()):
        raise ConfigError(field, value, f"{instead}: the Box of actions has infinite bounds")
    if not (as_array(space.low) < as_array(space.high)).all():
        raise ConfigError(field, value, f"{instead}: the Box of actions has a component with low = high")

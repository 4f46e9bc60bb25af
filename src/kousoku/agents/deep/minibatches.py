"""Minibatches: which samples of a rollout are in which of them.

The B environments are divided into strata of neighbours, and each minibatch takes the same number of samples from each
stratum, at random and without replacement. One stratum is the plain shuffle of the literature. Several are drawn side
by side, vary less, and a device that holds whole strata finds its part of every minibatch in its own memory: so the
result does not depend on the number of devices.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray, PyTree, UInt32

from ...compiler import kernel
from ...core.errors import ConfigError

MAX_STRATA = 16


def num_strata(num_envs: int, per_env: int, minibatches: int, field: str = "minibatches") -> int:
    """Returns the largest number of strata, up to 16, that leaves each minibatch an equal whole part of each.

    Args:
        num_envs: B.
        per_env: samples of each environment: T, or 1 where a sample is a whole sequence.
        minibatches: M.
        field: what M is called.

    Raises:
        ConfigError: if M does not divide the samples.

    Examples:
        >>> num_strata(2048, 16, 8), num_strata(8, 128, 4), num_strata(6, 5, 10), num_strata(8, 1, 4)
        (16, 8, 3, 2)
    """
    samples = num_envs * per_env
    if samples % minibatches:
        near = _nearest_divisor(samples, minibatches)
        what = "environments" if per_env == 1 else "samples a rollout"
        raise ConfigError(field, minibatches, f"{samples} {what} are not divisible; try {near}")
    fits = (g for g in range(min(MAX_STRATA, num_envs), 0, -1) if num_envs % g == 0)
    return next(g for g in fits if num_envs // g * per_env % minibatches == 0)


def _nearest_divisor(number: int, wanted: int) -> int:
    """Returns the divisor of a number that is nearest to another number; the smaller one of two."""
    if wanted >= number:
        return number
    return next(d for distance in range(wanted) for d in (wanted - distance, wanted + distance) if number % d == 0)


def shuffled(bits: UInt32[Array, " L"]) -> Int[Array, " L"]:
    """Returns a random order of 0 .. L-1 from random bits (Fisher-Yates; Knuth, TAOCP vol. 2, algorithm 3.4.2P).

    Place i is chosen by the remainder of 32 bits, so no order is more than L / 2^32 too likely.
    """
    length = bits.shape[0]

    def swap(i: Int[Array, ""] | int, order: Int[Array, " L"]) -> Int[Array, " L"]:
        left = (jnp.int32(length) - i).astype(jnp.uint32)
        j = i + (bits[i] % left).astype(jnp.int32)
        here, there = order[i], order[j]
        return order.at[i].set(there).at[j].set(here)

    return jax.lax.fori_loop(0, length, swap, jnp.arange(length, dtype=jnp.int32))


class Division(eqx.Module):
    """The division of the samples on one device.

    Attributes:
        strata: the numbers of the strata that lie here among all. The environments here are theirs, in order.
        num_envs: environments here.
        per_env: samples of each: T, or 1 where a sample is a whole sequence.
        minibatches: M.
    """

    strata: Int[Array, " G"]
    num_envs: int = eqx.field(static=True)
    per_env: int = eqx.field(static=True)
    minibatches: int = eqx.field(static=True)


def divide(num_envs: int, here: int, per_env: int, minibatches: int, axis: str | None) -> Division:
    """Divides `num_envs` environments, `here` of them on this device of an axis.

    Raises:
        ConfigError: if the environments of a device are no whole strata.
    """
    whole = num_strata(num_envs, per_env, minibatches)
    groups, rest = divmod(here * whole, num_envs)
    if rest or not groups:
        lie = "1 stratum" if whole == 1 else f"{whole} strata"
        raise ConfigError("devices", num_envs // here, f"the environments lie in {lie}; use a divisor of that")
    first = jnp.int32(0) if axis is None else jax.lax.axis_index(axis) * groups
    return Division(first + jnp.arange(groups, dtype=jnp.int32), here, per_env, minibatches)


def minibatch_indices(division: Division, key: PRNGKeyArray) -> Int[Array, "M n"]:
    """Returns the samples of each minibatch of an epoch, as indices into [per_env * num_envs], environments last.

    Args:
        division: the division.
        key: of the epoch, the same on every device.
    """
    groups, num_envs, minibatches = division.strata.shape[0], division.num_envs, division.minibatches
    width = num_envs // groups
    length = width * division.per_env
    keys = jax.vmap(lambda s: jax.random.fold_in(key, s))(division.strata)
    bits = jax.vmap(lambda k: jax.random.bits(k, (length,), jnp.uint32))(keys)
    order = jax.vmap(kernel(shuffled))(bits)
    env = jnp.arange(groups, dtype=jnp.int32)[:, None] * width + order % width
    flat = (order // width) * num_envs + env
    return flat.reshape(groups, minibatches, length // minibatches).swapaxes(0, 1).reshape(minibatches, -1)


def take_minibatch(parts: PyTree[Array], carry: PyTree[Array], chosen: Int[Array, " n"]) -> tuple[Any, Any]:
    """Takes a minibatch: chosen samples; or, with a carry, chosen environments with all their steps and their carry.

    Args:
        parts: samples [N, ...], or [T, B, ...] with a carry.
        carry: of a recurrent network, [B, ...] before the first step; else `()`.
        chosen: indices of samples, or of environments.
    """
    if jax.tree.leaves(carry):
        return jax.tree.map(lambda x: x[:, chosen], parts), jax.tree.map(lambda x: x[chosen], carry)
    return jax.tree.map(lambda x: x.at[chosen].get(mode="promise_in_bounds"), parts), carry

"""Several passes over a rollout, minibatch by minibatch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key, PRNGKeyArray

from ...compiler import on_arrays
from ...ops.across import mean_over

MOST_EPOCHS = 1000
Scalars = dict[str, Float[Array, ""]]
Step = Callable[[Any, Any], tuple[Any, Scalars]]
Batches = Callable[[PRNGKeyArray], Any]


def run_epochs(
    step: Step,
    learned: Any,
    batches: Batches,
    keys: Key[Array, " E"],
    target_kl: float | Array | None,
    axis: str | None = None,
) -> tuple[Any, Scalars]:
    """Calls `step(learned, batch) -> (learned, metrics)` for each minibatch of each epoch.

    Args:
        step: learns from a minibatch.
        learned: what it changes.
        batches: from an epoch's key to its minibatches, [M, ...]: whatever `step` wants to know of each.
        keys: one for each epoch.
        target_kl: later epochs are left out once the mean of "approx_kl" over an epoch exceeds this; None for never.
        axis: of the devices that hold parts of the minibatches.

    Returns:
        What was learned, and the metrics' means over the steps of all epochs, or, with `target_kl`, of the last one
        that was made, and "epochs", their number.

    References:
        Schulman et al., arXiv:1707.06347, algorithm 1. Stopping early: J. Achiam, OpenAI Spinning Up (2018).
    """

    def epoch(learned: Any, key: PRNGKeyArray) -> tuple[Any, Scalars]:
        return on_arrays(partial(_epoch, step, axis), axis, donate_argnums=0)(learned, batches(key))

    if target_kl is not None:
        return _until_too_far(epoch, learned, keys, target_kl)
    learned, metrics = jax.lax.scan(epoch, learned, keys)
    return learned, jax.tree.map(jnp.mean, metrics)


Carry = tuple[Any, Bool[Array, ""], Scalars]


def _epoch(step: Step, axis: str | None, learned: Any, batches: Any) -> tuple[Any, Scalars]:
    """Runs one epoch; the metrics of a step leave the loop as one vector."""
    names: list[str] = []

    def packed(learned: Any, batch: Any) -> tuple[Any, Float[Array, " K"]]:
        learned, metrics = step(learned, batch)
        names[:] = metrics
        return learned, jnp.stack([metrics[name] for name in names])

    learned, metrics = jax.lax.scan(packed, learned, batches)
    return learned, dict(zip(names, mean_over(jnp.mean(metrics, axis=0), axis), strict=True))


def _until_too_far(epoch: Step, learned: Any, keys: Key[Array, " E"], target_kl: float | Array) -> tuple[Any, Scalars]:
    """Runs epochs until the policy is too far from the old one, and skips the rest; an epoch is compiled once."""

    def epoch_or_none(carry: Carry, key: PRNGKeyArray) -> tuple[Carry, Bool[Array, ""]]:
        learned, stopped, metrics = carry
        learned, metrics = jax.lax.cond(stopped, lambda: (learned, metrics), lambda: epoch(learned, key))
        return (learned, stopped | (metrics["approx_kl"] > target_kl), metrics), ~stopped

    names = jax.eval_shape(lambda key: epoch(learned, key)[1], keys[0])
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), names)
    (learned, _, metrics), made = jax.lax.scan(epoch_or_none, (learned, jnp.array(False), nothing), keys)
    return learned, metrics | {"epochs": jnp.sum(made, dtype=jnp.float32)}
